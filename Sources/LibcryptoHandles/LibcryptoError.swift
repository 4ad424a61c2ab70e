import CLibcryptoShims
import Synchronization

/// The reason an operation of libcrypto failed. Creating one empties the error queue of this thread.
public struct LibcryptoError: Error, Hashable, Sendable {
    public enum Kind: UInt8, Sendable {
        case allocationFailed
        /// libcrypto on this host does not have the digest or signature algorithm, because of a policy of the host or a
        /// missing provider.
        case algorithmUnavailable
        case malformedCertificate, malformedKey, malformedRevocationList
        /// The scheme does not match the kind of key.
        case unsuitableKey
        case operationFailed
    }

    public let kind: Kind
    /// libcrypto's reason code (`ERR_GET_REASON`) for its last error; 0 if it gave none.
    public let reason: UInt32

    /// Takes the reason from the error queue, and empties it. If memory ran out, the other errors only follow from
    /// that.
    init(_ kind: Kind) {
        var last: UInt = 0
        var isAllocationFailure = false
        while case let error = ERR_get_error(), error != 0 {
            last = error
            if receipt_is_allocation_failure(error) != 0 { isAllocationFailure = true }
        }
        self.kind = isAllocationFailure ? .allocationFailed : kind
        self.reason = UInt32(truncatingIfNeeded: ERR_GET_REASON(last))
    }
}

extension LibcryptoError {
    private init(_ kind: Kind, reason: UInt32) {
        self.kind = kind
        self.reason = reason
    }

    /// Whether the error queue of this thread is empty.
    package static var isQueueEmpty: Bool { ERR_peek_error() == 0 }

    /// Runs calls of libcrypto until none of them runs out of memory, and throws `allocationFailed` if one still does
    /// in the third run.
    ///
    /// libcrypto drops some of its errors: a failed allocation then looks like a malformed key or a missing issuer, or
    /// leaves an object incomplete. `errno` reveals it: `malloc` sets it, and nothing clears it. But glibc's `malloc`
    /// also sets it when `brk` cannot extend the heap, and then finds memory elsewhere. So only a run without `ENOMEM`
    /// counts, and each run must use new copies of the objects that libcrypto completes while it uses them.
    static func watchingMemory<Result: ~Copyable>(
        _ body: () throws(LibcryptoError) -> Result
    ) throws(LibcryptoError) -> Result {
        let previous = receipt_errno()
        for run in 1...3 {
            receipt_set_errno(0)
            guard initialize() else { continue }
            do throws(LibcryptoError) {
                let result = try body()
                guard receipt_errno() != ENOMEM else { continue }
                receipt_set_errno(previous)
                return result
            } catch {
                guard receipt_errno() != ENOMEM else { continue }
                // libcrypto may keep as missing what it had no memory to load in an earlier run.
                if run > 1, error.kind == .algorithmUnavailable || error.kind == .operationFailed { break }
                receipt_set_errno(previous)
                throw error
            }
        }
        // The error queue is still empty, and reading it would initialize libcrypto.
        guard isInitialized.load(ordering: .relaxed) else { throw LibcryptoError(.allocationFailed, reason: 0) }
        throw LibcryptoError(.allocationFailed)
    }

    private static let isInitialized = Atomic(false)

    /// Initializes libcrypto before its first use, unless memory has run out.
    private static func initialize() -> Bool {
        if isInitialized.load(ordering: .relaxed) { return true }
        guard receipt_initialize() == 1 else { return false }
        isInitialized.store(true, ordering: .relaxed)
        return true
    }

    /// Empties the error queue after a failure that is a normal result, such as an invalid signature. Throws an error
    /// if memory ran out.
    static func drain() throws(LibcryptoError) {
        let error = LibcryptoError(.operationFailed)
        if error.kind == .allocationFailed { throw error }
    }
}
