import LibcryptoHandles

/// The results of work on the elements of an asynchronous sequence, in their order, done on the executor's threads.
///
/// ``AppStoreVerifier/verifyAll(_:concurrency:)`` makes it. Each iteration reads `Base` ahead of the consumer, by a window of elements that are
/// under way, or done and not yet taken; a result is there as soon as it and those before it are, however slowly `Base` goes on. It ends when
/// the consumer's task is cancelled, and nothing is read any more once its iterator is released.
public struct AsyncBatchSequence<Base: AsyncSequence & Sendable, Output: Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable, Base.Failure: Sendable {
    public typealias Failure = Base.Failure
    public typealias Element = Output
    fileprivate typealias Started = Result<Task<Output, Never>, Failure>

    private let base: Base
    private let window: Int
    private let transform: @Sendable (Base.Element) -> Output

    init(_ base: Base, concurrency: Int?, transform: @escaping @Sendable (Base.Element) -> Output) {
        self.base = base
        self.window = Swift.min(Swift.max(concurrency ?? 4 * processorCount(), 1), 1 << 16)
        self.transform = transform
    }

    /// Begins the work anew, with tasks of its own.
    public func makeAsyncIterator() -> Iterator {
        let (permits, permit) = AsyncStream.makeStream(of: Void.self)
        for _ in 0..<window { permit.yield() }
        let (started, start) = AsyncStream.makeStream(of: Started.self)
        let (base, transform) = (base, transform)
        let reader = Task {
            var iterator = base.makeAsyncIterator()
            do throws(Failure) {
                for await _ in permits {
                    guard let element = try await iterator.next(isolation: nil) else { break }
                    start.yield(.success(Task { transform(element) }))
                }
            } catch {
                start.yield(.failure(error))
            }
            start.finish()
        }
        // At its end, when the consumer is cancelled, and when its iterator is released.
        start.onTermination = { _ in reader.cancel() }
        return Iterator(started: started.makeAsyncIterator(), permit: permit)
    }

    /// Takes the results in their order.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var started: AsyncStream<Started>.Iterator
        fileprivate let permit: AsyncStream<Void>.Continuation

        /// The next result; `nil` at the end, and once the task is cancelled.
        ///
        /// - Parameter actor: where the caller is isolated.
        /// - Throws: the error of the underlying sequence, after the results before it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Output? {
            guard !Task.isCancelled, let element = await started.next(isolation: actor) else { return nil }
            let output = await (try element.get()).value
            permit.yield()
            return output
        }
    }
}
