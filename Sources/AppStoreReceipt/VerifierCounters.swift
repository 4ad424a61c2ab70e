import Synchronization

/// The numbers of inputs that a verifier has verified and refused since it was made, for metrics. See
/// ``AppStoreVerifier/counts``.
public struct VerifierCounts: Hashable, Sendable {
    /// The number of inputs that were verified.
    public let verified: UInt64
    /// The number of inputs that were refused, by ``VerificationError/code``. The list of codes is fixed, and no input
    /// adds one.
    public let refused: [VerificationError.Code: UInt64]
    /// The number of inputs from which wrappers were removed, by the wrapper's name. An input with two layers counts
    /// for both.
    public let unwrapped: [String: UInt64]
    /// The number of certificate chains that were found in the cache. It is always 0 with
    /// ``AppStoreTrust/storeKitTesting(_:)``.
    public let chainCacheHits: UInt64
    /// The number of certificate chains that were not in the cache and were validated, with any result.
    public let chainCacheMisses: UInt64
    /// The number of certificate chains that were removed from the cache to make room for others.
    public let chainCacheEvictions: UInt64
}

extension VerifierCounts {
    /// The counts of several verifiers together.
    public static func + (lhs: VerifierCounts, rhs: VerifierCounts) -> VerifierCounts {
        VerifierCounts(
            verified: lhs.verified + rhs.verified, refused: lhs.refused.merging(rhs.refused, uniquingKeysWith: +),
            unwrapped: lhs.unwrapped.merging(rhs.unwrapped, uniquingKeysWith: +),
            chainCacheHits: lhs.chainCacheHits + rhs.chainCacheHits,
            chainCacheMisses: lhs.chainCacheMisses + rhs.chainCacheMisses,
            chainCacheEvictions: lhs.chainCacheEvictions + rhs.chainCacheEvictions)
    }
}

/// The counters of one verifier, shared by all threads. They have no lock, which a child of `fork()` could find taken.
final class VerifierCounters: Sendable {
    private let verified = Atomic<UInt64>(0)
    /// Counting `out-of-memory` must not need memory.
    private let refused = NamedCount(name: "out-of-memory")
    private let unwrapped = NamedCount(name: Wrapper.jsonString.rawValue)

    /// Runs `body`, and counts its result and the evidence's wrappers.
    func counting<Value>(
        _ body: () throws(VerificationError) -> Value, layers: (Value) -> Layers = { _ in Layers() }
    ) throws(VerificationError) -> Value {
        let value: Value
        do throws(VerificationError) {
            value = try body()
        } catch {
            refused.count(error.fault.code)
            for name in error.unwrapped { unwrapped.count(name) }
            throw error
        }
        verified.add(1, ordering: .relaxed)
        let layers = layers(value)
        if !layers.isEmpty { for name in layers.names { unwrapped.count(name) } }
        return value
    }

    func counts(of engines: [TrustEngine]) -> VerifierCounts {
        let caches = engines.compactMap(\.cacheCounts)
        let refused = refused.counts.map { (VerificationError.Code(rawValue: $0.key), $0.value) }
        return VerifierCounts(
            verified: verified.load(ordering: .relaxed), refused: Dictionary(uniqueKeysWithValues: refused),
            unwrapped: unwrapped.counts, chainCacheHits: caches.reduce(0) { $0 + $1.hits },
            chainCacheMisses: caches.reduce(0) { $0 + $1.misses },
            chainCacheEvictions: caches.reduce(0) { $0 + $1.evictions })
    }
}

/// The counter of one name, in a list with those of the others. Each is added once, at the end, and stays.
private final class NamedCount: Sendable {
    private let name: String
    private let value = Atomic<UInt64>(0)
    private let next = AtomicLazyReference<NamedCount>()

    init(name: String) { self.name = name }

    func count(_ name: String) {
        var last = self
        while !last.name.utf8.elementsEqual(name.utf8) {
            // If another thread adds a name first, that one is returned.
            last = last.next.load() ?? last.next.storeIfNil(NamedCount(name: name))
        }
        last.value.add(1, ordering: .relaxed)
    }

    /// The counts, by name.
    var counts: [String: UInt64] {
        var counts: [String: UInt64] = [:]
        var current: NamedCount? = self
        while let count = current {
            let value = count.value.load(ordering: .relaxed)
            if value > 0 { counts[count.name] = value }
            current = count.next.load()
        }
        return counts
    }
}
