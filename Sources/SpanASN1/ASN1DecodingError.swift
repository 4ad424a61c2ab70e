/// Why bytes are not the ASN.1 that was asked for, and where.
///
/// A small value that is made without allocating. `offset` counts bytes from the start of the received binary input, whatever
/// part of it a cursor was reading; `path` says in which field of the structure it happened, when a decoder above the cursor knows.
@frozen
public struct ASN1DecodingError: Error, Hashable, Sendable {
    /// What is wrong. The raw values are stable words that programs may compare.
    public enum Kind: String, Sendable, CaseIterable {
        // Identifier and length octets (X.690, 8.1)
        /// An element's header or content reaches beyond the end of what it lies in.
        case truncated
        /// A length that does not fit in 63 bits.
        case lengthOverflow = "length-overflow"
        /// A length in more octets than it needs (X.690, 10.1).
        case nonMinimalLength = "non-minimal-length"
        /// An indefinite length, which BER has and DER has not (X.690, 10.1).
        case indefiniteLength = "indefinite-length"
        /// The length octet `FF`, which is reserved (X.690, 8.1.3.5), or an end-of-contents with content.
        case invalidLength = "invalid-length"
        /// A tag number in more octets than it needs (X.690, 8.1.2.4).
        case nonMinimalTag = "non-minimal-tag"
        /// A tag number above ``ASN1Tag/maximumNumber``.
        case tagNumberTooLarge = "tag-number-too-large"
        /// A string in segments, which BER has and DER has not (X.690, 10.2).
        case constructedString = "constructed-string"
        /// The two octets that end an indefinite length where none is open.
        case unexpectedEndOfContents = "unexpected-end-of-contents"
        // Structure
        /// The structure ends where the decoder needs one more element.
        case missingElement = "missing-element"
        /// An element of another type than the one the decoder asked for.
        case unexpectedTag = "unexpected-tag"
        /// A value that this place in the structure does not allow: a version, or a default that is written out (X.690, 11.5).
        case unexpectedValue = "unexpected-value"
        /// Bytes after the last element that the decoder read.
        case trailingData = "trailing-data"
        /// Members of a SET OF that are not in ascending order of their encodings (X.690, 11.6).
        case unsortedSet = "unsorted-set"
        /// A second one of what may occur once: an attribute, an extension, a value.
        case duplicateElement = "duplicate-element"
        // Content octets
        /// Not one octet, or one that is neither `00` nor `FF` (X.690, 11.1).
        case invalidBoolean = "invalid-boolean"
        /// No octet, or more than the value needs (X.690, 8.3).
        case invalidInteger = "invalid-integer"
        /// Outside the type that the decoder reads it as, or outside what the format allows.
        case integerOutOfRange = "integer-out-of-range"
        /// A NULL that has content (X.690, 8.8).
        case invalidNull = "invalid-null"
        /// No count of unused bits, a wrong one, or unused bits that are not zero (X.690, 8.6 and 11.2).
        case invalidBitString = "invalid-bit-string"
        /// No octet, an arc that is cut off, or one with leading zeros (X.690, 8.19).
        case invalidObjectIdentifier = "invalid-object-identifier"
        /// Octets that are no characters of the string's type (X.680, 41).
        case invalidString = "invalid-string"
        /// No date or time in the form that is demanded (DER's: X.690, 11.7 and 11.8), or one that does not exist.
        case invalidTime = "invalid-time"
        // Limits
        /// More levels than ``ASN1Limits/maximumDepth`` or ``BERGate/maximumDepth``.
        case nestingTooDeep = "nesting-too-deep"
        /// More elements, or members of a certain kind, than the caller's limit.
        case tooManyElements = "too-many-elements"
        /// More bytes than the caller's limit.
        case inputTooLarge = "input-too-large"
    }

    /// What is wrong.
    public let kind: Kind
    /// Bytes from the start of the received binary input.
    public let offset: Int
    /// In which field of the structure; empty where no decoder above the cursor said so.
    public let path: ASN1Path

    /// An error for a decoder of one's own; where it has the element, ``ASN1Element/error(_:)`` is shorter.
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

    /// No place: nobody has said where.
    @inlinable
    public init() {
        rawField = .max
        rawIndex = -1
    }

    /// A field, and the index from 0 of the element that it belongs to where that is repeated.
    @inlinable
    public init(_ field: ASN1Field, index: Int? = nil) {
        rawField = field.rawValue
        rawIndex = index.map { Int32(truncatingIfNeeded: $0) } ?? -1
    }

    /// The field; `nil` when nobody has said which.
    @inlinable public var field: ASN1Field? { rawField == .max ? nil : ASN1Field(rawValue: rawField) }
    /// Which element of a repeated one, from 0; `nil` where nothing is repeated.
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
