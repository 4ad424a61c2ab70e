import CLibcryptoShims

extension PrivateKey {
    /// Signs a digest. PKCS#1 v1.5 signatures are deterministic, and PSS signatures without salt. Other PSS and ECDSA
    /// signatures are not.
    ///
    /// - Throws: `unsuitableKey`; `algorithmUnavailable` if the host refuses the digest for signatures.
    public func sign(_ digest: DigestValue, scheme: SignatureScheme) throws(LibcryptoError) -> [UInt8] {
        try digest.withBytes { (bytes) throws(LibcryptoError) in
            try sign(bytes, algorithm: digest.algorithm, scheme: scheme)
        }
    }

    /// Signs bytes that the caller wrote in place of a `DigestInfo` (RFC 8017, 9.2, T), to make faulty signatures for
    /// tests.
    package func signPKCS1(digestInfo: Span<UInt8>) throws(LibcryptoError) -> [UInt8] {
        try sign(digestInfo, algorithm: nil, scheme: .pkcs1)
    }

    private func sign(
        _ bytes: Span<UInt8>, algorithm: DigestAlgorithm?, scheme: SignatureScheme
    ) throws(LibcryptoError) -> [UInt8] {
        let context = try Owned.prepared(for: .sign, with: publicKey, algorithm: algorithm, scheme: scheme)
        var signature = unsafe [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(publicKey.key.pointer)))
        var count = signature.count
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe signature.withUnsafeMutableBufferPointer { output in
                unsafe EVP_PKEY_sign(context.pointer, output.baseAddress, &count, bytes.baseAddress, bytes.count)
            }
        }
        guard result == 1 else { throw LibcryptoError(.operationFailed) }
        signature.removeSubrange(count...)
        return signature
    }
}
