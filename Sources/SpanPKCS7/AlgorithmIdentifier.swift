package import SpanASN1

/// An algorithm and its parameters.
///
/// ```asn1
/// AlgorithmIdentifier ::= SEQUENCE {
///   algorithm OBJECT IDENTIFIER,
///   parameters ANY DEFINED BY algorithm OPTIONAL }   -- RFC 5280, 4.1.1.2
/// ```
package struct AlgorithmIdentifier: ~Escapable, ASN1Decodable {
    /// The whole structure.
    package let element: ASN1Element
    /// The algorithm, an OBJECT IDENTIFIER.
    package let algorithm: ASN1Element
    /// The parameters of the algorithm; `nil` if the field is missing, which is not the same as NULL.
    package let parameters: ASN1Element?

    /// Reads the structure at the position of a cursor.
    @_lifetime(copy cursor)
    package init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        try self.init(cursor.read(.sequence))
    }

    /// - Parameter element: A SEQUENCE.
    @_lifetime(copy element)
    init(_ element: ASN1Element) throws(ASN1DecodingError) {
        self.element = element
        var fields = element.contents
        algorithm = try fields.read(.objectIdentifier)
        // A malformed identifier must not pass for an unknown one.
        try algorithm.validateObjectIdentifier()
        parameters = fields.isAtEnd ? nil : try fields.read()
        try fields.finish()
    }

    /// Returns whether the algorithm has an identifier, with any parameters.
    package func matches(_ identifier: ASN1ObjectIdentifier) -> Bool { algorithm.matches(identifier) }

    /// A Boolean value that indicates whether the parameters are missing or NULL, as for RSA PKCS#1 v1.5 and digest
    /// algorithms (RFC 3370, 2 and 3.2).
    package var hasNullOrAbsentParameters: Bool {
        guard let parameters else { return true }
        return parameters.tag == .null && parameters.contentCount == 0
    }
}

extension ASN1Element {
    /// Returns whether the element is a certain OBJECT IDENTIFIER. A malformed one is not.
    package func matches(_ identifier: ASN1ObjectIdentifier) -> Bool {
        tag == .objectIdentifier && content.hasSameBytes(as: identifier.content.span)
    }
}
