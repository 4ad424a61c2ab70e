public import AppStoreReceipt
import StrictText

/// An extension of renewal dates.
///
/// Source: Apple, "ExtendRenewalDateRequest" and "MassExtendRenewalDateRequest".
public struct RenewalExtension: Hashable, Sendable {
    /// The number of days: 1 to 90.
    public var days: Int
    /// The reason, which Apple may show to the customer.
    public var reason: Reason
    /// Your identifier for the request, of 1 to 128 characters. For all subscribers, it must be a UUID.
    ///
    /// Apple documents that repeating a mass extension with the same identifier has no effect, but not for the
    /// extension of one subscription: if the answer is lost, compare the renewal date before you send it again.
    public var requestIdentifier: String

    /// Creates an extension.
    public init(days: Int, reason: Reason, requestIdentifier: String) {
        self.days = days
        self.reason = reason
        self.requestIdentifier = requestIdentifier
    }

    /// The reason for an extension. Values that Apple adds later can be created from their number.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public var rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Undeclared.
        public static let undeclared = Self(rawValue: 0)
        /// Customer satisfaction.
        public static let customerSatisfaction = Self(rawValue: 1)
        /// Another reason.
        public static let other = Self(rawValue: 2)
        /// A service issue or outage.
        public static let serviceIssue = Self(rawValue: 3)
    }

    func check(ofAll: Bool) throws(AppStoreServerError) {
        try AppStoreServerError.check(.extendByDays, 1...90 ~= days)
        let isIdentifier = ofAll ? requestIdentifier.isUUID : 1...128 ~= requestIdentifier.unicodeScalars.count
        try AppStoreServerError.check(.requestIdentifier, isIdentifier)
    }

    func write(to writer: inout JSONWriter) {
        writer.member("extendByDays", days)
        writer.member("extendReasonCode", reason.rawValue)
        writer.member("requestIdentifier", requestIdentifier)
    }
}

/// The answer to Extend a Subscription Renewal Date. It is not signed.
public struct UnsignedRenewalExtension: Hashable, Sendable {
    /// `originalTransactionId`.
    public let originalTransactionID: String?
    /// `webOrderLineItemId`: the period that was extended.
    public let webOrderLineItemID: String?
    /// `success`. It can be `false` even if the status is 200.
    public let isSuccessful: Bool?
    /// `effectiveDate`: the new renewal date.
    public let effectiveDate: Instant?
}

/// The answer to Extend Subscription Renewal Dates for All Active Subscribers. It is not signed.
public struct UnsignedMassExtension: Hashable, Sendable {
    /// `requestIdentifier`.
    public let requestIdentifier: String?
}

/// The answer to Get Status of Subscription Renewal Date Extensions. It is not signed.
public struct UnsignedMassExtensionStatus: Hashable, Sendable {
    /// `requestIdentifier`.
    public let requestIdentifier: String?
    /// `complete`.
    public let isComplete: Bool?
    /// `completeDate`. Like the counts, it is `nil` until the extension is complete.
    public let completeDate: Instant?
    /// `succeededCount`.
    public let succeededCount: Int64?
    /// `failedCount`.
    public let failedCount: Int64?
}
