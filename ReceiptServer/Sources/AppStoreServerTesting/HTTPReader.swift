#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import StrictText

/// Reads requests from a connection, one after the other.
struct HTTPReader {
    private let connection: CInt
    private var buffer: [UInt8] = []
    /// Whether the client expects the connection to end after the answer to the last request. PHP's `file_get_contents`
    /// waits for that.
    private(set) var isLast = false

    private static let maximumHeadByteCount = 64 << 10
    // The largest body is a PNG for retention messages.
    private static let maximumBodyByteCount = 32 << 20

    init(_ connection: CInt) { self.connection = connection }

    /// Returns the next request, or `nil` at the end or for malformed data.
    mutating func next() -> FakeRequest? {
        guard let head = readHead() else { return nil }
        let lines = head.split(separator: UInt8(ascii: "\n")).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
        guard let parts = lines.first?.split(separator: UInt8(ascii: " ")), parts.count == 3 else { return nil }
        var request = FakeRequest(String(decoding: parts[0], as: UTF8.self), target: Array(parts[1]))
        var count = 0
        isLast = parts[2].elementsEqual("HTTP/1.0".utf8)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = String(decoding: line[..<colon].map { 65...90 ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
            let value = String(
                decoding: line[line.index(after: colon)...].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
            switch name {
            case "connection": isLast = value.utf8.elementsEqual("close".utf8)
            case "authorization": request.authorization = value
            case "content-length":
                guard let length = Int(value), 0...Self.maximumBodyByteCount ~= length else { return nil }
                count = length
            case "transfer-encoding": return nil
            default: break
            }
        }
        while buffer.count < count { guard receive() else { return nil } }
        request.body = Array(buffer.prefix(count))
        buffer.removeFirst(count)
        return request
    }

    private mutating func readHead() -> [UInt8]? {
        let end = Array("\r\n\r\n".utf8)
        var start = 0
        while true {
            while start + 4 <= buffer.count {
                if buffer[start..<start + 4].elementsEqual(end) {
                    let head = Array(buffer[..<start])
                    buffer.removeFirst(start + 4)
                    return head
                }
                start += 1
            }
            guard buffer.count < Self.maximumHeadByteCount, receive() else { return nil }
        }
    }

    private mutating func receive() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe recv(connection, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk.prefix(count)
        return true
    }
}

extension FakeRequest {
    /// - Parameter target: The path, followed by the query if there is one.
    init(_ method: String, target: [UInt8]) {
        let parts = target.split(separator: UInt8(ascii: "?"), maxSplits: 1)
        self.init(
            method, parts.first.map { String(decoding: $0, as: UTF8.self) } ?? "/",
            query: parts.count > 1 ? Self.query(parts[1]) : [])
    }

    /// Parses a query, in which `+` is a space as in a form.
    private static func query(_ text: some Sequence<UInt8>) -> [(name: String, value: String)] {
        Array(text).split(separator: UInt8(ascii: "&")).map { member in
            let parts = member.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (unescaped(parts[0]), parts.count > 1 ? unescaped(parts[1]) : "")
        }
    }

    private static func unescaped(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), rest.count >= 2, let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
