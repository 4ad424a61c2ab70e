public import SpanASN1

/// An algorithm and its parameters.
///
/// ```asn1
/// AlgorithmIdentifier ::= SEQUENCE {
///   algorithm OBJECT IDENTIFIER,
///   parameters ANY DEFINED BY algorithm OPTIONAL }   -- RFC 5280, 4.1.1.2
/// ```
public struct AlgorithmIdentifier: ~Escapable {
    /// The whole structure.
    public let element: ASN1Element
    /// The algorithm, an OBJECT IDENTIFIER.
    public let algorithm: ASN1Element
    /// What the algorithm needs to know besides; `nil` when the field is absent, which is not the same as NULL.
    public let parameters: ASN1Element?

    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        try self.init(cursor.read(.sequence))
    }

    /// - Parameter element: a SEQUENCE.
    @_lifetime(copy element)
    init(_ element: ASN1Element) throws(ASN1DecodingError) {
        self.element = element
        var fields = element.contents
        algorithm = try fields.read(.objectIdentifier)
        // What is no identifier at all must not pass for an unknown one.
        try algorithm.validateObjectIdentifier()
        parameters = fields.isAtEnd ? nil : try fields.read()
        try fields.finish()
    }

    /// Whether the algorithm is this one, whatever its parameters.
    public func `is`(_ identifier: ASN1ObjectIdentifier) -> Bool { algorithm.matches(identifier) }

    /// Whether the parameters are absent or NULL, as RSA PKCS#1 v1.5 and digest algorithms have them (RFC 3370, 2 and 3.2).
    public var hasNullOrAbsentParameters: Bool {
        guard let parameters else { return true }
        return parameters.tag == .null && parameters.contentCount == 0
    }
}

extension ASN1Element {
    /// Whether this is the given OBJECT IDENTIFIER; one that is malformed is none.
    public func matches(_ identifier: ASN1ObjectIdentifier) -> Bool {
        tag == .objectIdentifier && content.hasSameBytes(as: identifier.content.span)
    }
}
