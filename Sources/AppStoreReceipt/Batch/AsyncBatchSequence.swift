/// The results of a batch in the order of its pieces, which ``AppStoreVerifier/verifyAll(_:concurrency:transform:)`` returns.
///
/// Each iteration reads up to a maximum number of elements that are being worked on, or are done and not yet consumed. The work runs on the executor's threads.
struct AsyncBatchSequence<Base: AsyncSequence & Sendable, Output: Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable, Base.Failure: Sendable {
    typealias Failure = Base.Failure
    typealias Element = Output
    fileprivate typealias Started = Result<Task<Output, Never>, Failure>

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

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var started: AsyncStream<Started>.Iterator
        fileprivate let permit: AsyncStream<Void>.Continuation

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Output? {
            guard !Task.isCancelled, let element = await started.next(isolation: actor) else { return nil }
            let output = await (try element.get()).value
            permit.yield()
            return output
        }
    }
}
