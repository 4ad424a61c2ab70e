import Synchronization
import Testing

@testable import HTTPService

/// What is kept of a body, byte by byte.
struct ExchangeTests {
    private func exchange(_ limits: ServiceLimits, _ memory: MemoryBudget, chunks: Int, of count: Int) -> Exchange {
        let exchange = Exchange(
            Connection(socket: -1, isExcess: false), route: 0, Request(method: "POST", path: "/"))
        let chunk = [UInt8](repeating: 7, count: count)
        for _ in 0..<chunks {
            unsafe chunk.withUnsafeBytes { unsafe exchange.receive($0, limits, memory) }
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
        large.answer(Response(body: [1, 2, 3]), memory)
        #expect(large.request.body.isEmpty && memory.usedByteCount == 3)
        large.release(memory)
        #expect(memory.usedByteCount == 0)
    }

    @Test func `the threads of a queue finish every job before they end`() {
        let queue = WorkQueue(capacity: 1000, threadCount: 3)
        let counter = Counter()
        for _ in 0..<1000 { queue.run { counter.add() } }
        queue.stop()
        #expect(counter.value == 1000)
    }
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}
