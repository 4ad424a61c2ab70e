import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Runs `body`, which may block, on a thread of its own.
///
/// Not a dispatch queue: those share a pool of some hundred threads, and whoever blocks many of them stops all others of the process. Only
/// where the host has no thread left it is one.
package func startThread(_ body: @escaping @Sendable () -> Void) {
    let context = unsafe Unmanaged.passRetained(Work(body)).toOpaque()
    #if canImport(Darwin)
    var thread: pthread_t?
    let status = unsafe pthread_create(&thread, nil, { unsafe run($0) }, context)
    guard status == 0, let thread = unsafe thread else { return runOnQueue(Work.taken(from: context)) }
    #else
    var thread = pthread_t()
    let status = unsafe pthread_create(&thread, nil, { unsafe $0.map { unsafe run($0) } ?? nil }, context)
    guard status == 0 else { return unsafe runOnQueue(Work.taken(from: context)) }
    #endif
    _ = pthread_detach(thread)
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

private func runOnQueue(_ work: Work) {
    DispatchQueue(label: "startThread").async { work.body() }
}
