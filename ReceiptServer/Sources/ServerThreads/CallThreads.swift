import Synchronization

/// Threads that make blocking calls for asynchronous code, so that none blocks a thread of Swift's own pool.
///
/// They start on demand, up to 64. Further calls wait for one of them.
package final class CallThreads: Sendable {
    package static let shared = CallThreads()

    private struct State {
        private var jobs: [(@Sendable () -> Void)?] = []
        /// The index of the next job.
        private var next = 0
        private(set) var threadCount = 0

        /// Adds a job.
        ///
        /// - Returns: Whether to start another thread. It is already counted.
        mutating func add(_ job: @escaping @Sendable () -> Void) -> Bool {
            jobs.append(job)
            guard threadCount < CallThreads.maximumCount else { return false }
            threadCount += 1
            return true
        }

        /// Takes the next job for a thread, or returns `nil` to end it.
        mutating func take() -> (@Sendable () -> Void)? {
            guard next < jobs.count else {
                threadCount -= 1
                return nil
            }
            let job = jobs[next]
            // Release the closure now: its slot stays for a while.
            jobs[next] = nil
            next += 1
            if next > jobs.count / 2 {
                jobs.removeFirst(next)
                next = 0
            }
            return job
        }

        /// Takes the next job for a caller that couldn't start a thread, if no other is running.
        mutating func takeWithoutThread() -> (@Sendable () -> Void)? {
            guard threadCount == 1 else {
                threadCount -= 1
                return nil
            }
            return take()
        }
    }

    fileprivate static let maximumCount = 64
    private let state = Mutex(State())

    /// Returns the result of a blocking call.
    package func result<Value: Sendable>(of call: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in run { continuation.resume(returning: call()) } }
    }

    private func run(_ job: @escaping @Sendable () -> Void) {
        guard state.withLock({ $0.add(job) }), !Thread.detached({ self.work() }) else { return }
        // No thread could be started: unless another is running, make the calls here.
        while let job = state.withLock({ $0.takeWithoutThread() }) { job() }
    }

    private func work() {
        while let job = state.withLock({ $0.take() }) { job() }
    }
}
