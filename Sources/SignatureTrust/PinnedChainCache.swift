import LibcryptoHandles
import SpanASN1
import Synchronization

/// The chains that a verifier has validated. The keys are the complete bytes of the certificates.
///
/// A chain is added only if it is valid and after the signature of its message was verified. Only the owner of an
/// anchor can make such chains, so no one else can fill the cache. It is bounded nevertheless: at `capacity`, the
/// oldest entry is removed. A hit returns what another validation would return, because only the chain and the date
/// determine the result. For this, the chains of one leaf through one intermediate are added and removed together, one
/// for each anchor that completes them at any date.
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

    /// A chain from `leaf`, for any date.
    func chain(from leaf: Span<UInt8>) -> PinnedChain? {
        let ending = CertificateEnding(of: leaf)
        return chains.withReadLock { chains in
            for chain in chains where chain.starts(with: leaf, ending: ending) { return chain }
            return nil
        }
    }

    /// A chain from `leaf` that is valid at the given date and whose intermediate is available: to the given anchor, or
    /// else to the first anchor in the policy's order that completes one.
    ///
    /// - Parameter first: one of this cache's chains from `leaf`, if the caller has already found it.
    func chain(
        from leaf: Span<UInt8>, at seconds: Int64, to anchor: Int?, first: PinnedChain?,
        isAvailable: (_ intermediate: Span<UInt8>) -> Bool
    ) -> PinnedChain? {
        if let first, first.anchorIndex == anchor ?? 0, first.answers(at: seconds, isAvailable) { return first }
        let ending = CertificateEnding(of: leaf)
        return chains.withReadLock { chains in
            var best: PinnedChain?
            for chain in chains where chain.starts(with: leaf, ending: ending) {
                guard anchor ?? chain.anchorIndex == chain.anchorIndex,
                    chain.anchorIndex < best?.anchorIndex ?? .max, chain.answers(at: seconds, isAvailable)
                else { continue }
                best = chain
            }
            return best
        }
    }

    /// Counts a hit or a miss.
    func count(isKnown: Bool) {
        if isKnown { hits.add(1, ordering: .relaxed) } else { misses.add(1, ordering: .relaxed) }
    }

    /// libcrypto's handle of an intermediate, if one of these chains contains it. This saves reading it again; all
    /// checks are still made.
    func intermediate(_ certificate: Span<UInt8>) -> CertificateHandle? {
        let ending = CertificateEnding(of: certificate)
        return chains.withReadLock { chains in
            for chain in chains where chain.goes(over: certificate, ending: ending) { return chain.intermediateHandle }
            return nil
        }
    }

    /// Adds the chains of one leaf through one intermediate, in the order of their anchors.
    func insert(_ group: [PinnedChain]) {
        guard let chain = group.first else { return }
        chains.withLock { chains in
            guard !chains.contains(where: { $0.isTwin(of: chain) }) else { return }
            while chains.count + group.count > capacity, let oldest = chains.first {
                let count = chains.firstIndex { !$0.isTwin(of: oldest) } ?? chains.count
                chains.removeFirst(count)
                evictions.add(UInt64(count), ordering: .relaxed)
            }
            chains += group
        }
    }

    /// The numbers of hits, misses and removed chains.
    var counts: (hits: UInt64, misses: UInt64, evictions: UInt64) {
        (hits.load(ordering: .relaxed), misses.load(ordering: .relaxed), evictions.load(ordering: .relaxed))
    }
}
