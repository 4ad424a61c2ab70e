import ServerThreads
import Synchronization

/// The threads on which asynchronous calls wait for answers, so that they do not occupy those of Swift's own pool. There
/// are as many as are needed, and at most 64; further calls wait for one of them.
final class CallThreads: Sendable {
    static let shared = CallThreads()

    private struct State {
        var jobs: [@Sendable () -> Void] = []
        /// The first job that has not begun.
        var next = 0
        var threadCount = 0

        mutating func take() -> (@Sendable () -> Void)? {
            guard next < jobs.count else {
                jobs.removeAll(keepingCapacity: true)
                next = 0
                threadCount -= 1
                return nil
            }
            next += 1
            return jobs[next - 1]
        }
    }

    private static let maximumCount = 64
    private let state = Mutex(State())

    /// Returns the value of a call that waits.
    func value<Value: Sendable>(
        _ call: @escaping @Sendable () throws(AppStoreServerError) -> Value
    ) async throws(AppStoreServerError) -> Value {
        let result: Result<Value, AppStoreServerError> = await withCheckedContinuation { continuation in
            run { continuation.resume(returning: Result { () throws(AppStoreServerError) in try call() }) }
        }
        return try result.get()
    }

    private func run(_ job: @escaping @Sendable () -> Void) {
        let needsThread = state.withLock { state in
            state.jobs.append(job)
            guard state.threadCount < Self.maximumCount else { return false }
            state.threadCount += 1
            return true
        }
        // A system without threads: this one waits.
        if needsThread, !Thread.detached({ self.work() }) { work() }
    }

    private func work() {
        while let job = state.withLock({ $0.take() }) { job() }
    }
}
