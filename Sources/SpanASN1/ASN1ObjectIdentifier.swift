/// An OBJECT IDENTIFIER with arcs of any size, stored as its encoded content (X.690, 8.19).
public struct ASN1ObjectIdentifier: Hashable, Sendable {
    /// The content octets of its encoding.
    public let content: [UInt8]

    /// Creates a constant from an encoding that is known to be valid.
    package init(content: [UInt8]) {
        assert(ASN1Arcs.areValid(content.span))
        self.content = content
    }

    /// Creates an identifier from content octets; returns `nil` if they are not valid.
    public init?(validating content: [UInt8]) {
        guard ASN1Arcs.areValid(content.span) else { return nil }
        self.content = content
    }

    /// Creates an identifier from dotted decimal, such as `1.2.840.113549`; returns `nil` for anything else.
    ///
    /// The first arc is 0, 1 or 2. Under 0 and 1, the second arc is below 40 (X.660). An arc has at most 256 decimal
    /// digits.
    public init?(_ dotted: String) {
        guard let content = ASN1Arcs.encode(dotted, joiningFirstTwo: true) else { return nil }
        self.content = content
    }
}

extension ASN1ObjectIdentifier: CustomStringConvertible {
    /// The identifier in dotted decimal. An arc of more than 128 octets is in hexadecimal (`0x…`), which keeps the work
    /// linear.
    public var description: String { ASN1Arcs.describe(content.span, splittingFirst: true) }
}

/// A RELATIVE-OID with arcs of any size, stored as its encoded content (X.690, 8.20).
package struct ASN1RelativeOID: Hashable, Sendable {
    /// The content octets of its encoding.
    package let content: [UInt8]

    /// Creates a constant from an encoding that is known to be valid.
    package init(content: [UInt8]) {
        assert(ASN1Arcs.areValid(content.span))
        self.content = content
    }

    /// Creates a relative identifier from content octets; returns `nil` if they are not valid.
    package init?(validating content: [UInt8]) {
        guard ASN1Arcs.areValid(content.span) else { return nil }
        self.content = content
    }

    /// Creates a relative identifier from dotted decimal, such as `8571.3.2` or a single arc; returns `nil` for
    /// anything else.
    package init?(_ dotted: String) {
        guard let content = ASN1Arcs.encode(dotted, joiningFirstTwo: false) else { return nil }
        self.content = content
    }
}

extension ASN1RelativeOID: CustomStringConvertible {
    /// The identifier in dotted decimal. An arc of more than 128 octets is in hexadecimal (`0x…`), which keeps the work
    /// linear.
    package var description: String { ASN1Arcs.describe(content.span, splittingFirst: false) }
}

extension ASN1Element {
    /// Returns the value of an OBJECT IDENTIFIER.
    ///
    /// - Parameter tag: The implicit tag that replaces that of OBJECT IDENTIFIER.
    /// - Throws: `unexpected-tag`; `invalid-object-identifier` if the content is empty, ends inside an arc, or has an
    ///   arc with a leading 0x80.
    package func objectIdentifier(
        tagged tag: ASN1Tag = .objectIdentifier
    ) throws(ASN1DecodingError) -> ASN1ObjectIdentifier {
        ASN1ObjectIdentifier(content: [UInt8](copying: try arcs(tag)))
    }

    /// Returns whether the element is a certain OBJECT IDENTIFIER. It allocates nothing.
    ///
    /// - Parameters:
    ///   - other: The identifier to compare.
    ///   - tag: The implicit tag that replaces that of OBJECT IDENTIFIER.
    /// - Throws: The errors of ``objectIdentifier(tagged:)``.
    package func isObjectIdentifier(
        _ other: ASN1ObjectIdentifier, tagged tag: ASN1Tag = .objectIdentifier
    ) throws(ASN1DecodingError) -> Bool {
        try require(tag)
        let isEqual = content.hasSameBytes(as: other.content.span)
        // Equal content is valid.
        guard isEqual || ASN1Arcs.areValid(content) else { throw error(.invalidObjectIdentifier) }
        return isEqual
    }

    /// Checks that the element is an OBJECT IDENTIFIER. It allocates nothing.
    ///
    /// - Parameter tag: The implicit tag that replaces that of OBJECT IDENTIFIER.
    /// - Throws: The errors of ``objectIdentifier(tagged:)``.
    package func validateObjectIdentifier(tagged tag: ASN1Tag = .objectIdentifier) throws(ASN1DecodingError) {
        _ = try arcs(tag)
    }

    /// Returns the value of a RELATIVE-OID.
    ///
    /// - Parameter tag: The implicit tag that replaces that of RELATIVE-OID.
    /// - Throws: The errors of ``objectIdentifier(tagged:)``.
    package func relativeOID(tagged tag: ASN1Tag = .relativeOID) throws(ASN1DecodingError) -> ASN1RelativeOID {
        ASN1RelativeOID(content: [UInt8](copying: try arcs(tag)))
    }

    @_lifetime(copy self)
    private func arcs(_ tag: ASN1Tag) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        let arcs = content
        guard ASN1Arcs.areValid(arcs) else { throw error(.invalidObjectIdentifier) }
        return arcs
    }
}
