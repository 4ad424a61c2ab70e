#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import Synchronization

/// Threads for requests that take long or wait, and a bounded number of places for such requests.
@safe
final class WorkQueue: @unchecked Sendable {
    private let capacity: Int
    private let occupied = Atomic<Int>(0)
    // Swift has no condition variable. Both are made once, and released when no thread uses them.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Under the mutex.
    private var jobs: [@Sendable () -> Void] = []
    private var isStopping = false
    private var threads: [Thread] = []

    init(capacity: Int, threadCount: Int) {
        self.capacity = capacity
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
        threads = (0..<threadCount).compactMap { _ in Thread { [unowned self] in self.work() } }
    }

    /// Call ``stop()`` before.
    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    var occupiedCount: Int { occupied.load(ordering: .relaxed) }

    /// Takes a place; `false` if none is free.
    func takePlace() -> Bool {
        if occupied.add(1, ordering: .relaxed).newValue <= capacity { return true }
        leavePlace()
        return false
    }

    func leavePlace() { occupied.subtract(1, ordering: .relaxed) }

    /// Runs a job on one of the threads. There is one for each place at most.
    func run(_ job: @escaping @Sendable () -> Void) {
        locked { jobs.append(job) }
        unsafe pthread_cond_signal(condition)
    }

    /// Finishes all jobs and ends the threads.
    func stop() {
        locked { isStopping = true }
        unsafe pthread_cond_broadcast(condition)
        for thread in threads { thread.join() }
        threads = []
    }

    private func work() {
        while let job = next() { job() }
    }

    private func next() -> (@Sendable () -> Void)? {
        locked {
            while jobs.isEmpty {
                if isStopping { return nil }
                unsafe pthread_cond_wait(condition, mutex)
            }
            return jobs.removeFirst()
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}
