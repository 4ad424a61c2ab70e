import CLibcryptoShims
import Synchronization

/// The digest algorithms (FIPS 180-4) for signatures.
public enum DigestAlgorithm: UInt8, Sendable, CaseIterable {
    case sha1, sha224, sha256, sha384, sha512

    public var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// The digest of `bytes`, in one call.
    ///
    /// - Throws: `algorithmUnavailable` if libcrypto does not have the algorithm.
    public func digest(of bytes: Span<UInt8>) throws(LibcryptoError) -> DigestValue {
        let method = try unsafe method
        var storage = DigestValue.Storage()
        try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            let result = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe withUnsafeMutableBytes(of: &storage) { output in
                    unsafe EVP_Digest(
                        bytes.baseAddress, bytes.count, output.bindMemory(to: UInt8.self).baseAddress, nil, method, nil)
                }
            }
            guard result == 1 else { throw LibcryptoError(.operationFailed) }
        }
        return DigestValue(algorithm: self, storage: storage)
    }

    /// libcrypto's implementation.
    var method: OpaquePointer {
        get throws(LibcryptoError) {
            if let method = unsafe Self.methods[Int(rawValue)].load(ordering: .acquiring) { return unsafe method }
            return unsafe try fetch()
        }
    }

    private var name: StaticString {
        switch self {
        case .sha1: "SHA1"
        case .sha224: "SHA224"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }

    /// Fetches and keeps libcrypto's implementation. A failure is not kept: memory may have run out.
    private func fetch() throws(LibcryptoError) -> OpaquePointer {
        let method = unsafe try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            guard let method = unsafe EVP_MD_fetch(nil, name.cString, nil) else {
                throw LibcryptoError(.algorithmUnavailable)
            }
            return unsafe method
        }
        let (_, other) = unsafe Self.methods[Int(rawValue)].compareExchange(
            expected: nil, desired: method, ordering: .acquiringAndReleasing)
        guard let other = unsafe other else { return unsafe method }
        unsafe EVP_MD_free(method)
        return unsafe other
    }

    /// Fetched methods, by raw value.
    private nonisolated(unsafe) static let methods = unsafe InlineArray<5, Atomic<OpaquePointer?>> { _ in
        unsafe Atomic(nil)
    }
}
