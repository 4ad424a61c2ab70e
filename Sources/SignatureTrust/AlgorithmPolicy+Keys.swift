import SpanASN1
package import SpanPKCS7

extension AlgorithmPolicy {
    /// Checks the size of a certificate and its key before libcrypto reads it, because one verification with a large
    /// modulus or exponent takes seconds.
    package func checkKey(of certificate: Certificate) throws(SignatureTrustError) {
        // Apple's certificates have at most 1.5 KB; some of libcrypto's work on extensions is more than linear.
        guard certificate.element.encoded.count <= 64 << 10 else { throw certificate.error(.certificateTooLarge) }
        let info = certificate.subjectPublicKeyInfo
        if info.algorithm.matches(.rsaEncryption), !kinds.isDisjoint(with: [.rsaPKCS1, .rsaPSS]),
            info.algorithm.hasNullOrAbsentParameters
        {
            try checkRSAKey(info)
        } else if info.algorithm.matches(.rsaPSS), kinds.contains(.rsaPSS) {
            try checkRSAKey(info)
        } else if info.algorithm.matches(.ecPublicKey), kinds.contains(.ecdsa) {
            try checkECKey(info)
        } else {
            throw SignatureTrustError(.unsupportedKey, offset: info.element.offset)
        }
    }

    private func checkRSAKey(_ info: SubjectPublicKeyInfo) throws(SignatureTrustError) {
        let shape = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try info.rsaPublicKey() }
        // NIST SP 800-56B, 6.2: an odd exponent between 2^16 and 2^256. Keys in use have at most 32 bits, and each bit
        // costs time.
        guard rsaKeySizes.contains(shape.modulusBitCount), shape.isModulusOdd, let exponent = shape.exponent,
            exponent & 1 == 1, 1 << 16..<1 << 32 ~= exponent
        else { throw SignatureTrustError(.weakKey, offset: info.element.offset) }
    }

    private static let namedCurves: [(curve: EllipticCurves, identifier: ASN1ObjectIdentifier, fieldByteCount: Int)] = [
        (.p256, .p256, 32), (.p384, .p384, 48), (.p521, .p521, 66),
    ]

    private func checkECKey(_ info: SubjectPublicKeyInfo) throws(SignatureTrustError) {
        let error = SignatureTrustError(.unsupportedKey, offset: info.element.offset)
        // RFC 5480, 2.1.1 forbids explicit curve parameters. They cost time, and an attacker can choose them so that a
        // forged key matches.
        guard let parameters = info.algorithm.parameters,
            let (curve, _, fieldByteCount) = Self.namedCurves.first(where: { parameters.matches($0.identifier) })
        else { throw error }
        // RFC 5480, 2.2: uncompressed or compressed; the hybrid form is forbidden.
        let isWellFormed = try SignatureTrustError.reading { () throws(ASN1DecodingError) in
            let point = try info.subjectPublicKey.bitString().bytes
            guard !point.isEmpty else { return false }
            switch point[0] {
            case 4: return point.count == 1 + 2 * fieldByteCount
            case 2, 3: return point.count == 1 + fieldByteCount
            default: return false
            }
        }
        guard curves.contains(curve), isWellFormed else { throw error }
    }
}
