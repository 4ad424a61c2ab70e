/// A code in the body of an error, such as 4040010.
///
/// Some codes have no name here: those that Apple adds later, which are classified by the HTTP status; those of the
/// Advanced Commerce API; and those whose numbers Apple doesn't document, such as `SeatClaimIdNotFoundError`.
///
/// Source: Apple, "Error codes" of the App Store Server API. The names are Apple's.
public struct AppStoreServerErrorCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The name, such as `transaction-id-not-found`, or `nil` for an unknown code.
    public var name: String? { Self.table[rawValue]?.name }

    /// The recommended reaction, or `nil` for an unknown code.
    var knownClass: AppStoreServerError.Class? { Self.table[rawValue]?.class }

    /// All codes with a name.
    package static var known: [AppStoreServerErrorCode] { table.keys.sorted().map(Self.init(rawValue:)) }
}

extension AppStoreServerErrorCode {
    private static let table: [Int64: (name: String, class: AppStoreServerError.Class)] = [
        // Wait and try again.
        4040002: ("account-not-found-retryable", .retry),
        4040004: ("app-not-found-retryable", .retry),
        4040006: ("original-transaction-id-not-found-retryable", .retry),
        4290000: ("rate-limit-exceeded", .retry),
        5000000: ("general-internal", .retry),
        5000001: ("general-internal-retryable", .retry),
        // Start over with the first page.
        4000005: ("invalid-request-revision", .restartPaging),
        4000014: ("invalid-pagination-token", .restartPaging),
        4000017: ("pagination-token-expired", .restartPaging),
        // Request a more recent period.
        4000012: ("start-date-too-far-in-past", .shortenWindow),
        // Final for this request.
        4000006: ("invalid-transaction-id", .final),
        4000008: ("invalid-original-transaction-id", .final),
        4000043: ("invalid-transaction-not-consumable", .final),
        4000047: ("invalid-transaction-type-not-supported", .final),
        4000048: ("app-transaction-id-not-supported", .final),
        4000185: ("family-transaction-not-supported", .final),
        4000187: ("transaction-id-is-not-original-transaction-id", .final),
        4000227: ("invalid-assigned-transaction-not-supported", .final),
        4040001: ("account-not-found", .final),
        4040005: ("original-transaction-id-not-found", .final),
        4040008: ("test-notification-not-found", .final),
        4040009: ("status-request-not-found", .final),
        4040010: ("transaction-id-not-found", .final),
        4040019: ("app-transaction-does-not-exist", .final),
        // The caller's configuration.
        4000002: ("invalid-app-identifier", .configuration),
        4040003: ("app-not-found", .configuration),
        4040007: ("server-notification-url-not-found", .configuration),
        // An error of the caller.
        4000000: ("general-bad-request", .fault),
        4000013: ("start-date-after-end-date", .fault),
        4000015: ("invalid-start-date", .fault),
        4000016: ("invalid-end-date", .fault),
        4000018: ("invalid-notification-type", .fault),
        4000019: ("multiple-filters-supplied", .fault),
        4000020: ("invalid-test-notification-token", .fault),
        4000021: ("invalid-sort", .fault),
        4000022: ("invalid-product-type", .fault),
        4000023: ("invalid-product-id", .fault),
        4000024: ("invalid-subscription-group-identifier", .fault),
        4000025: ("invalid-exclude-revoked", .fault),
        4000026: ("invalid-in-app-ownership-type", .fault),
        4000030: ("invalid-revoked", .fault),
        4000031: ("invalid-status", .fault),
        4000033: ("invalid-app-account-token", .fault),
        4000183: ("invalid-app-account-token-uuid", .fault),
        // An invalid request.
        4000004: ("invalid-limit", .fault),
        4000009: ("invalid-extend-by-days", .fault),
        4000010: ("invalid-extend-reason-code", .fault),
        4000011: ("invalid-request-identifier", .fault),
        4000027: ("invalid-empty-storefront-country-code-list", .fault),
        4000028: ("invalid-storefront-country-code", .fault),
        4000032: ("invalid-account-tenure", .fault),
        4000034: ("invalid-consumption-status", .fault),
        4000035: ("invalid-customer-consented", .fault),
        4000036: ("invalid-delivery-status", .fault),
        4000037: ("invalid-lifetime-dollars-purchased", .fault),
        4000038: ("invalid-lifetime-dollars-refunded", .fault),
        4000039: ("invalid-platform", .fault),
        4000040: ("invalid-play-time", .fault),
        4000041: ("invalid-sample-content-provided", .fault),
        4000042: ("invalid-user-status", .fault),
        4000044: ("invalid-refund-preference", .fault),
        4000161: ("invalid-image", .fault),
        4000162: ("header-too-long", .fault),
        4000163: ("body-too-long", .fault),
        4000164: ("invalid-locale", .fault),
        4000175: ("alt-text-too-long", .fault),
        4000209: ("consumption-percentage-auto-renewable-subscription", .fault),
        4000211: ("invalid-performance-test-request", .fault),
        4000212: ("invalid-request-id", .fault),
        4000213: ("existing-performance-test-run", .fault),
        4000215: ("bad-request-realtime-url", .fault),
        4000216: ("bad-request-image-size", .fault),
        4000218: ("bad-request-too-many-bullet-points", .fault),
        4000219: ("bad-request-bullet-point-text-too-long", .fault),
        4000224: ("bad-request-above-image-requires-an-image", .fault),
        4000225: ("invalid-group-id", .fault),
        4030004: ("subscription-extension-ineligible", .fault),
        4030005: ("subscription-max-extension", .fault),
        4030007: ("family-shared-subscription-extension-ineligible", .fault),
        4030014: ("maximum-number-of-images-reached", .fault),
        4030016: ("maximum-number-of-messages-reached", .fault),
        4030017: ("message-not-approved", .fault),
        4030018: ("image-not-approved", .fault),
        4030019: ("image-in-use", .fault),
        4030026: ("forbidden-no-passing-test", .fault),
        4030028: ("assigned-subscription-extension-ineligible", .fault),
        4040014: ("image-not-found", .fault),
        4040015: ("message-not-found", .fault),
        4040018: ("performance-test-run-not-found", .fault),
        4040020: ("default-message-not-found", .fault),
        4040021: ("realtime-url-not-found", .fault),
        4040022: ("group-not-found", .fault),
        4090000: ("image-already-exists", .fault),
        4090001: ("message-already-exists", .fault),
    ]
}

extension AppStoreServerErrorCode {
    /// Apple doesn't know the transaction. In rare cases, it used to know it.
    public static let transactionIDNotFound = AppStoreServerErrorCode(rawValue: 4_040_010)
    /// App Store Connect has no URL for notifications.
    public static let notificationURLNotFound = AppStoreServerErrorCode(rawValue: 4_040_007)
    /// There is no such test notification, or it hasn't been sent yet.
    public static let testNotificationNotFound = AppStoreServerErrorCode(rawValue: 4_040_008)
    /// Too many requests.
    public static let rateLimitExceeded = AppStoreServerErrorCode(rawValue: 4_290_000)
}
