import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A thread for work that may block.
///
/// It is not a dispatch queue, because queues share a pool of threads, and blocking many of them stops all other queues
/// of the process. Only if the host cannot create a thread, the work runs on a queue.
package final class WorkerThread {
    /// `nil` for work on a queue, and after ``join()``.
    private var thread: pthread_t?

    /// Starts the work, which continues if this object is released.
    package init(_ body: @escaping @Sendable () -> Void) { thread = Self.start(body) }

    /// Starts work for which nobody waits.
    ///
    /// Don't make an object for it instead, only to release it: swiftc 6.3 puts it on the stack, writes no header, and
    /// lets the runtime deallocate what is there (`scripts/check/stack-objects`).
    package static func detach(_ body: @escaping @Sendable () -> Void) {
        if let thread = start(body) { _ = pthread_detach(thread) }
    }

    /// - Returns: `nil` if the work runs on a queue.
    private static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
        let context = unsafe Unmanaged.passRetained(Work(body)).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        let status = unsafe pthread_create(&thread, nil, { unsafe run($0) }, context)
        #else
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, { unsafe $0.map { unsafe run($0) } ?? nil }, context)
        #endif
        if status == 0 { return thread }
        let work = unsafe Work.taken(from: context)
        DispatchQueue(label: "WorkerThread").async { work.body() }
        return nil
    }

    deinit {
        if let thread { _ = pthread_detach(thread) }
    }

    /// Waits until the thread has ended and freed libcrypto's data for it. A thread that is still ending while the
    /// process exits frees the same memory as libcrypto's exit handler. This method does not wait for work on a queue,
    /// because the threads of the pool stay.
    package func join() {
        if let thread { _ = pthread_join(thread, nil) }
        thread = nil
    }
}

private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Takes the work from the pointer that was passed to the thread. Call it once.
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
