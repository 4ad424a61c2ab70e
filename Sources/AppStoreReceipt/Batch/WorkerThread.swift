import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A thread of its own for work that may block.
///
/// Not a dispatch queue: those share a pool of some hundred threads, and whoever blocks many of them stops all others of the process. Only
/// where the host has no thread left the work goes to a queue.
package final class WorkerThread {
    /// `nil` for work on a queue, and after ``join()``.
    private var thread: pthread_t?

    /// Begins the work. It goes on when this object is released.
    package init(_ body: @escaping @Sendable () -> Void) {
        let context = unsafe Unmanaged.passRetained(Work(body)).toOpaque()
        #if canImport(Darwin)
        let status = unsafe pthread_create(&thread, nil, { unsafe run($0) }, context)
        #else
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, { unsafe $0.map { unsafe run($0) } ?? nil }, context)
        self.thread = thread
        #endif
        guard status != 0 else { return }
        self.thread = nil
        let work = unsafe Work.taken(from: context)
        DispatchQueue(label: "WorkerThread").async { work.body() }
    }

    deinit {
        if let thread { _ = pthread_detach(thread) }
    }

    /// Waits until the thread is gone, with all that libcrypto keeps for each: one that still is on its way out while the process exits
    /// frees what libcrypto's own exit handler frees. Work on a queue is not waited for: the pool's threads stay.
    package func join() {
        if let thread { _ = pthread_join(thread, nil) }
        thread = nil
    }
}

private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// The work behind a pointer that was made for one thread, once.
    @unsafe
    static func taken(from context: UnsafeMutableRawPointer) -> Work {
        unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
    }
}

@unsafe
private func run(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    unsafe Work.taken(from: context).body()
    return nil
}
