import CLibcryptoShims

extension DigestAlgorithm {
    /// The HMAC of `bytes` (RFC 2104).
    ///
    /// - Throws: `algorithmUnavailable` if libcrypto does not have the algorithm.
    public func authenticationCode(of bytes: Span<UInt8>, key: Span<UInt8>) throws(LibcryptoError) -> DigestValue {
        let method = try unsafe method
        guard let keyByteCount = Int32(exactly: key.count) else { throw LibcryptoError(.unsuitableKey) }
        var storage = DigestValue.Storage()
        try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            let code = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe key.withUnsafeBufferPointer { key in
                    unsafe withUnsafeMutableBytes(of: &storage) { output in
                        unsafe HMAC(
                            method, key.baseAddress, keyByteCount, bytes.baseAddress, bytes.count,
                            output.bindMemory(to: UInt8.self).baseAddress, nil)
                    }
                }
            }
            guard unsafe code != nil else { throw LibcryptoError(.operationFailed) }
        }
        return DigestValue(algorithm: self, storage: storage)
    }
}
