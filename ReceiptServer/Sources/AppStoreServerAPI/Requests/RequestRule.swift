/// A documented rule of Apple's that a request breaks. Nothing was sent.
@nonexhaustive
public enum RequestRule: String, Hashable, Sendable, CaseIterable {
    // Consumption information: Apple, "Send Consumption Information".
    /// A consumption request must not be answered without the customer's consent.
    case customerConsented = "customer-consented"
    /// A consumption percentage must be from 0 to 100,000, in thousandths of a percent.
    case consumptionPercentage = "consumption-percentage"
    /// If a product wasn't delivered, the percentage must be 0 or omitted.
    case undeliveredPercentage = "undelivered-percentage"
    /// Except for auto-renewable subscriptions, a prorated refund needs a percentage between 0 and 100,000.
    case proratedPercentage = "prorated-percentage"
    /// For an auto-renewable subscription, Apple uses the elapsed time: the percentage must be omitted.
    case subscriptionPercentage = "subscription-percentage"

    // Extensions: Apple, "Extend a Subscription Renewal Date".
    /// A renewal date can be extended by 1 to 90 days.
    case extendByDays = "extend-by-days"
    /// A request identifier must have 1 to 128 characters, and must be a UUID for all subscribers.
    case requestIdentifier = "request-identifier"
    /// A list of storefronts must be omitted, or contain three-letter country codes (ISO 3166-1 alpha-3).
    case storefrontCountryCodes = "storefront-country-codes"

    // Retention messages: Apple, "Retention Messaging API".
    /// The identifier of an image or a message must be a UUID.
    case uuid
    /// An image must be a PNG without transparency, of 3840 by 160 to 2160 pixels, or 1024 by 1024 for a bullet point.
    case image
    /// A header must have 1 to 66 characters.
    case header
    /// A body must have 1 to 144 characters.
    case body
    /// An alternative text must have 1 to 150 characters.
    case altText = "alt-text"
    /// A message can have at most 5 bullet points.
    case bulletPoints = "bullet-points"
    /// The text of a bullet point must have 1 to 66 characters.
    case bulletPointText = "bullet-point-text"
    /// A header above the image requires an image.
    case aboveImage = "above-image"
    /// The real-time URL must begin with `https://` and have at most 256 characters.
    case realtimeURL = "realtime-url"
    /// Performance tests run in the sandbox only.
    case sandboxOnly = "sandbox-only"

    /// Apple's code for a request that breaks the rule, or `nil` if Apple documents none.
    public var code: AppStoreServerErrorCode? {
        let number: Int64? =
            switch self {
            case .customerConsented: 4_000_035
            case .subscriptionPercentage: 4_000_209
            case .extendByDays: 4_000_009
            case .requestIdentifier: 4_000_011
            case .image: 4_000_161
            case .header: 4_000_162
            case .body: 4_000_163
            case .altText: 4_000_175
            case .bulletPoints: 4_000_218
            case .bulletPointText: 4_000_219
            case .aboveImage: 4_000_224
            case .realtimeURL: 4_000_215
            case .consumptionPercentage, .undeliveredPercentage, .proratedPercentage, .storefrontCountryCodes, .uuid,
                .sandboxOnly:
                nil
            }
        return number.map(AppStoreServerErrorCode.init(rawValue:))
    }

    /// The rule as a sentence without a period.
    var text: String {
        switch self {
        case .customerConsented: "the customer must have consented; without consent, send nothing"
        case .consumptionPercentage: "the consumption percentage must be from 0 to 100,000"
        case .undeliveredPercentage: "the consumption percentage of what was not delivered must be 0"
        case .proratedPercentage: "a prorated refund needs a consumption percentage between 0 and 100,000"
        case .subscriptionPercentage: "a subscription that renews has no consumption percentage"
        case .extendByDays: "a renewal date is extended by 1 to 90 days"
        case .requestIdentifier:
            "the request identifier must have 1 to 128 characters, and for all subscribers be a UUID"
        case .storefrontCountryCodes: "storefronts must be country codes of three letters"
        case .uuid: "the identifier must be a UUID"
        case .image: "the image must be a PNG without transparency, of 3840 by 160 to 2160 or 1024 by 1024 pixels"
        case .header: "the header must have 1 to 66 characters"
        case .body: "the body must have 1 to 144 characters"
        case .altText: "the alternative text must have 1 to 150 characters"
        case .bulletPoints: "a message has at most 5 bullet points"
        case .bulletPointText: "the text of a bullet point must have 1 to 66 characters"
        case .aboveImage: "a header above the image needs an image"
        case .realtimeURL: "the real-time URL must begin with https:// and have at most 256 characters"
        case .sandboxOnly: "performance tests run in the sandbox only"
        }
    }
}

extension AppStoreServerError {
    /// Throws an error for the rule if it is broken.
    static func check(_ rule: RequestRule, _ holds: Bool) throws(AppStoreServerError) {
        guard holds else { throw AppStoreServerError(.brokenRule(rule)) }
    }
}

extension String {
    /// Whether this text is a UUID (RFC 9562, 4).
    package var isUUID: Bool {
        let bytes = Array(utf8)
        return bytes.count == 36
            && bytes.indices.allSatisfy { index in
                [8, 13, 18, 23].contains(index)
                    ? bytes[index] == UInt8(ascii: "-") : Character(UnicodeScalar(bytes[index])).isHexDigit
            }
    }
}
