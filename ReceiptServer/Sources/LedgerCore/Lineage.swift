@_spi(Ledger) package import AppStoreReceipt
import StrictText

/// All transactions of one buyer or member that descend from one original transaction: renewals, restored copies, and
/// those that Apple moved to it. They have one owner.
package struct Lineage: Sendable {
    /// Something that Apple signed about a transaction.
    package struct Variant: Equatable, Sendable {
        package let number: Int64
        package var purchase: Purchase
        /// The SHA-256 of the signer's certificate, in hexadecimal; `nil` for what was loaded.
        package var signer: String?

        package init(number: Int64, purchase: Purchase, signer: String? = nil) {
            (self.number, self.purchase, self.signer) = (number, purchase, signer)
        }
    }

    /// The owner, and what makes the account the owner.
    package struct Ownership: Equatable, Sendable {
        package var account: String
        package var claimedAt: Instant
        package var order: ClaimOrder
        /// `nil` if it was claimed before the basis was recorded.
        package var basis: ClaimBasis?

        package init(account: String, claimedAt: Instant, order: ClaimOrder, basis: ClaimBasis?) {
            (self.account, self.claimedAt, self.order, self.basis) = (account, claimedAt, order, basis)
        }

        package static func == (left: Ownership, right: Ownership) -> Bool {
            left.account.hasSameBytes(as: right.account) && left.claimedAt == right.claimedAt
                && left.order == right.order && left.basis == right.basis
        }
    }

    package let id: Int64
    /// The account that submitted one of its transactions first, or has its token; `nil` if there is none.
    package var owner: Ownership?
    /// Whether a seat is assigned to a member by its transactions.
    package var isOfMember = false
    /// The state of the subscription after the owner's last event; `nil` before the first.
    package var lifecycle: LifecycleState?
    package var evidence: [TransactionKey: [Variant]] = [:]
    package var renewals: [SubscriptionRenewal] = []
    package var grants: [TransactionKey: Grant] = [:]
    /// Tokens that are not the owner's (R3, R5).
    package var tokenNotes: [AppAccountToken: TokenNote] = [:]
    /// How a large subscription is divided, so that only some parts are loaded; `nil` if it is not divided.
    package var division: Division?
    /// The number of its transactions whose evidence was loaded.
    package var storedTransactionCount = 0

    package init(id: Int64) { self.id = id }

    /// Unordered: the order decides nothing.
    package var purchases: some Collection<Purchase> { evidence.values.joined().lazy.map(\.purchase) }

    /// Whether nothing is known of it but what Apple signed as a consumable, or what was granted without evidence: it
    /// gives no access.
    package var givesNoAccess: Bool {
        division == nil && purchases.allSatisfy { $0.productType == .consumable }
    }

    package func isOwned(by account: String) -> Bool { owner?.account.hasSameBytes(as: account) ?? false }

    /// The date of the newest purchase.
    var newestPurchaseDate: Instant { purchases.map(\.purchaseDate).max() ?? .distantPast }

    /// Adds what is known of another lineage that turned out to be the same.
    mutating func formUnion(_ other: Lineage) {
        storedTransactionCount += other.storedTransactionCount
        evidence.merge(other.evidence) { $0 + $1 }
        renewals += other.renewals
        grants.merge(other.grants) { mine, _ in mine }
        tokenNotes.merge(other.tokenNotes) { mine, _ in mine }
    }

    /// Takes what is known of a transaction out, into another lineage.
    mutating func move(_ key: TransactionKey, to other: inout Lineage) {
        if let variants = evidence.removeValue(forKey: key) {
            other.evidence[key, default: []] += variants
            storedTransactionCount -= 1
            other.storedTransactionCount += 1
        }
        if let grant = grants.removeValue(forKey: key) { other.grants[key] = grant }
    }
}

/// What a lineage notes of a token that is not its owner's.
package enum TokenNote: Equatable, Sendable {
    /// The token belongs to no account yet.
    case waiting
    /// It belongs to an account other than the owner, and the conflict was reported.
    case reported
}

/// The account of a token.
package struct TokenHolder: Sendable {
    package let account: String
    /// Whether the account was deleted, so that the name is a random one (R13).
    package let isRetired: Bool

    package init(account: String, isRetired: Bool) { (self.account, self.isRetired) = (account, isRetired) }
}

extension Lineage {
    /// The most variants of one transaction. Apple signs a new content when something happens to the transaction, so
    /// that few have more than three.
    package static let maximumVariantCount = 64

    /// Records a purchase. It changes nothing if the same is known, signed at the same time or later.
    ///
    /// Duplicates that differ only in their signing and expiration dates and in the price are one variant, with the
    /// latest dates and the price that was signed last. That changes no decision, and a client that sends the same
    /// purchase signed anew each day adds none. Versions before 0.4.0 stored no price: the same evidence fills it in.
    package mutating func record(_ signed: SubmittedPurchase, _ key: TransactionKey) {
        var purchase = signed.purchase
        let known = evidence[key] ?? []
        purchase.statedType = known.lazy.compactMap(\.purchase.statedType).first
        // Most are sent again as they are.
        if known.contains(where: { $0.purchase == purchase }) { return }
        if let index = known.firstIndex(where: { $0.purchase.saysTheSame(as: purchase) }) {
            let merged = known[index].purchase.joined(with: purchase)
            guard merged != known[index].purchase else { return }
            evidence[key]?[index].purchase = merged
            // The token that was signed last can be that of another variant now.
            if known.count > 1 { division?.areTokensNoted = false }
            return
        }
        if known.count >= Self.maximumVariantCount,
            let oldest = known.indices.min(by: { known[$0].purchase.signedDate < known[$1].purchase.signedDate })
        {
            guard known[oldest].purchase.signedDate <= purchase.signedDate else { return }
            evidence[key]?.remove(at: oldest)
        }
        // Until its token is noted.
        division?.areTokensNoted = false
        let number = (known.map(\.number).max() ?? 0) + 1
        evidence[key, default: []].append(Variant(number: number, purchase: purchase, signer: signed.signer))
    }

    /// Keeps with a transaction the type that the policy states: a later setting, or none, must not change what a
    /// customer has.
    mutating func keep(_ type: CatalogType, of key: TransactionKey) {
        for index in evidence[key]?.indices ?? 0..<0 where evidence[key]?[index].purchase.statedType != type {
            evidence[key]?[index].purchase.statedType = type
        }
    }
}

/// A purchase, and who signed it.
package struct SubmittedPurchase: Sendable {
    package let purchase: Purchase
    /// The SHA-256 of the signer's certificate, in hexadecimal; `nil` for what is stored already.
    package let signer: String?

    package init(_ purchase: Purchase, signer: String? = nil) {
        self.purchase = purchase
        self.signer = signer
    }

    package init(_ verified: VerifiedPurchase) {
        self.init(verified.purchase, signer: "\(verified.verification.signer)")
    }
}

extension Purchase {
    /// Whether the two differ in nothing but what ``joined(with:)`` joins.
    package func saysTheSame(as other: Purchase) -> Bool {
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

    /// Whether another customer paid for it: such a transaction has no token, and no order announces it.
    var isShared: Bool { ownershipType == .familyShared || ownershipType == .assigned }

    /// The token of a purchase if it is a UUID, not the nil UUID. Apple signs no other form.
    package var accountToken: AppAccountToken? { appAccountToken.flatMap { AppAccountToken(uuid: $0.description) } }
}
