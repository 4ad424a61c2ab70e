import Foundation

/// The processor time of this thread for a call. Unlike a clock's time, it is no longer on a busy machine.
package func processorTime(_ call: () throws -> Void) rethrows -> Duration {
    func used() -> Duration {
        var time = timespec()
        unsafe _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    let start = used()
    try call()
    return used() - start
}
