package import LibcryptoHandles
package import Instants
import SpanPKCS7

/// A message whose one signature was verified with the key of the certificate that the signer names. No trust is
/// implied.
package struct VerifiedSignature: ~Escapable {
    /// The signer's certificate.
    let certificate: Certificate
    package let digestAlgorithm: SignatureDigest
    let key: SignerKey

    /// Whether the certificate was trusted before: then only its owner can have made the message.
    package var isSignerKnown: Bool { key.isKnown }

    /// The start of the certificate's validity: the validation date if the signed content has no date.
    package func signerNotBefore() throws(SignatureTrustError) -> Instant {
        Instant(millisecondsSince1970: try certificate.validSeconds().lowerBound * 1000)
    }

    @_lifetime(copy certificate)
    init(_ certificate: Certificate, _ digestAlgorithm: DigestAlgorithm, _ key: SignerKey) {
        self.certificate = certificate
        self.digestAlgorithm = SignatureDigest(digestAlgorithm)
        self.key = key
    }
}

/// The key of a signer's certificate.
package struct SignerKey {
    package let key: PublicKey
    /// Whether the certificate was trusted before: it is pinned, or the leaf of a cached chain.
    package let isKnown: Bool
    /// That chain, valid at some date.
    var chain: PinnedChain?
}
