@_spi(Ledger) import AppStoreReceipt
import StrictText

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
/// Duplicates that differ only in their signing and expiration dates and in the price share one row, with the latest
/// dates and the price that was signed last. That changes no decision, and a client that sends the same purchase signed
/// anew each day adds no row. Versions before 0.4.0 stored no price: the same evidence fills it in.
struct FamilyEvidence {
    /// The most rows about one transaction. Apple signs a new content when something happens to the transaction, so
    /// that few have more than three.
    static let maximumVariantCount = 64

    /// Something that Apple signed about a transaction, with its number.
    typealias Variant = (number: Int64, purchase: Purchase)

    private(set) var variants: [TransactionKey: [Variant]] = [:]
    private(set) var renewals: [SubscriptionRenewal] = []

    /// In no particular order: it decides nothing.
    var purchases: [Purchase] { variants.values.flatMap { $0.map(\.purchase) } }

    mutating func add(_ family: FamilyContents) {
        variants.merge(family.variants) { $0 + $1 }
        renewals += family.renewals
    }

    /// Records a purchase. It changes nothing if the tables have the same, signed at the same time or later.
    mutating func record(
        _ signed: SignedPurchase, _ key: TransactionKey, _ connection: any SQLConnection
    ) throws(LedgerError) {
        var purchase = signed.purchase
        var known = variants[key, default: []]
        purchase.statedType = known.lazy.compactMap(\.purchase.statedType).first
        if let index = known.firstIndex(where: { $0.purchase.saysTheSame(as: purchase) }) {
            let merged = known[index].purchase.joined(with: purchase)
            guard merged != known[index].purchase else { return }
            known[index].purchase = merged
            try connection.write(
                """
                UPDATE evidence SET signed_date = $5, purchase = $6
                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 AND variant = $4
                """,
                key.columns + [.integer(known[index].number), SQLValue(merged.signedDate), .text(Self.json(merged))])
        } else {
            if known.count >= Self.maximumVariantCount,
                let oldest = known.indices.min(by: {
                    known[$0].purchase.signedDate < known[$1].purchase.signedDate
                })
            {
                guard known[oldest].purchase.signedDate <= purchase.signedDate else { return }
                try connection.write(
                    """
                    DELETE FROM evidence
                    WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 AND variant = $4
                    """, key.columns + [.integer(known.remove(at: oldest).number)])
            }
            let number = (known.map(\.number).max() ?? 0) + 1
            known.append((number, purchase))
            try connection.write(
                "INSERT INTO evidence VALUES ($1, $2, $3, $4, $5, $6, $7)",
                key.columns + [
                    .integer(number), SQLValue(purchase.signedDate), .text(Self.json(purchase)),
                    SQLValue(signed.signer),
                ])
        }
        variants[key] = known
    }

    /// Stores with a transaction what the policy states of its product, so that it is decided by the same from now on.
    mutating func keep(
        _ type: CatalogType, _ key: TransactionKey, _ connection: any SQLConnection
    ) throws(LedgerError) {
        guard let known = variants[key] else { return }
        for index in known.indices where known[index].purchase.statedType != type {
            variants[key]?[index].purchase.statedType = type
            var purchase = known[index].purchase
            purchase.statedType = type
            try connection.run(
                """
                UPDATE evidence SET purchase = $5
                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 AND variant = $4
                """, key.columns + [.integer(known[index].number), .text(Self.json(purchase))])
        }
    }

    static func json(_ purchase: Purchase) -> String {
        var purchase = purchase
        // The column has it.
        purchase.signedDate = Instant(millisecondsSince1970: 0)
        return StoredJSON.encode(purchase)
    }

    /// Adds the renewal information that arrived before anything else about a subscription did.
    mutating func addEarlierRenewals(_ connection: any SQLConnection) throws(LedgerError) {
        var originals: [UTF8Bytes: AppStoreEnvironment] = [:]
        for purchase in purchases where purchase.expiresDate != nil {
            originals[UTF8Bytes(purchase.originalTransactionID)] = purchase.environment
        }
        for (original, environment) in originals {
            let rows = try connection.run(
                "SELECT renewal FROM renewals WHERE environment = $1 AND original_transaction_id = $2",
                [.text(environment.rawValue), .text(original.string)])
            for row in rows { renewals.append(try StoredJSON.decode(row.text(0))) }
        }
    }

    /// Records renewal information. The latest counts. Apple names no app in it, but original transaction ids are
    /// unique in an environment.
    mutating func record(_ renewal: SubscriptionRenewal, _ connection: any SQLConnection) throws(LedgerError) {
        guard let environment = renewal.environment, LedgerText.isStorable(renewal.originalTransactionID) else {
            return
        }
        renewals.append(renewal)
        let key: [SQLValue] = [.text(environment.rawValue), .text(renewal.originalTransactionID)]
        let text = StoredJSON.encode(renewal)
        let known = try connection.run(
            "SELECT signed_date, renewal FROM renewals WHERE environment = $1 AND original_transaction_id = $2", key)
        if let row = known.first {
            let date = try row.date(0)
            if date > renewal.signedDate { return }
            // What was signed at the same time is ordered as in decisions, so that the order of arrival decides
            // nothing.
            if date == renewal.signedDate {
                let stored: SubscriptionRenewal = try StoredJSON.decode(row.text(1))
                guard stored.isSuperseded(by: renewal) else { return }
            }
        }
        try connection.write(
            """
            INSERT INTO renewals VALUES ($1, $2, $3, $4)
            ON CONFLICT (environment, original_transaction_id) DO UPDATE
            SET signed_date = excluded.signed_date, renewal = excluded.renewal
            WHERE renewals.signed_date <= excluded.signed_date
            """,
            key + [SQLValue(renewal.signedDate), .text(text)])
    }
}

extension Purchase {
    /// Whether the two differ in nothing but what ``joined(with:)`` joins.
    func saysTheSame(as other: Purchase) -> Bool {
        var other = other
        (other.signedDate, other.evidenceExpirationDate) = (signedDate, evidenceExpirationDate)
        other.takePrice(of: self)
        return self == other
    }

    /// The purchase with the later dates, and with the price that was signed later. Evidence without an expiration date
    /// does not expire.
    fileprivate func joined(with other: Purchase) -> Purchase {
        var joined = self
        let signedDate = max(signedDate, other.signedDate)
        joined.mergePrice(other, signedDate: signedDate)
        joined.signedDate = signedDate
        joined.evidenceExpirationDate = evidenceExpirationDate.flatMap { mine in
            other.evidenceExpirationDate.map { max(mine, $0) }
        }
        return joined
    }
}
