@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import LedgerService
import SupportDesk

/// The command `receipt-server`.
package enum ReceiptServer {
    package static let version = "0.3.0"

    static let options = OptionTable(
        ReceiptConfiguration.options + LedgerService.options + SupportConfiguration.options + Service.options)

    static var help: String {
        """
        receipt-server: a replacement for Apple's verifyReceipt that verifies everything Apple signs for the
        App Store. It contacts Apple only with --ask-apple.

        usage: receipt-server [OPTION]...
        \(Command.allCases.map { "       receipt-server " + $0.usage }.joined(separator: "\n"))

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
        GET  /v1/accounts/{id}/tokens       the tokens with which it buys, newest first
        GET  /v1/transactions/{environment}/{bundle_id}/{id}
                                            what Apple signed, its owner, events and attempts
        POST /v1/accounts/{id}/transfer     {"to":"…","reason":"…"}
        POST /v1/accounts/{id}/adjust       {"transaction_id":"…","quantity":3,"reason":"…"}
        DELETE /v1/accounts/{id}            deletes the account; its purchases stay spent
        GET  /v1/events/dead                events that the webhook refused for too long
        GET  /v1/events/unowned             lifecycle events of purchases that nobody owns
        POST /v1/events/{id}/send           sends an event again
        POST /v1/notifications              for Apple: App Store Server Notifications, without a token

        With --support, for staff: a page on a listener of its own. See SUPPORT.md.

        With --orders:

        POST /v1/accounts/{id}/token        the token with which the account's app buys
        POST /v1/orders                     {"account":"…","product_id":"…"}; announces a purchase
        GET  /v1/orders/{id}                what came of it
        GET  /v1/orders?without=order       new purchases that no order announced

        With --ask-apple:

        POST /v1/recover                    {"transaction_id":"…"} or {"apple_order_id":"MX…"}, "account" to
                                            redeem it, "environment" if both; asks Apple about one purchase

        \(Command.allCases.map(\.summary).joined(separator: "\n\n"))

        With --help, each prints its options. Those of the service:

        \(optionsHelp)

        \(options.help)

          --help       Prints this help.
          --version    Prints the version.

        SIGTERM ends the service once the requests under way are answered. Exit status: 0 after SIGTERM or
        SIGINT, 1 for a ledger whose database does not answer at the start, 2 for a configuration with which it
        cannot start, or a ledger that does not exist.
        """
    }

    /// Runs the command.
    ///
    /// - Parameter print: Prints to standard output, or to standard error if `isError` is `true`.
    /// - Returns: The exit status.
    package static func run(
        _ arguments: [String], environment: (String) -> String?, print: @escaping (String, _ isError: Bool) -> Void
    ) -> Int32 {
        do throws(ConfigurationError) {
            let command = arguments.first.flatMap(Command.init)
            // Answer these even if other arguments are wrong.
            if arguments.contains("--help") {
                print(command?.help ?? help, false)
                return 0
            }
            if arguments.contains("--version") {
                print("receipt-server \(version)", false)
                return 0
            }
            if let command { return try run(command, arguments.dropFirst(), environment: environment, print: print) }
            if let word = arguments.first, word.utf8.first != UInt8(ascii: "-") {
                let commands = Command.allCases.map(\.rawValue).joined(separator: ", ")
                throw ConfigurationError("'\(word)' is no command; there are \(commands)")
            }
            let values = try options.read(arguments, environment: environment)
            let configuration = try ReceiptConfiguration(values)
            let log = ServiceLog(detail: try detail(values))
            let support = try SupportConfiguration(values)
            let state = ServiceState()
            // Do this before opening the ledger: a server that can't start must not create tables.
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
            service.metrics = {
                receipts.metrics(without: ledger?.verdictsCountedApart ?? [:]) + (ledger?.metrics() ?? [])
                    + (desk?.metrics ?? [])
            }
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
                configuration.summary + [("ledger", .text(LedgerService.kind(values)))] + (ledger?.identity ?? []) + [
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

    private static func run(
        _ command: Command, _ arguments: ArraySlice<String>, environment: (String) -> String?,
        print: @escaping (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) -> Int32 {
        var arguments = arguments
        var file: String?
        if command == .import, let first = arguments.first, first.utf8.first != UInt8(ascii: "-") {
            file = arguments.popFirst()
        }
        let values = try command.options.read(Array(arguments), environment: environment)
        if command == .initialize { return try NewLedger.make(values, print: print) }
        if command == .import, values["--runs"] != nil {
            try LedgerImport.listRuns(values, print: print)
            return 0
        }
        let configuration = try ReceiptConfiguration(values)
        let (verifier, products) = (try ReceiptRoutes(configuration).verifier, configuration.productTypes)
        switch command {
        case .initialize: return 0
        case .import:
            guard let file else {
                throw ConfigurationError("import needs a file: receipt-server import FILE --ledger FILE|URI")
            }
            let work = try LedgerImport(file, values, verifier, products, print: print)
            return try work.run()
        case .checkApple:
            return try AskAppleCommand(values, verifier, products, isCheck: true, print: print).check()
        case .reconcile:
            return try AskAppleCommand(values, verifier, products, isCheck: false, print: print).reconcile()
        }
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
        let environments = configuration.policy.acceptedEnvironments
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
