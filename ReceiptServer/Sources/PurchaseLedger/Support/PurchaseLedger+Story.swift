@_spi(Ledger) package import AppStoreReceipt
import StrictText

extension PurchaseLedger {
    /// Returns everything that is known about a transaction, or `nil` if nothing is.
    package func story(of name: TransactionName, at now: Instant = .now) throws(LedgerError) -> TransactionStory? {
        guard LedgerText.isStorable(name.bundleID), LedgerText.isStorable(name.transactionID) else { return nil }
        return try store.read { [policy] (connection) throws(LedgerError) in
            var reader = StoryReader(connection, policy, name, at: now)
            return try reader.read()
        }
    }
}

/// Reads the story of a transaction from a snapshot.
private struct StoryReader {
    /// The maximum size of a lineage for which the decision is made, because each of its transactions must be read.
    private static let maximumLineageSize = 2000
    private static let maximumCount = TransactionStory.maximumCount

    private let connection: any SQLConnection
    private let policy: LedgerPolicy
    private let now: Instant
    private let key: TransactionKey
    private var story: TransactionStory

    init(_ connection: any SQLConnection, _ policy: LedgerPolicy, _ name: TransactionName, at now: Instant) {
        (self.connection, self.policy, self.now) = (connection, policy, now)
        (key, story) = (name.key, TransactionStory(name: name))
    }

    mutating func read() throws(LedgerError) -> TransactionStory? {
        var granted = [key]
        if let number = try readLineage() { granted += try decide(number) }
        try readEvidence(granted)
        for key in granted { story.grants += try connection.grants("WHERE \(Self.isKey)", key.columns) }
        story.productID = story.evidence.first?.purchase.productID ?? story.grants.first?.productID
        let last = """
            SELECT request_id FROM attempted_transactions WHERE \(Self.isKey)
            ORDER BY request_id DESC LIMIT \(Self.maximumCount)
            """
        story.attempts = try connection.attempts("WHERE request_id IN (\(last))", key.columns)
        story.acts = try connection.acts("WHERE \(Self.isKey)", key.columns)
        guard
            !story.evidence.isEmpty || !story.grants.isEmpty || !story.attempts.isEmpty || !story.acts.isEmpty
                || story.owner != nil
        else { return nil }
        try readEvents(Set(granted))
        story.notifications = try connection.run(
            """
            SELECT type, subtype, signed_date, received_at FROM notifications
            WHERE transaction_id = $1 AND environment = $2 ORDER BY received_at DESC LIMIT \(Self.maximumCount)
            """, [key.columns[2], key.columns[0]]
        ).map { (row) throws(LedgerError) in
            NotificationFact(
                type: try row.text("type"), subtype: try row.optionalText("subtype"),
                signedDate: try row.optionalDate("signed_date"), receivedAt: try row.date("received_at"))
        }
        story.confirmation = try connection.run(
            "SELECT asked_at, confirmed_at, unknown_since FROM confirmations WHERE \(Self.isKey)", key.columns
        ).first.map { (row) throws(LedgerError) in
            ConfirmationFact(
                askedAt: try row.date("asked_at"), confirmedAt: try row.optionalDate("confirmed_at"),
                unknownSince: try row.optionalDate("unknown_since"))
        }
        if let order = try connection.run(
            "SELECT id, shop_order_id FROM orders WHERE \(Self.isKey) AND is_named = 1", key.columns
        ).first {
            (story.orderID, story.shopOrderID) = (try order.text("id"), try order.optionalText("shop_order_id"))
        }
        return story
    }

    private static let isKey = "environment = $1 AND bundle_id = $2 AND transaction_id = $3"

    /// Returns the number of the lineage, if there is one.
    private mutating func readLineage() throws(LedgerError) -> Int64? {
        let rows = try connection.run(
            """
            SELECT families.id, families.account, families.claimed_at FROM identifiers
            JOIN families ON families.id = identifiers.family_id WHERE \(Self.isKey)
            """, key.columns)
        guard let row = rows.first else { return nil }
        let number = try row.integer("id")
        (story.owner, story.ownedSince) = (try row.optionalText("account"), try row.optionalDate("claimed_at"))
        story.related = try connection.run(
            """
            SELECT transaction_id FROM identifiers
            WHERE family_id = $1 AND transaction_id <> $2 AND \(MemberID.isNone) ORDER BY transaction_id DESC LIMIT \(Self.maximumCount)
            """, [.integer(number), key.columns[2]]
        ).map { (row) throws(LedgerError) in try row.text(0) }
        story.transfers = try connection.transfers("WHERE family_id = $1", [.integer(number)])
        return number
    }

    /// Decides on the access that the purchase gives, and returns the other transactions under which it may have been
    /// granted.
    private mutating func decide(_ number: Int64) throws(LedgerError) -> [TransactionKey] {
        let count = try connection.run(
            "SELECT COUNT(*) FROM (SELECT 1 FROM identifiers WHERE family_id = $1 LIMIT \(Self.maximumLineageSize + 1)) AS found",
            [.integer(number)])
        guard try count.first?.integer(0) ?? 0 <= Self.maximumLineageSize else { return [] }
        let items = try policy.rules.entitlements(of: connection.lineages([number]), at: now).items.compactMap { item in
            PurchaseKeys(item.purchase).map { (key: $0.transaction, item: item) }
        }
        guard let own = items.first(where: { $0.key == key })?.item else { return [] }
        (story.access, story.until) = (own.access.code, own.accessEndDate)
        let first = UTF8Bytes(own.firstTransactionID)
        return items.filter { UTF8Bytes($0.item.firstTransactionID) == first && $0.key != key }.map(\.key)
    }

    /// - Parameter purchase: The transactions of the purchase, beginning with that of the story.
    private mutating func readEvidence(_ purchase: [TransactionKey]) throws(LedgerError) {
        let evidence = try purchase.map { (key) throws(LedgerError) in try self.evidence(of: key) }
        story.evidence = evidence.first ?? []
        // Apple signs a refund for the transaction that was bought, even if the story is of a restored copy.
        story.refunds = evidence.joined().compactMap { fact in
            fact.purchase.revocation.details.map { details in
                RefundFact(
                    date: details.date, type: details.type, reason: details.reason, percentage: details.percentage,
                    signedDate: fact.signedDate)
            }
        }
    }

    private func evidence(of key: TransactionKey) throws(LedgerError) -> [EvidenceFact] {
        try connection.run(
            """
            SELECT \(Purchase.columns), signer FROM evidence WHERE identifier_id = \(TransactionKey.id)
            ORDER BY signed_date DESC, variant DESC
            """,
            key.columns
        ).map { (row) throws(LedgerError) in
            let purchase = try Purchase(row)
            return EvidenceFact(
                signedDate: purchase.signedDate, signer: try row.optionalText("signer"), purchase: purchase)
        }
    }

    /// Reads the events of the accounts that had the purchase.
    private mutating func readEvents(_ granted: Set<TransactionKey>) throws(LedgerError) {
        var accounts: Set<UTF8Bytes> = []
        for account in [story.owner].compactMap(\.self) + story.grants.map(\.account)
            + story.transfers.flatMap({ [$0.from, $0.to] })
        {
            accounts.insert(UTF8Bytes(account))
        }
        for account in accounts {
            for key in granted {
                // An account's events have an index, but a transaction's don't.
                story.events += try connection.events(
                    "WHERE identifier_id = \(TransactionKey.id) AND account = $4", key.columns + [.text(account.string)]
                )
            }
        }
        story.events.sort { ($0.madeAt, $0.sequence) > ($1.madeAt, $1.sequence) }
        story.events = Array(story.events.prefix(Self.maximumCount))
    }
}
