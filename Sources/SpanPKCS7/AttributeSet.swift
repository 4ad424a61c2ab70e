package import Instants
package import SpanASN1

/// The signed or unsigned attributes of a signer, as received.
///
/// `SET SIZE (1..MAX) OF Attribute`, implicitly tagged (RFC 5652, 5.3).
package struct AttributeSet: ~Escapable {
    /// The whole set, with its implicit tag.
    package let element: ASN1Element
    /// The number of attributes, which is at least one.
    package let count: Int

    /// Reads a SET OF Attribute with any constructed tag.
    ///
    /// - Throws: `missing-element` for an empty set; an error of the syntax.
    @_lifetime(copy element)
    package init(_ element: ASN1Element) throws(ASN1DecodingError) {
        self.element = element
        var attributes = ASN1Members<Attribute>(of: element)
        var count = 0
        while try attributes.next() != nil { count += 1 }
        guard count > 0 else { throw element.error(.missingElement) }
        self.count = count
    }

    /// The attributes, in the order received.
    package var attributes: ASN1Members<Attribute> {
        @_lifetime(copy self)
        get { ASN1Members(of: element) }
    }

    /// Returns the value of an attribute that may occur only once and has one value; `nil` if there is no such
    /// attribute.
    ///
    /// RFC 5652, 11 requires this of content-type, message-digest and signing-time.
    ///
    /// - Parameter type: The type of the attribute.
    /// - Throws: `duplicate-element` for a second attribute or a second value; `missing-element` for an attribute
    ///   without a value.
    @_lifetime(copy self)
    package func singleValue(of type: ASN1ObjectIdentifier) throws(ASN1DecodingError) -> ASN1Element? {
        var found: ASN1Element?
        var attributes = self.attributes
        while let attribute = try attributes.next() {
            guard try attribute.type.isObjectIdentifier(type) else { continue }
            guard found == nil else { throw attribute.type.error(.duplicateElement) }
            var values = attribute.values.contents
            guard !values.isAtEnd else { throw attribute.values.error(.missingElement) }
            found = try values.read()
            guard values.isAtEnd else { throw ASN1DecodingError(.duplicateElement, offset: values.offset) }
        }
        return found
    }

    /// Returns the signing time that the signer states (RFC 5652, 11.3); `nil` if it states none.
    ///
    /// Only the signer vouches for it.
    ///
    /// - Throws: The errors of ``singleValue(of:)``; `invalid-time`.
    package func signingTime() throws(ASN1DecodingError) -> Instant? {
        guard let value = try singleValue(of: .signingTime) else { return nil }
        return try value.time()
    }
}

/// An attribute of a signer.
///
/// `Attribute ::= SEQUENCE { attrType OBJECT IDENTIFIER, attrValues SET OF AttributeValue }` (RFC 5652, 5.3)
package struct Attribute: ~Escapable, ASN1Decodable {
    /// `attrType`, an OBJECT IDENTIFIER.
    package let type: ASN1Element
    /// `attrValues`, a SET.
    package let values: ASN1Element

    /// Reads the structure at the position of a cursor.
    @_lifetime(copy cursor)
    package init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        var fields = try cursor.read(.sequence).contents
        type = try fields.read(.objectIdentifier)
        values = try fields.read(.set)
        try fields.finish()
    }
}
