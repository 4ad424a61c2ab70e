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
}
