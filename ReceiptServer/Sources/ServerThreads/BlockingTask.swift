/// Waits for tasks in synchronous code.
package enum BlockingTask {
    /// Returns the result of an asynchronous call. Never call it in a task: it blocks the thread.
    @available(*, noasync)
    package static func result<Value: Sendable>(_ call: @escaping @Sendable () async -> Value) -> Value {
        let value = Eventual<Value>()
        Task.detached { value.set(await call()) }
        return value.wait()
    }
}
