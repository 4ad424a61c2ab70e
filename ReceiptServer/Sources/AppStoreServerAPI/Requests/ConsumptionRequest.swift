import AppStoreReceipt
import StrictText

/// The answer to a `CONSUMPTION_REQUEST` (Send Consumption Information, version 2).
///
/// Send it within 12 hours of the notification, and only if the customer consented: otherwise, don't respond. Asking
/// for consent is up to you. Purchases that use the Advanced Commerce API need ``ConsumptionRequestV1``.
///
/// Source: Apple, "ConsumptionRequest" (App Store Server API 1.19).
public struct ConsumptionRequest: Hashable, Sendable {
    /// Whether the customer consented to sending this information. It must be `true`.
    public var customerConsented: Bool
    /// Whether the customer got a sample of the content or information about it before the purchase.
    public var sampleContentProvided: Bool
    /// Whether the product was delivered and worked.
    public var deliveryStatus: DeliveryStatus
    /// The consumed part of the whole purchase in thousandths of a percent, from 0 to 100,000. If one of two was used,
    /// it is 50,000.
    ///
    /// It must be `nil` for an auto-renewable subscription, and `nil` or 0 if the purchase wasn't delivered.
    public var consumptionPercentage: Int?
    /// Your preference, or `nil` for none. Apple decides.
    public var refundPreference: RefundPreference?

    /// Creates an answer without a percentage and without a preference.
    public init(customerConsented: Bool, sampleContentProvided: Bool, deliveryStatus: DeliveryStatus) {
        self.customerConsented = customerConsented
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
    }

    /// Whether a product was delivered. Values that Apple adds later can be created from their text.
    public struct DeliveryStatus: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It was delivered and works.
        public static let delivered = Self(rawValue: "DELIVERED")
        /// It wasn't delivered or doesn't work properly.
        public static let undeliveredQualityIssue = Self(rawValue: "UNDELIVERED_QUALITY_ISSUE")
        /// Another product was delivered.
        public static let undeliveredWrongItem = Self(rawValue: "UNDELIVERED_WRONG_ITEM")
        /// It wasn't delivered because of a server outage.
        public static let undeliveredServerOutage = Self(rawValue: "UNDELIVERED_SERVER_OUTAGE")
        /// It wasn't delivered for another reason.
        public static let undeliveredOther = Self(rawValue: "UNDELIVERED_OTHER")
    }

    /// A developer's preference. Values that Apple adds later can be created from their text.
    public struct RefundPreference: RawRepresentable, Hashable, Sendable {
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No refund.
        public static let decline = Self(rawValue: "DECLINE")
        /// A refund of everything.
        public static let grantFull = Self(rawValue: "GRANT_FULL")
        /// A refund for the part that wasn't consumed.
        public static let grantProrated = Self(rawValue: "GRANT_PRORATED")
    }

    /// - Parameter type: The type of the product. If it is `nil` or unknown, its rules are left to Apple.
    func check(for type: ProductType?) throws(AppStoreServerError) {
        try AppStoreServerError.check(.customerConsented, customerConsented)
        if let consumptionPercentage {
            try AppStoreServerError.check(.consumptionPercentage, 0...100_000 ~= consumptionPercentage)
            try AppStoreServerError.check(.subscriptionPercentage, type != .autoRenewableSubscription)
            try AppStoreServerError.check(
                .undeliveredPercentage, deliveryStatus == .delivered || consumptionPercentage == 0)
        }
        guard refundPreference == .grantProrated, let type,
            [.consumable, .nonConsumable, .nonRenewingSubscription].contains(type)
        else { return }
        try AppStoreServerError.check(.proratedPercentage, 1..<100_000 ~= consumptionPercentage ?? 0)
    }

    var json: [UInt8] {
        JSONWriter.object { writer in
            writer.member("customerConsented", customerConsented)
            writer.member("sampleContentProvided", sampleContentProvided)
            writer.member("deliveryStatus", deliveryStatus.rawValue)
            if let consumptionPercentage { writer.member("consumptionPercentage", consumptionPercentage) }
            writer.member("refundPreference", ifAny: refundPreference?.rawValue)
        }
    }
}

/// The answer to a `CONSUMPTION_REQUEST` in the older form (Send Consumption Information, version 1). It is required
/// for purchases that use the Advanced Commerce API, which version 2 refuses.
///
/// Every member except the preference is required. 0 means undeclared.
///
/// Source: Apple, "ConsumptionRequestV1".
public struct ConsumptionRequestV1: Hashable, Sendable {
    /// Whether the customer consented to sending this information. It must be `true`.
    public var customerConsented: Bool
    /// 1: nothing was consumed; 2: a part; 3: everything.
    public var consumptionStatus = 0
    /// 1: consumed on an Apple platform; 2: on another platform.
    public var platform = 0
    /// Whether the customer got a sample of the content or information about it before the purchase.
    public var sampleContentProvided: Bool
    /// 0: delivered; 1: quality issue; 2: wrong item; 3: server outage; 4: in-app currency changed; 5: other.
    public var deliveryStatus: Int
    /// The UUID of the account, or `nil` for none.
    public var appAccountToken: String?
    /// The age of the account. 1: up to 3 days; 2: 10; 3: 30; 4: 90; 5: 180; 6: 365; 7: more.
    public var accountTenure = 0
    /// The time of use. 1: up to 5 minutes; 2: 60 minutes; 3: 6 hours; 4: 24 hours; 5: 4 days; 6: 16 days; 7: more.
    public var playTime = 0
    /// The total refunds to the customer, on all platforms. 1: 0 USD; 2: up to 49.99; 3: 99.99; 4: 499.99; 5: 999.99;
    /// 6: 1,999.99; 7: more.
    public var lifetimeDollarsRefunded = 0
    /// The total payments by the customer, on all platforms, in the steps of ``lifetimeDollarsRefunded``.
    public var lifetimeDollarsPurchased = 0
    /// 1: the account is active; 2: suspended; 3: terminated; 4: limited.
    public var userStatus = 0
    /// 1: you prefer that Apple grants the refund; 2: that it declines; 3: no preference. `nil` omits the member.
    public var refundPreference: Int?

    /// Creates an answer that declares nothing else.
    public init(customerConsented: Bool, sampleContentProvided: Bool, deliveryStatus: Int) {
        self.customerConsented = customerConsented
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
    }

    func check() throws(AppStoreServerError) {
        try AppStoreServerError.check(.customerConsented, customerConsented)
        if let appAccountToken { try AppStoreServerError.check(.uuid, appAccountToken.isUUID) }
    }

    var json: [UInt8] {
        JSONWriter.object { writer in
            writer.member("customerConsented", customerConsented)
            writer.member("consumptionStatus", consumptionStatus)
            writer.member("platform", platform)
            writer.member("sampleContentProvided", sampleContentProvided)
            writer.member("deliveryStatus", deliveryStatus)
            // The member is required: without a token, it is empty.
            writer.member("appAccountToken", appAccountToken ?? "")
            writer.member("accountTenure", accountTenure)
            writer.member("playTime", playTime)
            writer.member("lifetimeDollarsRefunded", lifetimeDollarsRefunded)
            writer.member("lifetimeDollarsPurchased", lifetimeDollarsPurchased)
            writer.member("userStatus", userStatus)
            if let refundPreference { writer.member("refundPreference", refundPreference) }
        }
    }
}

extension JSONWriter {
    /// Returns a JSON object.
    static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        members(&writer)
        writer.endObject()
        return writer.bytes
    }
}
