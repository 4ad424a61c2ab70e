import AppStoreReceipt
import PurchaseLedger
import StrictText

/// What was read of a customer's history.
struct HistoryReading: Sendable {
    /// What a history is of.
    struct Subject: Hashable, Sendable {
        let app: AskedApp
        /// The subscriptions that are asked about.
        let asked: [UTF8Bytes]
        let groups: [UTF8Bytes]
    }

    private(set) var transactions: [Verified<TransactionInfo>] = []
    private(set) var refused: [Reconciler.RefusedItem] = []
    /// The place of the next page; `nil` for the first.
    var revision: String?
    /// Where each transaction is.
    private var indexes: [UTF8Bytes: Int] = [:]

    /// Adds what a page has. Of a transaction that is there again, because it has changed since, the latest signature
    /// counts.
    ///
    /// - Returns: Whether the page has a transaction that no other page had.
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

    /// Returns the later one of a transaction and what was read of it.
    func latest(_ transaction: Verified<TransactionInfo>) -> Verified<TransactionInfo> {
        guard let index = transaction.transactionID.flatMap({ indexes[UTF8Bytes($0)] }) else { return transaction }
        return Self.later(transaction, transactions[index])
    }

    private static func later(
        _ known: Verified<TransactionInfo>, _ new: Verified<TransactionInfo>
    ) -> Verified<TransactionInfo> {
        new.signedDate ?? .distantPast > known.signedDate ?? .distantPast ? new : known
    }

    /// Those of other transactions.
    func others(than ids: Set<UTF8Bytes>) -> [Verified<TransactionInfo>] {
        transactions.filter { $0.transactionID.map { !ids.contains(UTF8Bytes($0)) } ?? false }
    }
}

/// The histories for which a request had no time. The next one goes on with them.
struct KeptHistories: Sendable {
    private static let time = Duration.seconds(600)
    private static let maximumCount = 16
    /// Of all but the last one, which is kept whatever it has: a few kilobytes each.
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

    /// Returns what was read before. Nobody else goes on with it.
    mutating func take(_ subject: HistoryReading.Subject, at now: Instant) -> HistoryReading? {
        removeOld(at: now)
        return kept.firstIndex { $0.subject == subject }.map { kept.remove(at: $0).reading }
    }

    /// A date that is further away than what is kept comes from a clock that was ahead.
    private mutating func removeOld(at now: Instant) {
        kept.removeAll { now - $0.date >= Self.time || $0.date - now > Self.time }
    }
}
