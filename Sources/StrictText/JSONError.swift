/// The reason a JSON text could not be read, and the place of the fault. Creating one allocates nothing.
public struct JSONError: Error, Hashable, Sendable {
    /// The kinds of faults. The raw values are stable; programs may compare them.
    public enum Kind: String, Sendable, CaseIterable {
        // Syntax (RFC 8259)
        /// The text ends inside a value.
        case truncated
        /// A character is not allowed at this position.
        case unexpectedCharacter = "unexpected-character"
        /// A string has a control character.
        case invalidString = "invalid-string"
        /// A string has an unknown escape sequence, or half a surrogate pair.
        case invalidEscape = "invalid-escape"
        /// A string is not valid UTF-8.
        case invalidUTF8 = "invalid-utf8"
        /// A number has leading zeros, or a sign or a point without digits (RFC 8259, 6).
        case invalidNumber = "invalid-number"
        /// Arrays and objects are nested more than 64 levels deep.
        case nestingTooDeep = "nesting-too-deep"
        /// Text other than whitespace follows the value.
        case trailingData = "trailing-data"
        // Decoder requirements
        /// A value does not have the type that the decoder requires.
        case unexpectedType = "unexpected-type"
        /// A value has the right type, but is not allowed for its member.
        case unexpectedValue = "unexpected-value"
        /// A number is out of the range of the type that it is read as.
        case numberOutOfRange = "number-out-of-range"
        /// An object does not have a required member.
        case missingMember = "missing-member"
        /// A member that the decoder reads is repeated.
        case duplicateMember = "duplicate-member"
    }

    /// The kind of fault.
    public let kind: Kind
    /// The position of the fault, in bytes from the start of the text.
    public let offset: Int

    public init(_ kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

extension JSONError.Kind {
    /// A clause that says what is wrong.
    public var explanation: String {
        switch self {
        case .truncated: "the JSON ends inside a value"
        case .unexpectedCharacter: "the JSON has a character that is not allowed at this position"
        case .invalidString: "a JSON string has a control character"
        case .invalidEscape: "a JSON string has an invalid escape sequence"
        case .invalidUTF8: "a JSON string is not valid UTF-8"
        case .invalidNumber: "a JSON number is malformed"
        case .nestingTooDeep: "the JSON is nested more than 64 levels deep"
        case .trailingData: "there is extra text after the end of the JSON"
        case .unexpectedType: "a JSON member has a value of the wrong type"
        case .unexpectedValue: "a JSON member has a value that is not allowed"
        case .numberOutOfRange: "a JSON number is out of range"
        case .missingMember: "a required JSON member is missing"
        case .duplicateMember: "a JSON member is repeated"
        }
    }
}
