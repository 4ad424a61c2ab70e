/// The type of a product as the app states it, for evidence that does not say it: the transaction receipts of iOS 3 to
/// 6, and receipts before 2013.
///
/// ```swift
/// let now = Entitlements([evidence], at: .now, productTypes: ["com.example.season": .nonRenewing(days: 90)])
/// ```
///
/// No evidence says how long a non-renewing subscription lasts.
@nonexhaustive
public enum CatalogType: Hashable, Sendable {
    /// A product that is used up.
    case consumable
    /// A product that is bought once and kept.
    case nonConsumable
    /// A subscription that does not renew, and lasts this many days of 24 hours: 1 to 36,500, or the nearest of them.
    case nonRenewing(days: Int)
    /// A subscription that renews. The evidence says when a period ends.
    case autoRenewable

    /// Apple's name for the type.
    public var productType: ProductType {
        switch self {
        case .consumable: .consumable
        case .nonConsumable: .nonConsumable
        case .nonRenewing: .nonRenewingSubscription
        case .autoRenewable: .autoRenewableSubscription
        }
    }

    /// The days that a non-renewing subscription lasts.
    var lengthInDays: Int? {
        guard case .nonRenewing(let days) = self else { return nil }
        return min(max(days, Self.days.lowerBound), Self.days.upperBound)
    }

    /// The length of a non-renewing subscription.
    var length: Duration? { lengthInDays.map { .seconds(86_400 * $0) } }

    private static let days = 1...36_500
    private static let nonRenewingPrefix = "non-renewing:"
}

extension CatalogType: LosslessStringConvertible {
    /// Creates the type from its text: `consumable`, `non-consumable`, `auto-renewable`, or `non-renewing:90` for 90
    /// days; `nil` for any other text.
    public init?(_ description: String) {
        switch description {
        case "consumable": self = .consumable
        case "non-consumable": self = .nonConsumable
        case "auto-renewable": self = .autoRenewable
        default:
            guard description.utf8.starts(with: Self.nonRenewingPrefix.utf8) else { return nil }
            let digits = description.utf8.dropFirst(Self.nonRenewingPrefix.utf8.count)
            guard digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                let days = Int(String(decoding: digits, as: UTF8.self)), Self.days.contains(days)
            else { return nil }
            self = .nonRenewing(days: days)
        }
    }

    /// The text, such as `non-renewing:90`.
    public var description: String {
        switch self {
        case .consumable: "consumable"
        case .nonConsumable: "non-consumable"
        case .nonRenewing(let days): Self.nonRenewingPrefix + "\(days)"
        case .autoRenewable: "auto-renewable"
        }
    }
}

extension CatalogType: Codable {
    /// Decodes the type from its text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let type = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the type of a product")
        }
        self = type
    }

    /// Encodes the type as its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
