import CLibcryptoShims

/// Why libcrypto did not do what was asked. Making one empties this thread's error queue.
package struct LibcryptoError: Error, Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        case allocationFailed
        /// This libcrypto does not offer the digest or signature algorithm (a policy of the host, a missing provider).
        case algorithmUnavailable
        case malformedCertificate, malformedKey, malformedRevocationList
        /// The scheme asked for does not go with this kind of key.
        case unsuitableKey
        case operationFailed
    }

    package let kind: Kind
    /// libcrypto's reason code (`ERR_GET_REASON`) for its last error; 0 if it gave none.
    package let reason: UInt32

    /// Takes the reason from the error queue, and empties it.
    init(_ kind: Kind) {
        let error = ERR_peek_last_error()
        ERR_clear_error()
        self.kind = receipt_is_allocation_failure(error) != 0 ? .allocationFailed : kind
        self.reason = UInt32(truncatingIfNeeded: ERR_GET_REASON(error))
    }
}

extension LibcryptoError {
    /// Whether no function here left an error behind on this thread.
    package static var isQueueEmpty: Bool { ERR_peek_error() == 0 }

    /// Empties the error queue after a failure that is an answer, not an error; unless it was for want of memory.
    static func drain() throws(LibcryptoError) {
        let error = LibcryptoError(.operationFailed)
        if error.kind == .allocationFailed { throw error }
    }
}
