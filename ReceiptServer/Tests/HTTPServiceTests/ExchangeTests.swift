import Foundation
import StrictText
import Synchronization
import Testing

@testable import HTTPService

/// What is kept of a body, byte by byte.
struct ExchangeTests {
    private func exchange(_ limits: ServiceLimits, _ memory: MemoryBudget, chunks: Int, of count: Int) -> Exchange {
        let exchange = Exchange(
            Connection(socket: -1, isExcess: false), route: 0, Request(method: "POST", path: "/"), memory)
        let chunk = [UInt8](repeating: 7, count: count)
        for _ in 0..<chunks {
            unsafe chunk.withUnsafeBytes { unsafe exchange.receive($0, limits) }
        }
        return exchange
    }

    @Test(
        arguments: [(1, 100, 100, nil), (100, 1, 100, nil), (101, 1, 101, 413), (3, 60, 180, 413)]
            as [(Int, Int, Int, Int?)])
    func `a body up to the limit is kept, and counted beyond it`(chunks: Int, size: Int, count: Int, status: Int?) {
        var limits = ServiceLimits()
        limits.maximumBodyByteCount = 100
        let exchange = exchange(limits, MemoryBudget(limit: 1000), chunks: chunks, of: size)
        #expect(exchange.bodyByteCount == count)
        #expect(exchange.refusal?.status == status)
        #expect(exchange.request.body.count == (status == nil ? count : 0))
    }

    @Test func `large bodies share memory by their size, and beyond it they are refused`() {
        let limits = ServiceLimits()
        let size = ServiceLimits.largeBodyByteCount
        let memory = MemoryBudget(limit: 5 * size)
        let small = exchange(limits, memory, chunks: 1, of: size)
        #expect(small.request.body.count == size && memory.usedByteCount == 0)
        let large = exchange(limits, memory, chunks: 3, of: size)
        #expect(large.request.body.count == 3 * size && memory.usedByteCount == 3 * size)
        let other = exchange(limits, memory, chunks: 3, of: size)
        #expect(other.refusal?.status == 503 && other.request.body.isEmpty)
        // What it had is free again.
        #expect(memory.usedByteCount == 3 * size)
        large.answer(Response(body: [1, 2, 3]))
        #expect(large.request.body.isEmpty && memory.usedByteCount == 3)
        large.release()
        #expect(memory.usedByteCount == 0)
    }

    @Test func `a client is late when its time is over, and not while its request is answered`() {
        let connection = Connection(socket: -1, isExcess: false)
        let now = System.monotonicMilliseconds
        for phase in Connection.Phase.allCases {
            connection.enter(phase, for: .seconds(3600))
            #expect(connection.lateness(at: now) == nil && connection.lateness(at: now + 3_599_000) == nil)
            #expect(connection.lateness(at: now + 7_200_000) == (phase == .none ? nil : phase))
        }
        connection.enterNoPhase()
        #expect(connection.lateness(at: .max) == nil)
    }

    @Test func `connections beyond the limit are excess, until others end`() {
        let table = ConnectionTable()
        let connections = (0..<3).map { _ in table.insert(socket: -1, limit: 2) }
        #expect(connections.map(\.isExcess) == [false, false, true])
        for connection in connections { table.remove(connection) }
        #expect(!table.insert(socket: -1, limit: 2).isExcess)
    }

    @Test func `the threads of a queue finish every job before they end`() {
        let queue = WorkQueue(capacity: 1000, threadCount: 3, maximumWait: .seconds(60))
        let counter = Counter()
        for _ in 0..<1000 {
            queue.run { turn in
                if turn == .work { counter.add() }
                return .answered
            }
        }
        #expect(queue.stop(by: System.monotonicMilliseconds + 60_000))
        #expect(counter.value == 1000)
    }

    @Test func `a job that waits too long is refused, also while all threads hang`() {
        let queue = WorkQueue(capacity: 10, threadCount: 1, maximumWait: .milliseconds(50))
        let (late, worked) = (Counter(), Counter())
        let isHanging = Atomic(true)
        @Sendable func count(_ turn: WorkQueue.Turn) -> WorkQueue.Completion {
            if turn == .tooLate { late.add() } else { worked.add() }
            return .answered
        }
        queue.run { _ in
            while isHanging.load(ordering: .relaxed) { System.sleep(for: .milliseconds(1)) }
            return .answered
        }
        System.sleep(for: .milliseconds(20))
        for _ in 0..<3 { queue.run { count($0) } }
        queue.dropLate()
        #expect(late.value == 0)
        System.sleep(for: .milliseconds(60))
        queue.dropLate()
        #expect(late.value == 3)
        // Nobody looked, and its turn comes too late.
        queue.run { count($0) }
        System.sleep(for: .milliseconds(60))
        isHanging.store(false, ordering: .relaxed)
        #expect(queue.stop(by: System.monotonicMilliseconds + 60_000))
        #expect(late.value == 4 && worked.value == 0)
    }

    /// Jobs that hang until they may end, and whether a job of another share is run beside them.
    private func isRun(
        _ other: WorkQueue.Share, beside count: Int, _ share: WorkQueue.Share, _ kind: WorkQueue.Completion
    ) -> (ran: Bool, places: Bool) {
        let queue = WorkQueue(capacity: 32, threadCount: 8, largeThreadCount: 2, maximumWait: .seconds(60))
        let isHanging = Atomic(true)
        var places = 0
        for _ in 0..<count where queue.takePlace(share) {
            places += 1
            queue.run(share, kind) {
                while isHanging.load(ordering: .relaxed) { System.sleep(for: .milliseconds(1)) }
            }
        }
        let ran = Counter()
        let hasPlace = queue.takePlace(other)
        queue.run(other, kind) { ran.add() }
        let end = System.monotonicMilliseconds + 2000
        while ran.value == 0, System.monotonicMilliseconds < end { System.sleep(for: .milliseconds(1)) }
        let hasRun = ran.value == 1
        isHanging.store(false, ordering: .relaxed)
        #expect(queue.stop(by: System.monotonicMilliseconds + 60_000))
        #expect(ran.value == 1)
        #expect(queue.occupiedCount == 0 && queue.owned.isEmpty)
        return (hasRun, hasPlace && places < 32)
    }

    @Test(arguments: [WorkQueue.Completion.answered, .answersLater])
    func `one owner, and all large jobs, leave places and threads to others`(_ kind: WorkQueue.Completion) {
        let (anna, ben) = (WorkQueue.Share(owner: UTF8Bytes("anna")), WorkQueue.Share(owner: UTF8Bytes("ben")))
        let (large, small) = (WorkQueue.Share(isLarge: true), WorkQueue.Share())
        for (other, share) in [(ben, anna), (small, anna), (small, large), (ben, large)] {
            let (ran, places) = isRun(other, beside: 100, share, kind)
            #expect(ran && places, "\(other) beside \(share)")
        }
        #expect(!isRun(small, beside: 8, small, kind).ran)
        #expect(!isRun(large, beside: 2, large, kind).ran)
        #expect(!isRun(anna, beside: 2, anna, kind).ran)
    }

    @Test(.timeLimit(.minutes(1))) func `a queue is not stopped before another thread has answered`() {
        let queue = WorkQueue(capacity: 8, threadCount: 2, maximumWait: .seconds(60))
        let isRunning = Atomic(false)
        let isHanging = Atomic(true)
        #expect(queue.takePlace())
        queue.run(WorkQueue.Share(), .answersLater) {
            isRunning.store(true, ordering: .relaxed)
            while isHanging.load(ordering: .relaxed) { System.sleep(for: .milliseconds(1)) }
        }
        while !isRunning.load(ordering: .relaxed) { System.sleep(for: .milliseconds(1)) }
        #expect(!queue.stop(by: System.monotonicMilliseconds + 20))
        isHanging.store(false, ordering: .relaxed)
        #expect(queue.stop(by: System.monotonicMilliseconds + 60_000))
        #expect(queue.occupiedCount == 0)
    }

    @Test func `of an owner whose jobs are finished, nothing is kept`() {
        let queue = WorkQueue(capacity: 8, threadCount: 2, maximumWait: .seconds(60))
        for number in 0..<100 {
            let share = WorkQueue.Share(owner: UTF8Bytes("\(number)"))
            while !queue.takePlace(share) { System.sleep(for: .milliseconds(1)) }
            queue.run(share, .answered) {}
        }
        #expect(queue.stop(by: System.monotonicMilliseconds + 60_000))
        #expect(queue.owned.isEmpty)
    }

    @Test(arguments: [WorkQueue.Completion.answered, .answersLater])
    func `jobs that made way for each other are all finished`(_ kind: WorkQueue.Completion) {
        let queue = WorkQueue(capacity: 1000, threadCount: 4, largeThreadCount: 1, maximumWait: .seconds(60))
        let counter = Counter()
        for number in 0..<1000 {
            let share = WorkQueue.Share(owner: UTF8Bytes("\(number % 3)"), isLarge: number % 2 == 0)
            queue.run(share, kind) { counter.add() }
        }
        #expect(queue.stop(by: System.monotonicMilliseconds + 60_000))
        #expect(counter.value == 1000)
    }

    @Test func `lanes share the memory, and a body always fits`() {
        var limits = ServiceLimits()
        limits.memoryByteCount = 3 << 20
        #expect(limits.memoryByteCount(laneCount: 1) == 3 << 20)
        #expect(limits.memoryByteCount(laneCount: 3) == 1 << 20)
        limits.maximumBodyByteCount = 2 << 20
        #expect(limits.memoryByteCount(laneCount: 3) == 2 << 20)
    }
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}

extension WorkQueue {
    /// Runs a job that has a slot, and leaves it: on a thread of the queue, or on another one.
    fileprivate func run(_ share: Share, _ kind: Completion, _ job: @escaping @Sendable () -> Void) {
        run(share) { [self] turn in
            guard kind == .answersLater, turn == .work else {
                if turn == .work { job() }
                leavePlace(share)
                return .answered
            }
            beginAnswer()
            Thread.detachNewThread { [self] in
                job()
                leavePlaceAndThread(share)
                endAnswer()
            }
            return .answersLater
        }
    }
}
