import HTTPService
import PurchaseLedger

/// An empty ledger in a file of its own, which is removed with it.
final class TrialLedger: Sendable {
    let ledger: PurchaseLedger
    private let path: String

    init(_ policy: LedgerPolicy) throws(LedgerError) {
        path = System.temporaryPath("receipt-server-import")
        ledger = try PurchaseLedger(path, policy: policy)
    }

    deinit { for suffix in ["", "-wal", "-shm"] { System.remove(path + suffix) } }
}
