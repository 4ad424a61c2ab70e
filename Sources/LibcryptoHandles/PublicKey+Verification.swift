import CLibcryptoShims

extension PublicKey {
    /// Whether `signature` is this key's signature over `digest`.
    ///
    /// - Throws: `unsuitableKey`; `algorithmUnavailable` if the host refuses the digest for signatures. For a
    ///   malformed signature, the result is `false`.
    public func verify(
        signature: Span<UInt8>, digest: DigestValue, scheme: SignatureScheme
    ) throws(LibcryptoError) -> Bool {
        let (context, isValid) = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            let context: VerificationContext
            if let idle = contexts.take(digest.algorithm, scheme) {
                context = idle
            } else {
                context = try VerificationContext(key: self, digest.algorithm, scheme)
            }
            return (context, try context.verify(signature, digest))
        }
        contexts.keep(context)
        return isValid
    }

    /// The digest in a PKCS#1 v1.5 signature by this key; `nil` if the signature is malformed or has a digest of
    /// another algorithm.
    ///
    /// With it, an error can say whether the content was changed or another key signed.
    package func recoverPKCS1Digest(
        signature: Span<UInt8>, algorithm: DigestAlgorithm
    ) throws(LibcryptoError) -> DigestValue? {
        try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            try recoverUnwatched(signature, algorithm)
        }
    }

    private func recoverUnwatched(
        _ signature: Span<UInt8>, _ algorithm: DigestAlgorithm
    ) throws(LibcryptoError) -> DigestValue? {
        let context = try Owned.prepared(for: .recover, with: self, algorithm: algorithm, scheme: .pkcs1)
        let digest: DigestValue? = unsafe signature.withUnsafeBufferPointer { signature in
            var count = 0
            guard
                unsafe EVP_PKEY_verify_recover(
                    context.pointer, nil, &count, signature.baseAddress, signature.count) == 1
            else { return nil }
            return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { output in
                guard
                    unsafe EVP_PKEY_verify_recover(
                        context.pointer, output.baseAddress, &count, signature.baseAddress, signature.count) == 1,
                    count <= output.count
                else { return nil }
                return unsafe DigestValue(
                    algorithm, bytes: Span(_unsafeElements: UnsafeBufferPointer(rebasing: output[..<count])))
            }
        }
        if digest == nil { try LibcryptoError.drain() }
        return digest
    }
}

/// An `EVP_PKEY_CTX` that is initialized to verify with one key, digest algorithm and scheme.
///
/// Initializing one costs a fifth of an RSA-2048 verification, so a key keeps a few. It is not thread-safe.
final class VerificationContext: @unchecked Sendable {
    let algorithm: DigestAlgorithm
    let scheme: SignatureScheme
    private let context: Owned<KeyContextObject>

    init(key: PublicKey, _ algorithm: DigestAlgorithm, _ scheme: SignatureScheme) throws(LibcryptoError) {
        self.algorithm = algorithm
        self.scheme = scheme
        context = try .prepared(for: .verify, with: key, algorithm: algorithm, scheme: scheme)
    }

    func verify(_ signature: Span<UInt8>, _ digest: DigestValue) throws(LibcryptoError) -> Bool {
        // libcrypto narrows the length of an ECDSA signature to an `int`.
        guard !signature.isEmpty, signature.count <= Int(Int32.max) else { return false }
        let result = unsafe signature.withUnsafeBufferPointer { signature in
            digest.withBytes { digest in
                unsafe digest.withUnsafeBufferPointer { digest in
                    unsafe EVP_PKEY_verify(
                        context.pointer, signature.baseAddress, signature.count, digest.baseAddress, digest.count)
                }
            }
        }
        if result == 1 { return true }
        try LibcryptoError.drain()
        return false
    }
}
