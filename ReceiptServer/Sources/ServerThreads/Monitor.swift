#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A lock, and a condition that threads wait for while they hold it.
///
/// It is the platform's own, because Swift has no condition variable, and ThreadSanitizer does not understand
/// `Synchronization.Mutex`.
@safe
package final class Monitor: @unchecked Sendable {
    // Both are made once, and released when no thread uses them.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        unsafe pthread_mutex_init(mutex, nil)
        #if canImport(Darwin)
        unsafe pthread_cond_init(condition, nil)
        #else
        // By default a wait ends by the system's clock, which an operator can set back by a day.
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

    /// Runs `body` while no other thread is in a `locked` of this monitor.
    package func locked<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Waits for a signal. Call it in ``locked(_:)``, which other threads can enter meanwhile, and look again whether
    /// the condition holds.
    package func wait() { unsafe pthread_cond_wait(condition, mutex) }

    /// Waits for a signal, at most until a time.
    ///
    /// - Returns: Whether there was time left.
    package func wait(until deadline: Deadline) -> Bool {
        var time = deadline.time
        return unsafe pthread_cond_timedwait(condition, mutex, &time) == 0
    }

    /// Wakes one thread that waits.
    package func signal() { unsafe pthread_cond_signal(condition) }

    /// Wakes all threads that wait.
    package func broadcast() { unsafe pthread_cond_broadcast(condition) }

    /// A time until which a thread waits.
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
