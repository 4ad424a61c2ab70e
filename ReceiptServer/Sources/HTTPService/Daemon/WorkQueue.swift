#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import StrictText
import ServerThreads
import Synchronization

/// Threads for requests that compute for long or wait, and a bounded number of slots for such requests.
final class WorkQueue: @unchecked Sendable {
    /// The action for a job when its turn comes.
    enum Turn: Sendable {
        case work
        /// The job has waited too long: it must only answer that.
        case tooLate
    }

    /// What a job has done when it returns.
    enum Completion {
        case answered
        /// Another thread will answer. The job has called ``WorkQueue/beginAnswer()``.
        case answersLater
    }

    /// The owner of a job, and whether it is large. One owner, and all large jobs together, can use only a share of the
    /// slots and threads.
    struct Share: Sendable {
        /// The owner, or `nil` for a job without one.
        var owner: UTF8Bytes?
        var isLarge = false
    }

    private struct Job {
        let share: Share
        let run: @Sendable (Turn) -> Completion
        /// The time in milliseconds.
        let deadline: UInt64
    }

    /// The slots and threads that jobs use.
    struct Usage {
        var places = 0
        var threads = 0
    }

    private let capacity: Int
    private let threadCount: Int
    private let largeThreadCount: Int
    private let maximumWait: Duration
    /// The number of threads that haven't ended, and of answers that other threads have yet to make.
    private let running: Atomic<Int>
    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var jobs: [Job] = []
    private var all = Usage()
    private var large = Usage()
    private(set) var owned: [UTF8Bytes: Usage] = [:]
    /// The number of threads that wait for a job, and the number of those that have been woken.
    private var waitingCount = 0
    private var wokenCount = 0
    private var isStopping = false
    private var threads: [Thread] = []

    /// - Parameters:
    ///   - largeThreadCount: The number of threads that large jobs can use together, or `nil` for all.
    ///   - maximumWait: The maximum time that a job waits for a thread.
    init(capacity: Int, threadCount: Int, largeThreadCount: Int? = nil, maximumWait: Duration) {
        self.capacity = capacity
        self.threadCount = threadCount
        self.largeThreadCount = largeThreadCount ?? threadCount
        self.maximumWait = maximumWait
        running = Atomic(threadCount)
        threads = (0..<threadCount).compactMap { _ in
            Thread { [unowned self] in
                var last: Share?
                while let (job, turn) = self.next(after: last) {
                    last = job.run(turn) == .answered ? job.share : nil
                }
                self.running.subtract(1, ordering: .releasing)
            }
        }
        running.subtract(threadCount - threads.count, ordering: .relaxed)
    }

    /// Whether the queue has any thread. Without one, no job would run.
    var hasThreads: Bool { !threads.isEmpty }
    var occupiedCount: Int { monitor.locked { all.places } }

    /// Returns the part of `count` that one owner can use.
    private static func part(of count: Int) -> Int { max(count / 4, 1) }

    /// Takes a slot. Returns `false` if none is free, or if the job's owner or the large jobs have used up their share.
    func takePlace(_ share: Share = Share()) -> Bool {
        monitor.locked {
            guard all.places < capacity else { return false }
            if share.isLarge, largeThreadCount < threadCount, large.places >= Self.part(of: capacity) { return false }
            if let owner = share.owner, owned[owner, default: Usage()].places >= Self.part(of: capacity) {
                return false
            }
            count(share, \.places, 1)
            return true
        }
    }

    func leavePlace(_ share: Share = Share()) { monitor.locked { count(share, \.places, -1) } }

    /// Notes that another thread will answer for the job that is running. Until then, the queue is not stopped, and the
    /// job counts as if it had a thread, so that no more is under way than there are threads.
    func beginAnswer() { running.add(1, ordering: .relaxed) }

    /// Leaves the slot and the thread of a job for which another thread answers. Call ``endAnswer()`` afterwards.
    func leavePlaceAndThread(_ share: Share) {
        let wakes = monitor.locked {
            let wasFull = !hasThread(for: share)
            count(share, \.places, -1)
            count(share, \.threads, -1)
            return wasFull && jobs.contains { hasThread(for: $0.share) } && wake()
        }
        if wakes { monitor.signal() }
    }

    /// Notes that the answer was passed on.
    func endAnswer() { running.subtract(1, ordering: .releasing) }

    /// Changes the usage of a job's shares. Call it within the monitor.
    @inline(__always)
    private func count(_ share: Share, _ what: WritableKeyPath<Usage, Int>, _ change: Int) {
        all[keyPath: what] += change
        if share.isLarge { large[keyPath: what] += change }
        guard let owner = share.owner else { return }
        var own = owned[owner, default: Usage()]
        own[keyPath: what] += change
        owned[owner] = own.places == 0 && own.threads == 0 ? nil : own
    }

    /// Runs a job, which must have a slot, on one of the threads. If its turn is too late, it must answer itself.
    func run(_ share: Share = Share(), _ job: @escaping @Sendable (Turn) -> Completion) {
        let deadline = System.monotonicMilliseconds + maximumWait.milliseconds
        let wakes = monitor.locked {
            jobs.append(Job(share: share, run: job, deadline: deadline))
            return wake()
        }
        if wakes { monitor.signal() }
    }

    /// Returns whether another thread must be woken for the waiting jobs. Call it within the monitor.
    private func wake() -> Bool {
        guard wokenCount < min(waitingCount, jobs.count) else { return false }
        wokenCount += 1
        return true
    }

    /// Ends the jobs that have waited too long, even while all threads are busy. Call it a few times a second.
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
        for job in dropped { _ = job.run(.tooLate) }
    }

    /// Finishes all jobs and ends the threads.
    ///
    /// - Parameter end: The time to stop waiting, in milliseconds. Jobs that haven't begun by then are refused.
    /// - Returns: Whether all threads have ended and all answers were made. Don't release the queue while one hangs.
    func stop(by end: UInt64) -> Bool {
        monitor.locked { isStopping = true }
        wait(until: end)
        drop { _ in true }
        wait(until: max(end, System.monotonicMilliseconds) + 100)
        guard running.load(ordering: .acquiring) == 0 else { return false }
        for thread in threads { thread.join() }
        threads = []
        return true
    }

    private func wait(until end: UInt64) {
        while running.load(ordering: .acquiring) > 0, System.monotonicMilliseconds < end {
            usleep(2000)
            // A thread without a job has to see that there will be none.
            monitor.broadcast()
        }
    }

    /// Waits for a job.
    ///
    /// - Parameter last: The share of the job that the thread has just answered, or `nil` if it answered none.
    private func next(after last: Share?) -> (Job, Turn)? {
        let (next, wakes) = monitor.locked { () -> ((Job, Turn)?, Bool) in
            if let last { count(last, \.threads, -1) }
            while true {
                if let index = jobs.firstIndex(where: { hasThread(for: $0.share) }) {
                    let job = jobs.remove(at: index)
                    count(job.share, \.threads, 1)
                    // A finished job can unblock two: this thread takes one.
                    let wakes = jobs.contains { hasThread(for: $0.share) } && wake()
                    return ((job, job.deadline <= System.monotonicMilliseconds ? .tooLate : .work), wakes)
                }
                if isStopping, jobs.isEmpty { return (nil, false) }
                waitingCount += 1
                monitor.wait()
                waitingCount -= 1
                wokenCount = max(wokenCount - 1, 0)
            }
        }
        if wakes { monitor.signal() }
        return next
    }

    /// Returns whether a share can use another thread.
    private func hasThread(for share: Share) -> Bool {
        if all.threads >= threadCount || share.isLarge && large.threads >= largeThreadCount { return false }
        guard let owner = share.owner else { return true }
        return owned[owner, default: Usage()].threads < Self.part(of: threadCount)
    }
}
