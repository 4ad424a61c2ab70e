import LibcryptoHandles
import Synchronization

/// What a verifier has done since it was made, for metrics. See ``ReceiptVerifier/counts`` and ``SignedDataVerifier/counts``.
public struct VerifierCounts: Hashable, Sendable {
    /// Inputs that were verified.
    public var verified: UInt64 = 0
    /// Inputs that were refused, by the ``ReceiptError/code`` of the error. The codes are few, and no input adds one.
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
    func counting<Value, Failure: CodedError>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        let value: Value
        do throws(Failure) {
            value = try body()
        } catch {
            refused.withLock { $0[error.code, default: 0] += 1 }
            throw error
        }
        verified.add(1, ordering: .relaxed)
        return value
    }

    func counts(of engine: TrustEngine?) -> VerifierCounts {
        var counts = VerifierCounts(
            verified: verified.load(ordering: .relaxed), refused: refused.withReadLock { copy $0 })
        if let cache = engine?.cacheCounts {
            (counts.chainCacheHits, counts.chainCacheMisses, counts.chainCacheEvictions) = cache
        }
        return counts
    }
}

/// An error with a stable word for programs, of which there are few.
protocol CodedError: Error {
    var code: String { get }
}

extension ReceiptError: CodedError {}
extension SignedDataError: CodedError {}

extension ReceiptVerifier {
    /// What this verifier has done so far. To be read at any time and from any thread; the numbers are not of one moment.
    public var counts: VerifierCounts { counters.counts(of: container.trust) }
}

extension SignedDataVerifier {
    /// What this verifier has done so far. To be read at any time and from any thread; the numbers are not of one moment. A notification
    /// counts once, whatever its parts.
    public var counts: VerifierCounts { counters.counts(of: engine) }
}
