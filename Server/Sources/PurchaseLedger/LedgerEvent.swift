import AppStoreReceipt
import StrictText
import SpanASN1

/// What the backend is told: an account has more or less than before.
struct LedgerEvent: Encodable, Sendable {
    enum Kind: String, Codable, Sendable {
        /// The purchase was granted, for the first time to this account.
        case granted
        /// Apple refunded or revoked it, or it went to another account: the quantity is 0.
        case revoked
        /// A refund was reversed.
        case restored
        /// A part was refunded, or a part of a refund reversed.
        case adjusted
        /// Access ends at another date, and the quantity is the same: a grace period, an extension or an upgrade.
        case changed
        /// A transaction of the purchase has the token of another account. The quantity is the same: an owner stays until the backend transfers the purchase.
        case conflict
    }

    /// What led to it.
    enum Cause: String, Codable, Sendable {
        case redeem, notification, transfer
        /// The token of the purchase became the account's.
        case token
        /// A renewal that Apple had signed before has begun.
        case beginning
        /// A refund or revocation that Apple had dated in the future has come into effect.
        case revocation
    }

    /// The same each time the event is delivered.
    let id: String
    let account: String
    /// Greater than the numbers of everything that the backend was told before: what is told with a greater number is newer.
    var sequence: Int64 = 0
    let kind: Kind
    let cause: Cause
    let environment: AppStoreEnvironment
    let bundleID: String
    let productID: String
    let transactionID: String
    let originalTransactionID: String?
    /// What the account has of the purchase now, and what it had before.
    let quantity: Int64
    let previousQuantity: Int64
    /// The date access ends, if it ends and the date is known.
    let until: Instant?
    let at: Instant

    enum CodingKeys: String, CodingKey {
        case id, account, sequence, kind, cause, environment, quantity, until, at
        case bundleID = "bundle_id"
        case productID = "product_id"
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case previousQuantity = "previous_quantity"
    }

    /// Writes every member, also one without a value.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(account, forKey: .account)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(kind, forKey: .kind)
        try container.encode(cause, forKey: .cause)
        try container.encode(environment, forKey: .environment)
        try container.encode(bundleID, forKey: .bundleID)
        try container.encode(productID, forKey: .productID)
        try container.encode(transactionID, forKey: .transactionID)
        try container.encode(originalTransactionID, forKey: .originalTransactionID)
        try container.encode(quantity, forKey: .quantity)
        try container.encode(previousQuantity, forKey: .previousQuantity)
        // Dates are written as in answers.
        try container.encode(until?.description, forKey: .until)
        try container.encode(at.description, forKey: .at)
    }

    /// 128 random bits: an id stays unique after a restored back-up.
    static func makeID() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

extension Grant {
    /// What the grant's account is told of it.
    func event(
        _ kind: LedgerEvent.Kind, _ cause: LedgerEvent.Cause, _ originalTransactionID: String?, before: Int64,
        at now: Instant
    ) -> LedgerEvent {
        LedgerEvent(
            id: LedgerEvent.makeID(), account: account, kind: kind, cause: cause,
            environment: transaction.environment, bundleID: transaction.bundleID.string, productID: productID,
            transactionID: transaction.transactionID.string, originalTransactionID: originalTransactionID,
            quantity: quantity, previousQuantity: before, until: until, at: now)
    }
}

extension SQLConnection {
    /// Numbers events and writes them to the outbox, in the transaction that they are about.
    ///
    /// - Parameter accounts: Who is answered.
    /// - Returns: The numbers of the answers.
    func post(
        _ events: [LedgerEvent], answering accounts: [String] = [], at now: Instant
    ) throws(LedgerError) -> [Int64] {
        // Accounts are locked in one order, after all families.
        let told = Dictionary(grouping: events) { UTF8Bytes($0.account) }.map { ($0.string, $1) }
            .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
        let rows = try run(
            told.map { SQLStatement.takingSequences(Int64($1.count), of: $0, at: now) }
                + accounts.map(SQLStatement.sequence))
        for ((account, events), row) in zip(told, rows) {
            let first = try SQLStatement.firstSequence(row, count: Int64(events.count))
            for (offset, event) in events.enumerated() {
                var event = event
                event.sequence = first + Int64(offset)
                try write(
                    "INSERT INTO outbox VALUES ($1, $2, $3, $4, $5, 'pending', 0, NULL)",
                    [
                        .text(event.id), .text(event.account), .integer(event.sequence),
                        .text(StoredJSON.encode(event)), SQLValue(now),
                    ])
            }
            // What is pending already comes first.
            try write(
                "UPDATE accounts SET due_at = $2 WHERE account = $1 AND due_at IS NULL",
                [.text(account), SQLValue(now)])
        }
        return try rows.dropFirst(told.count).map { (rows) throws(LedgerError) in try SQLStatement.sequence(rows) }
    }
}
