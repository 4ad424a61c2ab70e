public import SpanASN1

/// The name of an issuer or a subject (RFC 5280, 4.1.2.4): a sequence of attributes, one to each relative name.
public struct DistinguishedName: Hashable, Sendable {
    /// `AttributeTypeAndValue ::= SEQUENCE { type OBJECT IDENTIFIER, value ANY }` (RFC 5280, 4.1.2.4), with a string as its value.
    public struct Attribute: Hashable, Sendable {
        /// Which attribute it is.
        public var type: ASN1ObjectIdentifier
        /// The characters, written as UTF-8 whatever ``tag`` says.
        public var value: String
        /// The string type, which is not checked against the value.
        public var tag: ASN1Tag

        /// Any attribute; the usual ones have names.
        public init(_ type: ASN1ObjectIdentifier, _ value: String, tag: ASN1Tag = .utf8String) {
            self.type = type
            self.value = value
            self.tag = tag
        }

        /// `commonName`, a UTF8String.
        public static func commonName(_ value: String) -> Attribute { .init(.commonName, value) }
        /// `organizationName`, a UTF8String.
        public static func organization(_ value: String) -> Attribute { .init(.organizationName, value) }
        /// `organizationalUnitName`, a UTF8String.
        public static func organizationalUnit(_ value: String) -> Attribute { .init(.organizationalUnitName, value) }
        /// Two capital letters (ISO 3166).
        public static func country(_ value: String) -> Attribute { .init(.countryName, value, tag: .printableString) }
        /// `emailAddress` of PKCS#9, an IA5String.
        public static func emailAddress(_ value: String) -> Attribute { .init(.emailAddress, value, tag: .ia5String) }
    }

    /// In the order written.
    public var attributes: [Attribute]

    /// A name of these attributes; none at all is a name, too.
    public init(_ attributes: Attribute...) { self.attributes = attributes }
}

extension ASN1ObjectIdentifier {
    // Attributes of names: 2.5.4 (X.520), 1.2.840.113549.1.9 (PKCS#9)
    static let commonName = ASN1ObjectIdentifier(content: [0x55, 0x04, 0x03])
    static let countryName = ASN1ObjectIdentifier(content: [0x55, 0x04, 0x06])
    static let organizationName = ASN1ObjectIdentifier(content: [0x55, 0x04, 0x0A])
    static let organizationalUnitName = ASN1ObjectIdentifier(content: [0x55, 0x04, 0x0B])
    static let emailAddress = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x01])
}

extension ASN1Writer {
    mutating func write(_ name: DistinguishedName) {
        write(.sequence) { writer in
            for attribute in name.attributes {
                writer.write(.set) { writer in
                    writer.write(.sequence) { writer in
                        writer.writeObjectIdentifier(attribute.type)
                        writer.writeUTF8String(attribute.value, tagged: attribute.tag)
                    }
                }
            }
        }
    }
}
