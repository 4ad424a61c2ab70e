import LibcryptoHandles
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

/// The counters of one verifier, shared by all threads.
final class VerifierCounters: Sendable {
    private let verified = Atomic<UInt64>(0)
    private let refused: Locked<[String: UInt64]>

    init() throws(LibcryptoError) { refused = try Locked([:]) }

    /// Runs `body` and counts its result.
    func counting<Value>(_ body: () throws(VerificationError) -> Value) throws(VerificationError) -> Value {
        let value: Value
        do throws(VerificationError) {
            value = try body()
        } catch {
            refused.withLock { $0[error.code, default: 0] += 1 }
            throw error
        }
        verified.add(1, ordering: .relaxed)
        return value
    }

    func counts(of engines: [TrustEngine]) -> VerifierCounts {
        var counts = VerifierCounts(
            verified: verified.load(ordering: .relaxed), refused: refused.withReadLock { copy $0 })
        for cache in engines.compactMap(\.cacheCounts) {
            counts.chainCacheHits += cache.hits
            counts.chainCacheMisses += cache.misses
            counts.chainCacheEvictions += cache.evictions
        }
        return counts
    }
}
