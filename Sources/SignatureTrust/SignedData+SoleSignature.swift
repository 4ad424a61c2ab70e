import LibcryptoHandles
package import SpanASN1
package import SpanPKCS7

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
    /// - Parameter key: returns the key of a certificate, or throws.
    @_lifetime(copy self)
    func verifySoleSignature(
        algorithms: AlgorithmPolicy,
        key: (Certificate) throws(SignatureTrustError) -> SignerKey
    ) throws(SignatureTrustError) -> VerifiedSignature {
        let content = try dataContent()
        let signer = try soleSigner()
        let certificate = try certificate(identifiedBy: signer.signerIdentifier)
        let key = try key(certificate)
        let algorithm = try algorithms.signatureAlgorithm(of: signer)
        guard try listsDigestAlgorithm(signer.digestAlgorithm) else {
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

    /// The certificate that `sid` identifies. Two different matches are an error, or their order would decide.
    @_lifetime(copy self)
    private func certificate(identifiedBy sid: SignerIdentifier) throws(SignatureTrustError) -> Certificate {
        var ambiguousOffset: Int?
        do throws(ASN1DecodingError) {
            var found: CertificateChoice?
            var choices = certificateChoices
            while let choice = try choices.next() {
                guard try sid.names(choice) else { continue }
                if let found {
                    if !found.element.encoded.hasSameBytes(as: choice.element.encoded) {
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

    /// Whether `digestAlgorithms` lists a signer's digest algorithm: others may be refused (RFC 5652, 5.1);
    /// libcrypto does.
    package func listsDigestAlgorithm(_ algorithm: AlgorithmIdentifier) throws(SignatureTrustError) -> Bool {
        do throws(ASN1DecodingError) {
            var announced = digestAlgorithms
            while let next = try announced.next() {
                if next.algorithm.content.hasSameBytes(as: algorithm.algorithm.content) { return true }
            }
            return false
        } catch {
            throw SignatureTrustError(malformed: error)
        }
    }
}
