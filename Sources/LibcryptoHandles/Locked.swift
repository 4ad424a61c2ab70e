import CLibcryptoShims

/// A value behind a read-write lock.
///
/// The lock is libcrypto's, that is the platform's own: ThreadSanitizer does not understand `Synchronization.Mutex`.
@safe
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock: UnsafeMutableRawPointer
    private var value: Value

    package init(_ value: Value) throws(LibcryptoError) {
        guard let lock = unsafe CRYPTO_THREAD_lock_new() else { throw LibcryptoError(.allocationFailed) }
        unsafe self.lock = lock
        self.value = value
    }

    deinit { unsafe CRYPTO_THREAD_lock_free(lock) }

    /// Runs `body` alone. Must not be called from within itself or ``withReadLock(_:)``.
    package func withLock<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // A lock fails only if it is misused: taken twice by one thread.
        precondition(unsafe CRYPTO_THREAD_write_lock(lock) == 1)
        defer { unsafe _ = CRYPTO_THREAD_unlock(lock) }
        return try body(&value)
    }

    /// Runs `body`, perhaps beside other readers.
    package func withReadLock<Result, Failure>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(unsafe CRYPTO_THREAD_read_lock(lock) == 1)
        defer { unsafe _ = CRYPTO_THREAD_unlock(lock) }
        return try body(value)
    }
}
