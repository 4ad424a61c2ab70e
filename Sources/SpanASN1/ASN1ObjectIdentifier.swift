/// An OBJECT IDENTIFIER with arcs of any size, held as its encoded content (X.690, 8.19).
public struct ASN1ObjectIdentifier: Hashable, Sendable {
    /// The content octets of its encoding.
    public let content: [UInt8]

    /// A constant whose encoding is known to be right.
    package init(content: [UInt8]) {
        assert(ASN1Arcs.areValid(content.span))
        self.content = content
    }

    /// An identifier from content octets; `nil` where these are not valid.
    public init?(validating content: [UInt8]) {
        guard ASN1Arcs.areValid(content.span) else { return nil }
        self.content = content
    }

    /// An identifier in dotted decimal (`1.2.840.113549`); `nil` for anything else.
    ///
    /// The first arc is 0, 1 or 2, and the second below 40 under 0 and 1 (X.660). No arc may exceed 256 decimal digits.
    public init?(_ dotted: String) {
        guard let content = ASN1Arcs.encode(dotted, joiningFirstTwo: true) else { return nil }
        self.content = content
    }
}

extension ASN1ObjectIdentifier: CustomStringConvertible {
    /// Dotted decimal. An arc of more than 128 octets is in hexadecimal (`0x…`), which keeps the work linear.
    public var description: String { ASN1Arcs.describe(content.span, splittingFirst: true) }
}

/// A RELATIVE-OID with arcs of any size, held as its encoded content (X.690, 8.20).
public struct ASN1RelativeOID: Hashable, Sendable {
    /// The content octets of its encoding.
    public let content: [UInt8]

    /// A constant whose encoding is known to be right.
    package init(content: [UInt8]) {
        assert(ASN1Arcs.areValid(content.span))
        self.content = content
    }

    /// A relative identifier from content octets; `nil` where these are not valid.
    public init?(validating content: [UInt8]) {
        guard ASN1Arcs.areValid(content.span) else { return nil }
        self.content = content
    }

    /// A relative identifier in dotted decimal (`8571.3.2`, or one arc alone); `nil` for anything else.
    public init?(_ dotted: String) {
        guard let content = ASN1Arcs.encode(dotted, joiningFirstTwo: false) else { return nil }
        self.content = content
    }
}

extension ASN1RelativeOID: CustomStringConvertible {
    /// Dotted decimal. An arc of more than 128 octets is in hexadecimal (`0x…`), which keeps the work linear.
    public var description: String { ASN1Arcs.describe(content.span, splittingFirst: false) }
}

extension ASN1Element {
    /// An OBJECT IDENTIFIER.
    ///
    /// - Throws: `unexpected-tag`; `invalid-object-identifier` for no content, an arc that is cut off, or one with a leading 0x80.
    public func objectIdentifier(
        tagged tag: ASN1Tag = .objectIdentifier
    ) throws(ASN1DecodingError) -> ASN1ObjectIdentifier {
        ASN1ObjectIdentifier(content: [UInt8](copying: try arcs(tag)))
    }

    /// Whether this OBJECT IDENTIFIER is the given one; allocates nothing.
    ///
    /// - Throws: as ``objectIdentifier(tagged:)``.
    public func isObjectIdentifier(
        _ other: ASN1ObjectIdentifier, tagged tag: ASN1Tag = .objectIdentifier
    ) throws(ASN1DecodingError) -> Bool {
        try require(tag)
        let isEqual = content.hasSameBytes(as: other.content.span)
        // What equals an identifier is one.
        guard isEqual || ASN1Arcs.areValid(content) else { throw error(.invalidObjectIdentifier) }
        return isEqual
    }

    /// Proves that this is an OBJECT IDENTIFIER; allocates nothing.
    ///
    /// - Throws: as ``objectIdentifier(tagged:)``.
    public func validateObjectIdentifier(tagged tag: ASN1Tag = .objectIdentifier) throws(ASN1DecodingError) {
        _ = try arcs(tag)
    }

    /// A RELATIVE-OID.
    ///
    /// - Throws: as ``objectIdentifier(tagged:)``.
    public func relativeOID(tagged tag: ASN1Tag = .relativeOID) throws(ASN1DecodingError) -> ASN1RelativeOID {
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
