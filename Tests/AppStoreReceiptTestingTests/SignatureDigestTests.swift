import AppStoreReceiptTesting
import SignatureTrust
import TestSupport
import Testing

@Suite struct SignatureDigestTests {
    /// RFC 1321, A.5; the last two fill a block but for the length, and need another.
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
    ])
    func `MD5 is that of RFC 1321`(message: String, expected: String) throws {
        #expect(try hex(SignatureDigest.md5.digest(of: Array(message.utf8))) == expected)
    }
}
