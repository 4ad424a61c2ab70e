import CLibcryptoShims

/// The reason an operation of libcrypto failed. Creating one empties the error queue of this thread.
package struct LibcryptoError: Error, Hashable, Sendable {
    package enum Kind: UInt8, Sendable {
        case allocationFailed
        /// libcrypto on this host does not have the digest or signature algorithm, because of a policy of the host or a missing provider.
        case algorithmUnavailable
        case malformedCertificate, malformedKey, malformedRevocationList
        /// The scheme does not match the kind of key.
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
    /// Whether the error queue of this thread is empty.
    package static var isQueueEmpty: Bool { ERR_peek_error() == 0 }

    /// Empties the error queue after a failure that is a normal result, such as an invalid signature. Throws an error if memory ran out.
    static func drain() throws(LibcryptoError) {
        let error = LibcryptoError(.operationFailed)
        if error.kind == .allocationFailed { throw error }
    }
}
