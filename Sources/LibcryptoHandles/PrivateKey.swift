import CLibcryptoShims

/// A private key. It is thread-safe.
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

    /// Creates a P-256 key from its private number, at most 32 bytes, and overwrites the bytes.
    ///
    /// libcrypto overwrites the number when it frees the key. Its PKCS#8 decoders are not used, because they leave a
    /// copy in freed memory.
    ///
    /// - Throws: `malformedKey` for a number that is not between 0 and the curve's order.
    public convenience init(erasingP256 number: inout [UInt8]) throws(LibcryptoError) {
        defer { number.erase() }
        let key = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in try Self.p256(number.span) }
        try self.init(key)
    }

    private static func p256(_ bytes: Span<UInt8>) throws(LibcryptoError) -> Owned<KeyObject> {
        guard bytes.count <= 32 else { throw LibcryptoError(.malformedKey) }
        let group = try unsafe Owned<CurveObject>(
            EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), orThrow: .algorithmUnavailable)
        let context = try unsafe Owned<NumberContext>(BN_CTX_secure_new())
        let number = try unsafe Owned<SecretNumber>(BN_secure_new())
        let point = try unsafe Owned<PointObject>(EC_POINT_new(group.pointer))
        let isRead = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe BN_bin2bn(bytes.baseAddress, Int32(bytes.count), number.pointer) != nil
        }
        guard isRead else { throw LibcryptoError(.allocationFailed) }
        guard unsafe BN_is_zero(number.pointer) == 0,
            unsafe BN_cmp(number.pointer, EC_GROUP_get0_order(group.pointer)) < 0
        else { throw LibcryptoError(.malformedKey) }
        unsafe BN_set_flags(number.pointer, BN_FLG_CONSTTIME)
        var native = [UInt8](repeating: 0, count: 32)
        defer { native.erase() }
        var encoded = [UInt8](repeating: 0, count: 65)
        guard unsafe EC_POINT_mul(group.pointer, point.pointer, number.pointer, nil, nil, context.pointer) == 1,
            unsafe EC_POINT_point2oct(
                group.pointer, point.pointer, POINT_CONVERSION_UNCOMPRESSED, &encoded, 65, context.pointer) == 65,
            unsafe BN_bn2nativepad(number.pointer, &native, 32) == 32
        else { throw LibcryptoError(.operationFailed) }
        return try unsafe Owned(receipt_p256_key(&native, &encoded), orThrow: .operationFailed)
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

extension [UInt8] {
    /// Overwrites the bytes. Arrays that share their memory keep them.
    public mutating func erase() { unsafe OPENSSL_cleanse(&self, count) }
}
