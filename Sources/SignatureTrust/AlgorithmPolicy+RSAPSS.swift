import LibcryptoHandles
import SpanASN1
package import SpanPKCS7

// RSASSA-PSS, whose parameters name the digests and the salt length.
extension AlgorithmPolicy {
    /// RFC 4055, 3.1: a signature must have the parameters.
    func pssAlgorithm(_ identifier: AlgorithmIdentifier) throws(SignatureTrustError) -> SignatureAlgorithm {
        guard let parameters = identifier.parameters else {
            throw SignatureTrustError(.unsupportedAlgorithm, offset: identifier.element.offset)
        }
        let (digest, mask, saltLength) = try pssChoices(parameters)
        return SignatureAlgorithm(digest: digest, scheme: .pss(saltLength: saltLength, mgf1: mask))
    }

    private func pssChoices(
        _ parameters: ASN1Element
    ) throws(SignatureTrustError) -> (digest: DigestAlgorithm, mask: DigestAlgorithm, saltLength: Int) {
        let pss: RSAPSSParameters
        do throws(ASN1DecodingError) {
            pss = try RSAPSSParameters(parameters)
        } catch {
            throw SignatureTrustError(.unsupportedAlgorithm, offset: error.offset)
        }
        // A salt is shorter than the modulus, so no valid salt is this long; libcrypto accepts only 31 bits.
        guard pss.saltLength <= 1 << 16 else {
            throw SignatureTrustError(.unsupportedAlgorithm, offset: parameters.offset)
        }
        let digest = try defaultingToSHA1(pss.hashAlgorithm, parameters.offset)
        return (digest, try defaultingToSHA1(pss.maskHashAlgorithm, parameters.offset), pss.saltLength)
    }

    private func defaultingToSHA1(
        _ identifier: AlgorithmIdentifier?, _ offset: Int
    ) throws(SignatureTrustError) -> DigestAlgorithm {
        let digest = if let identifier { try digestAlgorithm(identifier) } else { DigestAlgorithm.sha1 }
        try check(digest, for: .rsaPSS, identifier?.element.offset ?? offset)
        return digest
    }

    /// Checks that a key allows such a signature.
    ///
    /// A key for RSASSA-PSS only can restrict the digests and the minimum salt length (RFC 4055, 3.3).
    package func check(_ algorithm: SignatureAlgorithm, suits certificate: Certificate) throws(SignatureTrustError) {
        let key = certificate.subjectPublicKeyInfo.algorithm
        let isSuitable: Bool
        switch algorithm.scheme {
        case .pkcs1: isSuitable = key.matches(.rsaEncryption)
        case .ecdsa: isSuitable = key.matches(.ecPublicKey)
        case .pss(let saltLength, let mask):
            if key.matches(.rsaPSS), let parameters = key.parameters {
                let key = try pssChoices(parameters)
                isSuitable = key.digest == algorithm.digest && key.mask == mask && saltLength >= key.saltLength
            } else {
                isSuitable = key.matches(.rsaPSS) || key.matches(.rsaEncryption)
            }
        }
        guard isSuitable else { throw SignatureTrustError(.algorithmMismatch, offset: key.element.offset) }
    }
}
