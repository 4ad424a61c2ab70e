package import SpanASN1

/// The parameters of RSASSA-PSS.
///
/// ```asn1
/// RSASSA-PSS-params ::= SEQUENCE {
///   hashAlgorithm [0] HashAlgorithm DEFAULT sha1Identifier,
///   maskGenAlgorithm [1] MaskGenAlgorithm DEFAULT mgf1SHA1Identifier,
///   saltLength [2] INTEGER DEFAULT 20,
///   trailerField [3] INTEGER DEFAULT 1 }   -- RFC 4055, 3.1; explicit tags
/// ```
///
/// Default values may be encoded, because RFC 4055 does not require DER.
package struct RSAPSSParameters: ~Escapable {
    /// The whole structure.
    package let element: ASN1Element
    /// The digest algorithm; `nil` for the default, SHA-1.
    package let hashAlgorithm: AlgorithmIdentifier?
    /// The digest algorithm of MGF1, the only mask generation function; `nil` for the default, SHA-1.
    package let maskHashAlgorithm: AlgorithmIdentifier?
    /// The length of the salt in octets, which is not negative.
    package let saltLength: Int

    /// Reads the parameters of an ``AlgorithmIdentifier`` for `id-RSASSA-PSS`.
    ///
    /// - Throws: `unexpected-value` for a mask generation function other than MGF1, a negative salt length, or a
    ///   trailer field that is not 1.
    @_lifetime(copy element)
    package init(_ element: ASN1Element) throws(ASN1DecodingError) {
        self.element = element
        guard element.tag == .sequence else { throw element.error(.unexpectedTag) }
        var fields = element.contents
        hashAlgorithm = try Self.algorithm(&fields, 0)
        if let mask = try Self.algorithm(&fields, 1) {
            guard mask.matches(.mgf1), let parameters = mask.parameters else {
                throw mask.element.error(.unexpectedValue)
            }
            guard parameters.tag == .sequence else { throw parameters.error(.unexpectedTag) }
            maskHashAlgorithm = try AlgorithmIdentifier(parameters)
        } else {
            maskHashAlgorithm = nil
        }
        if let salt = try fields.readExplicitIfPresent(2) {
            saltLength = try salt.integer()
            guard saltLength >= 0 else { throw salt.error(.unexpectedValue) }
        } else {
            saltLength = 20
        }
        if let trailer = try fields.readExplicitIfPresent(3) {
            guard try trailer.integer(as: Int.self) == 1 else { throw trailer.error(.unexpectedValue) }
        }
        try fields.finish()
    }

    @_lifetime(copy fields)
    private static func algorithm(
        _ fields: inout ASN1Cursor, _ number: UInt32
    ) throws(ASN1DecodingError) -> AlgorithmIdentifier? {
        guard let element = try fields.readExplicitIfPresent(number) else { return nil }
        guard element.tag == .sequence else { throw element.error(.unexpectedTag) }
        return try AlgorithmIdentifier(element)
    }
}
