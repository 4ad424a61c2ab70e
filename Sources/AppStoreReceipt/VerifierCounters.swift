import LibcryptoHandles
import Synchronization

/// What a verifier has done since it was made, for metrics. See ``AppStoreVerifier/counts``.
public struct VerifierCounts: Hashable, Sendable {
    /// Inputs that were verified.
    public var verified: UInt64 = 0
    /// Inputs that were refused, by the ``VerificationError/code`` of the error. The codes are few, and no input adds one.
    public var refused: [String: UInt64] = [:]
    /// Chains that were known already, and so not validated again. All three stay 0 with ``AppStoreTrust/storeKitTesting(_:)``.
    public var chainCacheHits: UInt64 = 0
    /// Chains that had to be validated, whether or not they held.
    public var chainCacheMisses: UInt64 = 0
    /// Chains that were forgotten to make room for others.
    public var chainCacheEvictions: UInt64 = 0
}

/// Counts what one verifier does, on all threads.
final class VerifierCounters: Sendable {
    private let verified = Atomic<UInt64>(0)
    private let refused: Locked<[String: UInt64]>

    init() throws(LibcryptoError) { refused = try Locked([:]) }

    /// Runs `body` and counts how it ends.
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
