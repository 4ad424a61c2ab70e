/// Why a text is not the JSON that was asked for, and where. Made without allocating.
package struct JSONError: Error, Hashable, Sendable {
    /// What is wrong. The raw values are stable words that programs may compare.
    package enum Kind: String, Sendable, CaseIterable {
        // Syntax (RFC 8259)
        /// The text ends inside a value.
        case truncated
        /// A character that cannot stand there (RFC 8259).
        case unexpectedCharacter = "unexpected-character"
        /// A control character in a string.
        case invalidString = "invalid-string"
        /// An unknown escape, or half a surrogate pair.
        case invalidEscape = "invalid-escape"
        /// Octets that are no UTF-8.
        case invalidUTF8 = "invalid-utf8"
        /// Leading zeros, a sign or a point without digits (RFC 8259, 6).
        case invalidNumber = "invalid-number"
        /// More than 64 levels of arrays and objects.
        case nestingTooDeep = "nesting-too-deep"
        /// Anything but whitespace after the value.
        case trailingData = "trailing-data"
        // What a decoder asked for
        /// A value of another type than the one that is asked for.
        case unexpectedType = "unexpected-type"
        /// A value of the right type that this member cannot have.
        case unexpectedValue = "unexpected-value"
        /// A number outside the type that it is read as.
        case numberOutOfRange = "number-out-of-range"
        /// An object lacks a member that it must have.
        case missingMember = "missing-member"
        /// A member that is read is there twice.
        case duplicateMember = "duplicate-member"
    }

    /// What is wrong.
    package let kind: Kind
    /// Bytes from the start of the text.
    package let offset: Int

    package init(_ kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

extension JSONError.Kind {
    /// What is wrong, as a clause of a sentence.
    package var explanation: String {
        switch self {
        case .truncated: "the JSON text ends too early"
        case .unexpectedCharacter: "a character that JSON does not allow here"
        case .invalidString: "a control character in a JSON string"
        case .invalidEscape: "an invalid escape in a JSON string"
        case .invalidUTF8: "a JSON string that is not UTF-8"
        case .invalidNumber: "a number that JSON does not allow"
        case .nestingTooDeep: "JSON nested too deeply"
        case .trailingData: "more after the end of the JSON text"
        case .unexpectedType: "a member with a value of another type than it should have"
        case .unexpectedValue: "a member with a value that it cannot have"
        case .numberOutOfRange: "a number that is too large"
        case .missingMember: "a required member is missing"
        case .duplicateMember: "a member that is there twice"
        }
    }
}
