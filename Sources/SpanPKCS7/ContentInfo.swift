public import SpanASN1

/// The outermost structure of every PKCS#7 and CMS message.
///
/// ```asn1
/// ContentInfo ::= SEQUENCE {
///   contentType ContentType,                                -- OBJECT IDENTIFIER
///   content [0] EXPLICIT ANY DEFINED BY contentType OPTIONAL }   -- RFC 5652, 3; OPTIONAL: RFC 2315, 7
/// ```
public struct ContentInfo: ~Escapable {
    /// The `contentType`, an OBJECT IDENTIFIER.
    public let contentType: ASN1Element
    /// The content, whatever its type; `nil` where RFC 2315 lets it be absent.
    public let content: ASN1Element?

    /// Reads a whole DER input.
    ///
    /// - Throws: `ASN1DecodingError`, among them `trailing-data` for bytes after the structure.
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>, baseOffset: Int = 0) throws(ASN1DecodingError) {
        do throws(ASN1DecodingError) {
            var input = ASN1Cursor(bytes, baseOffset: baseOffset)
            let structure = try input.read(.sequence)
            try input.finish()
            var fields = structure.contents
            contentType = try fields.read(.objectIdentifier)
            // What is no identifier at all must not pass for an unknown one.
            try contentType.validateObjectIdentifier()
            if fields.isAtEnd {
                content = nil
            } else {
                var wrapper = try fields.read(.context(0)).contents
                content = try wrapper.read()
                try wrapper.finish()
            }
            try fields.finish()
        } catch {
            throw error.within(.contentInfo)
        }
    }

    /// Whether this is `signedData`.
    ///
    /// - Throws: `invalid-object-identifier` when the type is none.
    public func isSignedData() throws(ASN1DecodingError) -> Bool {
        try contentType.isObjectIdentifier(.signedData)
    }
}

extension BERGate {
    /// The gate for PKCS#7 and CMS messages. What is signed as it stands is opaque: certificates, revocation lists, attributes.
    public static let pkcs7 = BERGate { depth, tag, parent in
        switch depth {
        // ContentInfo › [0] › SignedData › its fields
        case 0...3: false
        // Below certificates [0] and crls [1]; digestAlgorithms, encapContentInfo and signerInfos have universal tags.
        case 4: parent?.tagClass == .contextSpecific
        // eContent and signature are OCTET STRINGs; the rest of a SignerInfo is DER wherever it comes from.
        default: tag.asPrimitive != .octetString
        }
    }
}
