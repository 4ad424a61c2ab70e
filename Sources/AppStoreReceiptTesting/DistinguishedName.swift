package import SpanASN1

/// The name of an issuer or a subject (RFC 5280, 4.1.2.4): a sequence of attributes, with one in each relative name.
package struct DistinguishedName: Hashable, Sendable {
    /// An attribute of a name, with a string as its value.
    ///
    /// `AttributeTypeAndValue ::= SEQUENCE { type OBJECT IDENTIFIER, value ANY }` (RFC 5280, 4.1.2.4)
    package struct Attribute: Hashable, Sendable {
        /// The type of the attribute.
        package var type: ASN1ObjectIdentifier
        /// The characters, which are always written as UTF-8.
        package var value: String
        /// The tag of the string type. The value is not checked against it.
        package var tag: ASN1Tag

        /// Creates any attribute. The common attributes have static methods.
        package init(_ type: ASN1ObjectIdentifier, _ value: String, tag: ASN1Tag = .utf8String) {
            self.type = type
            self.value = value
            self.tag = tag
        }

        /// Returns a `commonName`, which is a UTF8String.
        package static func commonName(_ value: String) -> Attribute { .init(.commonName, value) }
        /// Returns an `organizationName`, which is a UTF8String.
        package static func organization(_ value: String) -> Attribute { .init(.organizationName, value) }
        /// Returns an `organizationalUnitName`, which is a UTF8String.
        package static func organizationalUnit(_ value: String) -> Attribute { .init(.organizationalUnitName, value) }
        /// Returns a `countryName` of two capital letters (ISO 3166).
        package static func country(_ value: String) -> Attribute { .init(.countryName, value, tag: .printableString) }
        /// Returns an `emailAddress` of PKCS#9, which is an IA5String.
        package static func emailAddress(_ value: String) -> Attribute { .init(.emailAddress, value, tag: .ia5String) }
    }

    /// The attributes, in the order in which they are written.
    package var attributes: [Attribute]

    /// Creates a name from attributes. A name can be empty.
    package init(_ attributes: Attribute...) { self.attributes = attributes }
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
