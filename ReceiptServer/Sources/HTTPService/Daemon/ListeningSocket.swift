import CMicrohttpd

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A host and a port, as in `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    /// The port, or 0 for any free port.
    package let port: UInt16

    /// - Returns: `nil` if the text isn't a host and port.
    package init?(_ text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
            let port = UInt16(text[text.index(after: colon)...]),
            text.utf8[text.index(after: colon)...].first != UInt8(ascii: "+")
        else { return nil }
        var host = text[..<colon]
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") {
            host = host.dropFirst().dropLast()
        } else if host.utf8.contains(UInt8(ascii: ":")) {
            return nil
        }
        guard !host.isEmpty, !host.utf8.contains(0) else { return nil }
        self.host = String(host)
        self.port = port
    }

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The reason a service cannot listen.
package struct ListenError: Error, CustomStringConvertible {
    let address: ListenAddress
    let reason: String

    package var description: String { "cannot listen on \(address): \(reason)" }
}

/// A socket that accepts connections.
struct ListeningSocket {
    let descriptor: CInt
    /// The address, with the port that the system chose.
    let address: ListenAddress

    /// - Parameter backlog: The maximum number of connections that wait in the system to be accepted.
    init(_ address: ListenAddress, backlog: Int) throws(ListenError) {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = http_stream
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(address.host, "\(address.port)", &hints, &list)
        guard status == 0, let first = unsafe list else {
            throw ListenError(address: address, reason: unsafe String(cString: gai_strerror(status)))
        }
        defer { unsafe freeaddrinfo(first) }
        // A name such as `localhost` can have two addresses. Use the first.
        let info = unsafe first.pointee
        let descriptor = unsafe http_socket_open(info.ai_family)
        func failure() -> ListenError {
            let error = ListenError(address: address, reason: Self.explanation(of: errno))
            if descriptor >= 0 { close(descriptor) }
            return error
        }
        guard descriptor >= 0 else { throw failure() }
        var one: CInt = 1
        // A restarted service must not wait for the last connections of its predecessor.
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        guard unsafe bind(descriptor, info.ai_addr, info.ai_addrlen) == 0 else { throw failure() }
        guard listen(descriptor, CInt(clamping: backlog)) == 0 else { throw failure() }
        self.descriptor = descriptor
        self.address = ListenAddress(host: address.host, port: Self.port(of: descriptor) ?? address.port)
    }

    /// Returns what is wrong and how to fix it.
    private static func explanation(of error: CInt) -> String {
        let advice =
            switch error {
            case EADDRINUSE: ": end the program that listens there, or choose another port; 0 is any free one"
            case EADDRNOTAVAIL: ": this machine does not have the address"
            case EACCES: ": choose a port from 1024 on, and put a proxy in front"
            default: ""
            }
        return System.explanation(of: error) + advice
    }

    private static func port(of descriptor: CInt) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { return nil }
        // The port has the same offset in both address families.
        return unsafe withUnsafeBytes(of: &storage) {
            unsafe UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))
        }
    }
}
