package import LibcryptoHandles
package import SpanASN1
import Synchronization

/// A chain of exactly three that was validated: leaf, intermediate, pinned anchor.
package final class PinnedChain: Sendable {
    package let leaf: [UInt8]
    package let intermediate: [UInt8]
    /// What libcrypto made of it: to read it again takes as long as all of the chain's signatures.
    fileprivate let intermediateHandle: CertificateHandle
    package let anchor: TrustAnchor
    package let leafKey: PublicKey
    package let leafFingerprint: Fingerprint
    package let anchorFingerprint: Fingerprint
    /// The leaf's `notAfter`.
    package let leafExpiry: Instant
    /// The seconds since 1970 at which all three certificates are valid, as libcrypto judges it: up to, not including, the earliest `notAfter`.
    let validSeconds: Range<Int64>

    init(
        leaf: [UInt8], intermediate: [UInt8], intermediateHandle: CertificateHandle, anchor: TrustAnchor,
        anchorFingerprint: Fingerprint, leafKey: PublicKey, leafExpiry: Instant, validSeconds: Range<Int64>
    ) throws(SignatureTrustError) {
        self.leaf = leaf
        self.intermediate = intermediate
        self.intermediateHandle = intermediateHandle
        self.anchor = anchor
        self.anchorFingerprint = anchorFingerprint
        self.leafKey = leafKey
        self.leafExpiry = leafExpiry
        self.validSeconds = validSeconds
        leafFingerprint = try Fingerprint(of: leaf.span)
    }

    /// Whether it holds at a date for a message that brings its intermediate.
    fileprivate func answers(at seconds: Int64, _ isAtHand: (_ intermediate: Span<UInt8>) -> Bool) -> Bool {
        let intermediate = intermediate
        return validSeconds.contains(seconds) && isAtHand(intermediate.span)
    }

    fileprivate func starts(with certificate: Span<UInt8>) -> Bool {
        let leaf = leaf
        return leaf.span.isIdentical(to: certificate)
    }

    fileprivate func goes(over certificate: Span<UInt8>) -> Bool {
        let intermediate = intermediate
        return intermediate.span.isIdentical(to: certificate)
    }
}

/// The chains that a verifier has validated, by the full bytes of their certificates.
///
/// Only chains that hold get in, after the signature they were needed for was verified: certificates that the anchors' owner issued. No
/// one else can fill it, and it is bounded all the same: at `capacity` the oldest entry goes. What a hit answers is what validating again
/// would answer, since the chain and the date decide and nothing else in the message does.
final class PinnedChainCache: Sendable {
    private let chains: Locked<[PinnedChain]>
    private let capacity: Int
    private let hits = Atomic<UInt64>(0)
    private let misses = Atomic<UInt64>(0)
    private let evictions = Atomic<UInt64>(0)

    init(capacity: Int) throws(LibcryptoError) {
        chains = try Locked([])
        self.capacity = capacity
    }

    /// A chain from `leaf` that holds at some date.
    func chain(from leaf: Span<UInt8>) -> PinnedChain? {
        chains.withReadLock { chains in
            for chain in chains where chain.starts(with: leaf) { return chain }
            return nil
        }
    }

    /// A chain from `leaf` that holds at the given date and whose intermediate is at hand.
    ///
    /// - Parameter first: one of this cache's chains from `leaf`, which spares looking for it again.
    func chain(
        from leaf: Span<UInt8>, at seconds: Int64, first: PinnedChain?,
        isAtHand: (_ intermediate: Span<UInt8>) -> Bool
    ) -> PinnedChain? {
        if let first, first.answers(at: seconds, isAtHand) {
            hits.add(1, ordering: .relaxed)
            return first
        }
        let known: PinnedChain? = chains.withReadLock { chains in
            for chain in chains where chain.starts(with: leaf) && chain.answers(at: seconds, isAtHand) { return chain }
            return nil
        }
        if known == nil { misses.add(1, ordering: .relaxed) } else { hits.add(1, ordering: .relaxed) }
        return known
    }

    /// What libcrypto made of an intermediate, if one of these chains goes over it. That spares reading it, and no check.
    func intermediate(_ certificate: Span<UInt8>) -> CertificateHandle? {
        chains.withReadLock { chains in
            for chain in chains where chain.goes(over: certificate) { return chain.intermediateHandle }
            return nil
        }
    }

    func insert(_ chain: PinnedChain) {
        chains.withLock { chains in
            guard !chains.contains(where: { $0.leaf == chain.leaf && $0.intermediate == chain.intermediate }) else {
                return
            }
            if chains.count >= capacity {
                let surplus = chains.count - capacity + 1
                chains.removeFirst(surplus)
                evictions.add(UInt64(surplus), ordering: .relaxed)
            }
            chains.append(chain)
        }
    }

    /// How often a chain was asked for and known, or not, and how many were forgotten.
    var counts: (hits: UInt64, misses: UInt64, evictions: UInt64) {
        (hits.load(ordering: .relaxed), misses.load(ordering: .relaxed), evictions.load(ordering: .relaxed))
    }
}
