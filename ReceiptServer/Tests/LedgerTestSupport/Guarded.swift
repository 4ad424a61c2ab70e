import Foundation

/// A value behind a lock that ThreadSanitizer understands, unlike `Synchronization.Mutex`.
package final class Guarded<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

extension Guarded<Int> {
    /// Adds one, and returns the new value.
    package func increment() -> Int {
        withLock { count in
            count += 1
            return count
        }
    }
}
