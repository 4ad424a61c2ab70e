/// The tag of an element: its class, its form (primitive or constructed) and its number (X.690, 8.1.2).
///
/// The largest supported number is 2²⁸ − 1, which has four octets in the high-tag-number form. A reader refuses larger
/// numbers.
@usableFromInline
package struct ASN1Tag: BitwiseCopyable, Hashable, Sendable {
    /// The four tag classes of X.680, 8.1.
    @usableFromInline
    package enum Class: UInt8, BitwiseCopyable, Sendable {
        /// The types that X.680 defines.
        case universal
        /// `[APPLICATION n]`: types of one application.
        case application
        /// `[n]`: fields of the structure around them.
        case contextSpecific
        /// `[PRIVATE n]`: types of one enterprise.
        case `private`
    }

    /// The class in bits 31–30, the form in bit 29, and the number in bits 27–0.
    @usableFromInline package let rawValue: UInt32

    @inlinable
    init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates a tag from its first identifier octet. The number must be below 31.
    @inlinable
    init(octet: UInt8) {
        rawValue = UInt32(octet & 0xE0) << 24 | UInt32(octet & 0x1F)
    }

    /// The largest tag number that this type can hold.
    package static let maximumNumber: UInt32 = 0x0FFF_FFFF

    /// Creates a tag. The number is taken modulo 2²⁸.
    @inlinable
    package init(_ tagClass: Class, _ number: UInt32, constructed: Bool = false) {
        rawValue = UInt32(tagClass.rawValue) << 30 | (constructed ? 1 << 29 : 0) | (number & 0x0FFF_FFFF)
    }

    /// Returns the context-specific tag `[number]`, by default in constructed form, as for explicit tags and implicitly
    /// tagged structures.
    @inlinable
    package static func context(_ number: UInt32, constructed: Bool = true) -> ASN1Tag {
        ASN1Tag(.contextSpecific, number, constructed: constructed)
    }

    /// The class, in bits 8 and 7 of the first identifier octet.
    @inlinable package var tagClass: Class { Class(rawValue: UInt8(rawValue >> 30)) ?? .universal }
    /// A Boolean value that indicates whether the content consists of elements.
    @inlinable package var isConstructed: Bool { rawValue & (1 << 29) != 0 }
    /// The tag number, below 2²⁸.
    @inlinable package var number: UInt32 { rawValue & 0x0FFF_FFFF }
    /// A Boolean value that indicates whether the class is ``Class/universal``. The number is then that of a type of
    /// X.680.
    @inlinable package var isUniversal: Bool { rawValue >> 30 == 0 }

    /// The tag with the same class and number in constructed form.
    @inlinable package var asConstructed: ASN1Tag { ASN1Tag(rawValue: rawValue | 1 << 29) }
    /// The tag with the same class and number in primitive form.
    @inlinable package var asPrimitive: ASN1Tag { ASN1Tag(rawValue: rawValue & ~(1 << 29)) }
}

extension ASN1Tag {
    /// The end of an indefinite length, tag 0 (X.690, 8.1.5). DER has no such element.
    @inlinable package static var endOfContents: ASN1Tag { ASN1Tag(octet: 0x00) }
    /// BOOLEAN, tag 1.
    @inlinable package static var boolean: ASN1Tag { ASN1Tag(octet: 0x01) }
    /// INTEGER, tag 2.
    @inlinable package static var integer: ASN1Tag { ASN1Tag(octet: 0x02) }
    /// BIT STRING, tag 3, primitive.
    @inlinable package static var bitString: ASN1Tag { ASN1Tag(octet: 0x03) }
    /// OCTET STRING, tag 4, primitive.
    @inlinable package static var octetString: ASN1Tag { ASN1Tag(octet: 0x04) }
    /// NULL, tag 5.
    @inlinable package static var null: ASN1Tag { ASN1Tag(octet: 0x05) }
    /// OBJECT IDENTIFIER, tag 6.
    @inlinable package static var objectIdentifier: ASN1Tag { ASN1Tag(octet: 0x06) }
    /// ENUMERATED, tag 10.
    @inlinable package static var enumerated: ASN1Tag { ASN1Tag(octet: 0x0A) }
    /// UTF8String, tag 12, primitive.
    @inlinable package static var utf8String: ASN1Tag { ASN1Tag(octet: 0x0C) }
    /// RELATIVE-OID, tag 13.
    @inlinable package static var relativeOID: ASN1Tag { ASN1Tag(octet: 0x0D) }
    /// SEQUENCE and SEQUENCE OF, tag 16, constructed.
    @inlinable package static var sequence: ASN1Tag { ASN1Tag(octet: 0x30) }
    /// SET and SET OF, tag 17, constructed.
    @inlinable package static var set: ASN1Tag { ASN1Tag(octet: 0x31) }
    /// NumericString, tag 18, primitive: digits and space.
    @inlinable package static var numericString: ASN1Tag { ASN1Tag(octet: 0x12) }
    /// PrintableString, tag 19, primitive: letters, digits, space and `'()+,-./:=?`.
    @inlinable package static var printableString: ASN1Tag { ASN1Tag(octet: 0x13) }
    /// TeletexString (T61String), tag 20, primitive.
    @inlinable package static var teletexString: ASN1Tag { ASN1Tag(octet: 0x14) }
    /// IA5String, tag 22, primitive: ASCII.
    @inlinable package static var ia5String: ASN1Tag { ASN1Tag(octet: 0x16) }
    /// UTCTime, tag 23: a year of two digits.
    @inlinable package static var utcTime: ASN1Tag { ASN1Tag(octet: 0x17) }
    /// GeneralizedTime, tag 24: a year of four digits.
    @inlinable package static var generalizedTime: ASN1Tag { ASN1Tag(octet: 0x18) }
    /// VisibleString (ISO646String), tag 26, primitive: printable ASCII and space.
    @inlinable package static var visibleString: ASN1Tag { ASN1Tag(octet: 0x1A) }
    /// UniversalString, tag 28, primitive: UTF-32, the high byte first.
    @inlinable package static var universalString: ASN1Tag { ASN1Tag(octet: 0x1C) }
    /// BMPString, tag 30, primitive: two bytes a character, the high byte first.
    @inlinable package static var bmpString: ASN1Tag { ASN1Tag(octet: 0x1E) }
}

extension ASN1Tag: CustomStringConvertible {
    private static let names: [UInt32: String] = [
        0: "END OF CONTENTS", 1: "BOOLEAN", 2: "INTEGER", 3: "BIT STRING", 4: "OCTET STRING", 5: "NULL",
        6: "OBJECT IDENTIFIER", 7: "ObjectDescriptor", 8: "EXTERNAL", 9: "REAL", 10: "ENUMERATED",
        11: "EMBEDDED PDV", 12: "UTF8String", 13: "RELATIVE-OID", 14: "TIME", 16: "SEQUENCE", 17: "SET",
        18: "NumericString", 19: "PrintableString", 20: "TeletexString", 21: "VideotexString", 22: "IA5String",
        23: "UTCTime", 24: "GeneralizedTime", 25: "GraphicString", 26: "VisibleString", 27: "GeneralString",
        28: "UniversalString", 29: "CHARACTER STRING", 30: "BMPString", 31: "DATE", 32: "TIME-OF-DAY",
        33: "DATE-TIME", 34: "DURATION", 35: "OID-IRI", 36: "RELATIVE-OID-IRI",
    ]

    /// The name of the type in X.680, such as `OCTET STRING`, or the tag in brackets, such as `[0]` or `[APPLICATION
    /// 3]`.
    @usableFromInline package var description: String {
        switch tagClass {
        case .universal: Self.names[number] ?? "[UNIVERSAL \(number)]"
        case .application: "[APPLICATION \(number)]"
        case .contextSpecific: "[\(number)]"
        case .private: "[PRIVATE \(number)]"
        }
    }
}
