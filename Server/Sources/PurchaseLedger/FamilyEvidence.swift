import AppStoreReceipt
import SpanASN1

/// A purchase, and who signed it.
struct SignedPurchase {
    let purchase: Purchase
    /// The SHA-256 of the signer's certificate, in hexadecimal; `nil` for what the tables have already.
    let signer: String?

    init(_ purchase: Purchase, signer: String? = nil) {
        self.purchase = purchase
        self.signer = signer
    }

    init(_ verified: VerifiedPurchase) {
        self.init(verified.purchase, signer: "\(verified.verification.signer)")
    }
}

/// All that Apple has signed about some families, as it is stored.
///
/// Of what differs in nothing but its dates of signing and expiry, the tables have one row with the later ones. That changes no decision, and a client that sends the same
/// purchase signed anew each day adds no row.
struct FamilyEvidence {
    /// The most rows about one transaction. Apple signs a new content when something happens to the transaction, so that few have more than three.
    static let maximumVariantCount = 64

    private var variants: [TransactionKey: [(number: Int64, purchase: Purchase)]] = [:]
    private(set) var renewals: [SubscriptionRenewal] = []
    private let connection: any SQLConnection

    init(_ connection: any SQLConnection) { self.connection = connection }

    /// In no particular order: it decides nothing.
    var purchases: [Purchase] { variants.values.flatMap { $0.map(\.purchase) } }

    /// Adds what the tables have about a family, and returns its transactions.
    mutating func load(_ family: Int64) throws(LedgerError) -> [TransactionKey] {
        var keys: [TransactionKey] = []
        let evidence = try connection.run(
            """
            SELECT evidence.variant, evidence.signed_date, evidence.purchase FROM identifiers
            JOIN evidence ON evidence.environment = identifiers.environment
                AND evidence.bundle_id = identifiers.bundle_id
                AND evidence.transaction_id = identifiers.transaction_id
            WHERE identifiers.family_id = $1
            """, [.integer(family)])
        for row in evidence {
            var purchase: Purchase = try StoredJSON.decode(row.text(2))
            purchase.signedDate = try row.date(1)
            guard let key = PurchaseKeys(purchase)?.transaction else { continue }
            variants[key, default: []].append((try row.integer(0), purchase))
            keys.append(key)
        }
        let renewals = try connection.run(
            """
            SELECT DISTINCT renewals.renewal FROM identifiers
            JOIN renewals ON renewals.environment = identifiers.environment
                AND renewals.original_transaction_id = identifiers.transaction_id
            WHERE identifiers.family_id = $1
            """, [.integer(family)])
        for row in renewals { self.renewals.append(try StoredJSON.decode(row.text(0))) }
        return keys
    }

    /// Removes the transactions that do not meet a condition.
    mutating func keep(where condition: (TransactionKey, Purchase) -> Bool) {
        variants = variants.filter { key, known in known.first.map { condition(key, $0.purchase) } ?? false }
    }

    /// Records a purchase. It changes nothing if the tables have the same, signed at the same time or later.
    mutating func record(_ signed: SignedPurchase, _ key: TransactionKey) throws(LedgerError) {
        let purchase = signed.purchase
        var known = variants[key, default: []]
        if let index = known.firstIndex(where: { $0.purchase.saysTheSame(as: purchase) }) {
            let merged = known[index].purchase.withLaterDates(of: purchase)
            guard merged != known[index].purchase else { return }
            known[index].purchase = merged
            try connection.run(
                """
                UPDATE evidence SET signed_date = $5, purchase = $6
                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 AND variant = $4
                """, key.columns + [.integer(known[index].number), SQLValue(merged.signedDate), .text(json(merged))])
        } else {
            if known.count >= Self.maximumVariantCount,
                let oldest = known.indices.min(by: {
                    known[$0].purchase.signedDate < known[$1].purchase.signedDate
                })
            {
                guard known[oldest].purchase.signedDate <= purchase.signedDate else { return }
                try connection.run(
                    """
                    DELETE FROM evidence
                    WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 AND variant = $4
                    """, key.columns + [.integer(known.remove(at: oldest).number)])
            }
            let number = (known.map(\.number).max() ?? 0) + 1
            known.append((number, purchase))
            try connection.run(
                "INSERT INTO evidence VALUES ($1, $2, $3, $4, $5, $6, $7)",
                key.columns + [
                    .integer(number), SQLValue(purchase.signedDate), .text(json(purchase)), SQLValue(signed.signer),
                ])
        }
        variants[key] = known
    }

    private func json(_ purchase: Purchase) throws(LedgerError) -> String {
        var purchase = purchase
        // The column has it.
        purchase.signedDate = Instant(millisecondsSince1970: 0)
        return try StoredJSON.encode(purchase)
    }

    /// Records renewal information, of which the latest counts. Apple names no app in it, but original transaction ids are unique in an environment.
    mutating func record(_ renewal: SubscriptionRenewal) throws(LedgerError) {
        guard let environment = renewal.environment, LedgerText.isStorable(renewal.originalTransactionID) else {
            return
        }
        renewals.append(renewal)
        // What was signed at the same time is ordered by its text, so that the order of arrival decides nothing.
        try connection.run(
            """
            INSERT INTO renewals VALUES ($1, $2, $3, $4)
            ON CONFLICT (environment, original_transaction_id) DO UPDATE
            SET signed_date = excluded.signed_date, renewal = excluded.renewal
            WHERE renewals.signed_date < excluded.signed_date
                OR (renewals.signed_date = excluded.signed_date AND renewals.renewal < excluded.renewal)
            """,
            [
                .text(environment.rawValue), .text(renewal.originalTransactionID), SQLValue(renewal.signedDate),
                .text(StoredJSON.encode(renewal)),
            ])
    }
}

extension Purchase {
    /// Whether the two differ in nothing but the dates of ``withLaterDates(of:)``.
    fileprivate func saysTheSame(as other: Purchase) -> Bool {
        var other = other
        (other.signedDate, other.evidenceExpirationDate) = (signedDate, evidenceExpirationDate)
        return self == other
    }

    /// Evidence without an expiration date does not expire.
    fileprivate func withLaterDates(of other: Purchase) -> Purchase {
        var merged = self
        merged.signedDate = max(signedDate, other.signedDate)
        merged.evidenceExpirationDate = evidenceExpirationDate.flatMap { mine in
            other.evidenceExpirationDate.map { max(mine, $0) }
        }
        return merged
    }
}
