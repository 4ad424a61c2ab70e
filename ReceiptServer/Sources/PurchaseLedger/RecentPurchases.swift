import AppStoreReceipt
import ServerThreads

/// The purchases of the last minutes that requests have submitted to this process.
///
/// Most purchases are submitted within seconds, when the ledger cannot know them yet. This finds those for which a look
/// at a snapshot would be in vain. It is a guess, which decides only how an answer is found.
final class RecentPurchases: @unchecked Sendable {
    /// The age from which a purchase is likely to be known.
    private static let age = Duration.seconds(600)
    /// The number of transactions after which the older half is forgotten.
    private let capacity: Int
    private let monitor = Monitor()
    /// Guarded by the monitor.
    private var newer: Set<TransactionKey> = []
    private var older: Set<TransactionKey> = []

    init(capacity: Int = 16_384) { self.capacity = capacity }

    /// Returns whether a submission has a recent purchase that none before it had, and remembers those that it has.
    func insert(_ submission: Submission, at now: Instant) -> Bool {
        let recent = submission.purchases.lazy.filter { $0.signed.purchase.purchaseDate > now - Self.age }
            .compactMap(\.keys?.transaction)
        var isNew = false
        for key in recent {
            monitor.locked {
                guard !older.contains(key), newer.insert(key).inserted else { return }
                isNew = true
                if newer.count >= capacity / 2 { (older, newer) = (newer, []) }
            }
        }
        return isNew
    }
}
