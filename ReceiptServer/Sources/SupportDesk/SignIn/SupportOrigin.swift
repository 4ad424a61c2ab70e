import HTTPService
import StrictText

/// The origin of the desk in browsers, used to detect requests from other sites.
struct SupportOrigin: Sendable {
    /// The scheme and host as browsers send them, such as `https://desk.example.com`, or `nil` if no option sets them.
    private let stated: String?

    /// Whether browsers reach the desk only over TLS.
    var isSecure: Bool { stated?.utf8.starts(with: "https://".utf8) ?? false }

    init(_ stated: String?) throws(ConfigurationError) {
        if let stated, !Self.isOrigin(stated) {
            throw ConfigurationError(
                "--support-origin must be a scheme and a host in lower case, such as https://desk.example.com, and is '\(stated)'"
            )
        }
        self.stated = stated
    }

    private static func isOrigin(_ text: String) -> Bool {
        let schemes = ["https://", "http://"]
        guard let scheme = schemes.first(where: { text.utf8.starts(with: $0.utf8) }) else { return false }
        let host = text.utf8.dropFirst(scheme.utf8.count)
        return !host.isEmpty
            && host.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
                    true
                default: false
                }
            }
    }

    /// Returns whether a request is for this desk rather than for a foreign name that resolves to it (DNS rebinding).
    ///
    /// A proxy may send any name. Without `--support-origin`, only `localhost` and IP addresses pass.
    func isHost(of request: Request) -> Bool {
        guard stated == nil, let host = request.header("Host") else { return true }
        // An IPv6 address: names have no brackets.
        if host.utf8.first == UInt8(ascii: "[") { return host.utf8.contains(UInt8(ascii: "]")) }
        let name = host.utf8.prefix { $0 != UInt8(ascii: ":") }
        return name.elementsEqual("localhost".utf8)
            || !name.isEmpty && name.allSatisfy { 0x30...0x39 ~= $0 || $0 == UInt8(ascii: ".") }
    }

    /// Returns whether a request that changes something came from a page of this desk, according to its headers.
    func isOwn(_ request: Request) -> Bool {
        if let site = request.header("Sec-Fetch-Site"), !site.utf8.elementsEqual("same-origin".utf8),
            !site.utf8.elementsEqual("none".utf8)
        {
            return false
        }
        // Browsers send `Origin` with every POST.
        guard let origin = request.header("Origin") else { return stated == nil }
        if let stated { return origin.hasSameBytes(as: stated) }
        return request.header("Host").map { origin.hasSameBytes(as: "http://\($0)") } ?? false
    }
}
