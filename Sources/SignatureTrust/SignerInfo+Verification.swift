package import LibcryptoHandles
package import SpanASN1
package import SpanPKCS7

extension SignerInfo {
    /// Verifies this signer's signature with the given key.
    ///
    /// The signed bytes are the received ones: the content, or the signed attributes with the tag `SET OF`, not `[0]`
    /// (RFC 5652, 5.4).
    ///
    /// - Parameter contentDigest: The digest of the content, with this signer's algorithm.
    package func verify(
        contentDigest: DigestValue, contentType: ASN1Element, key: PublicKey, algorithm: SignatureAlgorithm
    ) throws(SignatureTrustError) {
        var digest = contentDigest
        if let signedAttributes {
            try checkSignedAttributes(signedAttributes, contentType, digest)
            var signed = [UInt8](copying: signedAttributes.element.encoded)
            signed[0] = 0x31
            digest = try SignatureTrustError.calling { () throws(LibcryptoError) in
                try algorithm.digest.digest(of: signed.span)
            }
        }
        let isValid = try SignatureTrustError.calling(at: signature.offset) { () throws(LibcryptoError) in
            try key.verify(signature: signature.content, digest: digest, scheme: algorithm.scheme)
        }
        guard isValid else {
            // One more RSA operation tells whether the signed bytes were altered or another key signed them.
            let signedDigest = try SignatureTrustError.calling(at: signature.offset) { () throws(LibcryptoError) in
                algorithm.scheme == .pkcs1
                    ? try key.recoverPKCS1Digest(signature: signature.content, algorithm: algorithm.digest) : nil
            }
            throw SignatureTrustError(
                signedDigest == nil ? .invalidSignature : .contentDigestMismatch, offset: signature.offset,
                path: ASN1Path(.signerInfos))
        }
    }

    /// RFC 5652, 5.3 and 11: checks that they are DER, with exactly one content-type and one message-digest, both
    /// right.
    private func checkSignedAttributes(
        _ attributes: AttributeSet, _ contentType: ASN1Element, _ digest: DigestValue
    ) throws(SignatureTrustError) {
        let offset = attributes.element.offset
        var isDigestEqual = false
        do throws(ASN1DecodingError) {
            var cursor = ASN1Cursor(attributes.element.encoded, baseOffset: offset)
            try cursor.readSet(.context(0), isSorted: true) { (_) throws(ASN1DecodingError) in }
            guard let type = try attributes.singleValue(of: .contentType),
                let value = try attributes.singleValue(of: .messageDigest)
            else { throw attributes.element.error(.missingElement) }
            guard type.tag == .objectIdentifier, type.content.hasSameBytes(as: contentType.content) else {
                throw type.error(.unexpectedValue)
            }
            let received = try value.octetString()
            isDigestEqual = digest.withBytes { $0.hasSameBytes(as: received) }
        } catch {
            throw SignatureTrustError(
                .invalidSignedAttributes, offset: error.offset, path: ASN1Path(.signedAttributes))
        }
        guard isDigestEqual else {
            throw SignatureTrustError(.contentDigestMismatch, offset: offset, path: ASN1Path(.signedAttributes))
        }
    }
}
