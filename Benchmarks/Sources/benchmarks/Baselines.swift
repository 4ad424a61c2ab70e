import CBaselines

/// libcrypto used directly, in C, with one chain.
@safe
final class Baselines {
    private let key: OpaquePointer
    private let store: OpaquePointer

    init(leaf: [UInt8], root: [UInt8]) throws {
        guard let key = unsafe baseline_key_new(leaf, leaf.count),
            let store = unsafe baseline_store_new(root, root.count)
        else { throw BenchmarkError.baseline }
        unsafe self.key = key
        unsafe self.store = store
    }

    /// The digest of the payload and one verification with the leaf's key.
    func floor(payload: [UInt8], signature: [UInt8]) -> Bool {
        unsafe baseline_floor(key, payload, payload.count, signature, signature.count) == 1
    }

    /// The digest of what a JWS's signature covers, and one verification with the leaf's key, on P-256; the signature
    /// is DER.
    func ecdsaFloor(signed: [UInt8], signature: [UInt8]) -> Bool {
        unsafe baseline_ecdsa_floor(key, signed, signed.count, signature, signature.count) == 1
    }

    func verifyCMS(_ message: [UInt8]) -> Bool { unsafe baseline_cms_verify(store, message, message.count) == 1 }

    /// The number of elements.
    static func walk(_ message: [UInt8]) -> Int { unsafe baseline_tlv_walk(message, message.count) }

    static var libcryptoVersion: String { unsafe String(cString: baseline_libcrypto_version()) }
}
