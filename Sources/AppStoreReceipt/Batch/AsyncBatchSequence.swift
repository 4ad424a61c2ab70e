import Synchronization

/// The results of a batch in the order of its pieces, which ``AppStoreVerifier/verdicts(on:concurrency:transform:)``
/// returns.
///
/// Each iteration reads up to a maximum number of elements that are being worked on, or are done and not yet consumed.
/// The work runs on its own threads: it uses the processor, and all tasks of the process share the executor's threads.
struct AsyncBatchSequence<Base: AsyncSequence & Sendable, Output: Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable, Base.Failure: Sendable {
    typealias Failure = Base.Failure
    typealias Element = Output
    fileprivate typealias Started = Result<BatchResult<Output>, Failure>

    private let base: Base
    private let window: Int
    private let transform: @Sendable (Base.Element) -> Output

    init(_ base: Base, concurrency: Int?, transform: @escaping @Sendable (Base.Element) -> Output) {
        self.base = base
        self.window = Swift.min(Swift.max(concurrency ?? 4 * processorCount(), 1), 1 << 16)
        self.transform = transform
    }

    func makeAsyncIterator() -> Iterator {
        let (permits, permit) = AsyncStream.makeStream(of: Void.self)
        for _ in 0..<window { permit.yield() }
        let (started, start) = AsyncStream.makeStream(of: Started.self)
        let (base, transform) = (base, transform)
        let threads = BatchThreads(count: Swift.min(window, processorCount()))
        let reader = Task {
            var iterator = base.makeAsyncIterator()
            do throws(Failure) {
                for await _ in permits {
                    guard let element = try await iterator.next(isolation: nil) else { break }
                    let result = BatchResult<Output>()
                    threads.run { result.set(transform(element)) }
                    start.yield(.success(result))
                }
            } catch {
                start.yield(.failure(error))
            }
            start.finish()
        }
        // At its end, when the consumer is cancelled, and when its iterator is released.
        start.onTermination = { _ in
            reader.cancel()
            threads.finish()
        }
        return Iterator(started: started.makeAsyncIterator(), permit: permit, threads: threads)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var started: AsyncStream<Started>.Iterator
        fileprivate let permit: AsyncStream<Void>.Continuation
        fileprivate let threads: BatchThreads

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Output? {
            guard !Task.isCancelled else { return nil }
            switch await started.next(isolation: actor) {
            case .success(let result)?:
                let output = await result.value()
                permit.yield()
                return output
            case .failure(let error)?:
                await threads.end()
                throw error
            case nil:
                if !Task.isCancelled { await threads.end() }
                return nil
            }
        }
    }
}

/// A result that another thread makes.
final class BatchResult<Output: Sendable>: Sendable {
    private enum State {
        case none
        case made(Output)
        case awaited(CheckedContinuation<Output, Never>)
    }

    private let state = Mutex(State.none)

    func set(_ output: Output) {
        let awaiting: CheckedContinuation<Output, Never>? = state.withLock { state in
            if case .awaited(let continuation) = state { return continuation }
            state = .made(output)
            return nil
        }
        awaiting?.resume(returning: output)
    }

    /// The result, as soon as it is made. Ask once.
    func value() async -> Output {
        await withCheckedContinuation { continuation in
            let made: Output? = state.withLock { state in
                if case .made(let output) = state { return output }
                state = .awaited(continuation)
                return nil
            }
            if let made { continuation.resume(returning: made) }
        }
    }
}
