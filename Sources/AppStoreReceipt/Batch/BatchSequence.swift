import Dispatch
import Synchronization

/// The results of work on the elements of a sequence, in their order. The work runs on several threads.
///
/// Each iteration has its own threads, which read `Base` in turn and work ahead of the consumer: at most four elements
/// for each thread are in progress, or done and not yet consumed. No other elements are in memory.
///
/// `next()` blocks until the next result is available, and after the last one until the threads have ended. Releasing
/// the iterator stops the work; each thread ends after its current element. A process that exits right after that must
/// call `_exit`: libcrypto's exit handler does not expect threads that are still running.
package struct BatchSequence<Base: Sequence & Sendable, Output: Sendable>: Sequence, Sendable
where Base.Element: Sendable {
    private let base: Base
    private let concurrency: Int
    private let transform: @Sendable (Base.Element) -> Output

    /// - Parameters:
    ///   - concurrency: the number of threads, at most 1024; by default one for each processor.
    ///   - transform: the work on one element.
    package init(_ base: Base, concurrency: Int?, transform: @escaping @Sendable (Base.Element) -> Output) {
        self.base = base
        self.concurrency = Swift.min(Swift.max(concurrency ?? processorCount(), 1), 1024)
        self.transform = transform
    }

    /// Starts the work with new threads.
    package func makeIterator() -> Iterator {
        let work = Work(base, slotCount: concurrency * 4, transform)
        return Iterator(work, threads: (0..<concurrency).map { _ in WorkerThread { work.run() } })
    }

    /// The iterator over the results, in order. It is not thread-safe.
    package final class Iterator: IteratorProtocol {
        private let work: Work
        private let threads: [WorkerThread]
        private var position: Int? = 0

        fileprivate init(_ work: Work, threads: [WorkerThread]) {
            self.work = work
            self.threads = threads
        }

        deinit { work.cancel() }

        /// Waits for the next result; returns `nil` after the last one, when all threads have ended.
        package func next() -> Output? {
            guard let current = position else { return nil }
            if let output = work.output(at: current) {
                position = current + 1
                return output
            }
            position = nil
            // After a cancellation, a thread may wait for an element forever.
            if !work.isCancelled { for thread in threads { thread.join() } }
            return nil
        }

        /// Ends the sequence, and waits for the threads. Each ends after its current element.
        package func end() {
            guard position != nil else { return }
            position = nil
            work.cancel()
            for thread in threads { thread.join() }
        }

        /// Ends the sequence after the results that are available in order, also while ``next()`` waits. It can be
        /// called on any thread.
        ///
        /// The closure references the work weakly. Otherwise, its last owner could be the one that frees libcrypto's
        /// objects of the work.
        package var cancel: @Sendable () -> Void { { [weak work] in work?.cancel() } }
    }
}

extension BatchSequence {
    /// The state that the threads of one iteration share.
    fileprivate final class Work: Sendable {
        private struct Source {
            var iterator: Base.Iterator
            var nextIndex = 0
            var isAtEnd = false
        }

        /// A slot for a result. A signal without a result marks the end.
        private final class Slot: Sendable {
            let output = Mutex<Output?>(nil)
            let isReady = DispatchSemaphore(value: 0)
        }

        private let source: Mutex<Source>
        /// A ring: the result of element `n` goes into slot `n % slots.count`.
        private let slots: [Slot]
        /// Counts the free slots. It starts at 0, because a semaphore must not end below its initial value.
        private let freeSlots = DispatchSemaphore(value: 0)
        private let cancelled = Atomic<Bool>(false)
        private let transform: @Sendable (Base.Element) -> Output

        init(_ base: Base, slotCount: Int, _ transform: @escaping @Sendable (Base.Element) -> Output) {
            source = Mutex(Source(iterator: base.makeIterator()))
            slots = (0..<slotCount).map { _ in Slot() }
            self.transform = transform
            for _ in 0..<slotCount { freeSlots.signal() }
        }

        var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

        /// The work of a thread.
        func run() {
            while true {
                freeSlots.wait()
                guard !isCancelled, let (element, index) = nextElement() else { break }
                let output = transform(element)
                let slot = slots[index % slots.count]
                slot.output.withLock { $0 = output }
                slot.isReady.signal()
            }
            // Let the other threads find the end, too.
            freeSlots.signal()
        }

        private func nextElement() -> (Base.Element, Int)? {
            source.withLock { source in
                guard !source.isAtEnd else { return nil }
                let index = source.nextIndex
                source.nextIndex += 1
                if let element = source.iterator.next() { return (element, index) }
                source.isAtEnd = true
                slots[index % slots.count].isReady.signal()
                return nil
            }
        }

        func output(at index: Int) -> Output? {
            let slot = slots[index % slots.count]
            slot.isReady.wait()
            let output = slot.output.withLock { $0.take() }
            freeSlots.signal()
            return output
        }

        func cancel() {
            cancelled.store(true, ordering: .relaxed)
            for slot in slots { slot.isReady.signal() }
            freeSlots.signal()
        }
    }
}
