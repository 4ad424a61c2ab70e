package import AppStoreReceipt

extension AppAccountToken {
    /// Whether a text is 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12 (RFC 9562, 4).
    package static func isUUID(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy {
                switch $0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    true
                default: false
                }
            }
    }

    /// Creates a token from a UUID. Returns `nil` for another text, and for the nil UUID (RFC 9562, 5.9), which many would have.
    package init?(uuid text: String) {
        guard Self.isUUID(text), text.utf8.contains(where: { $0 != UInt8(ascii: "0") && $0 != UInt8(ascii: "-") })
        else { return nil }
        self.init(text)
    }

    /// A random UUID (RFC 9562, 5.4). It is never derived from the account: Apple and devices see it.
    static func random(_ surroundings: Surroundings = Surroundings()) -> AppAccountToken {
        let (high, low) = (surroundings.random(), surroundings.random())
        let version = high & ~0xF000 | 0x4000
        let variant = low & (UInt64.max >> 2) | 1 << 63
        let digits = [version, variant].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
        var rest = digits[...]
        return AppAccountToken(
            [8, 4, 4, 4, 12].map { count in
                defer { rest = rest.dropFirst(count) }
                return String(rest.prefix(count))
            }.joined(separator: "-"))
    }
}
