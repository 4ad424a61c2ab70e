package import AppStoreReceipt
package import HTTPService
import PurchaseLedger
import Reconciliation
import StrictText
import Synchronization

/// The commands `receipt-server check-apple` and `receipt-server reconcile`.
package struct AskAppleCommand {
    package static let checkOptions: [OptionTable.Option] = options
    package static let reconcileOptions: [OptionTable.Option] =
        options + [
            .init(
                "--since", "DATE",
                "Ask for all notifications since DATE, such as 2026-12-31, and not only for those that are not known to have arrived. After a restored back-up: the date of the back-up."
            ),
            .init("--account", "ID", "Ask about each purchase of this account, and about nothing else."),
            .init(
                "--dry-run", "",
                "Change nothing but the number of requests to Apple. Count what is missing, and what would change."),
            .init(
                "--ended", "",
                "Ask nothing. List the periods that ended before the ledger knew of them, and that were not listed before."
            ),
        ]

    private static let options: [OptionTable.Option] = LedgerService.options.filter {
        [
            "--ledger", "--product-id", "--orders", "--require-token", "--order-hours", "--ask-apple", "--confirm",
            "--refund-sweep", "--lifecycle-events",
        ].contains($0.name)
    }

    private let values: OptionTable.Values
    private let askers: [AskAppleFile.Asker]
    private let ledger: PurchaseLedger
    private let print: (String, _ isError: Bool) -> Void

    /// - Parameter isCheck: Whether to only read the ledger, as with `--dry-run`.
    package init(
        _ values: OptionTable.Values, _ verifier: AppStoreVerifier, _ productTypes: ProductCatalog,
        isCheck: Bool, print: @escaping (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) {
        (self.values, self.print) = (values, print)
        guard let location = values["--ledger"] else { throw ConfigurationError("the command needs --ledger") }
        let file = try AskApple.file(values, verifier)
        guard file != nil || values["--ended"] != nil else {
            throw ConfigurationError("the command needs --ask-apple")
        }
        askers = file?.askers ?? []
        let policy = try LedgerService.policy(values, productTypes, file)
        do throws(LedgerError) {
            ledger = try PurchaseLedger(location, policy: policy, asItIs: isCheck || values["--dry-run"] != nil)
        } catch {
            throw ConfigurationError("--ledger: \(error)", isTemporary: error.code == .storeUnavailable)
        }
    }

    /// - Returns: The exit status: 0, 1 if notifications don't arrive or Apple can't be queried, or 2 if the
    ///   configuration is wrong.
    package func check() -> Int32 {
        var check = CheckApple(ledger) { print($0, false) }
        return check.run(askers)
    }

    // MARK: Reconciling

    /// - Returns: The exit status: 0 if everything is known, 1 if something is left over, refused or lost, or 2 if
    ///   Apple refuses a key.
    package func reconcile() throws(ConfigurationError) -> Int32 {
        var since: Instant?
        if let text = values["--since"] {
            guard let date = Instant(specified: text) else {
                throw ConfigurationError("--since must be \(Instant.specifiedSyntax), and is '\(text)'")
            }
            since = date
        }
        if let account = values["--account"], !LedgerText.isStorable(account) {
            throw ConfigurationError("--account must have 1 to 255 bytes without NUL")
        }
        if since != nil, values["--account"] != nil {
            throw ConfigurationError("--since and --account exclude each other")
        }
        if values["--ended"] != nil {
            guard since == nil, values["--account"] == nil else {
                throw ConfigurationError("--ended excludes --since and --account")
            }
            do throws(LedgerError) { try listEnded() } catch { throw Self.interrupted(error) }
            return 0
        }
        let hasGap = Atomic(false)
        var options = Reconciler.Options(ledger.policy.surroundings)
        let printer = FindingPrinter { print($0, false) }
        options.onFinding = { finding in
            if case .gap = finding { hasGap.store(true, ordering: .relaxed) }
            printer.print(finding)
        }
        let reconciler = Reconciler(ledger, askers.map(\.app), options)
        var nextReport = ContinuousClock.now + .seconds(5)
        do throws(LedgerError) {
            let result = try reconciler.reconcile(
                since: since, account: values["--account"], dryRun: values["--dry-run"] != nil
            ) { counts in
                guard ContinuousClock.now >= nextReport else { return }
                nextReport = ContinuousClock.now + .seconds(5)
                print("\(counts.requestCount) requests, \(counts.seen.total) notifications", true)
            }
            report(result)
            if values["--orders"] != nil { print("waiting-for-token \(try ledger.waitingPurchaseCount())", false) }
            if values["--account"] == nil { try ledger.forEachPurchaseWithoutOwner(report) }
            if let message = result.configuration { print(message, true) }
            if values["--dry-run"] == nil { try listEnded() }
            if result.status == 0, hasGap.load(ordering: .relaxed) || result.counts.refused.total > 0 { return 1 }
            return result.status
        } catch {
            throw Self.interrupted(error)
        }
    }

    private static func interrupted(_ error: LedgerError) -> ConfigurationError {
        ConfigurationError("\(error); run it again, and it goes on", isTemporary: true)
    }

    /// Prints the periods that ended without a notification, and records that they were listed. If the process is
    /// killed in between, the next run lists some of them again.
    private func listEnded() throws(LedgerError) {
        var last: EndedPeriod?
        while case let periods = try ledger.endedPeriods(limit: 1000, after: last), !periods.isEmpty {
            last = periods.last
            for period in periods {
                let (name, account) = (period.name, period.account.map { " " + $0.printable } ?? "")
                print(
                    "ended \(name.bundleID.printable) \(name.environment.rawValue) \(name.transactionID.printable)\(account)",
                    false)
            }
            if values["--dry-run"] != nil { continue }
            try ledger.noteListed(periods, at: ledger.policy.surroundings.date())
        }
    }

    private func report(_ result: ReconcileResult) {
        let counts = result.counts
        let recovered = counts.recovered.total
        for (name, count) in [
            ("requests", counts.requestCount), ("notifications", counts.seen.total),
            ("known", counts.seen.total - recovered), ("recovered", recovered), ("refused", counts.refused.total),
            ("status-mismatches", counts.statusMismatches.values.reduce(0, +)),
            ("unknown", counts.unknown.values.reduce(0, +)), ("left-over", result.leftOver),
        ] { print("\(name) \(count)", false) }
        for (title, counts) in [("recovered", counts.recovered), ("refused", counts.refused)] {
            for (item, count) in counts {
                print(
                    "\(title) \(item.app.bundleID) \(item.app.environment.rawValue) \(item.name.printable) \(count)",
                    false)
            }
        }
        for (kind, count) in result.events { print("would-tell \(kind) \(count)", false) }
        for (priority, count) in result.due.sorted(by: { $0.key < $1.key }) {
            print("would-ask priority \(priority) \(count)", false)
        }
        for (app, from, until) in result.gaps {
            print("gap \(app.bundleID) \(app.environment.rawValue) \(from) \(until)", false)
        }
    }

    private func report(_ purchase: UnownedPurchase) {
        print(
            "unowned \(purchase.app.bundleID.printable) \(purchase.app.environment.rawValue) \(purchase.transactionID.printable) \(purchase.productID.printable) \(purchase.purchaseDate)",
            false)
    }
}

extension [ReconciliationCounts.Item: Int] {
    fileprivate var total: Int { values.reduce(0, +) }
}

/// Prints findings as they are made, so that a run that is killed has printed its findings.
private final class FindingPrinter: @unchecked Sendable {
    private let lock = Mutex(())
    /// Called within the lock.
    private let body: (String) -> Void

    init(_ body: @escaping (String) -> Void) { self.body = body }

    func print(_ finding: Finding) {
        if let line = finding.line { lock.withLock { _ in body(line) } }
    }
}

extension Finding {
    /// The line for a finding that needs a person or would change something, or `nil` for findings that are listed or
    /// summed up at the end.
    fileprivate var line: String? {
        func line(_ title: String, _ app: AskedApp, _ words: String?...) -> String {
            let name = [app.bundleID.printable, app.environment.rawValue]
            return ([title] + name + words.map { $0?.printable ?? "-" }).joined(separator: " ")
        }
        switch self {
        case .refused(let app, let code, let id): return line("refused-item", app, code, id)
        case .unknown(let unknown):
            return line("unknown-at-apple", unknown.app, unknown.transactionID, unknown.signer)
        case .failed(let inquiry, let failure):
            return line("question-failed", inquiry.app, inquiry.kind.rawValue, inquiry.subject, failure)
        case .statusMismatch(let app, let id): return line("status-mismatch", app, id)
        case .leftOver(let app, let id, let reason): return line("left-over-of", app, id, reason)
        case .missing(let app, let type, let uuid, let events):
            return line("missing", app, type, uuid, events.isEmpty ? nil : events.joined(separator: ","))
        default: return nil
        }
    }
}
