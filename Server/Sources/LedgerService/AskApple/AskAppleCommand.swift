package import AppStoreReceipt
package import HTTPService
import PurchaseLedger
import Reconciliation
import Synchronization

/// `receipt-server check-apple` and `receipt-server reconcile`: what both need, and the second.
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
        ]

    private static let options: [OptionTable.Option] = LedgerService.options.filter {
        [
            "--ledger", "--product-id", "--orders", "--require-token", "--order-hours", "--ask-apple", "--confirm",
            "--refund-sweep",
        ].contains($0.name)
    }

    private let values: OptionTable.Values
    private let file: AskAppleFile
    private let ledger: PurchaseLedger
    private let print: (String, _ isError: Bool) -> Void

    /// - Parameter isCheck: Whether the ledger is only read, as with `--dry-run`.
    package init(
        _ values: OptionTable.Values, _ verifier: AppStoreVerifier, _ productTypes: [String: StatedProductType],
        isCheck: Bool, print: @escaping (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) {
        (self.values, self.print) = (values, print)
        guard let location = values["--ledger"] else { throw ConfigurationError("the command needs --ledger") }
        guard let file = try AskApple.file(values, verifier) else {
            throw ConfigurationError("the command needs --ask-apple")
        }
        self.file = file
        let policy = try LedgerService.policy(values, productTypes, file)
        do throws(LedgerError) {
            ledger = try PurchaseLedger(location, policy: policy, asItIs: isCheck || values["--dry-run"] != nil)
        } catch {
            throw ConfigurationError("--ledger: \(error)", isTemporary: error.code == .storeUnavailable)
        }
        if ledger.wasCreated { print(LedgerService.createdMessage, true) }
    }

    /// - Returns: The exit status: 0, 1 if notifications do not arrive or Apple cannot be asked, or 2 if something of the configuration is wrong.
    package func check() -> Int32 {
        var check = CheckApple(ledger) { print($0, false) }
        return check.run(file.askers)
    }

    // MARK: Reconciling

    /// - Returns: The exit status: 0 if all is known, 1 if something is left over, refused or lost, or 2 if Apple refuses a key.
    package func reconcile() throws(ConfigurationError) -> Int32 {
        var since: Instant?
        if let text = values["--since"] {
            guard let date = Instant(specified: text) else {
                throw ConfigurationError("--since must be \(Instant.specifiedSyntax), and is '\(text)'")
            }
            since = date
        }
        if since != nil, values["--account"] != nil {
            throw ConfigurationError("--since and --account exclude each other")
        }
        let hasGap = Atomic(false)
        let ended = Mutex<[String]>([])
        var options = Reconciler.Options(ledger.policy.surroundings)
        options.onFinding = { finding in
            switch finding {
            case .gap: hasGap.store(true, ordering: .relaxed)
            case .endedUnheard(let app, let id):
                ended.withLock { $0.append("ended \(app.bundleID) \(app.environment.rawValue) \(id)") }
            default: break
            }
        }
        let reconciler = Reconciler(ledger, file.askers.map(\.app), options)
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
            for line in ended.withLock(\.self) { print(line, false) }
            if result.status == 0, hasGap.load(ordering: .relaxed) || result.counts.refused.total > 0 { return 1 }
            return result.status
        } catch {
            throw ConfigurationError("\(error); run it again, and it goes on", isTemporary: true)
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
                print("\(title) \(item.app.bundleID) \(item.app.environment.rawValue) \(item.name) \(count)", false)
            }
        }
        for (kind, count) in result.events { print("would-tell \(kind) \(count)", false) }
        for (priority, count) in result.due.sorted(by: { $0.key < $1.key }) {
            print("would-ask priority \(priority) \(count)", false)
        }
        for (app, from, until) in result.gaps {
            print("gap \(app.bundleID) \(app.environment.rawValue) \(from) \(until)", false)
        }
        for purchase in result.unowned {
            print(
                "unowned \(purchase.app.bundleID) \(purchase.app.environment.rawValue) \(purchase.transactionID) \(purchase.productID) \(purchase.purchaseDate)",
                false)
        }
        if let message = result.configuration { print(message, true) }
    }
}

extension [ReconciliationCounts.Item: Int] {
    fileprivate var total: Int { values.reduce(0, +) }
}
