import StrictText

/// The UUID that an app sets for the account that makes a purchase (`appAccountToken`).
///
/// Two tokens are equal if they differ only in the case of letters: apps write UUIDs in uppercase, and Apple signs them
/// in lowercase. With the module `AppStoreReceiptFoundation`, a token can be made from a `UUID`.
public struct AppAccountToken: Hashable, Sendable, CustomStringConvertible {
    /// The token in lowercase.
    public let description: String

    /// Creates a token from the text of a UUID, such as `9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00`; `nil` for any other
    /// text.
    ///
    /// - Parameter uuid: 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12 (RFC 9562, 4).
    public init?(_ uuid: String) {
        let groups = uuid.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12], groups.joined().allSatisfy(\.isHexadecimalDigit) else {
            return nil
        }
        self.init(signed: uuid)
    }

    /// Creates a token from a text that Apple signed, or that was stored. A text that is no UUID equals no other token.
    @_spi(Ledger) public init(signed text: String) {
        // ASCII alone: Unicode's lowercase letters would make different texts equal.
        description = String(
            decoding: text.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    public static func == (lhs: AppAccountToken, rhs: AppAccountToken) -> Bool {
        lhs.description.hasSameBytes(as: rhs.description)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(UTF8Bytes(description)) }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
