package import SpanASN1

/// The outermost structure of every PKCS#7 and CMS message.
///
/// ```asn1
/// ContentInfo ::= SEQUENCE {
///   contentType ContentType,                                -- OBJECT IDENTIFIER
///   content [0] EXPLICIT ANY DEFINED BY contentType OPTIONAL }   -- RFC 5652, 3; OPTIONAL: RFC 2315, 7
/// ```
package struct ContentInfo: ~Escapable {
    /// The `contentType`, an OBJECT IDENTIFIER.
    package let contentType: ASN1Element
    /// The content, of any type; `nil` if it is missing, as RFC 2315 allows.
    package let content: ASN1Element?

    /// Reads a whole DER input.
    ///
    /// - Throws: An error of the syntax; `trailing-data` for bytes after the structure.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, baseOffset: Int = 0) throws(ASN1DecodingError) {
        do throws(ASN1DecodingError) {
            var fields = try ASN1Element(whole: bytes, baseOffset: baseOffset).contents
            contentType = try fields.read(.objectIdentifier)
            // A malformed identifier must not pass for an unknown one.
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

    /// Returns whether the content has the type `signedData`.
    ///
    /// - Throws: `invalid-object-identifier` if the type is not a valid OBJECT IDENTIFIER.
    package func isSignedData() throws(ASN1DecodingError) -> Bool {
        try contentType.isObjectIdentifier(.signedData)
    }
}

extension BERGate {
    /// The gate for PKCS#7 and CMS messages. Certificates, revocation lists and attributes are opaque, because they are
    /// signed as received.
    package static let pkcs7 = BERGate { depth, tag, parent in
        switch depth {
        // ContentInfo › [0] › SignedData › its fields
        case 0...3: false
        // Below certificates [0] and crls [1]; digestAlgorithms, encapContentInfo and signerInfos have universal tags.
        case 4: parent?.tagClass == .contextSpecific
        // eContent and signature are OCTET STRINGs; every writer encodes the rest of a SignerInfo as DER.
        default: tag.asPrimitive != .octetString
        }
    }
}
