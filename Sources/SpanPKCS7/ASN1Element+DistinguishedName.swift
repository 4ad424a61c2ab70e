package import SpanASN1

extension ASN1Element {
    /// Returns a `Name` as in RFC 4514, with the last RDN first, such as `CN=Example,O=Example\, Inc.,C=US`.
    ///
    /// Use it for display only: two different names can have the same text. An attribute without a short name has its
    /// OBJECT IDENTIFIER. A value that is not a string is its encoding in hexadecimal after `#`. Characters that could
    /// mislead a terminal (C0, C1, marks of direction) are escaped.
    ///
    /// `Name ::= SEQUENCE OF SET SIZE (1..MAX) OF SEQUENCE { type OBJECT IDENTIFIER, value ANY }` (RFC 5280, 4.1.2.4)
    ///
    /// - Throws: An error of the syntax if the element is not a `Name`.
    package func distinguishedName() throws(ASN1DecodingError) -> String {
        var names: [String] = []
        try decode(.sequence) { (sets) throws(ASN1DecodingError) in
            try sets.readAll { (set) throws(ASN1DecodingError) in
                var parts: [String] = []
                try set.decode(.set) { (members) throws(ASN1DecodingError) in
                    try members.readAll { (member) throws(ASN1DecodingError) in
                        parts.append(try member.attributeTypeAndValue())
                    }
                }
                guard !parts.isEmpty else { throw set.error(.missingElement) }
                names.append(parts.joined(separator: "+"))
            }
        }
        return names.reversed().joined(separator: ",")
    }

    private func attributeTypeAndValue() throws(ASN1DecodingError) -> String {
        try decode(.sequence) { (fields) throws(ASN1DecodingError) in
            let type = try fields.read(.objectIdentifier).objectIdentifier()
            let value = try fields.read()
            var text = (shortNames[type] ?? type.description) + "="
            do throws(ASN1DecodingError) {
                Self.appendEscaped(try value.string(), to: &text)
            } catch {
                text += "#" + Hexadecimal.text(value.encoded)
            }
            return text
        }
    }

    /// RFC 4514, 2.4.
    private static func appendEscaped(_ value: String, to text: inout String) {
        let scalars = value.unicodeScalars
        var index = scalars.startIndex
        while index < scalars.endIndex {
            let scalar = scalars[index]
            let next = scalars.index(after: index)
            let isAtEdge = index == scalars.startIndex || next == scalars.endIndex
            switch scalar {
            case "\"", "+", ",", ";", "<", ">", "\\":
                text += "\\"
                text.unicodeScalars.append(scalar)
            case "#" where index == scalars.startIndex, " " where isAtEdge:
                text += "\\"
                text.unicodeScalars.append(scalar)
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                    for octet in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                        text += octet < 16 ? "\\0" : "\\"
                        text += String(octet, radix: 16, uppercase: true)
                    }
                default: text.unicodeScalars.append(scalar)
                }
            }
            index = next
        }
    }
}

/// The short names of RFC 4514, 3, and common ones of RFC 4519 and RFC 5280, A.1.
private let shortNames: [ASN1ObjectIdentifier: String] = [
    attribute(3): "CN", attribute(4): "SN", attribute(5): "serialNumber", attribute(6): "C", attribute(7): "L",
    attribute(8): "ST", attribute(9): "STREET", attribute(10): "O", attribute(11): "OU", attribute(12): "title",
    ASN1ObjectIdentifier(content: [0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 0x01, 0x19]): "DC",
    ASN1ObjectIdentifier(content: [0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 0x01, 0x01]): "UID",
    ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x01]): "emailAddress",
]

/// 2.5.4
private func attribute(_ arc: UInt8) -> ASN1ObjectIdentifier { ASN1ObjectIdentifier(content: [0x55, 0x04, arc]) }
