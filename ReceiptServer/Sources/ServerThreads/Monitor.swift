#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A lock with a condition variable.
///
/// It uses pthreads, because Swift has no condition variable, and ThreadSanitizer doesn't understand
/// `Synchronization.Mutex`.
@safe
package final class Monitor: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        unsafe pthread_mutex_init(mutex, nil)
        #if canImport(Darwin)
        unsafe pthread_cond_init(condition, nil)
        #else
        // By default, deadlines use the system's clock, which an operator can set back.
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, Deadline.clock)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
        #endif
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Runs `body` while holding the lock.
    package func locked<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Releases the lock while it waits for a signal. Call it within ``locked(_:)``, and check the condition again
    /// afterwards.
    package func wait() { unsafe pthread_cond_wait(condition, mutex) }

    /// Waits for a signal until a deadline.
    ///
    /// - Returns: `false` after the deadline.
    package func wait(until deadline: Deadline) -> Bool {
        var time = deadline.time
        return unsafe pthread_cond_timedwait(condition, mutex, &time) == 0
    }

    /// Wakes one thread that waits.
    package func signal() { unsafe pthread_cond_signal(condition) }

    /// Wakes all threads that wait.
    package func broadcast() { unsafe pthread_cond_broadcast(condition) }

    /// The time at which a wait ends.
    package struct Deadline {
        #if canImport(Darwin)
        fileprivate static let clock = CLOCK_REALTIME
        #else
        fileprivate static let clock = CLOCK_MONOTONIC
        #endif
        fileprivate var time = timespec()

        package init(after duration: Duration) {
            unsafe clock_gettime(Self.clock, &time)
            let (seconds, attoseconds) = duration.components
            let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000)
            time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
            time.tv_nsec = nanoseconds % 1_000_000_000
        }
    }
}
