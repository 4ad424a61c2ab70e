import HTTPService
import LedgerService
import SupportDesk

/// The command `receipt-server`.
package enum ReceiptServer {
    package static let version = "0.3.0"

    static let options = OptionTable(
        ReceiptConfiguration.options + LedgerService.options + SupportConfiguration.options + Service.options)
    static let importOptions = OptionTable(ReceiptConfiguration.options + LedgerImport.options)
    static let checkOptions = OptionTable(ReceiptConfiguration.options + AskAppleCommand.checkOptions)
    static let reconcileOptions = OptionTable(ReceiptConfiguration.options + AskAppleCommand.reconcileOptions)

    static var help: String {
        """
        receipt-server: answers what Apple's verifyReceipt answered, and verifies everything that Apple signs
        for the App Store, without asking Apple.

        usage: receipt-server [OPTION]...
               receipt-server import FILE --ledger FILE|URI [--dry-run] [OPTION]...
               receipt-server check-apple --ask-apple FILE --ledger FILE|URI [OPTION]...
               receipt-server reconcile --ask-apple FILE --ledger FILE|URI [--since DATE] [--account ID]
                                        [--dry-run] [OPTION]...

        POST /verifyReceipt             as Apple's server, for the environments of --environment
        POST /production/verifyReceipt  as buy.itunes.apple.com
        POST /sandbox/verifyReceipt     as sandbox.itunes.apple.com
        POST /v1/verify                 any evidence; the answer is the verdict
        POST /v1/entitlements           {"evidence":["…"],"at":"2025-01-31T12:00:00Z"}
        GET  /healthz, /readyz

        With --ledger, for those who have a token:

        POST /v1/redeem                     {"account":"…","evidence":"…"}; grants each purchase once
        GET  /v1/accounts/{id}/entitlements what an account owns
        GET  /v1/accounts/{id}/history      what happened to an account
        GET  /v1/transactions/{environment}/{bundle_id}/{id}
                                            what Apple signed, who has it, what was told, who tried
        POST /v1/accounts/{id}/transfer     {"to":"…","reason":"…"}
        POST /v1/accounts/{id}/adjust       {"transaction_id":"…","quantity":3,"reason":"…"}
        DELETE /v1/accounts/{id}            forgets the account; its purchases stay spent
        GET  /v1/events/dead                what the webhook did not take
        POST /v1/events/{id}/send           sends an event again
        POST /v1/notifications              for Apple: App Store Server Notifications, without a token

        With --support, for staff: a page on a listener of its own. See SUPPORT.md.

        With --orders:

        POST /v1/accounts/{id}/token        the token with which the account's app buys
        POST /v1/orders                     {"account":"…","product_id":"…"}; announces a purchase
        GET  /v1/orders/{id}                what came of it
        GET  /v1/orders?without=order       new purchases that no order announced

        With --ask-apple:

        POST /v1/recover                    {"transaction_id":"…"} or {"order_id":"MX…"}, and {"account":"…"} to
                                            redeem it; asks Apple about one purchase

        import takes tokens, transactions that were granted before, and stored receipts from JSON lines or
        CSV: see RUNBOOK.md. Interrupted, it goes on where it was. --dry-run changes nothing. Exit status: 0, 1
        if a line is faulty or contradicts the ledger, or if the database does not answer.

        check-apple says whether Apple accepts the keys, and whether its notifications arrive. reconcile asks
        Apple for what the ledger does not know, once: see RECONCILE.md. Exit status of both: 0, 1 if something
        is missing or left over, 2 if Apple refuses a key or the configuration cannot work.

        Options, each with the environment variable that has the same effect. A variable separates several
        values by commas. An option on the command line counts instead of its variable.

        \(options.help)

          --help       Prints this help.
          --version    Prints the version.

        SIGTERM ends the service when the requests under way are answered. Exit status: 0 after SIGTERM or
        SIGINT, 1 for a ledger whose database does not answer at the start, 2 for a configuration with which it
        cannot start.
        """
    }

    /// Runs the command.
    ///
    /// - Parameter print: Prints to standard output or, for an error, to standard error.
    /// - Returns: The exit status.
    package static func run(
        _ arguments: [String], environment: (String) -> String?, print: @escaping (String, _ isError: Bool) -> Void
    ) -> Int32 {
        do throws(ConfigurationError) {
            // Whatever else is wrong, these are answered.
            if arguments.contains("--help") {
                print(help, false)
                return 0
            }
            if arguments.contains("--version") {
                print("receipt-server \(version)", false)
                return 0
            }
            if arguments.first == "import" {
                return try importFile(Array(arguments.dropFirst()), environment: environment, print: print)
            }
            if let options = ["check-apple": checkOptions, "reconcile": reconcileOptions][arguments.first ?? ""] {
                let values = try options.read(Array(arguments.dropFirst()), environment: environment)
                let configuration = try ReceiptConfiguration(values)
                let receipts = try ReceiptRoutes(configuration)
                let isCheck = arguments.first == "check-apple"
                let command = try AskAppleCommand(
                    values, receipts.verifier, configuration.productTypes, isCheck: isCheck, print: print)
                return try isCheck ? command.check() : command.reconcile()
            }
            let values = try options.read(arguments, environment: environment)
            let configuration = try ReceiptConfiguration(values)
            let log = ServiceLog(detail: try detail(values))
            let support = try SupportConfiguration(values)
            let state = ServiceState()
            // Before the ledger: a server that does not start makes no tables.
            var service = try Service(values, RouteTable(healthRoutes(state)), log, state)
            try service.checkAddresses(and: [support?.address].compactMap(\.self))
            let receipts = try ReceiptRoutes(configuration)
            let ledger = try LedgerService(values, receipts.verifier, configuration.productTypes, log)
            service.routes = RouteTable(receipts.routes + (ledger?.routes ?? []) + healthRoutes(state))
            let desk = ledger.flatMap { ledger in
                support.map { support in
                    var desk = SupportDesk(
                        support, ledger.ledger, ledger.tokens, receipts.verifier, configuration.productTypes, log)
                    desk.askApple = ledger.reconciler?.inquiry
                    return desk
                }
            }
            if let desk { service.others.append(desk.listener(service.limits)) }
            service.metrics = { receipts.metrics() + (ledger?.metrics() ?? []) + (desk?.metrics ?? []) }
            if let ledger {
                @Sendable func warnWithoutToken() {
                    guard support != nil, !ledger.tokens.hasToken(for: .support) else { return }
                    let message =
                        "nobody can sign in to the support desk: no line of --token-file has the scope 'support'"
                    log.write(.warning, "support-without-token", [("message", .text(message))])
                }
                warnWithoutToken()
                service.reload = {
                    ledger.reload()
                    warnWithoutToken()
                }
                service.start = { () throws(ConfigurationError) in try ledger.start() }
            }
            service.configuration =
                configuration.summary + [
                    ("ledger", .text(LedgerService.kind(values))),
                    ("webhook", .text(ledger?.webhookOrigin ?? "none")),
                    ("asks_apple", .text(ledger?.askedApps ?? "no")),
                ]
            warn(configuration, log)
            if support?.isExposed ?? false {
                let message =
                    "the support desk is reached in clear text: put TLS in front, and name it: --support-origin https://…"
                log.write(.warning, "support-without-tls", [("message", .text(message))])
            }
            try service.run()
            return 0
        } catch {
            print("receipt-server: \(error)", true)
            return error.isTemporary ? 1 : 2
        }
    }

    private static func importFile(
        _ arguments: [String], environment: (String) -> String?, print: @escaping (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) -> Int32 {
        guard let file = arguments.first, file.utf8.first != UInt8(ascii: "-") else {
            throw ConfigurationError("import needs a file: receipt-server import FILE --ledger FILE|URI")
        }
        let values = try importOptions.read(Array(arguments.dropFirst()), environment: environment)
        let configuration = try ReceiptConfiguration(values)
        let receipts = try ReceiptRoutes(configuration)
        var work = try LedgerImport(file, values, receipts.verifier, configuration.productTypes, print: print)
        return try work.run()
    }

    private static func detail(_ values: OptionTable.Values) throws(ConfigurationError) -> ServiceLog.Detail {
        guard let text = values["--log"] else { return .problems }
        guard let detail = ServiceLog.Detail(rawValue: text) else {
            throw ConfigurationError("--log must be 'none', 'problems' or 'all', and is '\(text)'")
        }
        return detail
    }

    private static func warn(_ configuration: ReceiptConfiguration, _ log: ServiceLog) {
        func warn(_ event: StaticString, _ message: String) {
            log.write(.warning, event, [("message", .text(message))])
        }
        let environments = configuration.policy.environments
        if configuration.policy.bundleIDs == nil {
            warn(
                "no-bundle-id",
                "receipts of every app are accepted: compare the bundle id in each answer, or pass --bundle-id")
        }
        if environments.isSuperset(of: [.production, .sandbox]) {
            warn("both-environments", "nobody pays in the sandbox: look at the environment in each answer")
        }
        if configuration.trust != .apple {
            warn(
                "not-apple", "other roots are trusted than Apple's: whoever has their keys decides what is granted")
        }
        let unknown = options.unknownVariables(among: System.environmentNames)
        if !unknown.isEmpty {
            warn("unknown-variables", "no option has these variables: \(unknown.joined(separator: ", "))")
        }
    }
}
