import CLibcryptoShims

/// MD5 (RFC 1321), for vectors that must be refused. It is not a ``DigestAlgorithm``, so nothing that verifies can be given one.
package enum TestVectorMD5 {
    /// - Throws: `algorithmUnavailable` where the host does not offer it.
    package static func digest(of bytes: Span<UInt8>) throws(LibcryptoError) -> [UInt8] {
        let method = try unsafe Owned<DigestMethod>(EVP_MD_fetch(nil, "MD5", nil), orThrow: .algorithmUnavailable)
        var digest = [UInt8](repeating: 0, count: 16)
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, method.pointer, nil)
        }
        guard result == 1 else { throw LibcryptoError(.operationFailed) }
        return digest
    }
}
