/// Why a text is not the JSON that was asked for, and where. Made without allocating.
package struct JSONError: Error, Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        // Syntax (RFC 8259)
        case truncated
        case unexpectedCharacter = "unexpected-character"
        /// A control character in a string.
        case invalidString = "invalid-string"
        /// An unknown escape, or half a surrogate pair.
        case invalidEscape = "invalid-escape"
        case invalidUTF8 = "invalid-utf8"
        case invalidNumber = "invalid-number"
        case nestingTooDeep = "nesting-too-deep"
        case trailingData = "trailing-data"
        // What a decoder asked for
        case unexpectedType = "unexpected-type"
        case unexpectedValue = "unexpected-value"
        case numberOutOfRange = "number-out-of-range"
        case missingMember = "missing-member"
        case duplicateMember = "duplicate-member"
    }

    package let kind: Kind
    /// Bytes from the start of the text.
    package let offset: Int

    package init(_ kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}
