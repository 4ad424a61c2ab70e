import AppStoreReceipt
import PurchaseLedger
import StrictText

/// The pages read so far of a customer's transaction history.
struct HistoryReading: Sendable {
    /// The subject of a history.
    struct Subject: Hashable, Sendable {
        let app: AskedApp
        /// The subscriptions in question.
        let asked: [UTF8Bytes]
        let groups: [UTF8Bytes]
    }

    private(set) var transactions: [Verified<TransactionInfo>] = []
    private(set) var refused: [Reconciler.RefusedItem] = []
    /// The revision from which the next page continues, or `nil` for the first page.
    var revision: String?
    /// The index of each transaction.
    private var indexes: [UTF8Bytes: Int] = [:]

    /// Adds the transactions of a page. If one is repeated because it has changed, the latest signature counts.
    ///
    /// - Returns: Whether the page has a transaction that no earlier page had.
    mutating func add(_ page: [Verified<TransactionInfo>], _ refused: [Reconciler.RefusedItem]) -> Bool {
        self.refused += refused
        let count = transactions.count
        for transaction in page {
            guard let id = transaction.transactionID.map(UTF8Bytes.init) else { continue }
            if let index = indexes[id] {
                transactions[index] = Self.later(transactions[index], transaction)
            } else {
                indexes[id] = transactions.count
                transactions.append(transaction)
            }
        }
        return transactions.count > count
    }

    func hasAll(_ ids: Set<UTF8Bytes>) -> Bool { ids.allSatisfy { indexes[$0] != nil } }

    /// Returns a transaction, or the version in the history if that was signed later.
    func latest(_ transaction: Verified<TransactionInfo>) -> Verified<TransactionInfo> {
        guard let index = transaction.transactionID.flatMap({ indexes[UTF8Bytes($0)] }) else { return transaction }
        return Self.later(transaction, transactions[index])
    }

    private static func later(
        _ known: Verified<TransactionInfo>, _ new: Verified<TransactionInfo>
    ) -> Verified<TransactionInfo> {
        new.signedDate ?? .distantPast > known.signedDate ?? .distantPast ? new : known
    }

    /// Returns the transactions with other ids.
    func others(than ids: Set<UTF8Bytes>) -> [Verified<TransactionInfo>] {
        transactions.filter { $0.transactionID.map { !ids.contains(UTF8Bytes($0)) } ?? false }
    }
}

/// The histories that requests had no time to finish. The next request continues with them.
struct KeptHistories: Sendable {
    private static let time = Duration.seconds(600)
    private static let maximumCount = 16
    /// The limit for all histories except the latest, which is always kept. A transaction takes a few kilobytes.
    private static let maximumTransactionCount = 20_000

    private var kept: [(subject: HistoryReading.Subject, reading: HistoryReading, date: Instant)] = []

    mutating func keep(_ reading: HistoryReading, of subject: HistoryReading.Subject, at now: Instant) {
        removeOld(at: now)
        kept.removeAll { $0.subject == subject }
        guard reading.revision != nil else { return }
        var count = 0
        let others = kept.reversed().prefix(Self.maximumCount - 1).prefix { other in
            count += other.reading.transactions.count
            return count <= Self.maximumTransactionCount
        }
        kept = others.reversed() + [(subject, reading, now)]
    }

    /// Removes and returns the kept history, so that no other request continues with it.
    mutating func take(_ subject: HistoryReading.Subject, at now: Instant) -> HistoryReading? {
        removeOld(at: now)
        return kept.firstIndex { $0.subject == subject }.map { kept.remove(at: $0).reading }
    }

    /// A date too far in the future was set while the clock was ahead.
    private mutating func removeOld(at now: Instant) {
        kept.removeAll { now - $0.date >= Self.time || $0.date - now > Self.time }
    }
}
