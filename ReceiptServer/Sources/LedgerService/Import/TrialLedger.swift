import HTTPService
import PurchaseLedger

/// An empty ledger in a file of its own, which is removed with it. It takes the lines of an import that is to change
/// nothing, with what the true ledger has about them.
final class TrialLedger {
    let ledger: PurchaseLedger
    private let path: String
    private var copied = TrialCopies()

    init(_ policy: LedgerPolicy) throws(LedgerError) {
        path = System.temporaryPath("receipt-server-import")
        ledger = try PurchaseLedger(creating: path, policy: policy)
        try ledger.prepareTrial()
    }

    deinit { for suffix in ["", "-wal", "-shm"] { System.remove(path + suffix) } }

    /// Copies what `ledger` has about lines.
    func copy(about lines: [ImportedLine], from ledger: PurchaseLedger) throws(LedgerError) {
        try ledger.copy(about: lines, to: self.ledger, without: &copied)
    }
}
