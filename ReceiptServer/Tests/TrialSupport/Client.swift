import Foundation

/// An answer as it came.
package struct ReceivedAnswer: Sendable {
    package let status: Int
    /// By name in lower case.
    package let headers: [String: String]
    /// The values of `Set-Cookie`.
    package let cookies: [String]
    package let body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }

    package var object: [String: Any] {
        ((try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any]) ?? [:]
    }

    package var errorCode: String? { (object["error"] as? [String: Any])?["code"] as? String }
}

/// A connection that sends any bytes, even those that no HTTP client would. One thread sends, and one receives.
package final class Client: @unchecked Sendable {
    package let socket: Int32
    private var buffer: [UInt8] = []

    package init(port: UInt16) throws {
        socket = try connectToLoopback(port)
        set(timeout: 20)
    }

    deinit { close(socket) }

    /// The number of seconds without a byte after which reading ends.
    package func set(timeout seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// - Returns: Whether all bytes were sent.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Reads one answer; `nil` if the connection ends before.
    package func receive(toHEAD isHEAD: Bool = false) -> ReceivedAnswer? {
        while true {
            if let (answer, count) = parse(isHEAD) {
                buffer.removeFirst(count)
                if answer.status == 100 { continue }
                return answer
            }
            guard fill() else { return nil }
        }
    }

    /// Reads until the end of the connection, and returns whether it came.
    package func readsEnd() -> Bool {
        while fill() {}
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, 0) == 0 || errno == ECONNRESET
    }

    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(socket, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    private func parse(_ isHEAD: Bool) -> (ReceivedAnswer, Int)? {
        guard let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        let count = isHEAD ? 0 : headers["content-length"].flatMap { Int($0) } ?? 0
        guard buffer.count >= end.upperBound + count else { return nil }
        let status = lines.first.flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) } ?? 0
        let body = Array(buffer[end.upperBound..<end.upperBound + count])
        let cookies = lines.compactMap { line -> String? in
            let parts = line.split(separator: ": ", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "set-cookie" ? String(parts[1]) : nil
        }
        let answer = ReceivedAnswer(status: status, headers: headers, cookies: cookies, body: body)
        return (answer, end.upperBound + count)
    }
}

/// Sends a request on a connection of its own.
package func request(
    _ method: String, _ path: String, _ body: [UInt8] = [], headers: [String] = [], port: UInt16
) throws -> ReceivedAnswer {
    let client = try Client(port: port)
    client.send(requestBytes(method, path, body, headers: headers))
    guard let answer = client.receive(toHEAD: method == "HEAD") else {
        throw ServerProcess.Failure(description: "\(method) \(path): no answer")
    }
    return answer
}

package func requestBytes(_ method: String, _ path: String, _ body: [UInt8] = [], headers: [String] = []) -> [UInt8] {
    let lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Length: \(body.count)"] + headers
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
}

/// - Parameter source: The last number of the address to connect from. Each address has ports of its own.
package func connectToLoopback(_ port: UInt16, from source: UInt8 = 1) throws -> Int32 {
    let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if source != 1 {
        var own = sockaddr_in()
        own.sin_family = sa_family_t(AF_INET)
        own.sin_addr.s_addr = (0x7F00_0000 + UInt32(source)).bigEndian
        _ = withUnsafePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard status == 0 else {
        close(descriptor)
        throw ServerProcess.Failure(description: "cannot connect: \(String(cString: strerror(errno)))")
    }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
}
