import Foundation

/// Connections that each send a request, wait for its answer, and send the next.
package struct Load {
    /// The servers' ports, which the connections take in turn.
    package var ports: [UInt16]
    package var connectionCount = 64
    /// Whole requests, which the connections send in turn.
    package var requests: [[UInt8]]
    /// The end of the load, in seconds.
    package var seconds = Double.infinity
    /// The number of requests after which the load ends.
    package var requestCount = Int.max

    package init(port: UInt16, requests: [[UInt8]]) {
        ports = [port]
        self.requests = requests
    }

    package struct Result {
        package var answerCount = 0
        package var statuses: [Int: Int] = [:]
        /// Connections that ended after a request and before its answer.
        package var cutCount = 0
        /// Connections that the server refused, which is no fault when it stops.
        package var refusedCount = 0
        package var seconds = 0.0
        /// In microseconds.
        package var latencies: [UInt32] = []
        /// What the servers took of the processors, in seconds, if somebody measured it.
        package var processorSeconds = 0.0

        package init() {}

        package var perSecond: Double { Double(answerCount) / seconds }

        /// The latency that this share of the requests does not exceed, in milliseconds.
        package func latency(_ share: Double) -> Double {
            guard !latencies.isEmpty else { return 0 }
            let sorted = latencies.sorted()
            return Double(sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]) / 1000
        }
    }

    private struct Slot {
        var socket: Int32 = -1
        var request = 0
        var sent = 0
        var received: [UInt8] = []
        var start: UInt64 = 0
    }

    /// - Parameter tick: Called a few times a second, with the seconds since the start.
    package func run(tick: (Double) -> Void = { _ in }) -> Result {
        var result = Result()
        let start = now()
        var slots = [Slot](repeating: Slot(), count: connectionCount)
        var next = 0
        var polled = [pollfd](repeating: pollfd(), count: connectionCount)
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        var started = 0
        var opened = 0
        var lastTick = start
        func open(_ index: Int) {
            // Ports of connections that have just ended cannot be used again at once.
            opened += 1
            let port = ports[index % ports.count]
            slots[index].socket = (try? connectToLoopback(port, from: UInt8(2 + opened % 250))) ?? -1
            if slots[index].socket < 0 { result.refusedCount += 1 }
        }
        func begin(_ index: Int) {
            slots[index].request = next % requests.count
            next += 1
            started += 1
            slots[index].sent = 0
            slots[index].received.removeAll(keepingCapacity: true)
            slots[index].start = now()
            write(index)
        }
        func end(_ index: Int) {
            close(slots[index].socket)
            slots[index].socket = -1
        }
        func write(_ index: Int) {
            let bytes = requests[slots[index].request]
            let count = bytes[slots[index].sent...].withUnsafeBytes {
                send(slots[index].socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 { slots[index].sent += count }
        }
        for index in slots.indices {
            open(index)
            if slots[index].socket >= 0 { begin(index) }
        }
        while slots.contains(where: { $0.socket >= 0 }) {
            let time = now()
            if time - lastTick > 50_000_000 {
                lastTick = time
                tick(Double(time - start) / 1e9)
            }
            let isOver = Double(time - start) / 1e9 > seconds || started >= requestCount
            // A server that does not answer is an error, and no reason to wait for ever.
            if Double(time - start) / 1e9 > seconds + 30 { break }
            for index in slots.indices {
                let isSending = slots[index].sent < requests[slots[index].request].count
                polled[index] = pollfd(
                    fd: slots[index].socket, events: Int16(POLLIN) | (isSending ? Int16(POLLOUT) : 0), revents: 0)
            }
            guard poll(&polled, nfds_t(polled.count), 50) > 0 else { continue }
            for index in slots.indices where polled[index].revents != 0 {
                if polled[index].revents & Int16(POLLOUT) != 0 { write(index) }
                guard polled[index].revents & ~Int16(POLLOUT) != 0 else { continue }
                let count = recv(slots[index].socket, &chunk, chunk.count, Int32(MSG_DONTWAIT))
                if count < 0, errno == EAGAIN { continue }
                guard count > 0 else {
                    result.cutCount += 1
                    end(index)
                    continue
                }
                slots[index].received += chunk[..<count]
                guard let answer = Self.status(of: slots[index].received) else { continue }
                result.answerCount += 1
                result.statuses[answer.status, default: 0] += 1
                result.latencies.append(UInt32(clamping: (now() - slots[index].start) / 1000))
                if isOver {
                    end(index)
                } else if answer.isLast {
                    end(index)
                    open(index)
                    if slots[index].socket >= 0 { begin(index) }
                } else {
                    begin(index)
                }
            }
        }
        for index in slots.indices where slots[index].socket >= 0 { end(index) }
        result.seconds = Double(now() - start) / 1e9
        return result
    }

    /// The status of an answer, and whether the connection ends after it; `nil` if the answer is not complete.
    private static func status(of bytes: [UInt8]) -> (status: Int, isLast: Bool)? {
        guard let end = bytes.endOfHeaders, bytes.count > 12 else { return nil }
        var length = 0
        var isLast = false
        for line in bytes[..<end].split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "Content-Length: ".utf8) {
                for digit in line.dropFirst(16) where digit &- 0x30 < 10 { length = length * 10 + Int(digit - 0x30) }
            } else if line.starts(with: "Connection: close".utf8) {
                isLast = true
            }
        }
        guard bytes.count >= end + length else { return nil }
        let status = bytes[9..<12].reduce(0) { $0 * 10 + Int($1 &- 0x30) }
        return (status, isLast)
    }
}

extension [UInt8] {
    /// The index after the empty line.
    fileprivate var endOfHeaders: Int? {
        var index = 3
        while index < count {
            if self[index] == 0x0A, self[index - 1] == 0x0D, self[index - 2] == 0x0A, self[index - 3] == 0x0D {
                return index + 1
            }
            index += 1
        }
        return nil
    }
}

func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
