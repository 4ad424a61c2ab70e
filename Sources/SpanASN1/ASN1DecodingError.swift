/// Why bytes are not the ASN.1 that was asked for, and where.
///
/// A small value that is made without allocating. `offset` counts bytes from the start of the received binary input, whatever
/// part of it a cursor was reading; `path` says in which field of the structure it happened, when a decoder above the cursor knows.
@frozen
public struct ASN1DecodingError: Error, Hashable, Sendable {
    /// What is wrong. The raw values are stable words that programs may compare.
    public enum Kind: String, Sendable, CaseIterable {
        // Identifier and length octets (X.690, 8.1)
        case truncated
        case lengthOverflow = "length-overflow"
        case nonMinimalLength = "non-minimal-length"
        case indefiniteLength = "indefinite-length"
        case invalidLength = "invalid-length"
        case nonMinimalTag = "non-minimal-tag"
        case tagNumberTooLarge = "tag-number-too-large"
        case constructedString = "constructed-string"
        case unexpectedEndOfContents = "unexpected-end-of-contents"
        // Structure
        case missingElement = "missing-element"
        case unexpectedTag = "unexpected-tag"
        case unexpectedValue = "unexpected-value"
        case trailingData = "trailing-data"
        case unsortedSet = "unsorted-set"
        case duplicateElement = "duplicate-element"
        // Content octets
        case invalidBoolean = "invalid-boolean"
        case invalidInteger = "invalid-integer"
        case integerOutOfRange = "integer-out-of-range"
        case invalidNull = "invalid-null"
        case invalidBitString = "invalid-bit-string"
        case invalidObjectIdentifier = "invalid-object-identifier"
        case invalidString = "invalid-string"
        case invalidTime = "invalid-time"
        // Limits
        case nestingTooDeep = "nesting-too-deep"
        case tooManyElements = "too-many-elements"
        case inputTooLarge = "input-too-large"
    }

    public let kind: Kind
    /// Bytes from the start of the received binary input.
    public let offset: Int
    public let path: ASN1Path

    @inlinable
    public init(_ kind: Kind, offset: Int, path: ASN1Path = ASN1Path()) {
        self.kind = kind
        self.offset = offset
        self.path = path
    }

    /// The same error, said to be in `field` (and the element `index` of a repeated one) unless a decoder below said so already.
    public func within(_ field: ASN1Field, index: Int? = nil) -> ASN1DecodingError {
        path.field == nil ? ASN1DecodingError(kind, offset: offset, path: ASN1Path(field, index: index)) : self
    }
}

/// A field of a structure, by a number that the decoder of the structure chooses.
///
/// `SpanPKCS7` takes numbers from 60,000 up; below that, `AppStoreReceipt` uses the attribute type itself.
@frozen
public struct ASN1Field: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }
}

/// Where in a structure: a field, and which one of a repeated element it belongs to.
@frozen
public struct ASN1Path: Hashable, Sendable {
    @usableFromInline let rawField: UInt16
    @usableFromInline let rawIndex: Int32

    @inlinable
    public init() {
        rawField = .max
        rawIndex = -1
    }

    @inlinable
    public init(_ field: ASN1Field, index: Int? = nil) {
        rawField = field.rawValue
        rawIndex = index.map { Int32(truncatingIfNeeded: $0) } ?? -1
    }

    @inlinable public var field: ASN1Field? { rawField == .max ? nil : ASN1Field(rawValue: rawField) }
    @inlinable public var index: Int? { rawIndex < 0 ? nil : Int(rawIndex) }
}

extension ASN1DecodingError: CustomStringConvertible {
    public var description: String { "\(kind.explanation) at byte \(offset)" }
}

extension ASN1DecodingError.Kind {
    /// What is wrong, as a clause of a sentence.
    public var explanation: String {
        switch self {
        case .truncated: "an element runs past the end of its container"
        case .lengthOverflow: "a length does not fit in 63 bits"
        case .nonMinimalLength: "a length is not encoded in the fewest bytes"
        case .indefiniteLength: "an indefinite length where a definite one is required"
        case .invalidLength: "an invalid length"
        case .nonMinimalTag: "a tag is not encoded in the fewest bytes"
        case .tagNumberTooLarge: "a tag number of 2^28 or more"
        case .constructedString: "a string in constructed form where the primitive form is required"
        case .unexpectedEndOfContents: "end-of-contents outside an indefinite length"
        case .missingElement: "a required element is missing"
        case .unexpectedTag: "an element of another type than the structure calls for"
        case .unexpectedValue: "a value that the structure does not allow"
        case .trailingData: "bytes after the end of the structure"
        case .unsortedSet: "a SET OF is not in DER order"
        case .duplicateElement: "an element that may occur once is repeated"
        case .invalidBoolean: "an invalid BOOLEAN"
        case .invalidInteger: "an INTEGER is empty or not encoded in the fewest bytes"
        case .integerOutOfRange: "an INTEGER out of range"
        case .invalidNull: "a NULL with content"
        case .invalidBitString: "an invalid BIT STRING"
        case .invalidObjectIdentifier: "an invalid OBJECT IDENTIFIER"
        case .invalidString: "a string with characters that its type does not allow"
        case .invalidTime: "an invalid date or time"
        case .nestingTooDeep: "elements nested too deeply"
        case .tooManyElements: "too many elements"
        case .inputTooLarge: "an input larger than allowed"
        }
    }
}
