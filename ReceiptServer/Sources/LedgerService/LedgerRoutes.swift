@_spi(Surfaces) import AppStoreReceipt
package import HTTPService
package import PurchaseLedger
import ServerThreads
import StrictText
import Synchronization

/// The routes of the ledger.
package struct LedgerRoutes: Sendable {
    private let ledger: PurchaseLedger
    private let verifier: AppStoreVerifier
    private let tokens: AccessTokens
    private let log: ServiceLog
    /// The log for requests to redeem, or `nil` to record none.
    private let attempts: AttemptLog?
    /// The App Store queries, or `nil` without `--ask-apple`.
    private let askApple: AskApple?
    private let counts = OutcomeCounts()
    private let notificationTypes = NotificationTypes()
    private let unknownValues = UnknownValueCounts()
    private let otherNotifications = OtherNotificationCounts()
    /// Whether notifications for other apps are answered with success.
    private let ignoresOtherApps: Bool
    private let names: EntitlementNames
    /// Returns the date of a request.
    var clock: @Sendable () -> Instant

    init(
        _ ledger: PurchaseLedger, _ verifier: AppStoreVerifier, _ tokens: AccessTokens, _ log: ServiceLog,
        _ attempts: AttemptLog? = nil, _ askApple: AskApple? = nil, ignoresOtherApps: Bool = false,
        names: EntitlementNames = EntitlementNames()
    ) {
        self.ignoresOtherApps = ignoresOtherApps
        self.names = names
        self.attempts = attempts
        self.ledger = ledger
        self.askApple = askApple
        self.verifier = verifier
        self.tokens = tokens
        self.log = log
        clock = ledger.policy.surroundings.date
    }

    package var routes: [Route] {
        [
            guarded(.redeem, "POST", "/v1/redeem") { request in
                let asked = try RedeemRequest(request.body.span)
                return ParsedRequest(owner: asked.account, .later { redeem(request, asked, respond: $0) })
            },
            guarded(
                .read, "GET", "/v1/accounts/{id}/entitlements", entitlements,
                queryItems: ["at", "environment", "consumables"]),
            guarded(.transfer, "POST", "/v1/accounts/{id}/transfer", transfer),
            guarded(.delete, "DELETE", "/v1/accounts/{id}", forget),
            guarded(.events, "GET", "/v1/events/dead", deadLetters),
            guarded(.events, "GET", "/v1/events/unowned", unownedEvents),
            guarded(.events, "POST", "/v1/events/{id}/send", sendAgain),
            // No token is needed: the signature proves that the notification is from Apple.
            Route(.only("POST"), "/v1/notifications", execution: .queued(.unguarded)) { request in
                try answer { try record(request) }
            },
        ] + supportRoutes + (ledger.policy.orders == nil ? [] : orderRoutes)
            + (askApple.map { [recoverRoute($0)] } ?? [])
    }

    private var supportRoutes: [Route] {
        let support = SupportRoutes(ledger: ledger, accepted: verifier.policy, clock: clock)
        return [
            // The request has no owner: its first parameter isn't an account.
            guarded(
                .read, "GET", "/v1/transactions/{environment}/{bundle_id}/{id}", support.transaction,
                owner: { _ in nil }),
            guarded(.read, "GET", "/v1/accounts/{id}/history", support.history, queryItems: ["after", "limit"]),
            guarded(.read, "GET", "/v1/accounts/{id}/tokens", support.tokens, queryItems: ["after", "limit"]),
            guarded(.adjust, "POST", "/v1/accounts/{id}/adjust", support.adjust),
        ]
    }

    private func recoverRoute(_ askApple: AskApple) -> Route {
        let recovering = RecoverRoute(
            askApple: askApple, ledger: ledger, accepted: verifier.policy, attempts: attempts, clock: clock)
        // These requests wait for Apple. Together they get only the slots of one account.
        return guarded(
            .recover, "POST", "/v1/recover",
            { request in
                let result = try recovering.recover(request)
                count(result.outcomes)
                return RecoverRoute.response(result)
            }, owner: { _ in "" })
    }

    private var orderRoutes: [Route] {
        let orders = OrderRoutes(ledger: ledger, accepted: verifier.policy, clock: clock)
        return [
            guarded(.redeem, "POST", "/v1/accounts/{id}/token", orders.token),
            guarded(.redeem, "POST", "/v1/orders") { request in
                let asked = try OrderRequest(request.body.span)
                return ParsedRequest(owner: asked.account) { response(to: request) { try orders.make(asked) } }
            },
            guarded(.read, "GET", "/v1/orders", orders.purchasesWithoutOrder, queryItems: ["without", "after"]),
            guarded(.read, "GET", "/v1/orders/{id}", orders.order, owner: { _ in nil }),
        ]
    }

    package var metrics: [MetricFamily] {
        counts.metrics + [notificationTypes.metric, unknownValues.metric, otherNotifications.metric]
    }

    /// The verdicts that the metrics count separately, by code.
    var countedApart: [VerificationError.Code: UInt64] { otherNotifications.verdicts }

    /// - Parameter owner: The owner of a request. Unless it says otherwise, the path begins with it.
    private func guarded(
        _ scope: TokenScope, _ method: String, _ path: String,
        _ handler: @escaping @Sendable (Request) throws -> Response, queryItems: [String] = [],
        owner: @escaping @Sendable (Request) -> String? = { $0.parameters.first }
    ) -> Route {
        guarded(scope, method, path, queryItems: queryItems) { request in
            ParsedRequest(owner: owner(request)) { response(to: request) { try handler(request) } }
        }
    }

    /// - Parameter parse: Parses a request. If it throws, the error is the answer.
    private func guarded(
        _ scope: TokenScope, _ method: String, _ path: String, queryItems: [String] = [],
        parse: @escaping @Sendable (Request) throws -> ParsedRequest
    ) -> Route {
        // Reject requests without a token before they take a queue slot.
        let refusal = { @Sendable (request: Request) -> Response? in
            do throws(LedgerError) {
                return try tokens.refusal(of: request.header("Authorization"), scope: scope)
            } catch {
                report(error)
                return error.response
            }
        }
        return Route(
            .only(method), path, execution: .queued(.guarded), headers: ["Authorization"], queryItems: queryItems,
            refusal: refusal
        ) { request in
            do {
                return try parse(request)
            } catch {
                return ParsedRequest(owner: nil) { response(to: request) { throw error } }
            }
        }
    }

    private func response(to request: Request, _ handler: () throws -> Response) -> Response {
        var response = Response {
            do {
                return try answer(handler)
            } catch let error as VerificationError {
                return error.response(for: .httpClient)
            }
        }
        response.headers.append(("Request-Id", request.id))
        return response
    }

    /// Logs a failure of the ledger. The answer to the client doesn't give the cause.
    private func answer(_ body: () throws -> Response) throws -> Response {
        do {
            return try body()
        } catch let error as LedgerError {
            report(error)
            throw error
        }
    }

    private func report(_ error: LedgerError) {
        if error.isOfLedger { log.write("ledger", error) }
    }

    // MARK: Evidence

    private func redeem(
        _ request: Request, _ asked: RedeemRequest, respond: @escaping @Sendable (Response) -> Void
    ) {
        // Read first: if the account is deleted meanwhile, its attempt isn't recorded.
        let floor = attempts?.lastFloor
        let now = clock()
        @Sendable func attempted(
            _ code: String, unwrapped: [String], _ outcomes: [TransactionOutcome] = [], order: Int64? = nil
        ) {
            counts.add(attempt: code)
            attempts?.add(
                Attempt(
                    request.id, of: asked.account, asked.evidence, isWrapped: !unwrapped.isEmpty, code: code, outcomes,
                    order: order ?? floor, at: now))
        }
        @Sendable func refuse(_ error: any Error, unwrapped: [String]) {
            if let refusal = error as? any Refusal { attempted(refusal.response.code, unwrapped: unwrapped) }
            respond(response(to: request) { throw error })
        }
        let evidence: VerifiedEvidence
        do throws(VerificationError) {
            evidence = try verifier.verify(asked.evidence)
        } catch {
            return refuse(error, unwrapped: error.unwrapped)
        }
        unknownValues.add(evidence.unknownValues)
        ledger.redeem(
            evidence, for: asked.account, accountToken: asked.accountToken,
            idempotencyKey: asked.idempotencyKey, at: now
        ) { result in
            switch result {
            case .failure(let error): refuse(error, unwrapped: evidence.unwrapped)
            case .success(let redemption):
                let code = evidence.nothing?.rawValue ?? "ok"
                // A repeated answer keeps its original number.
                attempted(
                    code, unwrapped: evidence.unwrapped, redemption.outcomes,
                    order: redemption.isRepeated ? nil : redemption.sequence)
                count(redemption.outcomes)
                respond(response(to: request) { answer(redemption, evidence, code) })
            }
        }
    }

    private func answer(_ redemption: Redemption, _ evidence: VerifiedEvidence, _ code: String) -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        if !evidence.unwrapped.isEmpty {
            writer.name("unwrapped")
            writer.beginArray()
            for name in evidence.unwrapped { writer.string(name) }
            writer.endArray()
        }
        writer.outcomes(redemption.outcomes)
        writer.member("nothing", evidence.nothing?.rawValue)
        writer.name("repeated")
        writer.bool(redemption.isRepeated)
        writer.name("sequence")
        writer.integer(redemption.sequence)
        writer.endObject()
        var response = Response(body: writer.bytes, code: code)
        if log.detail == .all { response.logged = [("transactions", Self.summary(redemption.outcomes))] }
        return response
    }

    /// Returns the outcomes as text for the log.
    private static func summary(_ outcomes: [TransactionOutcome]) -> String {
        let named = outcomes.prefix(Attempt.maximumOutcomeCount).map { "\($0.transactionID) \($0.code)" }
        let rest = outcomes.count - named.count
        return (named + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: ", ")
    }

    private func count(_ outcomes: [TransactionOutcome]) {
        counts.add(outcomes)
        for outcome in outcomes where outcome.isOwnerConflict {
            log.write(.warning, "owner-conflict", [("transaction_id", .text(outcome.transactionID))])
        }
    }

    private func record(_ request: Request) throws -> Response {
        let notification: VerifiedNotification
        do throws(VerificationError) {
            notification = try verifier.verifyNotification(request.body)
        } catch {
            if let answer = otherNotifications.answer(to: error, ignoringOtherApps: ignoresOtherApps) { return answer }
            guard let found = NotificationBody(request.body, error, verifier) else { throw error }
            return found.response
        }
        try ledger.record(notification, at: clock())
        notificationTypes.add(notification)
        unknownValues.add(notification.unknownValues)
        return Response(body: Array(#"{"status":"recorded"}"#.utf8))
    }

    // MARK: Accounts

    private func entitlements(_ request: Request) throws -> Response {
        var date = clock()
        if let text = request.queryItem("at") {
            guard let asked = Instant(specified: text) else { throw RequestFault.noDate("at") }
            date = asked
        }
        var environment = AppStoreEnvironment.production
        if let text = request.queryItem("environment") {
            guard let asked = AppStoreEnvironment(rawValue: text) else {
                throw RequestFault.environment
            }
            environment = asked
        } else if let onlyEnvironment = verifier.policy.onlyEnvironment {
            environment = onlyEnvironment
        }
        let consumables = request.queryItem("consumables") ?? "true"
        guard let includingConsumables = Bool(consumables) else {
            throw RequestFault.invalid("'consumables' must be true or false")
        }
        let entitlements = try ledger.entitlements(
            of: request.parameters[0], in: environment, at: date, includingConsumables: includingConsumables)
        let json = entitlements.jsonUTF8 { writer in
            names.write(entitlements, in: environment, apps: verifier.policy.bundleIDs ?? [], to: &writer)
        }
        return Response(body: json)
    }

    private func transfer(_ request: Request) throws -> Response {
        let asked = try TransferRequest(request.body.span)
        // The same id can belong to different purchases in the two environments.
        let environment =
            try asked.environment ?? (asked.transactionID == nil ? nil : verifier.policy.environment(nil))
        let count = try ledger.transfer(
            from: request.parameters[0], to: asked.to, transactionID: asked.transactionID, in: environment,
            movesTokens: asked.movesTokens, reason: asked.reason, at: clock())
        return Response(body: Array("{\"purchases\":\(count)}".utf8))
    }

    private func forget(_ request: Request) throws -> Response {
        let name = try ledger.deleteAccount(request.parameters[0], at: clock())
        // The account is deleted, even if something else fails.
        do throws(LedgerError) { try attempts?.noteDeletion() } catch { report(error) }
        return Response(body: Array("{\"forgotten_as\":\"\(name)\"}".utf8))
    }

    // MARK: Events

    private func deadLetters(_ request: Request) throws -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("events")
        writer.beginArray()
        for letter in try ledger.deadLetters() {
            writer.beginObject()
            writer.member("id", letter.id)
            writer.member("failure", letter.failure)
            writer.name("event")
            let event = Array(letter.event.utf8)
            writer.raw(event.span)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return Response(body: writer.bytes)
    }

    private func unownedEvents(_ request: Request) throws -> Response {
        let events = try ledger.unownedEvents()
        return Response(body: Array("{\"events\":[\(events.joined(separator: ","))]}".utf8))
    }

    private func sendAgain(_ request: Request) throws -> Response {
        let asked = try SendRequest(request.body.span)
        try ledger.sendAgain(eventID: request.parameters[0], reason: asked.reason, at: clock())
        return Response(status: 202, body: Array(#"{"status":"pending"}"#.utf8))
    }
}

/// Counts notifications by type: the only way to learn whether Apple sends a type in production is to receive it.
private final class NotificationTypes: Sendable {
    /// The maximum number of types. Apple has fewer.
    private static let maximumCount = 200

    private struct CountedType: Hashable {
        let environment: AppStoreEnvironment?
        let type: NotificationType?
    }

    private let counts = Mutex<[CountedType: UInt64]>([:])

    func add(_ notification: VerifiedNotification) {
        let counted = CountedType(
            environment: notification.environment, type: notification.notification.payload.type)
        counts.withLock { counts in
            guard counts[counted] != nil || counts.count < Self.maximumCount else { return }
            counts[counted, default: 0] += 1
        }
    }

    var metric: MetricFamily {
        var metric = MetricFamily(
            .counter, "receipt_server_notifications_total", "Notifications that were recorded, repeated ones too.")
        for (counted, count) in counts.withLock({ $0 }) {
            metric.add(
                count,
                [("environment", counted.environment?.rawValue ?? ""), ("type", counted.type?.rawValue ?? "")])
        }
        return metric
    }
}

/// Counts values that Apple has added since this version, by the fields they occur in, which are few.
private final class UnknownValueCounts: Sendable {
    private let counts = Mutex<[String: UInt64]>([:])

    func add(_ places: [String]) {
        guard !places.isEmpty else { return }
        counts.withLock { counts in for place in places { counts[place, default: 0] += 1 } }
    }

    var metric: MetricFamily {
        var metric = MetricFamily(
            .counter, "receipt_server_unknown_values_total",
            "Evidence of the ledger with a value that this version does not know, by the value's place.")
        for (place, count) in counts.withLock({ $0 }) { metric.add(count, [("place", place)]) }
        return metric
    }
}

/// Counts the outcomes sent to clients.
///
/// It has no `Mutex`: threads that wait for one spin, while the one that has it waits for a processor.
private final class OutcomeCounts: @unchecked Sendable {
    private struct Counts {
        var byOutcome: [Outcome: UInt64] = [:]
        /// The counts by the reason that a purchase grants nothing.
        var byReason: [String: UInt64] = [:]
        var ownerConflicts: UInt64 = 0
        /// The number of requests to redeem, by code.
        var attempts: [String: UInt64] = ["ok": 0]
    }

    private let monitor = Monitor()
    /// Guarded by the monitor.
    private var counts = Counts()

    func add(attempt code: String) { monitor.locked { counts.attempts[code, default: 0] += 1 } }

    func add(_ outcomes: [TransactionOutcome]) {
        monitor.locked {
            for outcome in outcomes {
                counts.byOutcome[outcome.outcome, default: 0] += 1
                if let reason = outcome.reason { counts.byReason[reason, default: 0] += 1 }
                if outcome.isOwnerConflict { counts.ownerConflicts += 1 }
            }
        }
    }

    var metrics: [MetricFamily] {
        let counts = monitor.locked { self.counts }
        var outcomes = MetricFamily(
            .counter, "receipt_server_outcomes_total", "Transactions that were redeemed, by outcome.")
        for outcome in Outcome.allCases {
            outcomes.add(counts.byOutcome[outcome] ?? 0, [("outcome", outcome.rawValue)])
        }
        var attempts = MetricFamily(
            .counter, "receipt_server_attempts_total",
            "Requests to redeem, by code: 'ok', that of the refusal, or 'empty-in-app' or 'no-product' without purchases."
        )
        var reasons = MetricFamily(
            .counter, "receipt_server_outcome_reasons_total",
            "Transactions that were redeemed and gave nothing, by reason.")
        for (reason, count) in counts.byReason.sorted(by: { $0.key < $1.key }) {
            reasons.add(count, [("reason", reason)])
        }
        for (code, count) in counts.attempts.sorted(by: { $0.key < $1.key }) { attempts.add(count, [("code", code)]) }
        return [
            outcomes, reasons, attempts,
            MetricFamily(
                .counter, "receipt_server_owner_conflicts_total",
                "Purchases with the account token of the account that submitted them, which another account owns.",
                value: counts.ownerConflicts),
        ]
    }
}

extension ServiceLog {
    package func write(_ event: StaticString, _ error: LedgerError) {
        // A database's message can quote the values of a row, but not in its first line.
        write(.error, event, [("code", .text(error.code.rawValue)), ("message", .text(error.detail))])
    }
}

extension JSONWriter {
    mutating func outcomes(_ outcomes: [TransactionOutcome]) {
        name("outcomes")
        beginArray()
        for outcome in outcomes { self.outcome(outcome) }
        endArray()
    }

    fileprivate mutating func outcome(_ outcome: TransactionOutcome) {
        beginObject()
        member("transaction_id", outcome.transactionID)
        member("original_transaction_id", outcome.originalTransactionID)
        member("granted_as", outcome.grantedAs)
        member("product_id", outcome.productID)
        member("outcome", outcome.outcome.rawValue)
        name("may_finish")
        bool(outcome.mayFinish)
        member("quantity", outcome.quantity)
        member("seats", outcome.seats.map(Int64.init))
        member("access", outcome.access?.code)
        member("reason", outcome.reason)
        member("until", outcome.until?.description)
        member("purchase_date", outcome.purchaseDate.description)
        member("length", outcome.length)
        member("price", outcome.price)
        member("currency", outcome.currency)
        member("storefront", outcome.storefront)
        // The same words as in the entitlements.
        member("product_type_source", outcome.isTypeStated.map { $0 ? "setting" : "evidence" })
        member("bundle_id", outcome.bundleID)
        member("environment", outcome.environment?.rawValue)
        endObject()
    }
}

extension TransactionOutcome {
    /// The outcome, followed by the reason if it adds something.
    fileprivate var code: String {
        let own = outcome.rawValue
        return [own, reason.flatMap { $0.hasSameBytes(as: own) ? nil : $0 }].compactMap(\.self).joined(separator: " ")
    }
}
