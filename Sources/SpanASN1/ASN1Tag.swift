/// The identifier octets of an element: class, primitive or constructed, and tag number (X.690, 8.1.2).
///
/// Tag numbers up to 2²⁸ − 1 (four octets in the high-tag-number form) are supported; the reader refuses larger ones.
@frozen
public struct ASN1Tag: Hashable, Sendable {
    /// The four tag classes of X.680, 8.1.
    @frozen
    public enum Class: UInt8, Sendable {
        case universal, application, contextSpecific, `private`
    }

    /// Class in bits 31–30, constructed in bit 29, number in bits 27–0.
    public let rawValue: UInt32

    @inlinable
    init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A tag from its first identifier octet; the number must be below 31.
    @inlinable
    init(octet: UInt8) {
        rawValue = UInt32(octet & 0xE0) << 24 | UInt32(octet & 0x1F)
    }

    /// The largest tag number that this type can hold.
    public static let maximumNumber: UInt32 = 0x0FFF_FFFF

    /// Makes a tag; the number is taken modulo 2²⁸.
    @inlinable
    public init(_ tagClass: Class, _ number: UInt32, constructed: Bool = false) {
        rawValue = UInt32(tagClass.rawValue) << 30 | (constructed ? 1 << 29 : 0) | (number & 0x0FFF_FFFF)
    }

    /// `[number]`, constructed unless said otherwise: what explicit tags and implicitly tagged structures use.
    @inlinable
    public static func context(_ number: UInt32, constructed: Bool = true) -> ASN1Tag {
        ASN1Tag(.contextSpecific, number, constructed: constructed)
    }

    @inlinable public var tagClass: Class { Class(rawValue: UInt8(rawValue >> 30)) ?? .universal }
    @inlinable public var isConstructed: Bool { rawValue & (1 << 29) != 0 }
    @inlinable public var number: UInt32 { rawValue & 0x0FFF_FFFF }
    @inlinable public var isUniversal: Bool { rawValue >> 30 == 0 }

    /// The same class and number in constructed form.
    @inlinable public var asConstructed: ASN1Tag { ASN1Tag(rawValue: rawValue | 1 << 29) }
    /// The same class and number in primitive form.
    @inlinable public var asPrimitive: ASN1Tag { ASN1Tag(rawValue: rawValue & ~(1 << 29)) }
}

extension ASN1Tag {
    @inlinable public static var endOfContents: ASN1Tag { ASN1Tag(octet: 0x00) }
    @inlinable public static var boolean: ASN1Tag { ASN1Tag(octet: 0x01) }
    @inlinable public static var integer: ASN1Tag { ASN1Tag(octet: 0x02) }
    @inlinable public static var bitString: ASN1Tag { ASN1Tag(octet: 0x03) }
    @inlinable public static var octetString: ASN1Tag { ASN1Tag(octet: 0x04) }
    @inlinable public static var null: ASN1Tag { ASN1Tag(octet: 0x05) }
    @inlinable public static var objectIdentifier: ASN1Tag { ASN1Tag(octet: 0x06) }
    @inlinable public static var enumerated: ASN1Tag { ASN1Tag(octet: 0x0A) }
    @inlinable public static var utf8String: ASN1Tag { ASN1Tag(octet: 0x0C) }
    @inlinable public static var relativeOID: ASN1Tag { ASN1Tag(octet: 0x0D) }
    @inlinable public static var sequence: ASN1Tag { ASN1Tag(octet: 0x30) }
    @inlinable public static var set: ASN1Tag { ASN1Tag(octet: 0x31) }
    @inlinable public static var numericString: ASN1Tag { ASN1Tag(octet: 0x12) }
    @inlinable public static var printableString: ASN1Tag { ASN1Tag(octet: 0x13) }
    @inlinable public static var teletexString: ASN1Tag { ASN1Tag(octet: 0x14) }
    @inlinable public static var videotexString: ASN1Tag { ASN1Tag(octet: 0x15) }
    @inlinable public static var ia5String: ASN1Tag { ASN1Tag(octet: 0x16) }
    @inlinable public static var utcTime: ASN1Tag { ASN1Tag(octet: 0x17) }
    @inlinable public static var generalizedTime: ASN1Tag { ASN1Tag(octet: 0x18) }
    @inlinable public static var graphicString: ASN1Tag { ASN1Tag(octet: 0x19) }
    @inlinable public static var visibleString: ASN1Tag { ASN1Tag(octet: 0x1A) }
    @inlinable public static var generalString: ASN1Tag { ASN1Tag(octet: 0x1B) }
    @inlinable public static var universalString: ASN1Tag { ASN1Tag(octet: 0x1C) }
    @inlinable public static var bmpString: ASN1Tag { ASN1Tag(octet: 0x1E) }
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

    /// The type's name in X.680 (`OCTET STRING`), or the bracketed tag (`[0]`, `[APPLICATION 3]`).
    public var description: String {
        switch tagClass {
        case .universal: Self.names[number] ?? "[UNIVERSAL \(number)]"
        case .application: "[APPLICATION \(number)]"
        case .contextSpecific: "[\(number)]"
        case .private: "[PRIVATE \(number)]"
        }
    }
}
