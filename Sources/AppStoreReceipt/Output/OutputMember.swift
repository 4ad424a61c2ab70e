/// A member of the JSON that the library returns, for languages whose records have types.
@_spi(Surfaces) public struct OutputMember: Sendable {
    @_spi(Surfaces) public enum Kind: Sendable {
        case text, texts, number, flag
        /// A date in RFC 3339.
        case date
        /// One of some words, or one that a later version adds.
        case word(Words)
        /// An object, by the name of its type.
        case object(String)
    }

    @_spi(Surfaces) public enum Words: String, CaseIterable, Sendable {
        case access, environment, reason
        case productTypeSource = "product_type_source"
        case priceIncrease = "price_increase"
        case expirationIntent = "expiration_intent"

        public var all: [String] {
            switch self {
            case .access: Entitlements.Access.all.map(\.code)
            case .environment: AppStoreEnvironment.allCases.map(\.rawValue)
            case .reason: Entitlements.Reason.allCases.map(\.rawValue)
            case .productTypeSource: ["evidence", "setting"]
            case .priceIncrease: Subscription.PriceIncrease.allCases.map(\.rawValue)
            case .expirationIntent: Subscription.ExpirationReason.allCases.map(\.rawValue)
            }
        }
    }

    public let name: String
    public let kind: Kind
    /// Whether it can be missing, or `null`.
    public let isOptional: Bool
    /// Whether a member without a value is `null`, and not missing.
    public var isNull = false
    /// A sentence; empty if the name suffices.
    public let meaning: String

    @_spi(Surfaces) public init(_ name: String, _ kind: Kind, isOptional: Bool = false, _ meaning: String = "") {
        self.name = name
        self.kind = kind
        self.isOptional = isOptional
        self.meaning = meaning
    }
}

extension StoredField {
    var output: OutputMember {
        // No other has a meaning that its name does not say.
        OutputMember(
            key.stringValue, kind, isOptional: !isRequired,
            key.stringValue == "environment" ? "The environment of the purchase. Nobody pays in the sandbox." : "")
    }
}
