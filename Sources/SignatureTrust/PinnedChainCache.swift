import LibcryptoHandles
import SpanASN1
import Synchronization

/// The chains that a verifier has validated, by the full bytes of their certificates.
///
/// Only chains that hold get in, after the signature they were needed for was verified: certificates that the anchors' owner issued. No
/// one else can fill it, and it is bounded all the same: at `capacity` the oldest entry goes. What a hit answers is what validating again
/// would answer, since the chain and the date decide and nothing else in the message does. For that, the chains of one leaf over one intermediate
/// come and go together, one to each anchor that completes them, be it at another date.
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

    /// A chain from `leaf` that holds at the given date and whose intermediate is at hand: to the given anchor, else to the first, in the policy's
    /// order, to which there is one.
    ///
    /// - Parameter first: one of this cache's chains from `leaf`, which spares looking for it again.
    func chain(
        from leaf: Span<UInt8>, at seconds: Int64, to anchor: Int?, first: PinnedChain?,
        isAtHand: (_ intermediate: Span<UInt8>) -> Bool
    ) -> PinnedChain? {
        if let first, first.anchorIndex == anchor ?? 0, first.answers(at: seconds, isAtHand) { return first }
        return chains.withReadLock { chains in
            var best: PinnedChain?
            for chain in chains where chain.starts(with: leaf) && anchor ?? chain.anchorIndex == chain.anchorIndex {
                guard chain.anchorIndex < best?.anchorIndex ?? .max, chain.answers(at: seconds, isAtHand) else {
                    continue
                }
                best = chain
            }
            return best
        }
    }

    /// Counts whether a chain was known.
    func count(isKnown: Bool) {
        if isKnown { hits.add(1, ordering: .relaxed) } else { misses.add(1, ordering: .relaxed) }
    }

    /// What libcrypto made of an intermediate, if one of these chains goes over it. That spares reading it, and no check.
    func intermediate(_ certificate: Span<UInt8>) -> CertificateHandle? {
        chains.withReadLock { chains in
            for chain in chains where chain.goes(over: certificate) { return chain.intermediateHandle }
            return nil
        }
    }

    /// Takes the chains of one leaf over one intermediate, in the order of their anchors.
    func insert(_ group: [PinnedChain]) {
        guard let chain = group.first else { return }
        chains.withLock { chains in
            guard !chains.contains(where: { $0.isTwin(of: chain) }) else { return }
            while chains.count + group.count > capacity, let oldest = chains.first {
                let count = chains.prefix { $0.isTwin(of: oldest) }.count
                chains.removeFirst(count)
                evictions.add(UInt64(count), ordering: .relaxed)
            }
            chains += group
        }
    }

    /// How often a chain was asked for and known, or not, and how many were forgotten.
    var counts: (hits: UInt64, misses: UInt64, evictions: UInt64) {
        (hits.load(ordering: .relaxed), misses.load(ordering: .relaxed), evictions.load(ordering: .relaxed))
    }
}
