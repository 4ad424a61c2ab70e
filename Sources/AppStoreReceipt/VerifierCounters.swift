import Synchronization

/// The numbers of inputs that a verifier has verified and refused since it was made, for metrics. See ``AppStoreVerifier/counts``.
public struct VerifierCounts: Hashable, Sendable {
    /// The number of inputs that were verified.
    public var verified: UInt64 = 0
    /// The number of inputs that were refused, by ``VerificationError/code``. The list of codes is fixed, and no input adds one.
    public var refused: [String: UInt64] = [:]
    /// The number of inputs from which something was removed that was around the evidence, by its name. An input with two layers counts for both.
    public var unwrapped: [String: UInt64] = [:]
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
    private let refused = NamedCount(name: "out-of-memory")
    private let unwrapped = NamedCount(name: Wrapper.jsonString.rawValue)

    /// Runs `body` and counts its result, and what was around the evidence.
    func counting<Value>(
        _ body: () throws(VerificationError) -> Value, layers: (Value) -> Layers = { _ in Layers() }
    ) throws(VerificationError) -> Value {
        let value: Value
        do throws(VerificationError) {
            value = try body()
        } catch {
            refused.count(error.code)
            for name in error.unwrapped { unwrapped.count(name) }
            throw error
        }
        verified.add(1, ordering: .relaxed)
        let layers = layers(value)
        if !layers.isEmpty { for name in layers.names { unwrapped.count(name) } }
        return value
    }

    func counts(of engines: [TrustEngine]) -> VerifierCounts {
        var counts = VerifierCounts(
            verified: verified.load(ordering: .relaxed), refused: refused.counts, unwrapped: unwrapped.counts)
        for cache in engines.compactMap(\.cacheCounts) {
            counts.chainCacheHits += cache.hits
            counts.chainCacheMisses += cache.misses
            counts.chainCacheEvictions += cache.evictions
        }
        return counts
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
