import CLibcryptoShims

extension PublicKey {
    /// Whether `signature` is this key's signature over `digest`.
    ///
    /// - Throws: `unsuitableKey`; `algorithmUnavailable` where the host refuses the digest for signatures. A signature that is
    ///   malformed is not an error: it is `false`.
    package func verify(
        signature: Span<UInt8>, digest: DigestValue, scheme: SignatureScheme
    ) throws(LibcryptoError) -> Bool {
        let context: VerificationContext
        if let idle = takeContext(digest.algorithm, scheme) {
            context = idle
        } else {
            context = try VerificationContext(key: self, operation: .verify, digest.algorithm, scheme)
        }
        let isValid = try context.verify(signature, digest)
        keep(context)
        return isValid
    }

    /// The digest in a PKCS#1 v1.5 signature by this key; `nil` unless it is a well-formed one over some digest of this algorithm.
    ///
    /// A failed verification can thus be told apart: the content was altered, or the signature is not this key's.
    package func recoverPKCS1Digest(
        signature: Span<UInt8>, algorithm: DigestAlgorithm
    ) throws(LibcryptoError) -> DigestValue? {
        try VerificationContext(key: self, operation: .recover, algorithm, .pkcs1).recover(signature)
    }

    private func takeContext(_ algorithm: DigestAlgorithm, _ scheme: SignatureScheme) -> VerificationContext? {
        contexts.withLock { idle in
            idle.lastIndex { $0.algorithm == algorithm && $0.scheme == scheme }.map { idle.remove(at: $0) }
        }
    }

    private func keep(_ context: VerificationContext) {
        contexts.withLock { idle in
            if idle.count < 8 { idle.append(context) }
        }
    }
}

/// An `EVP_PKEY_CTX` set up for one key, digest algorithm and scheme.
///
/// Setting one up costs a sixth of an RSA-2048 verification, so a key keeps those it is done with. One thread uses it at a time.
final class VerificationContext: @unchecked Sendable {
    enum Operation { case verify, recover }

    let algorithm: DigestAlgorithm
    let scheme: SignatureScheme
    private let context: Owned<KeyContextObject>

    init(
        key: PublicKey, operation: Operation, _ algorithm: DigestAlgorithm, _ scheme: SignatureScheme
    ) throws(LibcryptoError) {
        guard scheme.suits(key.kind) else { throw LibcryptoError(.unsuitableKey) }
        let method = try unsafe algorithm.method
        let context = try unsafe Owned<KeyContextObject>(EVP_PKEY_CTX_new_from_pkey(nil, key.key.pointer, nil))
        let pointer = unsafe context.pointer
        let isReady =
            switch operation {
            case .verify: unsafe EVP_PKEY_verify_init(pointer)
            case .recover: unsafe EVP_PKEY_verify_recover_init(pointer)
            }
        guard isReady == 1 else { throw LibcryptoError(.operationFailed) }
        try context.configure(scheme)
        guard unsafe EVP_PKEY_CTX_set_signature_md(pointer, method) == 1 else {
            throw LibcryptoError(.algorithmUnavailable)
        }
        self.algorithm = algorithm
        self.scheme = scheme
        self.context = context
    }

    func verify(_ signature: Span<UInt8>, _ digest: DigestValue) throws(LibcryptoError) -> Bool {
        guard !signature.isEmpty else { return false }
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

    func recover(_ signature: Span<UInt8>) throws(LibcryptoError) -> DigestValue? {
        guard !signature.isEmpty else { return nil }
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

extension Owned where Kind == KeyContextObject {
    /// Sets the padding of an initialised context.
    borrowing func configure(_ scheme: SignatureScheme) throws(LibcryptoError) {
        switch scheme {
        case .pkcs1:
            guard unsafe EVP_PKEY_CTX_set_rsa_padding(pointer, RSA_PKCS1_PADDING) == 1 else {
                throw LibcryptoError(.operationFailed)
            }
        case .pss(let saltLength, let mgf1):
            // libcrypto gives negative lengths meanings of its own.
            let method = try unsafe mgf1.method
            guard let saltLength = Int32(exactly: saltLength), saltLength >= 0,
                unsafe EVP_PKEY_CTX_set_rsa_padding(pointer, RSA_PKCS1_PSS_PADDING) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(pointer, saltLength) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_mgf1_md(pointer, method) == 1
            else { throw LibcryptoError(.operationFailed) }
        case .ecdsa: break
        }
    }
}
