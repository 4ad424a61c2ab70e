import Synchronization

/// The numbers of inputs that a verifier has verified and refused since it was made, for metrics. See ``AppStoreVerifier/counts``.
public struct VerifierCounts: Hashable, Sendable {
    /// The number of inputs that were verified.
    public var verified: UInt64 = 0
    /// The number of inputs that were refused, by ``VerificationError/code``. The list of codes is fixed, and no input adds one.
    public var refused: [String: UInt64] = [:]
    /// The number of certificate chains that were found in the cache. It is always 0 with ``AppStoreTrust/storeKitTesting(_:)``.
    public var chainCacheHits: UInt64 = 0
    /// The number of certificate chains that were not in the cache and were validated, with any result.
    public var chainCacheMisses: UInt64 = 0
    /// The number of certificate chains that were removed from the cache to make room for others.
    public var chainCacheEvictions: UInt64 = 0
}

/// The counters of one verifier, shared by all threads. They have no lock, which a child of `fork()` could find taken.
final class VerifierCounters: Sendable {
    private let verified = Atomic<UInt64>(0)
    /// Counting `out-of-memory` must not need memory.
    private let refused = RefusalCount(code: "out-of-memory")

    /// Runs `body` and counts its result.
    func counting<Value>(_ body: () throws(VerificationError) -> Value) throws(VerificationError) -> Value {
        let value: Value
        do throws(VerificationError) {
            value = try body()
        } catch {
            refused.count(error.code)
            throw error
        }
        verified.add(1, ordering: .relaxed)
        return value
    }

    func counts(of engines: [TrustEngine]) -> VerifierCounts {
        var counts = VerifierCounts(
            verified: verified.load(ordering: .relaxed), refused: refused.counts)
        for cache in engines.compactMap(\.cacheCounts) {
            counts.chainCacheHits += cache.hits
            counts.chainCacheMisses += cache.misses
            counts.chainCacheEvictions += cache.evictions
        }
        return counts
    }
}

/// The counter of one code, in a list with those of the others. Each code is added once, at the end, and stays.
private final class RefusalCount: Sendable {
    private let code: String
    private let value = Atomic<UInt64>(0)
    private let next = AtomicLazyReference<RefusalCount>()

    init(code: String) { self.code = code }

    func count(_ code: String) {
        var last = self
        while !last.code.utf8.elementsEqual(code.utf8) {
            // If another thread adds a code first, that one is returned.
            last = last.next.load() ?? last.next.storeIfNil(RefusalCount(code: code))
        }
        last.value.add(1, ordering: .relaxed)
    }

    /// The counts, by code.
    var counts: [String: UInt64] {
        var counts: [String: UInt64] = [:]
        var current: RefusalCount? = self
        while let count = current {
            let value = count.value.load(ordering: .relaxed)
            if value > 0 { counts[count.code] = value }
            current = count.next.load()
        }
        return counts
    }
}
