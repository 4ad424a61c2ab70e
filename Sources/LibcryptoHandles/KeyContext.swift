import CLibcryptoShims

/// The operation for which an `EVP_PKEY_CTX` is initialized.
enum KeyOperation {
    case verify, recover, sign
}

extension Owned where Kind == KeyContextObject {
    /// Creates a context for one operation with `key`. Without an algorithm, the input is signed as it is.
    static func prepared(
        for operation: KeyOperation, with key: PublicKey, algorithm: DigestAlgorithm?, scheme: SignatureScheme
    ) throws(LibcryptoError) -> Owned {
        guard scheme.suits(key.kind) else { throw LibcryptoError(.unsuitableKey) }
        let context = try unsafe Owned(
            EVP_PKEY_CTX_new_from_pkey(nil, key.key.pointer, nil), orThrow: .algorithmUnavailable)
        let isInitialised =
            switch operation {
            case .verify: unsafe EVP_PKEY_verify_init(context.pointer)
            case .recover: unsafe EVP_PKEY_verify_recover_init(context.pointer)
            case .sign: unsafe EVP_PKEY_sign_init(context.pointer)
            }
        guard isInitialised == 1 else { throw LibcryptoError(.algorithmUnavailable) }
        if let algorithm {
            guard try unsafe EVP_PKEY_CTX_set_signature_md(context.pointer, algorithm.method) == 1 else {
                throw LibcryptoError(.algorithmUnavailable)
            }
        }
        try context.setPadding(of: scheme)
        return context
    }

    private borrowing func setPadding(of scheme: SignatureScheme) throws(LibcryptoError) {
        switch scheme {
        case .pkcs1:
            guard unsafe EVP_PKEY_CTX_set_rsa_padding(pointer, RSA_PKCS1_PADDING) == 1 else {
                throw LibcryptoError(.operationFailed)
            }
        case .pss(let saltLength, let mgf1):
            let method = try unsafe mgf1.method
            // libcrypto gives negative lengths meanings of its own.
            guard let saltLength = Int32(exactly: saltLength), saltLength >= 0,
                unsafe EVP_PKEY_CTX_set_rsa_padding(pointer, RSA_PKCS1_PSS_PADDING) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(pointer, saltLength) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_mgf1_md(pointer, method) == 1
            else { throw LibcryptoError(.operationFailed) }
        case .ecdsa: break
        }
    }
}
