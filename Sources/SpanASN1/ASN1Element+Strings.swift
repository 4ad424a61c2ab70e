// The character string types, each with the characters that X.680 allows in it.
extension ASN1Element {
    /// Returns the octets of a UTF8String after checking that they are well-formed UTF-8. It allocates nothing.
    ///
    /// - Parameter tag: The implicit tag that replaces that of UTF8String.
    /// - Throws: `unexpected-tag`; `constructed-string`; `invalid-string` for surrogates, overlong forms and everything
    ///   else that is not well-formed in Unicode (table 3-7).
    @_lifetime(copy self)
    package func validatedUTF8(tagged tag: ASN1Tag = .utf8String) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        let content = content
        guard UTF8Validation.isWellFormed(content) else { throw error(.invalidString) }
        return content
    }

    /// Returns the octets of an IA5String after checking that they are ASCII. It allocates nothing.
    ///
    /// - Parameter tag: The implicit tag that replaces that of IA5String.
    /// - Throws: `unexpected-tag`; `constructed-string`; `invalid-string` for an octet above 0x7F.
    @_lifetime(copy self)
    package func validatedIA5(tagged tag: ASN1Tag = .ia5String) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        let content = content
        guard UTF8Validation.isASCII(content) else { throw error(.invalidString) }
        return content
    }

    /// Returns the text of a UTF8String.
    ///
    /// - Parameter tag: The implicit tag that replaces that of UTF8String.
    /// - Throws: The errors of ``validatedUTF8(tagged:)``.
    package func utf8String(tagged tag: ASN1Tag = .utf8String) throws(ASN1DecodingError) -> String {
        String(decoding: [UInt8](copying: try validatedUTF8(tagged: tag)), as: UTF8.self)
    }

    /// Returns the text of an IA5String, which is ASCII including control characters.
    ///
    /// - Parameter tag: The implicit tag that replaces that of IA5String.
    /// - Throws: The errors of ``validatedIA5(tagged:)``.
    package func ia5String(tagged tag: ASN1Tag = .ia5String) throws(ASN1DecodingError) -> String {
        String(decoding: [UInt8](copying: try validatedIA5(tagged: tag)), as: UTF8.self)
    }

    /// Returns the text of a PrintableString, which has letters, digits, space and `'()+,-./:=?` (X.680, 41.4).
    ///
    /// - Parameter tag: The implicit tag that replaces that of PrintableString.
    /// - Throws: `unexpected-tag`; `constructed-string`; `invalid-string` for any other character.
    package func printableString(tagged tag: ASN1Tag = .printableString) throws(ASN1DecodingError) -> String {
        try ascii(relaxations.contains(.anyPrintableCharacter) ? .visible : .printable, tag)
    }

    /// Returns the text of a NumericString, which has digits and space (X.680, 41.2).
    ///
    /// - Parameter tag: The implicit tag that replaces that of NumericString.
    /// - Throws: The errors of ``printableString(tagged:)``.
    package func numericString(tagged tag: ASN1Tag = .numericString) throws(ASN1DecodingError) -> String {
        try ascii(.numeric, tag)
    }

    /// Returns the text of a VisibleString (ISO646String), which has the printing characters of ASCII and space.
    ///
    /// - Parameter tag: The implicit tag that replaces that of VisibleString.
    /// - Throws: The errors of ``printableString(tagged:)``.
    package func visibleString(tagged tag: ASN1Tag = .visibleString) throws(ASN1DecodingError) -> String {
        try ascii(.visible, tag)
    }

    /// Returns the text of a BMPString, which has two octets for each character of the Basic Multilingual Plane.
    ///
    /// - Parameter tag: The implicit tag that replaces that of BMPString.
    /// - Throws: `unexpected-tag`; `constructed-string`; `invalid-string` for surrogates or an odd number of octets.
    package func bmpString(tagged tag: ASN1Tag = .bmpString) throws(ASN1DecodingError) -> String {
        try scalars(ofWidth: 2, tag)
    }

    /// Returns the text of a UniversalString, which has four octets for each Unicode scalar value.
    ///
    /// - Parameter tag: The implicit tag that replaces that of UniversalString.
    /// - Throws: `unexpected-tag`; `constructed-string`; `invalid-string` for a number that is not a scalar value, or a
    ///   number of octets that is not divisible by 4.
    package func universalString(tagged tag: ASN1Tag = .universalString) throws(ASN1DecodingError) -> String {
        try scalars(ofWidth: 4, tag)
    }

    /// Returns the text of a TeletexString (T61String), read as ISO 8859-1.
    ///
    /// T.61 switches character sets with escape sequences. Certificates, which still use the type, have Latin-1 in it.
    /// Every octet is accepted.
    ///
    /// - Parameter tag: The implicit tag that replaces that of TeletexString.
    /// - Throws: `unexpected-tag`; `constructed-string`.
    package func teletexString(tagged tag: ASN1Tag = .teletexString) throws(ASN1DecodingError) -> String {
        try scalars(ofWidth: 1, tag)
    }

    /// Returns the text of a string of any of these types, by its tag.
    ///
    /// - Throws: `unexpected-tag` for every other type; `invalid-string`; `constructed-string`.
    package func string() throws(ASN1DecodingError) -> String {
        switch tag.asPrimitive {
        case .utf8String: try utf8String()
        case .printableString: try printableString()
        case .ia5String: try ia5String()
        case .numericString: try numericString()
        case .visibleString: try visibleString()
        case .bmpString: try bmpString()
        case .universalString: try universalString()
        case .teletexString: try teletexString()
        default: throw error(.unexpectedTag)
        }
    }

    private func ascii(_ set: ASN1CharacterSet, _ tag: ASN1Tag) throws(ASN1DecodingError) -> String {
        try require(tag)
        let content = content
        for index in content.indices where !set.contains(content[index]) { throw error(.invalidString) }
        return String(decoding: [UInt8](copying: content), as: UTF8.self)
    }

    private func scalars(ofWidth width: Int, _ tag: ASN1Tag) throws(ASN1DecodingError) -> String {
        try require(tag)
        guard contentCount % width == 0 else { throw error(.invalidString) }
        var text = String.UnicodeScalarView()
        var index = contentStart
        while index < end {
            var value: UInt32 = 0
            for octet in 0..<width { value = value << 8 | UInt32(bytes[index + octet]) }
            guard let scalar = Unicode.Scalar(value) else { throw error(.invalidString) }
            text.append(scalar)
            index += width
        }
        return String(text)
    }
}

/// The sets of ASCII characters of the restricted string types (X.680, 41).
enum ASN1CharacterSet {
    case numeric, printable, visible, ia5

    func contains(_ octet: UInt8) -> Bool {
        switch (self, octet) {
        case (.ia5, ..<0x80), (.visible, 0x20...0x7E), (.numeric, 0x30...0x39), (.numeric, 0x20): true
        // a–z, A–Z, '(), +,-./0–9:, space, =, ?
        case (.printable, 0x61...0x7A), (.printable, 0x41...0x5A), (.printable, 0x27...0x29), (.printable, 0x2B...0x3A),
            (.printable, 0x20), (.printable, 0x3D), (.printable, 0x3F):
            true
        default: false
        }
    }
}
