public import AppStoreReceipt

/// The answer to a client about one transaction.
@nonexhaustive
public enum Outcome: String, Codable, Sendable, CaseIterable {
    /// The account has the purchase now.
    case granted
    /// The account was granted the purchase before.
    case alreadyYours = "already-yours"
    /// Another account claimed the purchase first.
    case belongsToAnother = "belongs-to-another"
    /// The purchase begins later: Apple signs a renewal up to a day before.
    case tooEarly = "too-early"
    /// The period has ended, or another one has replaced it.
    case expired
    /// Apple refunded or revoked the purchase, or an operator took it back.
    case revoked
    /// The product is not in the list of those that are for sale.
    case notForSale = "not-for-sale"
    /// The app bought it for another account (`appAccountToken`).
    case notYours = "not-yours"
    /// It was bought without an account token, which ``OrderPolicy/requiresTokenSince`` requires. Its account is
    /// unknown.
    case tokenMissing = "token-missing"
    /// The evidence does not say enough to decide. A transaction of StoreKit 2 does.
    case undetermined

    /// What an outcome depends on.
    package enum Ground: Sendable {
        /// The account has the purchase.
        case had
        /// The evidence that Apple signed.
        case evidence
        /// The account that the purchase belongs to.
        case owner
        /// The products that the server sells.
        case sale
    }

    /// What is said of an outcome. The answer, the metrics, `openapi-ledger.json` and the table of `REFERENCE.md` are
    /// made from it; `SupportDesk` has the words for staff.
    package struct Row: Sendable {
        package let mayFinish: Bool
        package let ground: Ground
        /// What the purchase is, and what to do.
        package let meaning: String

        fileprivate init(_ ground: Ground, mayFinish: Bool, _ meaning: String) {
            (self.ground, self.mayFinish, self.meaning) = (ground, mayFinish, meaning)
        }
    }

    package var row: Row {
        switch self {
        case .granted: Row(.had, mayFinish: true, "is the account's from now on")
        case .alreadyYours: Row(.had, mayFinish: true, "was granted to the account before")
        case .belongsToAnother:
            Row(.owner, mayFinish: true, "belongs to a lineage that another account submitted first")
        case .tooEarly: Row(.evidence, mayFinish: false, "is a renewal that begins later")
        case .expired: Row(.evidence, mayFinish: true, "is a period that has ended, or that an upgrade has replaced")
        case .revoked:
            Row(
                .evidence, mayFinish: true,
                "was refunded, or is no longer shared by the family, or an operator took it back")
        case .notForSale:
            Row(.sale, mayFinish: false, "is of a product that is not among those of `--product-id`")
        case .notYours:
            Row(
                .owner, mayFinish: false,
                "has a token other than `account_token`, or another account's, or, with `--require-token`, no account's"
            )
        case .tokenMissing:
            Row(.owner, mayFinish: false, "was bought without the token that `--require-token` requires")
        case .undetermined:
            Row(
                .evidence, mayFinish: false,
                "is in evidence that does not say enough: see `reason`. With `type-missing`, state the type with `--product-type`. Otherwise ask the App Store for the transaction (`/v1/recover`)"
            )
        }
    }

    /// A Boolean value that indicates whether the app may finish the transaction: nothing can change the outcome for
    /// the better.
    ///
    /// StoreKit delivers a transaction again until it is finished, and forgets a consumable that is.
    public var mayFinish: Bool { row.mayFinish }
}

/// The outcome of one transaction of a request.
public struct TransactionOutcome: Sendable, Codable {
    /// The transaction's identifier.
    public let transactionID: String
    /// The identifier of the first transaction of the purchase, as the evidence has it.
    public let originalTransactionID: String
    /// The identifier of the transaction under which the account was granted the purchase; `nil` if the account has no
    /// grant of it.
    ///
    /// It differs from ``transactionID`` if the evidence has a restored copy of what was granted. Events name the same
    /// transaction.
    public let grantedAs: String?
    /// The product's identifier.
    public let productID: String
    /// The app's bundle id; `nil` if the evidence has none. Such a purchase is never granted, and Apple signs none.
    public let bundleID: String?
    /// The environment of the purchase; `nil` as ``bundleID`` can be.
    public let environment: AppStoreEnvironment?
    /// The answer to the client.
    public let outcome: Outcome
    /// The access that the purchase gave when the request was answered; `nil` if it was not decided.
    public let access: Entitlements.Access?
    /// The reason the purchase gives the account nothing: that of the evidence (`Entitlements.Reason`), or the outcome
    /// if the evidence is not the reason; `nil` if it gives something.
    public let reason: String?
    /// What the account has of the grant that ``grantedAs`` names: the quantity of a consumable, or 1; 0 if it has
    /// nothing.
    public let quantity: Int
    /// The seats of the period that the account has; `nil` if the evidence says none, or the account has no grant of
    /// it.
    public let seats: Int?
    /// The date access ends; `nil` if it has no end, or if it is not known.
    public let until: Instant?
    /// The date of the purchase that ``grantedAs`` names, or of the transaction.
    public let purchaseDate: Instant
    /// How long a non-renewing subscription lasts: the code of an `Entitlements.Length`, such as `P30D`, or `unknown`;
    /// `nil` for other products.
    ///
    /// What is `unknown` is granted without an end. Overlaps are not added up: if yours follow each other, count them
    /// from ``purchaseDate``.
    public let length: String?

    /// The price of the transaction, in thousandths of the unit of ``currency``; `nil` if the evidence does not say it.
    /// Of a subscription that renews, it is the average of a seat. Apple does not mean prices for reconciling revenue.
    public let price: Int64?
    /// The currency of ``price``, as an ISO 4217 code.
    public let currency: String?
    /// The country or region of the App Store, as an ISO 3166 code of three letters.
    public let storefront: String?

    /// A Boolean value that indicates whether only ``LedgerPolicy/productTypes`` says the type of the product, and not
    /// the evidence; `nil` if the type is not known.
    public let isTypeStated: Bool?

    /// A Boolean value that indicates whether this account's token is in the evidence, but another account redeemed it
    /// first.
    ///
    /// One of the two was wrong about who was signed in. Ask the customer, and use
    /// `PurchaseLedger/transfer(from:to:transactionID:in:of:movesTokens:reason:at:)`.
    public let isOwnerConflict: Bool

    /// A Boolean value that indicates whether the app may finish the transaction. After a conflict of owners it may
    /// not: a transfer can still give the account the purchase.
    public var mayFinish: Bool { outcome.mayFinish && !isOwnerConflict }

    private enum CodingKeys: String, CodingKey {
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case grantedAs = "granted_as"
        case productID = "product_id"
        case bundleID = "bundle_id"
        case isTypeStated = "type_stated"
        case isOwnerConflict = "owner_conflict"
        case purchaseDate = "purchase_date"
        case environment, outcome, access, reason, quantity, seats, until, length, price, currency, storefront
    }
}

/// The answer to a request to redeem evidence.
public struct Redemption: Sendable {
    /// One outcome for each transaction, in the order of the evidence.
    public let outcomes: [TransactionOutcome]
    /// The number by which a backend sees what is older: the greatest number of a grant's answers and events counts.
    ///
    /// It is that of the account's last event, or the ledger's floor: see ``PurchaseLedger``.
    public let sequence: Int64
    /// A Boolean value that indicates whether this is the recorded answer to an earlier request with the same
    /// idempotency key.
    public let isRepeated: Bool
    /// The reports to the operator.
    package var notices = LedgerNotices()

    package init(outcomes: [TransactionOutcome], sequence: Int64, isRepeated: Bool) {
        (self.outcomes, self.sequence, self.isRepeated) = (outcomes, sequence, isRepeated)
    }
}
