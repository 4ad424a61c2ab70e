import CLibcryptoShims

/// One reference to a libcrypto object, which is released with its owner.
@safe
struct Owned<Kind: LibcryptoObject>: ~Copyable {
    let pointer: OpaquePointer

    /// Takes the reference that a libcrypto function has just returned, or throws the error that it left.
    init(_ pointer: OpaquePointer?, orThrow kind: LibcryptoError.Kind = .allocationFailed) throws(LibcryptoError) {
        guard let pointer = unsafe pointer else { throw LibcryptoError(kind) }
        unsafe self.pointer = pointer
    }

    deinit { unsafe Kind.free(pointer) }
}

// libcrypto counts references atomically. An owner that threads share is only passed to functions that do not change
// the object, or that lock it, as certificates and stores do when they fill their caches.
extension Owned: @unchecked Sendable {}

/// A kind of libcrypto object, with the function that releases a reference to it.
protocol LibcryptoObject {
    static func free(_ pointer: OpaquePointer)
}

enum BigNumber: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe BN_free(pointer) }
}

/// A number of a private key, which is overwritten when it is released.
enum SecretNumber: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe BN_clear_free(pointer) }
}

enum NumberContext: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe BN_CTX_free(pointer) }
}

enum CurveObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe EC_GROUP_free(pointer) }
}

enum PointObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe EC_POINT_free(pointer) }
}

enum MemoryStream: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe BIO_free(pointer) }
}

enum KeyObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe EVP_PKEY_free(pointer) }
}

enum KeyContextObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe EVP_PKEY_CTX_free(pointer) }
}

enum DigestContextObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe EVP_MD_CTX_free(pointer) }
}

enum CertificateObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe X509_free(pointer) }
}

enum RevocationListObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe X509_CRL_free(pointer) }
}

enum StoreObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe X509_STORE_free(pointer) }
}

enum StoreContextObject: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe X509_STORE_CTX_free(pointer) }
}

/// A stack of certificates that does not own them.
enum CertificateStack: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe receipt_certificates_free(pointer) }
}

/// A stack of revocation lists that does not own them.
enum RevocationListStack: LibcryptoObject {
    static func free(_ pointer: OpaquePointer) { unsafe receipt_crls_free(pointer) }
}
