public import Instants
import StrictText

/// What Apple has signed about the next renewal of a subscription, as a plain value that can be stored.
///
/// It is made from verified ``RenewalInfo``. Its type does not show that it was verified: see ``Purchase``.
public struct SubscriptionRenewal: Sendable {
    /// The identifier of the subscription's first transaction.
    public var originalTransactionID: String
    /// The environment of the subscription.
    public var environment: AppStoreEnvironment?
    /// The app's bundle id, as the notification around the renewal information names it. Renewal information alone
    /// names no app.
    public var bundleID: String?
    /// The product of the current period.
    public var productID: String?
    /// The product of the next period.
    public var nextProductID: String?
    /// A value that says whether the subscription will renew.
    public var autoRenewStatus: AutoRenewStatus?
    /// The date Apple will charge for the next period.
    public var renewalDate: Instant?
    /// The date until which the customer keeps access although the charge failed.
    public var gracePeriodExpiresDate: Instant?
    /// A Boolean value that indicates whether Apple is still trying to charge for the next period.
    public var isInBillingRetryPeriod: Bool?
    /// The reason the subscription expired; `nil` if it has not expired.
    public var expirationIntent: ExpirationIntent?
    /// The customer's answer to a price increase; `nil` if there is none.
    public var priceIncreaseStatus: PriceIncreaseStatus?
    /// The price of the next period, in thousandths of the unit of ``currency``.
    public var renewalPrice: Int64?
    /// The currency of ``renewalPrice``, as an ISO 4217 code.
    public var currency: String?
    /// The number of seats of the next period.
    public var renewalQuantity: Int?
    /// The offer for the next period; `nil` for the full price.
    public var offer: PurchaseOffer?
    /// The date Apple signed the renewal information. The latest counts.
    public var signedDate: Instant

    /// Creates a value from what all renewal information has.
    public init(originalTransactionID: String, signedDate: Instant) {
        self.originalTransactionID = originalTransactionID
        self.signedDate = signedDate
    }
}

/// The table of the fields, by which renewal information is compared and stored.
extension SubscriptionRenewal: StoredRecord {
    static let table = StoredTable<SubscriptionRenewal>([
        .schema,
        .required("original_transaction_id", \.originalTransactionID),
        .optional("environment", \.environment),
        .optional("bundle_id", \.bundleID),
        .optional("product_id", \.productID),
        .optional("auto_renew_product_id", \.nextProductID),
        .optional("auto_renew_status", \.autoRenewStatus),
        .optional("renewal_date", \.renewalDate),
        .optional("grace_period_expires_date", \.gracePeriodExpiresDate),
        .optional("is_in_billing_retry_period", \.isInBillingRetryPeriod),
        .optional("expiration_intent", \.expirationIntent),
        .optional("price_consent_status", \.priceIncreaseStatus),
        .optional("renewal_price", \.renewalPrice),
        .optional("currency", \.currency),
        .optional("renewal_quantity", \.renewalQuantity),
        .optional("offer", \.offer),
        .required("signed_date", \.signedDate),
    ])

    static var blank: SubscriptionRenewal {
        SubscriptionRenewal(originalTransactionID: "", signedDate: Instant(millisecondsSince1970: 0))
    }
}

/// Two are equal if all their values are, strings byte for byte.
extension SubscriptionRenewal: Hashable {
    public static func == (lhs: SubscriptionRenewal, rhs: SubscriptionRenewal) -> Bool { isSame(lhs, rhs) }
    public func hash(into hasher: inout Hasher) { hashFields(into: &hasher) }
}

/// The JSON has the keys of Apple's verifyReceipt where it has them, and `"schema": 1`. Dates are milliseconds since
/// 1970. A key whose value is `nil` is missing.
extension SubscriptionRenewal: Codable {
    /// Decodes a value. This verifies nothing.
    ///
    /// - Throws: `DecodingError` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(from decoder: any Decoder) throws { try self.init(fieldsFrom: decoder) }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws { try encodeFields(to: encoder) }
}
