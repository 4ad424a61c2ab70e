import CLibcryptoShims

/// The result of path validation (RFC 5280, 6).
package enum ChainResult: Hashable, Sendable {
    /// The path, from the leaf to the anchor. If the leaf is an anchor, it is the only certificate.
    case valid(path: [ChainLink])
    /// `depth` counts from the leaf, which is 0.
    case invalid(ChainFault, depth: Int)
}

/// One certificate of a path that ``ChainValidator`` found.
package enum ChainLink: Hashable, Sendable {
    case leaf
    /// Its index among the given certificates.
    case untrusted(Int)
    case anchor
}

/// The first fault of a path.
package enum ChainFault: Hashable, Sendable {
    case expired, notYetValid
    /// A date or a key that libcrypto cannot read.
    case malformedCertificate
    /// No path to an anchor.
    case noIssuer
    case badSignature
    /// An issuer without `basicConstraints`, with `cA` false, or whose `keyUsage` lacks `keyCertSign`.
    case invalidCA
    case pathLengthExceeded
    case unknownCriticalExtension
    case chainTooLong
    /// A violation of libcrypto's own rules on algorithms and key sizes.
    case weakAlgorithm
    /// No policy for which the path is valid, although one is required, or a policy extension that contradicts itself
    /// (RFC 5280, 6.1.3 to 6.1.5).
    case policyNotAllowed
    case revoked
    case noRevocationList
    /// A revocation list that is expired, not yet valid, badly signed, not understood, or about other certificates.
    case unusableRevocationList
    /// Another of libcrypto's codes (`X509_V_ERR_…`).
    case other(Int32)

    init(code: Int32) {
        self =
            switch code {
            case X509_V_ERR_CERT_HAS_EXPIRED: .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
            case X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD,
                X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY:
                .malformedCertificate
            case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
                .noIssuer
            case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE: .badSignature
            case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: .invalidCA
            case X509_V_ERR_PATH_LENGTH_EXCEEDED: .pathLengthExceeded
            case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION: .unknownCriticalExtension
            case X509_V_ERR_CERT_CHAIN_TOO_LONG: .chainTooLong
            case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK,
                X509_V_ERR_UNSUPPORTED_SIGNATURE_ALGORITHM:
                .weakAlgorithm
            case X509_V_ERR_NO_EXPLICIT_POLICY, X509_V_ERR_INVALID_POLICY_EXTENSION: .policyNotAllowed
            case X509_V_ERR_CERT_REVOKED: .revoked
            case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER: .noRevocationList
            case X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_SIGNATURE_FAILURE,
                X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE, X509_V_ERR_KEYUSAGE_NO_CRL_SIGN,
                X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD, X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD,
                X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION, X509_V_ERR_DIFFERENT_CRL_SCOPE,
                X509_V_ERR_CRL_PATH_VALIDATION_ERROR:
                .unusableRevocationList
            default: .other(code)
            }
    }
}
