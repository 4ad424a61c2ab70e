package import LibcryptoHandles
package import Instants
import SpanASN1

/// A validated chain of exactly three certificates: leaf, intermediate, pinned anchor.
package final class PinnedChain: Sendable {
    package let leaf: [UInt8]
    package let intermediate: [UInt8]
    private let leafEnding: CertificateEnding
    private let intermediateEnding: CertificateEnding
    /// The handle of libcrypto. Reading the certificate again takes as long as verifying all signatures of the chain.
    let intermediateHandle: CertificateHandle
    package let anchor: TrustAnchor
    /// The index of the anchor in the policy.
    let anchorIndex: Int
    package let leafKey: PublicKey
    package let leafFingerprint: Fingerprint
    package let anchorFingerprint: Fingerprint
    /// The leaf's `notAfter`.
    package let leafExpiry: Instant
    /// The seconds since 1970 in which all three certificates are valid.
    let validSeconds: Range<Int64>

    init(
        leaf: [UInt8], intermediate: [UInt8], intermediateHandle: CertificateHandle, anchor: TrustAnchor,
        anchorIndex: Int, anchorFingerprint: Fingerprint, leafKey: PublicKey, leafExpiry: Instant,
        validSeconds: Range<Int64>
    ) throws(SignatureTrustError) {
        self.leaf = leaf
        self.intermediate = intermediate
        leafEnding = CertificateEnding(of: leaf.span)
        intermediateEnding = CertificateEnding(of: intermediate.span)
        self.intermediateHandle = intermediateHandle
        self.anchor = anchor
        self.anchorIndex = anchorIndex
        self.anchorFingerprint = anchorFingerprint
        self.leafKey = leafKey
        self.leafExpiry = leafExpiry
        self.validSeconds = validSeconds
        leafFingerprint = try Fingerprint(of: leaf.span)
    }

    /// Whether the chain is valid at a date.
    func holds(at seconds: Int64) -> Bool { validSeconds.contains(seconds) }

    /// Whether the chain is valid at a date, for a message that contains its intermediate.
    func answers(at seconds: Int64, _ isAvailable: (_ intermediate: Span<UInt8>) -> Bool) -> Bool {
        let intermediate = intermediate
        return validSeconds.contains(seconds) && isAvailable(intermediate.span)
    }

    func starts(with certificate: Span<UInt8>, ending: CertificateEnding) -> Bool {
        guard ending == leafEnding else { return false }
        let leaf = leaf
        return leaf.span.hasSameBytes(as: certificate)
    }

    func goes(over certificate: Span<UInt8>, ending: CertificateEnding) -> Bool {
        guard ending == intermediateEnding else { return false }
        let intermediate = intermediate
        return intermediate.span.hasSameBytes(as: certificate)
    }

    /// Whether two chains have the same leaf and intermediate.
    func isTwin(of other: PinnedChain) -> Bool {
        leafEnding == other.leafEnding && intermediateEnding == other.intermediateEnding
            && leaf == other.leaf && intermediate == other.intermediate
    }
}
