@_spi(Ledger) import AppStoreReceipt

extension AppAccountToken {
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
