/// A value that another thread sets once.
package final class Eventual<Value: Sendable>: @unchecked Sendable {
    private let monitor = Monitor()
    /// Guarded by the monitor.
    private var value: Value?

    package init() {}

    package func set(_ value: Value) {
        monitor.locked { self.value = value }
        monitor.signal()
    }

    /// Returns the value when it is set. Only one thread can wait.
    package func wait() -> Value {
        monitor.locked {
            while true {
                if let value { return value }
                monitor.wait()
            }
        }
    }
}
