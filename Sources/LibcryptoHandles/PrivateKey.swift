import CLibcryptoShims

/// A private key for minting. It is thread-safe.
public final class PrivateKey: Sendable {
    /// The public key of the pair.
    public let publicKey: PublicKey

    private init(_ key: consuming Owned<KeyObject>) throws(LibcryptoError) {
        publicKey = try PublicKey(key)
    }

    /// Generates an RSA key of 512 to 16384 bits, with an odd exponent other than 1.
    ///
    /// - Throws: `unsuitableKey` for any other.
    package static func generateRSA(
        bits: Int, publicExponent: UInt64 = 65537
    ) throws(LibcryptoError) -> PrivateKey {
        guard (512...16384).contains(bits), publicExponent > 1, !publicExponent.isMultiple(of: 2) else {
            throw LibcryptoError(.unsuitableKey)
        }
        let context = try unsafe Owned<KeyContextObject>(
            EVP_PKEY_CTX_new_from_name(nil, "RSA", nil), orThrow: .algorithmUnavailable)
        let exponent = try unsafe Owned<BigNumber>(BN_new())
        guard unsafe EVP_PKEY_keygen_init(context.pointer) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context.pointer, Int32(bits)) == 1,
            unsafe BN_set_word(exponent.pointer, numericCast(publicExponent)) == 1,
            unsafe EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context.pointer, exponent.pointer) == 1
        else { throw LibcryptoError(.operationFailed) }
        return try generate(with: context)
    }

    /// Generates an elliptic curve key.
    ///
    /// - Throws: `unsuitableKey` for ``PublicKey/Curve/other``.
    package static func generateEC(_ curve: PublicKey.Curve) throws(LibcryptoError) -> PrivateKey {
        let name: StaticString =
            switch curve {
            case .p256: "P-256"
            case .p384: "P-384"
            case .p521: "P-521"
            case .other: throw LibcryptoError(.unsuitableKey)
            }
        let context = try unsafe Owned<KeyContextObject>(
            EVP_PKEY_CTX_new_from_name(nil, "EC", nil), orThrow: .algorithmUnavailable)
        guard unsafe EVP_PKEY_keygen_init(context.pointer) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context.pointer, name.cString) == 1
        else { throw LibcryptoError(.operationFailed) }
        return try generate(with: context)
    }

    private static func generate(
        with context: borrowing Owned<KeyContextObject>
    ) throws(LibcryptoError) -> PrivateKey {
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_generate(context.pointer, &key) == 1 else { throw LibcryptoError(.operationFailed) }
        return try unsafe PrivateKey(Owned(key))
    }

    /// Reads a PKCS#8 `PrivateKeyInfo` (RFC 5208, 5), or a key in the older format of its algorithm.
    package convenience init(der bytes: Span<UInt8>) throws(LibcryptoError) {
        try self.init(
            unsafe bytes.decode(as: KeyObject.self, orThrow: .malformedKey) { unsafe d2i_AutoPrivateKey(nil, $0, $1) })
    }

    /// Reads a PKCS#8 `PrivateKeyInfo` (RFC 5208, 5) and no older format, and overwrites the bytes.
    ///
    /// - Throws: `malformedKey`.
    public convenience init(erasingPKCS8 der: inout [UInt8]) throws(LibcryptoError) {
        defer { unsafe OPENSSL_cleanse(&der, der.count) }
        let information = try unsafe der.span.decode(as: PrivateKeyInformation.self, orThrow: .malformedKey) {
            unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1)
        }
        try self.init(unsafe Owned(EVP_PKCS82PKEY(information.pointer), orThrow: .malformedKey))
    }

    /// Reads the first private key of a PEM text (RFC 7468, 10). Encrypted keys are refused.
    package convenience init(pem bytes: Span<UInt8>) throws(LibcryptoError) {
        guard let count = Int32(exactly: bytes.count) else { throw LibcryptoError(.malformedKey) }
        let key = unsafe bytes.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, count) else { return nil }
            defer { unsafe BIO_free(source) }
            // Otherwise, libcrypto prompts for a passphrase on the terminal.
            return unsafe PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)
        }
        try self.init(unsafe Owned(key, orThrow: .malformedKey))
    }

    /// The PKCS#8 `PrivateKeyInfo`, unencrypted.
    package func pkcs8DER() throws(LibcryptoError) -> [UInt8] {
        try unsafe write { unsafe i2d_PKCS8PrivateKey_bio($0, publicKey.key.pointer, nil, nil, 0, nil, nil) }
    }

    /// The same as PEM (`BEGIN PRIVATE KEY`).
    package func pkcs8PEM() throws(LibcryptoError) -> [UInt8] {
        try unsafe write { unsafe PEM_write_bio_PKCS8PrivateKey($0, publicKey.key.pointer, nil, nil, 0, nil, nil) }
    }

    private func write(_ body: (OpaquePointer) -> Int32) throws(LibcryptoError) -> [UInt8] {
        let sink = try unsafe Owned<MemoryStream>(BIO_new(BIO_s_mem()))
        guard unsafe body(sink.pointer) == 1 else { throw LibcryptoError(.operationFailed) }
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe receipt_bio_contents(sink.pointer, &start)
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}
