package import LibcryptoHandles
package import SpanASN1
package import SpanPKCS7

extension SignerInfo {
    /// Verifies this signer's signature with the given key.
    ///
    /// The signed bytes are the received ones: the content, or the signed attributes with `SET OF` for their implicit tag (RFC 5652, 5.4).
    ///
    /// - Parameter contentDigest: of the content, by this signer's algorithm.
    func verify(
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
            // Worth one more RSA operation: whether the content was altered, or the signature is somebody else's.
            let signedDigest = try SignatureTrustError.calling(at: signature.offset) { () throws(LibcryptoError) in
                algorithm.scheme == .pkcs1
                    ? try key.recoverPKCS1Digest(signature: signature.content, algorithm: algorithm.digest) : nil
            }
            throw SignatureTrustError(
                signedDigest == nil ? .invalidSignature : .contentDigestMismatch, offset: signature.offset,
                path: ASN1Path(.signerInfos))
        }
    }

    /// RFC 5652, 5.3 and 11: DER, a content-type that is the content's, exactly one message-digest, and that the content's.
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

/// A message whose one signature was verified with the key of the certificate that the signer names. No trust is implied.
package struct VerifiedSignature: ~Escapable {
    /// The signer's certificate.
    let certificate: CertificateView
    package let digestAlgorithm: SignatureDigest
    let key: SignerKey

    /// Whether the certificate was trusted before: then only its owner can have made the message.
    package var isSignerKnown: Bool { key.isKnown }

    /// The first moment at which the signer's certificate is valid: a date to judge it at when the message names none.
    package func signerNotBefore() throws(SignatureTrustError) -> Instant {
        Instant(millisecondsSince1970: try certificate.validSeconds().lowerBound * 1000)
    }

    @_lifetime(copy certificate)
    init(_ certificate: CertificateView, _ digestAlgorithm: DigestAlgorithm, _ key: SignerKey) {
        self.certificate = certificate
        self.digestAlgorithm = SignatureDigest(digestAlgorithm)
        self.key = key
    }
}

/// The key of a signer's certificate.
package struct SignerKey {
    package let key: PublicKey
    /// Whether the certificate was trusted before: it is one of those given, or has ended a chain that is still remembered.
    package let isKnown: Bool
    /// That chain, which held at some date.
    var chain: PinnedChain?
}

extension SignedData {
    /// The content of a message that must carry plain data.
    @_lifetime(copy self)
    package func dataContent() throws(SignatureTrustError) -> ASN1Element {
        guard contentType.matches(.data) else {
            throw SignatureTrustError(
                .unexpectedContentType, offset: contentType.offset, path: ASN1Path(.encapContentInfo))
        }
        guard let content else {
            throw SignatureTrustError(.missingContent, offset: contentType.offset, path: ASN1Path(.encapContentInfo))
        }
        guard content.tag == .octetString else {
            throw SignatureTrustError(
                .unexpectedContentType, offset: content.offset, path: ASN1Path(.encapContentInfo))
        }
        return content
    }

    /// Verifies the signature of a message that must have exactly one.
    ///
    /// - Parameter key: gives the key of a certificate, or refuses to.
    @_lifetime(copy self)
    func verifySoleSignature(
        algorithms: AlgorithmPolicy,
        key: (CertificateView) throws(SignatureTrustError) -> SignerKey
    ) throws(SignatureTrustError) -> VerifiedSignature {
        let content = try dataContent()
        let signer = try soleSigner()
        let certificate = try certificate(namedBy: signer.sid)
        let key = try key(certificate)
        let algorithm = try algorithms.signatureAlgorithm(of: signer)
        guard try announces(signer.digestAlgorithm) else {
            throw SignatureTrustError(.algorithmMismatch, offset: signer.digestAlgorithm.element.offset)
        }
        try algorithms.check(algorithm, suits: certificate)
        let digest = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try algorithm.digest.digest(of: content.content)
        }
        try signer.verify(contentDigest: digest, contentType: contentType, key: key.key, algorithm: algorithm)
        return VerifiedSignature(certificate, algorithm.digest, key)
    }

    @_lifetime(copy self)
    private func soleSigner() throws(SignatureTrustError) -> SignerInfo {
        do throws(ASN1DecodingError) {
            var signers = signerInfos
            if signerCount == 1, let signer = try signers.next() { return signer }
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        throw SignatureTrustError(.signerCount, offset: signerSet.offset, path: ASN1Path(.signerInfos))
    }

    /// The certificate that the signer names. Two that differ may not both answer to it, or their order would decide.
    @_lifetime(copy self)
    private func certificate(namedBy sid: SignerIdentifier) throws(SignatureTrustError) -> CertificateView {
        var ambiguousOffset: Int?
        do throws(ASN1DecodingError) {
            var found: CertificateChoice?
            var choices = certificateChoices
            while let choice = try choices.next() {
                guard try sid.names(choice) else { continue }
                if let found {
                    if !found.element.encoded.isIdentical(to: choice.element.encoded) {
                        ambiguousOffset = ambiguousOffset ?? choice.element.offset
                    }
                } else {
                    found = choice
                }
            }
            if ambiguousOffset == nil, let certificate = try found?.certificate() { return certificate }
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        if let ambiguousOffset {
            throw SignatureTrustError(
                .ambiguousSignerCertificate, offset: ambiguousOffset, path: ASN1Path(.certificates))
        }
        throw SignatureTrustError(.missingSignerCertificate, offset: signerSet.offset, path: ASN1Path(.signerInfos))
    }

    /// Whether a certificate is embedded, byte for byte.
    func embeds(_ certificate: Span<UInt8>) -> Bool {
        var choices = certificateChoices
        while let choice = try? choices.next() {
            if choice.element.encoded.isIdentical(to: certificate) { return true }
        }
        return false
    }

    /// Whether a certificate with the name of the leaf's issuer is embedded, besides one that is known.
    func embedsIssuer(of leaf: CertificateView, besides known: Span<UInt8>) -> Bool {
        var certificates = self.certificates
        while let certificate = try? certificates.next() {
            if certificate.subject.encoded.hasSameBytes(as: leaf.issuer.encoded),
                !certificate.element.encoded.isIdentical(to: known)
            {
                return true
            }
        }
        return false
    }

    /// Copies of all embedded X.509 certificates.
    func embeddedCertificates() throws(SignatureTrustError) -> [EmbeddedCertificate] {
        var result: [EmbeddedCertificate] = []
        do throws(ASN1DecodingError) {
            var certificates = self.certificates
            while let certificate = try certificates.next() {
                result.append(
                    EmbeddedCertificate(
                        der: [UInt8](copying: certificate.element.encoded), offset: certificate.element.offset))
            }
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        return result
    }
}

extension PinnedChainVerifier {
    /// The first step: the message's one signature, with the key of the certificate that its signer names.
    @_lifetime(copy message)
    package func verifySignature(of message: SignedData) throws(SignatureTrustError) -> VerifiedSignature {
        try message.verifySoleSignature(algorithms: policy.algorithms) { (leaf) throws(SignatureTrustError) in
            try key(of: leaf)
        }
    }

    /// The second step: the chain from that certificate to an anchor at a date.
    package func chain(
        of signature: borrowing VerifiedSignature, in message: SignedData, at date: Instant
    ) throws(SignatureTrustError) -> PinnedChain {
        try chain(
            from: signature.certificate, key: signature.key, at: date, isAtHand: { message.embeds($0) },
            hasRival: { message.embedsIssuer(of: signature.certificate, besides: $0) },
            candidates: { () throws(SignatureTrustError) in try message.embeddedCertificates() })
    }
}
