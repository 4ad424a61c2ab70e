import CLedgerCrypto

/// A SHA-256 digest by libcrypto (FIPS 180-4).
package struct SHA256Digest: Hashable, Sendable {
    let bytes: [UInt8]

    package init(of text: [UInt8]) throws(LedgerError) {
        var digest = [UInt8](repeating: 0, count: 32)
        guard unsafe EVP_Digest(text, text.count, &digest, nil, EVP_sha256(), nil) == 1 else {
            throw LedgerError(.storeFailed, "libcrypto cannot compute SHA-256")
        }
        bytes = digest
    }
}

/// libcrypto's SHA-256, and the HMAC over it (RFC 2104).
enum SHA256 {
    static func hexadecimal(of bytes: [UInt8]) throws(LedgerError) -> String {
        try SHA256Digest(of: bytes).bytes.hexadecimal
    }

    static func authenticationCode(of bytes: [UInt8], key: [UInt8]) throws(LedgerError) -> String {
        var code = [UInt8](repeating: 0, count: 32)
        guard let length = Int32(exactly: key.count),
            unsafe HMAC(EVP_sha256(), key, length, bytes, bytes.count, &code, nil) != nil
        else { throw LedgerError(.storeFailed, "libcrypto cannot compute an HMAC") }
        return code.hexadecimal
    }
}

extension [UInt8] {
    fileprivate var hexadecimal: String {
        String(decoding: flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 0xF)]] }, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
