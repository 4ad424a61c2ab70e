import HTTPService
import PurchaseLedger

/// A ledger in a temporary file, which is deleted with it. A dry run copies the real ledger's data about the lines into
/// it, and then imports them.
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

    /// Copies the data about lines from `ledger`.
    func copy(about lines: [ImportedLine], from ledger: PurchaseLedger) throws(LedgerError) {
        try ledger.copy(about: lines, to: self.ledger, without: &copied)
    }
}
