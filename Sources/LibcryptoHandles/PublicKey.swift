import CLibcryptoShims

/// A public key that verifies signatures. It is thread-safe.
public final class PublicKey: Sendable {
    public enum Kind: Hashable, Sendable {
        case rsa
        /// A key for RSASSA-PSS only (RFC 4055, 1.2).
        case rsaPSS
        case ec(Curve)
        case other
    }

    public enum Curve: Sendable {
        case p256, p384, p521
        /// Another curve, or any curve with explicit parameters, which RFC 5480, 2.1.1 forbids.
        case other
    }

    public let kind: Kind
    /// The size of the modulus or of the curve's order, in bits.
    package let bits: Int
    let key: Owned<KeyObject>
    let contexts = IdleContexts()

    /// Reads a `SubjectPublicKeyInfo` (RFC 5280, 4.1).
    ///
    /// - Throws: `malformedKey`, also for algorithms that libcrypto does not know.
    public convenience init(subjectPublicKeyInfo bytes: Span<UInt8>) throws(LibcryptoError) {
        try self.init(
            unsafe bytes.decode(as: KeyObject.self, orThrow: .malformedKey) { position, count in
                unsafe d2i_PUBKEY(nil, position, count)
            })
    }

    /// Reads a bare `RSAPublicKey` (RFC 8017, A.1.1). It takes half a microsecond; libcrypto 3.0's decoders of a
    /// SubjectPublicKeyInfo or a certificate take 75.
    ///
    /// - Throws: `malformedKey`.
    package convenience init(rsaPublicKey bytes: Span<UInt8>) throws(LibcryptoError) {
        try self.init(
            unsafe bytes.decode(as: KeyObject.self, orThrow: .malformedKey) { position, count in
                unsafe d2i_PublicKey(EVP_PKEY_RSA, nil, position, count)
            })
    }

    init(_ key: consuming Owned<KeyObject>) throws(LibcryptoError) {
        (kind, bits) = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            defer { ERR_clear_error() }
            return unsafe (Self.kind(of: key), Int(EVP_PKEY_get_bits(key.pointer)))
        }
        self.key = key
    }

    /// The `SubjectPublicKeyInfo` (RFC 5280, 4.1).
    package func subjectPublicKeyInfo() throws(LibcryptoError) -> [UInt8] {
        let count = unsafe i2d_PUBKEY(key.pointer, nil)
        guard count > 0 else { throw LibcryptoError(.operationFailed) }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var position = buffer.baseAddress
            return unsafe i2d_PUBKEY(key.pointer, &position)
        }
        guard written == count else { throw LibcryptoError(.operationFailed) }
        return bytes
    }

    private static func kind(of key: borrowing Owned<KeyObject>) -> Kind {
        switch unsafe EVP_PKEY_get_base_id(key.pointer) {
        case EVP_PKEY_RSA: .rsa
        case EVP_PKEY_RSA_PSS: .rsaPSS
        case EVP_PKEY_EC: .ec(curve(of: key))
        default: .other
        }
    }

    private static func curve(of key: borrowing Owned<KeyObject>) -> Curve {
        var isExplicit: Int32 = 0
        guard
            unsafe EVP_PKEY_get_int_param(
                key.pointer, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &isExplicit) == 1,
            isExplicit == 0
        else { return .other }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { name in
            var count = 0
            guard unsafe EVP_PKEY_get_group_name(key.pointer, name.baseAddress, name.count, &count) == 1 else {
                return .other
            }
            return switch unsafe OBJ_txt2nid(name.baseAddress) {
            case NID_X9_62_prime256v1: .p256
            case NID_secp384r1: .p384
            case NID_secp521r1: .p521
            default: .other
            }
        }
    }
}
