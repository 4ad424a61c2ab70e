import AppStoreReceipt
import LibcryptoHandles
import StrictText

/// The stored form of an answer.
private struct RecordedAnswer: Codable {
    let outcomes: [TransactionOutcome]
    let sequence: Int64
}

/// A request with an idempotency key.
struct AnsweredRequest: Sendable {
    let account: String
    let key: String
    /// The digest of the token and transaction ids, which a new signature doesn't change.
    private let digest: String

    init(
        _ key: String, _ account: String, _ token: AppAccountToken?, _ purchases: [Purchase]
    ) throws(LedgerError) {
        self.account = account
        self.key = key
        var text = Array((token?.description ?? "").utf8) + [0]
        let transactions: [[UInt8]] = purchases.map { purchase in
            let parts = [purchase.environment?.rawValue ?? "", purchase.bundleID ?? "", purchase.transactionID]
            return parts.flatMap { Array($0.utf8) + [0] }
        }
        // Apple sorts the purchases of a receipt by their bytes: one more date moves one.
        text += transactions.sorted { $0.lexicographicallyPrecedes($1) }.joined()
        digest = try LedgerError.onHost { () throws(LibcryptoError) in
            try DigestAlgorithm.sha256.digest(of: text.span).hexadecimal
        }
    }

    /// The lock order in all transactions.
    static func < (left: AnsweredRequest, right: AnsweredRequest) -> Bool {
        let (mine, other) =
            left.account.hasSameBytes(as: right.account) ? (left.key, right.key) : (left.account, right.account)
        return mine.utf8.lexicographicallyPrecedes(other.utf8)
    }

    /// The stored answer for the key.
    enum Record {
        case none
        case answer(Redemption)
        /// The key belongs to a request for something else.
        case anotherRequest
    }

    /// The query for the record.
    var query: SQLStatement {
        SQLStatement(
            "SELECT request, answer FROM answers WHERE account = $1 AND idempotency_key = $2",
            [.text(account), .text(key)])
    }

    /// Reads the rows of ``query``.
    func record(_ rows: [SQLRow]) throws(LedgerError) -> Record {
        guard let row = rows.first else { return .none }
        guard try row.text(0).hasSameBytes(as: digest) else { return .anotherRequest }
        let answer: RecordedAnswer = try StoredJSON.decode(row.text(1))
        return .answer(Redemption(outcomes: answer.outcomes, sequence: answer.sequence, isRepeated: true))
    }

    func record(
        _ redemption: Redemption, _ connection: any SQLConnection, at now: Instant
    ) throws(LedgerError) {
        let answer = RecordedAnswer(outcomes: redemption.outcomes, sequence: redemption.sequence)
        // If another thread answers the same request, this row causes a conflict, and the retry returns that answer.
        try connection.write(
            "INSERT INTO answers VALUES ($1, $2, $3, $4, $5)",
            [.text(account), .text(key), .text(digest), .text(StoredJSON.encode(answer)), SQLValue(now)])
    }
}
