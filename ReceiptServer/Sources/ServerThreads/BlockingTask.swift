/// Waits for tasks in synchronous code.
package enum BlockingTask {
    /// Returns the result of an asynchronous call. Never call it in a task: it blocks the thread.
    @available(*, noasync)
    package static func result<Value: Sendable>(_ call: @escaping @Sendable () async -> Value) -> Value {
        let box = Box<Value>()
        Task.detached { box.set(await call()) }
        return box.wait()
    }

    private final class Box<Value: Sendable>: @unchecked Sendable {
        private let monitor = Monitor()
        /// Guarded by the monitor.
        private var value: Value?

        func set(_ value: Value) {
            monitor.locked { self.value = value }
            monitor.signal()
        }

        func wait() -> Value {
            monitor.locked {
                while true {
                    if let value { return value }
                    monitor.wait()
                }
            }
        }
    }
}
