import Dispatch
import Synchronization

/// Threads for the work of an asynchronous batch.
final class BatchThreads: Sendable {
    private struct Queue {
        var work: [@Sendable () -> Void] = []
        /// The index of the next work.
        var next = 0
        var isFinished = false
        var haveEnded = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let queue = Mutex(Queue())
    /// Shows ThreadSanitizer the order that the mutex imposes, which it does not understand.
    private let order = Atomic(0)
    private let available = DispatchSemaphore(value: 0)
    private let count: Int

    /// Starts the threads, and one that waits for them.
    init(count: Int) {
        self.count = count
        WorkerThread.detach {
            let threads = (0..<count).map { _ in WorkerThread { self.work() } }
            for thread in threads { thread.join() }
            let waiting = self.withQueue { queue in
                queue.haveEnded = true
                return queue.waiting.take()
            }
            waiting?.resume()
        }
    }

    /// Runs work on one of the threads; after ``finish()``, when they may have ended, on the caller's.
    func run(_ work: @escaping @Sendable () -> Void) {
        let isQueued = withQueue { queue in
            if !queue.isFinished { queue.work.append(work) }
            return !queue.isFinished
        }
        if isQueued { available.signal() } else { work() }
    }

    /// Lets the threads end after the work that waits.
    func finish() {
        withQueue { $0.isFinished = true }
        for _ in 0..<count { available.signal() }
    }

    /// Waits until the threads have ended after ``finish()``, and have freed libcrypto's data for them.
    func end() async {
        await withCheckedContinuation { continuation in
            let haveEnded = withQueue { queue in
                if !queue.haveEnded { queue.waiting = continuation }
                return queue.haveEnded
            }
            if haveEnded { continuation.resume() }
        }
    }

    private func withQueue<Result: Sendable>(_ body: (inout Queue) -> Result) -> Result {
        queue.withLock { queue in
            order.add(1, ordering: .acquiringAndReleasing)
            defer { order.add(1, ordering: .acquiringAndReleasing) }
            return body(&queue)
        }
    }

    private func work() {
        while true {
            available.wait()
            let work: (@Sendable () -> Void)? = withQueue { queue in
                guard queue.next < queue.work.count else { return nil }
                let work = queue.work[queue.next]
                queue.next += 1
                if queue.next == queue.work.count {
                    queue.work.removeAll(keepingCapacity: true)
                    queue.next = 0
                }
                return work
            }
            if let work {
                work()
            } else if withQueue({ $0.isFinished }) {
                return
            }
        }
    }
}
