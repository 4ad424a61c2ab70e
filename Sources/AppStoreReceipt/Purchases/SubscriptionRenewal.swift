public import SpanASN1
import StrictText

/// What Apple has signed about the next renewal of a subscription, as a plain value that can be stored.
///
/// It is made from verified ``RenewalInfo``. Its type does not show that it was verified: see ``Purchase``.
public struct SubscriptionRenewal: Sendable {
    /// The identifier of the subscription's first transaction.
    public var originalTransactionID: String
    /// The environment of the subscription.
    public var environment: AppStoreEnvironment?
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
    /// The date Apple signed the renewal information. The latest counts.
    public var signedDate: Instant

    /// Creates a value from what all renewal information has.
    public init(originalTransactionID: String, signedDate: Instant) {
        self.originalTransactionID = originalTransactionID
        self.signedDate = signedDate
    }

    /// Creates a value from verified renewal information.
    public init(_ verified: Verified<RenewalInfo>) {
        let info = verified.payload
        // A verifier refuses renewal information without an original transaction id.
        self.init(
            originalTransactionID: info.originalTransactionID ?? "",
            signedDate: info.signedDate ?? verified.verification.validationDate)
        environment = info.environment
        productID = info.productID
        nextProductID = info.autoRenewProductID
        autoRenewStatus = info.autoRenewStatus
        renewalDate = info.renewalDate
        gracePeriodExpiresDate = info.gracePeriodExpiresDate
        isInBillingRetryPeriod = info.isInBillingRetryPeriod
        expirationIntent = info.expirationIntent
        priceIncreaseStatus = info.priceIncreaseStatus
    }
}

/// Two are equal if all their values are, strings byte for byte.
extension SubscriptionRenewal: Hashable {
    public static func == (lhs: SubscriptionRenewal, rhs: SubscriptionRenewal) -> Bool {
        lhs.strings == rhs.strings && lhs.values == rhs.values && lhs.environment == rhs.environment
            && lhs.isInBillingRetryPeriod == rhs.isInBillingRetryPeriod
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(strings)
        hasher.combine(values)
    }

    private var strings: [UTF8Bytes?] {
        [originalTransactionID, productID, nextProductID].map { $0.map(UTF8Bytes.init) }
    }

    private var values: [Int64?] {
        [
            signedDate.millisecondsSince1970, renewalDate?.millisecondsSince1970,
            gracePeriodExpiresDate?.millisecondsSince1970, autoRenewStatus?.rawValue, expirationIntent?.rawValue,
            priceIncreaseStatus?.rawValue,
        ]
    }
}

/// The JSON has the keys of Apple's verifyReceipt where it has them, and `"schema": 1`. Dates are milliseconds since 1970. A key whose value is `nil` is missing.
extension SubscriptionRenewal: Codable {
    private enum Key: String, CodingKey {
        case schema, environment
        case originalTransactionID = "original_transaction_id"
        case productID = "product_id"
        case nextProductID = "auto_renew_product_id"
        case autoRenewStatus = "auto_renew_status"
        case renewalDate = "renewal_date"
        case gracePeriodExpiresDate = "grace_period_expires_date"
        case isInBillingRetryPeriod = "is_in_billing_retry_period"
        case expirationIntent = "expiration_intent"
        case priceIncreaseStatus = "price_consent_status"
        case signedDate = "signed_date"
    }

    /// Decodes a value. This verifies nothing.
    ///
    /// - Throws: `DecodingError` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        try values.requireSchema(forKey: .schema)
        self.init(
            originalTransactionID: try values.decode(String.self, forKey: .originalTransactionID),
            signedDate: try values.decode(Instant.self, forKey: .signedDate))
        environment = try values.decodeIfPresent(AppStoreEnvironment.self, forKey: .environment)
        productID = try values.decodeIfPresent(String.self, forKey: .productID)
        nextProductID = try values.decodeIfPresent(String.self, forKey: .nextProductID)
        autoRenewStatus = try values.decodeIfPresent(AutoRenewStatus.self, forKey: .autoRenewStatus)
        renewalDate = try values.decodeIfPresent(Instant.self, forKey: .renewalDate)
        gracePeriodExpiresDate = try values.decodeIfPresent(Instant.self, forKey: .gracePeriodExpiresDate)
        isInBillingRetryPeriod = try values.decodeIfPresent(Bool.self, forKey: .isInBillingRetryPeriod)
        expirationIntent = try values.decodeIfPresent(ExpirationIntent.self, forKey: .expirationIntent)
        priceIncreaseStatus = try values.decodeIfPresent(PriceIncreaseStatus.self, forKey: .priceIncreaseStatus)
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(storedSchema, forKey: .schema)
        try values.encode(originalTransactionID, forKey: .originalTransactionID)
        try values.encodeIfPresent(environment, forKey: .environment)
        try values.encodeIfPresent(productID, forKey: .productID)
        try values.encodeIfPresent(nextProductID, forKey: .nextProductID)
        try values.encodeIfPresent(autoRenewStatus, forKey: .autoRenewStatus)
        try values.encodeIfPresent(renewalDate, forKey: .renewalDate)
        try values.encodeIfPresent(gracePeriodExpiresDate, forKey: .gracePeriodExpiresDate)
        try values.encodeIfPresent(isInBillingRetryPeriod, forKey: .isInBillingRetryPeriod)
        try values.encodeIfPresent(expirationIntent, forKey: .expirationIntent)
        try values.encodeIfPresent(priceIncreaseStatus, forKey: .priceIncreaseStatus)
        try values.encode(signedDate, forKey: .signedDate)
    }
}

extension AutoRenewStatus: Codable {}
extension ExpirationIntent: Codable {}
extension PriceIncreaseStatus: Codable {}
