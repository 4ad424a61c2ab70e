import Dispatch
import Synchronization

/// The results of a ``BatchSequence``, for tasks. A thread of its own waits for each result.
struct WaitingBatchSequence<Base: Sequence & Sendable, Output: Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable {
    typealias Failure = Never
    typealias Element = Output

    private let batch: BatchSequence<Base, Output>

    init(_ batch: BatchSequence<Base, Output>) { self.batch = batch }

    func makeAsyncIterator() -> Iterator {
        let waiter = BatchWaiter<Output>()
        let batch = batch
        WorkerThread.detach { waiter.run(batch) }
        return Iterator(owner: Owner(waiter))
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let owner: Owner

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Never) -> Output? {
            let waiter = owner.waiter
            return await withTaskCancellationHandler {
                await waiter.next()
            } onCancel: {
                waiter.cancel()
            }
        }
    }

    /// Ends the thread when its iterator is released.
    fileprivate final class Owner: Sendable {
        let waiter: BatchWaiter<Output>

        init(_ waiter: BatchWaiter<Output>) { self.waiter = waiter }

        deinit { waiter.stop() }
    }
}

/// What a task and the thread that waits for it share.
private final class BatchWaiter<Output: Sendable>: Sendable {
    private struct State {
        var asked: CheckedContinuation<Output?, Never>?
        var isOver = false
        var isCancelled = false
        /// Ends the batch; `nil` before it has begun.
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let questions = DispatchSemaphore(value: 0)

    func next() async -> Output? {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.asked = continuation }
                return state.isOver
            }
            if isOver { continuation.resume(returning: nil) } else { questions.signal() }
        }
    }

    func cancel() {
        let cancel = state.withLock { state in
            state.isCancelled = true
            return state.cancel
        }
        cancel?()
    }

    func stop() {
        state.withLock { $0.isOver = true }
        questions.signal()
    }

    /// The work of the thread.
    func run<Base>(_ batch: BatchSequence<Base, Output>) {
        let results = batch.makeIterator()
        let isCancelled = state.withLock { state in
            state.cancel = results.cancel
            return state.isCancelled
        }
        if isCancelled { results.cancel() }
        while true {
            questions.wait()
            guard state.withLock({ $0.asked != nil }) else { break }
            let output = results.next()
            if output == nil { results.end() }
            let asked = state.withLock { state in
                if output == nil { state.isOver = true }
                return state.asked.take()
            }
            asked?.resume(returning: output)
            if output == nil { return }
        }
        results.end()
    }
}
