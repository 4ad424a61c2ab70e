package import HTTPService
import PurchaseLedger

/// The command `receipt-server init`: creates a ledger. Only `--new-ledger` also does.
package enum NewLedger {
    package static let options = LedgerService.options.filter { $0.name == "--ledger" }

    /// - Returns: The exit status.
    package static func make(
        _ values: OptionTable.Values, print: (String, _ isError: Bool) -> Void
    ) throws(ConfigurationError) -> Int32 {
        guard let location = values["--ledger"] else { throw ConfigurationError("init needs --ledger") }
        do throws(LedgerError) {
            let ledger = try PurchaseLedger(creating: location)
            try ledger.completeFile()
            print("made the ledger \(try ledger.summary().id)", false)
            return 0
        } catch {
            throw ConfigurationError("--ledger: \(error)", isTemporary: error.code == .storeUnavailable)
        }
    }
}
