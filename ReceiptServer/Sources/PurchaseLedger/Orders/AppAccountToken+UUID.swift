@_spi(Ledger) package import AppStoreReceipt

extension AppAccountToken {
    /// Creates a token from a UUID. Returns `nil` for any other text, and for the nil UUID (RFC 9562, 5.9), which many
    /// accounts would share.
    package init?(uuid text: String) {
        guard let token = AppAccountToken(text),
            text.utf8.contains(where: { $0 != UInt8(ascii: "0") && $0 != UInt8(ascii: "-") })
        else { return nil }
        self = token
    }

    /// Returns a random UUID (RFC 9562, 5.4). It is never derived from the account, because Apple and devices see it.
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
            signed: [8, 4, 4, 4, 12].map { count in
                defer { rest = rest.dropFirst(count) }
                return String(rest.prefix(count))
            }.joined(separator: "-"))
    }
}
