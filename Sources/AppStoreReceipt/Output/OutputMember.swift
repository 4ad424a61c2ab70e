/// A member of the JSON that the library returns, for languages whose records have types.
@_spi(Surfaces) public struct OutputMember: Sendable {
    @_spi(Surfaces) public enum Kind: Sendable {
        case text, texts, number, flag
        /// A date in RFC 3339.
        case date
        /// One of some words, or one that a later version adds.
        case word(Words)
    }

    @_spi(Surfaces) public enum Words: String, CaseIterable, Sendable {
        case access, environment, reason
        case productTypeSource = "product_type_source"

        public var all: [String] {
            switch self {
            case .access: Entitlements.Access.all.map(\.code)
            case .environment: AppStoreEnvironment.allCases.map(\.rawValue)
            case .reason: Entitlements.Reason.allCases.map(\.rawValue)
            case .productTypeSource: ["evidence", "setting"]
            }
        }
    }

    public let name: String
    public let kind: Kind
    /// Whether it can be missing, or `null`.
    public let isOptional: Bool
    /// Whether a text without a value is `null`, and not missing.
    public var isNull = false
    /// A sentence; empty for what the name says.
    public let meaning: String

    @_spi(Surfaces) public init(_ name: String, _ kind: Kind, isOptional: Bool = false, _ meaning: String = "") {
        self.name = name
        self.kind = kind
        self.isOptional = isOptional
        self.meaning = meaning
    }

    /// A text, or `null`.
    init(nullText name: String, _ meaning: String) {
        self.init(name, .text, isOptional: true, meaning)
        isNull = true
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
