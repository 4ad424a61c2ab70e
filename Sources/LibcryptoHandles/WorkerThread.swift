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
/// where the host has no thread left it is one.
package final class WorkerThread {
    private enum Handle {
        case thread(pthread_t)
        case queue(DispatchGroup)
    }

    /// `nil` after ``join()``.
    private var handle: Handle?

    /// Begins the work. It goes on when this object is released.
    package init(_ body: @escaping @Sendable () -> Void) {
        let context = unsafe Unmanaged.passRetained(Work(body)).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        let status = unsafe pthread_create(&thread, nil, { unsafe run($0) }, context)
        if status == 0, let thread = unsafe thread {
            handle = unsafe .thread(thread)
            return
        }
        #else
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, { unsafe $0.map { unsafe run($0) } ?? nil }, context)
        if status == 0 {
            handle = .thread(thread)
            return
        }
        #endif
        let work = unsafe Work.taken(from: context)
        let group = DispatchGroup()
        DispatchQueue(label: "WorkerThread").async(group: group) { work.body() }
        handle = .queue(group)
    }

    deinit {
        if case .thread(let thread) = handle { _ = pthread_detach(thread) }
    }

    /// Waits until the thread is gone, with all that libcrypto keeps for each: one that still is on its way out while the process exits
    /// frees what libcrypto's own exit handler frees.
    package func join() {
        switch handle {
        case .thread(let thread): _ = pthread_join(thread, nil)
        case .queue(let group): group.wait()
        case nil: break
        }
        handle = nil
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
