import Synchronization

/// The threads on which asynchronous calls wait, for an answer or a disk, so that they do not occupy those of Swift's
/// own pool.
/// There are as many as are needed, and at most 64; further calls wait for one of them.
package final class CallThreads: Sendable {
    package static let shared = CallThreads()

    private struct State {
        private var jobs: [(@Sendable () -> Void)?] = []
        /// The first job that has not begun.
        private var next = 0
        private(set) var threadCount = 0

        /// Adds a job.
        ///
        /// - Returns: Whether it needs another thread, which counts from now on.
        mutating func add(_ job: @escaping @Sendable () -> Void) -> Bool {
            jobs.append(job)
            guard threadCount < CallThreads.maximumCount else { return false }
            threadCount += 1
            return true
        }

        /// Takes the next job for a thread; without one, the thread ends.
        mutating func take() -> (@Sendable () -> Void)? {
            guard next < jobs.count else {
                threadCount -= 1
                return nil
            }
            let job = jobs[next]
            // What a job has done is released, however long others wait.
            jobs[next] = nil
            next += 1
            if next > jobs.count / 2 {
                jobs.removeFirst(next)
                next = 0
            }
            return job
        }

        /// Says that the system had no thread to give. If there is no other one, takes the next job.
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

    /// Returns the result of a call that waits.
    package func result<Value: Sendable>(of call: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in run { continuation.resume(returning: call()) } }
    }

    private func run(_ job: @escaping @Sendable () -> Void) {
        guard state.withLock({ $0.add(job) }), !Thread.detached({ self.work() }) else { return }
        // A system without threads: unless one of ours goes on, this one waits for the answers.
        while let job = state.withLock({ $0.takeWithoutThread() }) { job() }
    }

    private func work() {
        while let job = state.withLock({ $0.take() }) { job() }
    }
}
