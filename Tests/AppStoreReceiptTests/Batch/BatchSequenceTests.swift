import Foundation
import Synchronization
import Testing

@testable import AppStoreReceipt

/// Order, bounds and ends, whatever the work is.
@Suite struct BatchSequenceTests {
    /// How often something has happened.
    final class Counter: Sendable {
        private let value = Atomic<Int>(0)
        var count: Int { value.load(ordering: .sequentiallyConsistent) }
        func increment() { value.add(1, ordering: .sequentiallyConsistent) }
    }

    @Test func `work that comes after the threads have ended is done, and nobody waits for it for ever`() async {
        let (threads, counter) = (BatchThreads(count: 2), Counter())
        threads.run { counter.increment() }
        threads.finish()
        await threads.end()
        threads.run { counter.increment() }
        #expect(counter.count == 2)
    }

    /// The numbers below an end, and how many of them were asked for.
    struct Numbers: Sequence, AsyncSequence {
        var end = Int.max
        var failsAtEnd = false
        let read = Counter()

        struct Failure: Error {}

        func makeIterator() -> Iterator { Iterator(numbers: self) }
        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(numbers: Iterator(numbers: self)) }

        struct Iterator: IteratorProtocol {
            let numbers: Numbers
            var position = 0

            mutating func next() -> Int? {
                guard position < numbers.end else { return nil }
                numbers.read.increment()
                position += 1
                return position - 1
            }
        }

        struct AsyncIterator: AsyncIteratorProtocol {
            var numbers: Iterator

            mutating func next() async throws(Failure) -> Int? {
                await Task.yield()
                if let number = numbers.next() { return number }
                if numbers.numbers.failsAtEnd { throw Failure() }
                return nil
            }
        }
    }

    /// Work that takes longer for some numbers than for others.
    @Sendable static func work(_ number: Int) -> Int {
        if number % 7 == 0 { usleep(200) }
        return number * 2
    }

    /// Returns whether a condition comes true, however busy the machine is.
    static func eventually(_ condition: () -> Bool) async -> Bool {
        for _ in 0..<12_000 {
            if condition() { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
    }

    /// How many elements were read, once no more are: for a tenth of a second.
    static func countAtRest(_ read: Counter) async throws -> Int {
        for _ in 0..<100 {
            let count = read.count
            try await Task.sleep(for: .milliseconds(100))
            if read.count == count { return count }
        }
        Issue.record("the reading does not end")
        return read.count
    }

    @Test(arguments: [0, 1, 3, 4, 5, 1000], [1, 2, 8])
    func `results come in order, one for each element, whatever the number of threads`(count: Int, concurrency: Int) {
        let results = BatchSequence(Numbers(end: count), concurrency: concurrency, transform: Self.work)
        #expect(Array(results) == (0..<count).map { $0 * 2 })
        // Each iteration begins anew.
        #expect(Array(results).count == count)
    }

    @Test(arguments: [0, 1, 7, 8, 9, 1000], [1, 2, 8])
    func `asynchronous results come in order, one for each element`(count: Int, concurrency: Int) async throws {
        let results = AsyncBatchSequence(Numbers(end: count), concurrency: concurrency, transform: Self.work)
        var collected: [Int] = []
        for try await result in results { collected.append(result) }
        #expect(collected == (0..<count).map { $0 * 2 })
    }

    @Test func `as many elements as there are threads are worked on at once`() {
        let (arrived, all) = (Counter(), DispatchSemaphore(value: 0))
        let results = BatchSequence(Numbers(end: 4), concurrency: 4) { number in
            arrived.increment()
            // The last to arrive lets all go; with fewer threads nobody would.
            if arrived.count == 4 { for _ in 0..<4 { all.signal() } }
            return all.wait(timeout: .now() + 300) == .success
        }
        #expect(Array(results) == [true, true, true, true])
    }

    @Test func `a consumer that takes its time holds up the reading: four elements for each thread`() async {
        let numbers = Numbers()
        let results = BatchSequence(numbers, concurrency: 2, transform: Self.work).makeIterator()
        for taken in 1...50 {
            #expect(results.next() == (taken - 1) * 2)
            #expect(numbers.read.count <= taken + 8)
        }
        #expect(await Self.eventually { numbers.read.count == 58 })
        usleep(20_000)
        #expect(numbers.read.count == 58)
        withExtendedLifetime(results) {}
    }

    @Test func `an asynchronous consumer that takes its time holds up the reading`() async throws {
        let numbers = Numbers()
        var results = AsyncBatchSequence(numbers, concurrency: 5, transform: Self.work).makeAsyncIterator()
        for taken in 1...50 {
            #expect(try await results.next() == (taken - 1) * 2)
            #expect(numbers.read.count <= taken + 5)
        }
        #expect(await Self.eventually { numbers.read.count == 55 })
        try await Task.sleep(for: .milliseconds(20))
        #expect(numbers.read.count == 55)
        #expect(try await results.next() == 100)
    }

    @Test func `asynchronous work runs on its own threads, and not in a task`() async throws {
        let results = AsyncBatchSequence(Numbers(end: 20), concurrency: 4) { _ in
            unsafe withUnsafeCurrentTask { unsafe $0 == nil }
        }
        #expect(try await results.allSatisfy { $0 })
    }

    @Test func `a cancelled task gets no result, also if results are waiting`() async throws {
        let numbers = Numbers()
        let task = Task {
            var results = AsyncBatchSequence(numbers, concurrency: 4, transform: Self.work).makeAsyncIterator()
            #expect(try await results.next() == 0)
            #expect(await Self.eventually { numbers.read.count == 5 })
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await results.next()
        }
        #expect(try await task.value == nil)
    }

    @Test func `an iterator that is released reads no more`() async throws {
        let numbers = Numbers()
        do {
            let results = BatchSequence(numbers, concurrency: 2, transform: Self.work).makeIterator()
            #expect(results.next() == 0)
        }
        #expect(try await Self.countAtRest(numbers.read) <= 1 + 8)
    }

    @Test func `cancelling wakes a consumer that waits for an element that never comes`() async {
        /// One element, and then none, as a terminal at which nobody types.
        struct Silent: Sequence, IteratorProtocol {
            let silence: DispatchSemaphore
            var isSilent = false
            mutating func next() -> Int? {
                if isSilent { silence.wait() }
                isSilent = true
                return 1
            }
        }
        let silence = DispatchSemaphore(value: 0)
        let results = BatchSequence(Silent(silence: silence), concurrency: 2) { $0 }.makeIterator()
        let cancel = results.cancel
        #expect(results.next() == 1)
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { cancel() }
        #expect(results.next() == nil)
        #expect(results.next() == nil)
        silence.signal()
    }

    // Each thread has something of libcrypto's, which is freed when it goes: never while the process exits.
    @Test func `after the last result the threads are gone, with what they kept each`() throws {
        final class Kept: Sendable {
            let freed: Counter
            init(_ freed: Counter) { self.freed = freed }
        }
        var key = pthread_key_t()
        try #require(
            unsafe pthread_key_create(&key) { value in
                usleep(50_000)
                if let value = unsafe value {
                    unsafe Unmanaged<Kept>.fromOpaque(value).takeRetainedValue().freed.increment()
                }
            } == 0)
        let (threads, freed) = (Counter(), Counter())
        let results = BatchSequence(Numbers(end: 100), concurrency: 3) { [key] _ in
            usleep(1000)
            guard unsafe pthread_getspecific(key) == nil else { return }
            threads.increment()
            unsafe _ = pthread_setspecific(key, Unmanaged.passRetained(Kept(freed)).toOpaque())
        }
        #expect(results.count { _ in true } == 100)
        #expect(threads.count >= 1)
        #expect(freed.count == threads.count)
        pthread_key_delete(key)
    }

    @Test func `what can cancel keeps nothing alive that the work has`() async {
        final class Kept: Sendable {}
        weak var kept: Kept?
        var cancel: (@Sendable () -> Void)?
        do {
            let strong = Kept()
            kept = strong
            let results = BatchSequence(Numbers(end: 10), concurrency: 2) { [strong] number in
                withExtendedLifetime(strong) { number }
            }.makeIterator()
            cancel = results.cancel
            while results.next() != nil {}
        }
        #expect(kept == nil)
        cancel?()
    }

    @Test func `an asynchronous sequence gives a result before the next element is there`() async throws {
        let (elements, input) = AsyncStream.makeStream(of: Int.self)
        var results = AsyncBatchSequence(elements, concurrency: 8, transform: Self.work).makeAsyncIterator()
        for number in 0..<10 {
            input.yield(number)
            #expect(await results.next() == number * 2)
        }
        input.finish()
        #expect(await results.next() == nil)
        #expect(await results.next() == nil)
    }

    @Test func `an error of the sequence comes after the results before it, and ends it`() async {
        let results = AsyncBatchSequence(Numbers(end: 20, failsAtEnd: true), concurrency: 4, transform: Self.work)
        var iterator = results.makeAsyncIterator()
        var collected: [Int] = []
        await #expect(throws: Numbers.Failure.self) {
            while let result = try await iterator.next() { collected.append(result) }
        }
        #expect(collected == (0..<20).map { $0 * 2 })
        #expect(await (try? iterator.next()) == .some(nil))
    }

    @Test func `cancelling the consumer's task ends the sequence and the reading`() async throws {
        let numbers = Numbers()
        let taken = Counter()
        let consumer = Task {
            for try await _ in AsyncBatchSequence(numbers, concurrency: 4, transform: Self.work) { taken.increment() }
            return Task.isCancelled
        }
        #expect(await Self.eventually { taken.count > 100 })
        consumer.cancel()
        #expect(try await consumer.value)
        #expect(try await Self.countAtRest(numbers.read) <= taken.count + 5)
    }

    @Test func `an asynchronous consumer that leaves ends the reading`() async throws {
        let numbers = Numbers()
        for try await result in AsyncBatchSequence(numbers, concurrency: 4, transform: Self.work) where result > 10 {
            break
        }
        #expect(try await Self.countAtRest(numbers.read) <= 7 + 4)
    }
}
