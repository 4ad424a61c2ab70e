import HTTPService
import LedgerService

extension ReceiptServer {
    /// The commands of the executable other than running the service.
    enum Command: String, CaseIterable {
        case initialize = "init"
        case `import`
        case checkApple = "check-apple"
        case reconcile

        var options: OptionTable {
            let own =
                switch self {
                case .initialize: NewLedger.options
                case .import: LedgerImport.options
                case .checkApple: AskAppleCommand.checkOptions
                case .reconcile: AskAppleCommand.reconcileOptions
                }
            let evidence = self == .initialize ? [] : ReceiptConfiguration.options
            return OptionTable(evidence + own, command: "receipt-server \(rawValue)")
        }

        /// The usage without the name of the executable.
        var usage: String {
            switch self {
            case .initialize: "init --ledger FILE|URI"
            case .import:
                """
                import FILE --ledger FILE|URI [--dry-run] [OPTION]...
                       receipt-server import --runs --ledger FILE|URI
                """
            case .checkApple: "check-apple --ask-apple FILE --ledger FILE|URI [OPTION]..."
            case .reconcile:
                """
                reconcile --ask-apple FILE --ledger FILE|URI [--since DATE] [--account ID]
                                                [--dry-run] [OPTION]...
                       receipt-server reconcile --ended --ledger FILE|URI [OPTION]...
                """
            }
        }

        var summary: String {
            switch self {
            case .initialize:
                """
                init makes a new, empty ledger, once: without one, nothing else starts. Exit status: 0, 1 if the
                database does not answer, 2 if there is a ledger.
                """
            case .import:
                """
                import takes tokens, transactions that were granted before, and stored receipts from JSON lines or
                CSV: see RUNBOOK.md. Interrupted, it goes on where it was. --dry-run changes nothing. --runs lists the
                imports. Exit status: 0, 1 if a line is faulty or contradicts the ledger, if another import is running,
                or if the database does not answer, 2 for a configuration with which it cannot begin, or a file of
                which the part that was read has changed.
                """
            case .checkApple:
                """
                check-apple says whether Apple accepts the keys, and whether its notifications arrive: see
                RECONCILE.md. Exit status: 0, 1 if they do not arrive or Apple does not answer, 2 if Apple refuses a key
                or the configuration cannot work.
                """
            case .reconcile:
                """
                reconcile asks Apple for what the ledger does not know, once: see RECONCILE.md. Exit status: 0, 1 if
                something is missing or left over, 2 if Apple refuses a key or the configuration cannot work.
                """
            }
        }

        var help: String {
            """
            usage: receipt-server \(usage)

            \(summary)

            \(ReceiptServer.optionsHelp)

            \(options.help)
            """
        }
    }

    /// The introduction to the options in the help text.
    static let optionsHelp = """
        Options, each with the environment variable that has the same effect. A variable separates several
        values by commas. An option on the command line counts instead of its variable.
        """
}
