#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The processor time of all threads of this process, in nanoseconds.
///
/// - Parameter withChildren: whether to include child processes that have ended.
func processorTime(withChildren: Bool = false, _ body: () -> Void) -> Int {
    func now() -> Int {
        var time = timespec()
        unsafe _ = clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        let own = time.tv_sec * 1_000_000_000 + time.tv_nsec
        guard withChildren else { return own }
        var usage = rusage()
        unsafe _ = getrusage(childProcesses, &usage)
        return own + usage.processorTime
    }
    let start = now()
    body()
    return now() - start
}

#if canImport(Glibc)
private let childProcesses = RUSAGE_CHILDREN.rawValue
#else
private let childProcesses = RUSAGE_CHILDREN
#endif

extension rusage {
    /// In nanoseconds.
    var processorTime: Int {
        func microseconds(_ time: timeval) -> Int { Int(time.tv_sec) * 1_000_000 + Int(time.tv_usec) }
        return (microseconds(ru_utime) + microseconds(ru_stime)) * 1000
    }
}
