import SpanASN1
import SpanPKCS7

// The rules for a chain beyond RFC 5280, one per function.
extension PinnedChainPolicy {
    /// Checks a path that libcrypto has validated. The rules come after the path, so a certificate under another root
    /// is reported as untrusted first.
    func check(_ leaf: Certificate, _ intermediate: Certificate) throws(SignatureTrustError) {
        try checkSignature(on: leaf)
        try checkSignature(on: intermediate)
        try checkAuthority(intermediate)
        try checkKeyUsage(of: leaf)
        try checkLeafMarker(leaf)
        try checkIntermediateMarker(intermediate)
    }

    /// The certificate is not one that the policy distrusts.
    func checkTrusted(_ certificate: Certificate) throws(SignatureTrustError) {
        guard !distrusted.isEmpty else { return }
        guard try !distrusted.contains(Fingerprint(of: certificate.element.encoded)) else {
            throw certificate.error(.distrustedCertificate)
        }
    }

    /// The policy accepts the algorithm with which the certificate is signed.
    private func checkSignature(on certificate: Certificate) throws(SignatureTrustError) {
        _ = try algorithms.signatureAlgorithm(certificate.signatureAlgorithm)
    }

    /// The intermediate is a certificate authority.
    private func checkAuthority(_ intermediate: Certificate) throws(SignatureTrustError) {
        guard try intermediate.isAuthority() else { throw intermediate.error(.invalidIssuer) }
    }

    /// The leaf may sign. A certificate without a key usage restricts nothing (RFC 5280, 4.2.1.3).
    private func checkKeyUsage(of leaf: Certificate) throws(SignatureTrustError) {
        let usage = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try leaf.keyUsage() }
        if let usage, !usage.contains(.digitalSignature) { throw leaf.error(.invalidKeyUsage) }
    }

    private func checkLeafMarker(_ leaf: Certificate) throws(SignatureTrustError) {
        guard try leaf.hasExtension(leafMarker) else { throw leaf.error(.missingLeafMarker) }
    }

    private func checkIntermediateMarker(_ intermediate: Certificate) throws(SignatureTrustError) {
        guard try intermediate.hasExtension(intermediateMarker) else {
            throw intermediate.error(.missingIntermediateMarker)
        }
    }
}
