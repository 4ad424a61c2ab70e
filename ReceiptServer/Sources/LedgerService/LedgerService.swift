package import AppStoreReceipt
package import HTTPService
package import PurchaseLedger
package import Reconciliation
import ServerThreads

/// The ledger of a service: its routes, its tokens, and the delivery of its events.
package struct LedgerService: Sendable {
    private let ledgerRoutes: LedgerRoutes
    /// The ledger, which the support desk shares.
    package let ledger: PurchaseLedger
    package let tokens: AccessTokens
    private let delivery: EventDelivery
    /// The scheme, host and port of the webhook, or `nil` without one.
    package let webhookOrigin: String?
    private let hasWebhook: Bool
    /// The identity of the ledger when the service started.
    private let summary: LedgerSummary.Beginning
    /// The pause factor limits counting a large table to a hundredth of a processor.
    private let summaryReading = DatabaseReading<LedgerSummary>(pauseFactor: 100)
    private typealias OutboxCounts = (pending: Int, oldestPending: Instant?, dead: Int, unowned: Int)
    private let outboxReading = DatabaseReading<OutboxCounts>()
    private let appleReading = DatabaseReading<AppleMetrics.Stored>()
    private let askApple: AskApple?
    private let log: ServiceLog
    private let tokenConflicts: TokenConflicts
    private let attempts: AttemptLog

    package static let options = ledgerOptions + AskApple.options

    private static let ledgerOptions: [OptionTable.Option] = [
        .init(
            "--ledger", "FILE|URI",
            "Keep a ledger of what was granted, in FILE (SQLite) or in a database (postgresql://…). Needs --token-file. 'receipt-server init' makes one."
        ),
        .init(
            "--new-ledger", "",
            "Make the ledger, which must not exist: for a trial, and never for a server that is started again."),
        .init(
            "--token-file", "FILE",
            "The tokens that may use the ledger, one a line: 'TOKEN', for redeem, read and events, or 'TOKEN scope,scope', with the scopes redeem, read, events, transfer, delete, adjust, support and recover. SIGHUP reads it again."
        ),
        .init(
            "--product-id", "ID", isRepeatable: true,
            "Grant this product only. Without it, every product of the app is for sale."),
        .init(
            "--entitlement", "NAME=ID,ID", isRepeatable: true, separator: ";",
            "Say in an account's entitlements whether one of these products gives access: 'premium=pro.month,pro.year'. Several in the variable are separated by ';'."
        ),
        .init(
            "--orders", "",
            "Create tokens for accounts to buy with, and grant each purchase to the account of its token: see ORDERS.md. Not for an app without accounts."
        ),
        .init(
            "--require-token", "DATE",
            "Do not grant what was bought without a token on or after DATE, such as 2026-12-31. Needs --orders."),
        .init(
            "--order-hours", "HOURS",
            "The time after which an open order is abandoned, 72 by default. Needs --orders."),
        .init(
            "--webhook", "URL",
            "Post grants and revocations to URL; https:, or http: on this machine. Needs --webhook-secret-file."
        ),
        .init(
            "--lifecycle-events", "",
            "Also send events for cancellations, failed charges, price increases, expirations and refund requests: see Events in REFERENCE.md. They change no quantity."
        ),
        .init(
            "--webhook-secret-file", "FILE",
            "The key that signs events, at least 16 bytes, not counting a line break at its end."),
        .init(
            "--other-apps", "refuse|ignore",
            "How to answer genuine notifications for apps not listed with --bundle-id: 421 ('refuse', the default), or 200 ('ignore')."
        ),
        .init(
            "--keep-attempts", "DAYS",
            "How long to keep each account's requests and their answers; 90 by default, and 0 to keep none."),
        .init(
            "--keep-evidence", "",
            "Also keep the evidence that was sent, compressed. Support can read it, and so can anyone who steals the database."
        ),
    ]

    /// Returns the kind of ledger that the options name. The location itself can contain a password.
    package static func kind(_ values: OptionTable.Values) -> String {
        guard let location = values["--ledger"] else { return "none" }
        return location.contains("://") ? "PostgreSQL" : "SQLite"
    }

    /// Creates the ledger that the options name, or returns `nil` without `--ledger`.
    ///
    /// - Parameter productTypes: The types of products, for purchases whose evidence doesn't contain the type.
    package init?(
        _ values: OptionTable.Values, _ verifier: AppStoreVerifier,
        _ productTypes: ProductCatalog, _ log: ServiceLog
    ) throws(ConfigurationError) {
        guard let location = values["--ledger"] else {
            for option in Self.options.map(\.name).dropFirst()
            where !values.all(option).isEmpty {
                throw ConfigurationError("\(option) needs --ledger")
            }
            return nil
        }
        guard let tokenFile = values["--token-file"] else { throw ConfigurationError("--ledger needs --token-file") }
        do throws(ConfigurationError) {
            tokens = try AccessTokens(file: tokenFile)
        } catch {
            throw ConfigurationError("--token-file: \(error)")
        }
        let ignoresOtherApps = try Self.ignoresOtherApps(values)
        let names = try EntitlementNames(values.all("--entitlement"))
        let webhook = try Self.webhook(values)
        webhookOrigin = webhook?.origin
        let file = try AskApple.file(values, verifier)
        let policy = try Self.policy(values, productTypes, file)
        tokenConflicts = TokenConflicts(log)
        let unknownLengths = UnknownLengths(log, policy.surroundings.date)
        do throws(LedgerError) {
            ledger =
                values["--new-ledger"] == nil
                ? try PurchaseLedger(
                    location, policy: policy, onTokenConflict: tokenConflicts.add, onUnknownLength: unknownLengths.add)
                : try PurchaseLedger(
                    creating: location, policy: policy, onTokenConflict: tokenConflicts.add,
                    onUnknownLength: unknownLengths.add)
            summary = try ledger.summaryAtStart()
        } catch {
            throw ConfigurationError("--ledger: \(error)", isTemporary: error.code == .storeUnavailable)
        }
        if let upgrade = ledger.upgrade {
            log.write(.info, "ledger-upgraded", [("from", .number(upgrade.found)), ("to", .number(upgrade.now))])
        }
        let ledger = ledger
        delivery = EventDelivery(ledger, to: webhook)
        hasWebhook = webhook != nil
        self.log = log
        let days = try values.number("--keep-attempts", 0...3650) ?? 90
        attempts = AttemptLog(ledger, keeping: .seconds(days * 86_400), withEvidence: values["--keep-evidence"] != nil)
        if let file, let path = values["--ask-apple"] {
            askApple = AskApple(path, file, ledger, verifier, log)
        } else {
            askApple = nil
        }
        ledgerRoutes = LedgerRoutes(
            ledger, verifier, tokens, log, attempts, askApple, ignoresOtherApps: ignoresOtherApps, names: names)
    }

    package var routes: [Route] { ledgerRoutes.routes }

    /// The identity of the ledger, for the log's `start` line.
    package var identity: [(StaticString, ServiceLog.Value)] {
        [
            ("ledger_id", .text(summary.id)), ("ledger_created", .text(summary.creationDate.description)),
        ] + (summary.grantCount.map { [("grants", .number(Int($0)))] } ?? [])
    }

    /// The App Store queries, or `nil` without `--ask-apple`.
    package var reconciler: Reconciler? { askApple?.reconciler }

    /// The apps and environments for which the App Store is queried, or `nil` for none.
    package var askedApps: String? {
        askApple.map { askApple in
            askApple.askedApps.map { "\($0.bundleID)/\($0.environment.rawValue)" }.sorted()
                .joined(separator: " ")
        }
    }

    /// Returns the policy for grants and inquiries that the options describe.
    static func policy(
        _ values: OptionTable.Values, _ productTypes: ProductCatalog, _ file: AskAppleFile?
    ) throws(ConfigurationError) -> LedgerPolicy {
        var policy = LedgerPolicy()
        let products = values.all("--product-id")
        if !products.isEmpty { policy.productIDs = products }
        policy.productTypes = productTypes
        policy.orders = try orders(values)
        policy.lifecycleEvents = values["--lifecycle-events"] != nil
        if let file { policy.inquiries = try AskApple.policy(values, file) }
        return policy
    }

    private static func ignoresOtherApps(_ values: OptionTable.Values) throws(ConfigurationError) -> Bool {
        switch values["--other-apps"] {
        case nil, "refuse": false
        case "ignore": true
        case let other?: throw ConfigurationError("--other-apps must be 'refuse' or 'ignore', and is '\(other)'")
        }
    }

    private static func orders(_ values: OptionTable.Values) throws(ConfigurationError) -> OrderPolicy? {
        guard values["--orders"] != nil else {
            for option in ["--require-token", "--order-hours"] where values[option] != nil {
                throw ConfigurationError("\(option) needs --orders")
            }
            return nil
        }
        var orders = OrderPolicy()
        if let text = values["--require-token"] {
            guard let date = Instant(specified: text) else {
                throw ConfigurationError("--require-token must be \(Instant.specifiedSyntax), and is '\(text)'")
            }
            orders.requiresTokenSince = date
        }
        if let hours = try values.number("--order-hours", 1...OrderPolicy.maximumOrderHours) {
            orders.orderTime = .seconds(hours * 3600)
        }
        return orders
    }

    private static func webhook(_ values: OptionTable.Values) throws(ConfigurationError) -> Webhook? {
        guard let url = values["--webhook"] else {
            guard values["--webhook-secret-file"] == nil else {
                throw ConfigurationError("--webhook-secret-file needs --webhook")
            }
            return nil
        }
        guard let file = values["--webhook-secret-file"] else {
            throw ConfigurationError("--webhook needs --webhook-secret-file")
        }
        var secret: [UInt8]
        do throws(SystemError) {
            secret = try System.readFile(file, maximumByteCount: 4096)
        } catch {
            throw ConfigurationError("--webhook-secret-file: \(file): \(error)")
        }
        while secret.last == UInt8(ascii: "\n") || secret.last == UInt8(ascii: "\r") { secret.removeLast() }
        do throws(LedgerError) {
            return try Webhook(url: url, secret: secret)
        } catch {
            throw ConfigurationError((error.code == .invalidText ? "" : "--webhook: ") + error.detail)
        }
    }

    /// Starts background threads that deliver events and grant renewals when they begin.
    ///
    /// - Returns: A function that ends them.
    package func start() throws(ConfigurationError) -> @Sendable () -> Void {
        let (ledger, delivery, log, askApple) = (ledger, delivery, log, askApple)
        let (outboxReading, appleReading) = (outboxReading, appleReading)
        let thread = Thread {
            var recent = RecentReports()
            delivery.run { error in
                // Log each dead letter, and each other reason once a minute. The text before the reason, such as the
                // event's id, is different each time.
                let reason = error.detail.split(separator: ": ", maxSplits: 1).last ?? ""
                if recent.isNews("\(error.code) \(reason)") || error.code == .deadLetter {
                    log.write("delivery", error)
                }
            }
        }
        let (summaryReading, summary) = (summaryReading, summary)
        let readers = [
            Thread {
                // The `start` line has only counts that take no time.
                var isToBeLogged = summary.grantCount == nil
                summaryReading.run { () throws(LedgerError) in
                    let summary = try ledger.summary()
                    if isToBeLogged {
                        isToBeLogged = false
                        let count = Int(clamping: summary.grantCount)
                        log.write(
                            .info, "ledger-counted", [("ledger_id", .text(summary.id)), ("grants", .number(count))])
                    }
                    return summary
                }
            },
            Thread {
                outboxReading.run { () throws(LedgerError) in
                    let counts = try ledger.outboxCounts()
                    return (counts.pending, counts.oldestPending, counts.dead, try ledger.unownedEventCount())
                }
            },
            Thread {
                appleReading.run { () throws(LedgerError) in
                    try AppleMetrics.read(
                        ledger, isAsking: askApple != nil, at: ledger.policy.surroundings.sharedDate)
                }
            },
        ]
        let attempts = attempts
        let recorder = Thread {
            var recent = RecentReports()
            attempts.run { error in
                if recent.isNews(error.code.rawValue) { log.write("attempts", error) }
            }
        }
        let asker = askApple.map { askApple in Thread { askApple.reconciler.run() } }
        let threads = [thread, recorder] + readers + (asker.map { [$0] } ?? [])
        guard threads.allSatisfy({ $0 != nil }) else { throw ConfigurationError("the system has no thread to give") }
        // Don't wait for the current delivery: the event stays pending, and is delivered after the next start. The same
        // is true of inquiries.
        return {
            askApple?.reconciler.stop()
            delivery.stop()
            outboxReading.stop()
            summaryReading.stop()
            appleReading.stop()
            do throws(LedgerError) { try attempts.stop() } catch { log.write("attempts", error) }
            do throws(LedgerError) { try ledger.completeFile() } catch { log.write("ledger", error) }
        }
    }

    /// Reloads the file of tokens and that of `--ask-apple`.
    package func reload() {
        askApple?.reload()
        do throws(ConfigurationError) {
            try tokens.reload()
            log.write(.info, "tokens-reloaded")
        } catch {
            log.write(.error, "tokens-not-reloaded", [("message", .text(error.description))])
        }
    }

    /// The verdicts that the metrics count separately, by code.
    package var verdictsCountedApart: [VerificationError.Code: UInt64] { ledgerRoutes.countedApart }

    package func metrics() -> [MetricFamily] {
        let (isAnswered, counts) = outboxReading.last
        let isUp = MetricFamily(
            .gauge, "receipt_server_ledger_up", "1 if the ledger's database answers, and 0 if it does not.",
            value: isAnswered ? 1 : 0)
        let lost = MetricFamily(
            .counter, "receipt_server_attempts_lost_total",
            "Requests to redeem that are not in the table of attempts, because the database was too slow for it.",
            value: attempts.lost)
        let always =
            [isUp, lost] + (summaryReading.last.value?.beginning ?? summary).metrics + ledgerRoutes.metrics
            + (ledger.policy.orders == nil ? [] : [tokenConflicts.metric])
            + appleMetrics
        guard let counts else { return always }
        var events = MetricFamily(
            .gauge, "receipt_server_ledger_events",
            "Events that wait for delivery, and those that could not be delivered; at most 10000 of each are counted."
        )
        events.add(UInt64(counts.pending), [("state", "pending")])
        events.add(UInt64(counts.dead), [("state", "dead")])
        let unowned = MetricFamily(
            .gauge, "receipt_server_unowned_events",
            "Lifecycle events of the last 30 days that were not sent, because nobody owns the purchase; at most 10000 are counted.",
            value: UInt64(counts.unowned))
        let outbox = ledger.policy.lifecycleEvents ? [events, unowned] : [events]
        // Without a webhook, events just wait for one, and their age means nothing.
        guard hasWebhook else { return always + outbox }
        let age = counts.oldestPending.map { max(0, (ledger.policy.surroundings.date() - $0).components.seconds) } ?? 0
        return always + outbox + [
            MetricFamily(
                .gauge, "receipt_server_ledger_oldest_event_seconds",
                "The age of the oldest event that waits for delivery; 0 if there is none.", value: UInt64(age))
        ]
    }

    private var appleMetrics: [MetricFamily] {
        var families: [MetricFamily] = []
        if let stored = appleReading.last.value {
            families.append(AppleMetrics.notifications(stored))
            if let askApple {
                families += AppleMetrics.stored(
                    stored, askApple.reconciler.apps, at: ledger.policy.surroundings.sharedDate)
            }
        }
        if let askApple { families += AppleMetrics.counted(askApple.reconciler) }
        return families
    }
}

extension LedgerSummary.Beginning {
    fileprivate var metrics: [MetricFamily] {
        var created = MetricFamily(
            .gauge, "receipt_server_ledger_created_timestamp_seconds",
            "When the ledger was made, in seconds since 1970. 'ledger' is the ledger's id.")
        created.add(UInt64(max(0, creationDate.millisecondsSince1970 / 1000)), [("ledger", id)])
        var grants = MetricFamily(
            .gauge, "receipt_server_ledger_grants",
            "The number of grants in the ledger; missing until they are counted.")
        guard let grantCount else { return [created] }
        grants.add(UInt64(grantCount), [("ledger", id)])
        return [created, grants]
    }
}
