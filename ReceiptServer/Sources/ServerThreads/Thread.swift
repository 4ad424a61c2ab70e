#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A POSIX thread.
package final class Thread {
    private let thread: pthread_t

    /// - Returns: `nil` if the system has no thread to give.
    package init?(_ body: @escaping @Sendable () -> Void) {
        let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context { unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context)
        self.thread = thread
        guard status == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(context).release()
            return nil
        }
    }

    /// Waits until the thread has ended. Call it once.
    package func join() { _ = pthread_join(thread, nil) }

    /// Starts a thread that can't be joined.
    ///
    /// - Returns: Whether the thread was started.
    @discardableResult
    package static func detached(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = Thread(body) else { return false }
        pthread_detach(thread.thread)
        return true
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
