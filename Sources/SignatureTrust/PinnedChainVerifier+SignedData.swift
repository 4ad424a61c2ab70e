package import Instants
package import SpanPKCS7

extension PinnedChainVerifier {
    /// The first step: verifies the message's only signature with the key of the certificate that its signer
    /// identifies.
    @_lifetime(copy message)
    package func verifySignature(of message: SignedData) throws(SignatureTrustError) -> VerifiedSignature {
        try message.verifySoleSignature(algorithms: policy.algorithms) { (leaf) throws(SignatureTrustError) in
            try key(of: leaf)
        }
    }

    /// The second step: validates the chain from that certificate to an anchor at a date.
    package func chain(
        of signature: borrowing VerifiedSignature, in message: SignedData, at date: Instant
    ) throws(SignatureTrustError) -> PinnedChain {
        try chain(
            from: signature.certificate, key: signature.key, at: date, isAvailable: { message.embeds($0) },
            hasOtherIssuer: { message.embedsIssuer(of: signature.certificate, besides: $0) },
            candidates: { () throws(SignatureTrustError) in try message.embeddedCertificates() })
    }
}
