import StrictText

/// A cookie of the desk (RFC 6265).
struct Cookie {
    let name: String
    let isSecure: Bool

    /// Browsers keep a `__Host-` cookie only if it is set over TLS, for all paths and for this host alone, so other
    /// hosts of the domain can't set it.
    init(_ name: String, isSecure: Bool) {
        self.name = (isSecure ? "__Host-" : "") + name
        self.isSecure = isSecure
    }

    /// Returns the value that a browser sent, or `nil` if there is none or more than one, in which case another site
    /// set one of them.
    func value(in header: String?) -> String? {
        guard let header else { return nil }
        let values = header.utf8.split(separator: UInt8(ascii: ";")).compactMap { pair -> Substring.UTF8View? in
            let pair = pair.drop { $0 == UInt8(ascii: " ") }
            guard let end = pair.firstIndex(of: UInt8(ascii: "=")), pair[..<end].elementsEqual(name.utf8) else {
                return nil
            }
            return pair[pair.index(after: end)...]
        }
        return values.count == 1 ? String(Substring(values[0])) : nil
    }

    /// Returns the header that sets the cookie until the browser closes, or for `seconds`.
    ///
    /// - Parameter value: Letters, digits, and punctuation without `;` and `,`.
    func setting(_ value: String, seconds: Int? = nil) -> (name: String, value: String) {
        let time = seconds.map { "; Max-Age=\($0)" } ?? ""
        let secure = isSecure ? "; Secure" : ""
        return ("Set-Cookie", "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict\(secure)\(time)")
    }

    var removing: (name: String, value: String) { setting("", seconds: 0) }
}
