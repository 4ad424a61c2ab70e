import CLibcryptoShims

/// The digest algorithms (FIPS 180-4) for signatures.
package enum DigestAlgorithm: UInt8, Sendable, CaseIterable {
    case sha1, sha224, sha256, sha384, sha512

    package var byteCount: Int {
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
    package func digest(of bytes: Span<UInt8>) throws(LibcryptoError) -> DigestValue {
        let method = try unsafe method
        var storage = DigestValue.Storage()
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeMutableBytes(of: &storage) { output in
                unsafe EVP_Digest(
                    bytes.baseAddress, bytes.count, output.bindMemory(to: UInt8.self).baseAddress, nil, method, nil)
            }
        }
        guard result == 1 else { throw LibcryptoError(.operationFailed) }
        return DigestValue(algorithm: self, storage: storage)
    }

    /// libcrypto's implementation.
    var method: OpaquePointer {
        get throws(LibcryptoError) {
            guard let method = unsafe Self.methods[Int(rawValue)] else { throw LibcryptoError(.algorithmUnavailable) }
            return unsafe method
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

    /// The implementations by raw value, fetched once and then immutable; `nil` if the host has none.
    private nonisolated(unsafe) static let methods: [OpaquePointer?] = {
        defer { ERR_clear_error() }
        return unsafe allCases.map { algorithm in
            unsafe EVP_MD_fetch(nil, algorithm.name.cString, nil)
        }
    }()
}
