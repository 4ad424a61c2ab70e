/// The reason bytes could not be decoded as ASN.1, and the place of the fault.
///
/// Creating an error allocates nothing. ``offset`` counts bytes from the start of the received binary input, whichever
/// part of it the cursor was reading. `path` names the field of the structure, if the decoder that used the cursor set
/// it.
@frozen
public struct ASN1DecodingError: Error, Hashable, Sendable {
    /// The kinds of faults. The raw values are stable; programs may compare them.
    @nonexhaustive
    public enum Kind: String, Sendable, CaseIterable {
        // Identifier and length octets (X.690, 8.1)
        /// An element's header or content runs past the end of its container.
        case truncated
        /// A length does not fit in 63 bits.
        case lengthOverflow = "length-overflow"
        /// A length is encoded in more octets than it needs (X.690, 10.1).
        case nonMinimalLength = "non-minimal-length"
        /// An element has an indefinite length, which BER allows and DER does not (X.690, 10.1).
        case indefiniteLength = "indefinite-length"
        /// A length has the reserved octet `FF` (X.690, 8.1.3.5), or an end-of-contents marker has content.
        case invalidLength = "invalid-length"
        /// A tag number is encoded in more octets than it needs (X.690, 8.1.2.4).
        case nonMinimalTag = "non-minimal-tag"
        /// A tag number is above `ASN1Tag/maximumNumber`.
        case tagNumberTooLarge = "tag-number-too-large"
        /// A string is divided into segments, which BER allows and DER does not (X.690, 10.2).
        case constructedString = "constructed-string"
        /// An end-of-contents marker stands outside an element of indefinite length.
        case unexpectedEndOfContents = "unexpected-end-of-contents"
        // Structure
        /// The structure ends before an element that the decoder requires.
        case missingElement = "missing-element"
        /// An element does not have the type that the decoder requires.
        case unexpectedTag = "unexpected-tag"
        /// An element has a value that the structure does not allow, such as an unknown version or an explicitly
        /// encoded default (X.690, 11.5).
        case unexpectedValue = "unexpected-value"
        /// Bytes follow the last element that the decoder read.
        case trailingData = "trailing-data"
        /// The members of a SET OF are not in ascending order of their encodings (X.690, 11.6).
        case unsortedSet = "unsorted-set"
        /// An attribute, extension or value that may occur only once is repeated.
        case duplicateElement = "duplicate-element"
        // Content octets
        /// A BOOLEAN is not one octet with the value `00` or `FF` (X.690, 11.1).
        case invalidBoolean = "invalid-boolean"
        /// An INTEGER is empty, or has more octets than its value needs (X.690, 8.3).
        case invalidInteger = "invalid-integer"
        /// An INTEGER is outside the range of the type that it is read as, or of the format.
        case integerOutOfRange = "integer-out-of-range"
        /// A NULL has content (X.690, 8.8).
        case invalidNull = "invalid-null"
        /// A BIT STRING has no count of unused bits, a wrong count, or unused bits that are not zero (X.690, 8.6 and
        /// 11.2).
        case invalidBitString = "invalid-bit-string"
        /// An OBJECT IDENTIFIER is empty, ends inside an arc, or has an arc with leading zeros (X.690, 8.19).
        case invalidObjectIdentifier = "invalid-object-identifier"
        /// A string has octets that are not characters of its type (X.680, 41).
        case invalidString = "invalid-string"
        /// A date or time does not have the required form (for DER: X.690, 11.7 and 11.8), or does not exist.
        case invalidTime = "invalid-time"
        // Limits
        /// Elements are nested more deeply than `ASN1Limits/maximumDepth` or `BERGate/maximumDepth`.
        case nestingTooDeep = "nesting-too-deep"
        /// There are more elements, or more members of one kind, than the caller's limit.
        case tooManyElements = "too-many-elements"
        /// The input has more bytes than the caller's limit.
        case inputTooLarge = "input-too-large"
    }

    /// The kind of fault.
    public let kind: Kind
    /// The position of the fault, in bytes from the start of the received binary input.
    public let offset: Int
    /// The field of the structure; empty if no decoder set it.
    @usableFromInline package let path: ASN1Path

    /// Creates an error, for decoders that you write. If the decoder has the element, `ASN1Element/error(_:)` is
    /// shorter.
    @inlinable
    package init(_ kind: Kind, offset: Int, path: ASN1Path = ASN1Path()) {
        self.kind = kind
        self.offset = offset
        self.path = path
    }

    /// Returns the error with `field` and `index` as its path; an error that already has a path is returned unchanged.
    ///
    /// - Parameters:
    ///   - field: The field of the structure.
    ///   - index: The index from 0 of the repeated element that contains the field, or `nil` if nothing is repeated.
    package func within(_ field: ASN1Field, index: Int? = nil) -> ASN1DecodingError {
        path.field == nil ? ASN1DecodingError(kind, offset: offset, path: ASN1Path(field, index: index)) : self
    }
}

/// A field of a structure, identified by a number that the decoder of the structure chooses.
///
/// `SpanPKCS7` uses numbers from 60,000 up. Below that, `AppStoreReceipt` uses the number of the attribute type.
@usableFromInline
package struct ASN1Field: RawRepresentable, Hashable, Sendable {
    /// The number of the field.
    @usableFromInline package let rawValue: UInt16
    /// Creates a field with a number.
    @inlinable package init(rawValue: UInt16) { self.rawValue = rawValue }
}

/// A place in a structure: a field, and the index of the repeated element that contains it.
@usableFromInline
package struct ASN1Path: Hashable, Sendable {
    @usableFromInline let rawField: UInt16
    @usableFromInline let rawIndex: Int32

    /// Creates an empty path.
    @inlinable
    package init() {
        rawField = .max
        rawIndex = -1
    }

    /// Creates a path to a field.
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - index: The index from 0 of the repeated element that contains the field, or `nil` if nothing is repeated.
    @inlinable
    package init(_ field: ASN1Field, index: Int? = nil) {
        rawField = field.rawValue
        rawIndex = index.map { Int32(truncatingIfNeeded: $0) } ?? -1
    }

    /// The field; `nil` for an empty path.
    @inlinable package var field: ASN1Field? { rawField == .max ? nil : ASN1Field(rawValue: rawField) }
    /// The index from 0 of the repeated element; `nil` if nothing is repeated.
    @inlinable package var index: Int? { rawIndex < 0 ? nil : Int(rawIndex) }
}

extension ASN1DecodingError: CustomStringConvertible {
    /// The explanation and the byte offset.
    public var description: String { "\(kind.explanation) at byte \(offset)" }
}

extension ASN1DecodingError.Kind {
    /// A clause that says what is wrong, such as "a length does not fit in 63 bits".
    public var explanation: String {
        switch self {
        case .truncated: "an element runs past the end of its container"
        case .lengthOverflow: "a length does not fit in 63 bits"
        case .nonMinimalLength: "a length is not encoded in the fewest bytes"
        case .indefiniteLength: "an element has an indefinite length where a definite length is required"
        case .invalidLength: "a length has the reserved value FF, or an end-of-contents marker has content"
        case .nonMinimalTag: "a tag number is not encoded in the fewest bytes"
        case .tagNumberTooLarge: "a tag number is 2^28 or more"
        case .constructedString: "a string is in constructed form where the primitive form is required"
        case .unexpectedEndOfContents: "an end-of-contents marker stands outside an element of indefinite length"
        case .missingElement: "a required element is missing"
        case .unexpectedTag: "an element does not have the type that the structure requires"
        case .unexpectedValue: "an element has a value that the structure does not allow"
        case .trailingData: "there are extra bytes after the end of the structure"
        case .unsortedSet: "the members of a SET OF are not in DER order"
        case .duplicateElement: "an element that may occur only once is repeated"
        case .invalidBoolean: "a BOOLEAN is not one byte with the value 00 or FF"
        case .invalidInteger: "an INTEGER is empty or not encoded in the fewest bytes"
        case .integerOutOfRange: "an INTEGER is out of range"
        case .invalidNull: "a NULL has content"
        case .invalidBitString: "a BIT STRING has a wrong count of unused bits, or unused bits that are not zero"
        case .invalidObjectIdentifier: "an OBJECT IDENTIFIER is empty, incomplete or not encoded in the fewest bytes"
        case .invalidString: "a string has a character that its type does not allow"
        case .invalidTime: "a date or time is malformed or does not exist"
        case .nestingTooDeep: "elements are nested more deeply than the limit allows"
        case .tooManyElements: "there are more elements than the limit allows"
        case .inputTooLarge: "the input is larger than the limit"
        }
    }
}
