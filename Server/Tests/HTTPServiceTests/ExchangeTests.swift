import Synchronization
import Testing

@testable import HTTPService

/// What is kept of a body, byte by byte.
struct ExchangeTests {
    private func exchange(_ limits: ServiceLimits, _ queue: WorkQueue, chunks: Int, of count: Int) -> Exchange {
        let exchange = Exchange(
            Connection(socket: -1, isExcess: false), route: 0, Request(method: "POST", path: "/"))
        let chunk = [UInt8](repeating: 7, count: count)
        for _ in 0..<chunks {
            unsafe chunk.withUnsafeBytes { unsafe exchange.receive($0, limits, queue) }
        }
        return exchange
    }

    @Test(
        arguments: [(1, 100, 100, nil), (100, 1, 100, nil), (101, 1, 101, 413), (3, 60, 180, 413)]
            as [(Int, Int, Int, Int?)])
    func `a body up to the limit is kept, and counted beyond it`(chunks: Int, size: Int, count: Int, status: Int?) {
        var limits = ServiceLimits()
        limits.maximumBodyByteCount = 100
        let queue = WorkQueue(capacity: 1, threadCount: 1)
        defer { queue.stop() }
        let exchange = exchange(limits, queue, chunks: chunks, of: size)
        #expect(exchange.bodyByteCount == count)
        #expect(exchange.refusal?.status == status)
        #expect(exchange.request.body.count == (status == nil ? count : 0))
    }

    @Test func `a large body takes one place, and without one it is refused`() {
        let limits = ServiceLimits()
        let queue = WorkQueue(capacity: 1, threadCount: 1)
        defer { queue.stop() }
        let small = exchange(limits, queue, chunks: 1, of: ServiceLimits.largeBodyByteCount)
        #expect(!small.hasPlace && queue.occupiedCount == 0)
        let large = exchange(limits, queue, chunks: 3, of: ServiceLimits.largeBodyByteCount)
        #expect(large.hasPlace && queue.occupiedCount == 1)
        let other = exchange(limits, queue, chunks: 3, of: ServiceLimits.largeBodyByteCount)
        #expect(other.refusal?.status == 503 && !other.hasPlace && other.request.body.isEmpty)
        #expect(queue.occupiedCount == 1)
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
