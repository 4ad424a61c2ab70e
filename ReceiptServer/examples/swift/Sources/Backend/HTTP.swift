import Foundation

/// HTTP for an example: one request a connection, a thread for each. Use your framework instead.
struct Request {
    let method: String
    let path: String
    /// By their names in lowercase.
    let headers: [String: String]
    let body: [UInt8]
}

struct Response {
    let status: Int
    var body: [UInt8] = Array("{}".utf8)

    init(_ status: Int) { self.status = status }

    init(_ status: Int, json: some Encodable) throws {
        self.status = status
        body = Array(try JSONEncoder().encode(json))
    }
}

/// Serves on 127.0.0.1 until the process ends.
func serve(port: UInt16, _ answer: @escaping @Sendable (Request) -> Response) throws {
    signal(SIGPIPE, SIG_IGN)
    #if canImport(Darwin)
    let stream = SOCK_STREAM
    #else
    let stream = Int32(SOCK_STREAM.rawValue)
    #endif
    let listener = socket(AF_INET, stream, 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard status == 0, listen(listener, 128) == 0 else { throw CocoaError(.fileWriteUnknown) }
    while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { continue }
        Thread.detachNewThread {
            if let request = read(connection) { write(answer(request), to: connection) }
            close(connection)
        }
    }
}

private func read(_ connection: Int32) -> Request? {
    let maximumSize = 1 << 24
    var bytes: [UInt8] = []
    func more() -> Bool {
        var part = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(connection, &part, part.count, 0)
        if count > 0 { bytes += part.prefix(count) }
        return count > 0 && bytes.count <= maximumSize
    }
    let blank = Array("\r\n\r\n".utf8)
    var head = bytes.firstRange(of: blank)
    while head == nil {
        guard bytes.count <= 1 << 16, more() else { return nil }
        head = bytes.firstRange(of: blank)
    }
    guard let head else { return nil }
    let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    guard let length = Int(headers["content-length"] ?? "0"), 0...maximumSize ~= length else { return nil }
    while bytes.count < head.upperBound + length { guard more() else { return nil } }
    return Request(
        method: String(words[0]), path: String(words[1]), headers: headers,
        body: Array(bytes[head.upperBound...].prefix(length)))
}

private func write(_ response: Response, to connection: Int32) {
    let head = """
        HTTP/1.1 \(response.status) -\r\nContent-Type: application/json\r\nContent-Length: \(response.body.count)\r\n\
        Connection: close\r\n\r\n
        """
    var bytes = (Array(head.utf8) + response.body)[...]
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return }
        bytes = bytes.dropFirst(count)
    }
}
