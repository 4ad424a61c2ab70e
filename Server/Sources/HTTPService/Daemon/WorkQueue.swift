#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import ServerThreads
import Synchronization

/// Threads for requests that take long or wait, and a bounded number of places for such requests.
final class WorkQueue: @unchecked Sendable {
    /// What a job is to do when its turn comes.
    enum Turn: Sendable {
        case work
        /// It has waited too long: it is to say so, and to do nothing else.
        case tooLate
    }

    private struct Job {
        let run: @Sendable (Turn) -> Void
        /// In milliseconds.
        let deadline: UInt64
    }

    private let capacity: Int
    private let maximumWait: Duration
    private let occupied = Atomic<Int>(0)
    private let running: Atomic<Int>
    private let monitor = Monitor()
    /// Within the monitor.
    private var jobs: [Job] = []
    private var isStopping = false
    private var threads: [Thread] = []

    /// - Parameter maximumWait: How long a job may wait for a thread.
    init(capacity: Int, threadCount: Int, maximumWait: Duration) {
        self.capacity = capacity
        self.maximumWait = maximumWait
        running = Atomic(threadCount)
        threads = (0..<threadCount).compactMap { _ in
            Thread { [unowned self] in
                while let (job, turn) = self.next() { job.run(turn) }
                self.running.subtract(1, ordering: .releasing)
            }
        }
        running.subtract(threadCount - threads.count, ordering: .relaxed)
    }

    /// Whether there is a thread at all, without which no job would be done.
    var hasThreads: Bool { !threads.isEmpty }
    var occupiedCount: Int { occupied.load(ordering: .relaxed) }

    /// Takes a place; `false` if none is free.
    func takePlace() -> Bool {
        if occupied.add(1, ordering: .relaxed).newValue <= capacity { return true }
        leavePlace()
        return false
    }

    func leavePlace() { occupied.subtract(1, ordering: .relaxed) }

    /// Runs a job on one of the threads. There is one for each place at most.
    func run(_ job: @escaping @Sendable (Turn) -> Void) {
        let deadline = System.monotonicMilliseconds + maximumWait.milliseconds
        monitor.locked { jobs.append(Job(run: job, deadline: deadline)) }
        monitor.signal()
    }

    /// Tells the jobs that have waited too long, also while all threads are busy. Call it a few times a second.
    func dropLate() {
        let now = System.monotonicMilliseconds
        drop { $0.deadline <= now }
    }

    private func drop(_ isDropped: (Job) -> Bool) {
        let dropped = monitor.locked {
            let dropped = jobs.filter(isDropped)
            jobs.removeAll(where: isDropped)
            return dropped
        }
        for job in dropped { job.run(.tooLate) }
    }

    /// Finishes all jobs and ends the threads.
    ///
    /// - Parameter end: When to stop waiting, in milliseconds. What has not begun then is told that it is too late.
    /// - Returns: Whether all threads have ended. One that hangs goes on to use the queue, which must not be released.
    func stop(by end: UInt64) -> Bool {
        monitor.locked { isStopping = true }
        monitor.broadcast()
        wait(until: end)
        drop { _ in true }
        // A thread without a job needs a moment to see that.
        wait(until: max(end, System.monotonicMilliseconds) + 100)
        guard running.load(ordering: .acquiring) == 0 else { return false }
        for thread in threads { thread.join() }
        threads = []
        return true
    }

    private func wait(until end: UInt64) {
        while running.load(ordering: .acquiring) > 0, System.monotonicMilliseconds < end { usleep(2000) }
    }

    private func next() -> (Job, Turn)? {
        monitor.locked {
            while jobs.isEmpty {
                if isStopping { return nil }
                monitor.wait()
            }
            let job = jobs.removeFirst()
            return (job, job.deadline <= System.monotonicMilliseconds ? .tooLate : .work)
        }
    }
}
