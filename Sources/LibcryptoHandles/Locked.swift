import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A value behind a read-write lock that cannot hang a child of `fork()`.
///
/// A child has one thread, and its locks are in the state in which the threads of its parent left them. Therefore a
/// process never waits for a lock that it did not create. If the lock is taken, the process abandons it and its value,
/// which may be incomplete, and continues with a new lock and the initial value. Only keep a value here that a process
/// can do without, such as a cache.
///
/// The lock is the platform's own, because ThreadSanitizer does not understand `Synchronization.Mutex`.
@safe
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let initialValue: Value
    /// The lock and value of this process. A child never frees those of its parent.
    private let current: Atomic<Unmanaged<Guarded<Value>>>

    package init(_ value: Value) throws(LibcryptoError) {
        initialValue = value
        unsafe current = try Atomic(Unmanaged.passRetained(Guarded(value)))
    }

    deinit {
        let guarded = unsafe current.load(ordering: .acquiring)
        // If it is taken now, a thread of the parent took it.
        guard unsafe guarded._withUnsafeGuaranteedRef({ $0.tryLock(.write) }) else { return }
        unsafe guarded._withUnsafeGuaranteedRef { $0.unlock() }
        unsafe guarded.release()
    }

    /// Runs `body` with exclusive access. Do not call it within itself or ``withReadLock(_:)``.
    package func withLock<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let guarded = locked(.write)
        defer { guarded.unlock() }
        return try body(&guarded.value)
    }

    /// Runs `body` with shared access.
    package func withReadLock<Result, Failure>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let guarded = locked(.read)
        defer { guarded.unlock() }
        return try body(guarded.value)
    }

    private func locked(_ access: LockAccess) -> Guarded<Value> {
        while true {
            let known = unsafe current.load(ordering: .acquiring)
            let guarded = unsafe known.takeUnretainedValue()
            if guarded.tryLock(access) { return guarded }
            if guarded.process == getpid() {
                guarded.wait(access)
                return guarded
            }
            unsafe replace(known)
        }
    }

    /// Replaces the lock of another process, unless another thread has replaced it.
    private func replace(_ other: Unmanaged<Guarded<Value>>) {
        // If memory ran out, the caller tries again.
        guard let own = try? unsafe Unmanaged.passRetained(Guarded(initialValue)) else { return }
        let (isExchanged, _) = unsafe current.compareExchange(
            expected: other, desired: own, ordering: .acquiringAndReleasing)
        if !isExchanged { unsafe own.release() }
    }
}

private enum LockAccess {
    case read, write
}

@safe
private final class Guarded<Value>: @unchecked Sendable {
    let process = getpid()
    var value: Value
    private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    init(_ value: Value) throws(LibcryptoError) {
        self.value = value
        unsafe lock = .allocate(capacity: 1)
        guard unsafe pthread_rwlock_init(lock, nil) == 0 else {
            unsafe lock.deallocate()
            throw LibcryptoError(.allocationFailed)
        }
    }

    deinit {
        unsafe pthread_rwlock_destroy(lock)
        unsafe lock.deallocate()
    }

    func tryLock(_ access: LockAccess) -> Bool {
        switch access {
        case .read: unsafe pthread_rwlock_tryrdlock(lock) == 0
        case .write: unsafe pthread_rwlock_trywrlock(lock) == 0
        }
    }

    func wait(_ access: LockAccess) {
        // Waiting fails only if one thread takes a lock twice.
        switch access {
        case .read: precondition(unsafe pthread_rwlock_rdlock(lock) == 0)
        case .write: precondition(unsafe pthread_rwlock_wrlock(lock) == 0)
        }
    }

    func unlock() { unsafe _ = pthread_rwlock_unlock(lock) }
}
