package import LibcryptoHandles
package import SpanASN1

/// The reason a signature or its certificate chain is not trusted.
package struct SignatureTrustError: Error, Hashable, Sendable {
    /// The kinds of faults. The raw values are stable; programs may compare them.
    package enum Kind: String, Sendable, CaseIterable {
        // The message
        /// A receipt does not have exactly one signer; or another message has none, or more than the limit.
        case signerCount = "signer-count"
        /// The message is detached, and no content was given for it.
        case missingContent = "missing-content"
        /// The content is not an OCTET STRING, or the content of a receipt does not have the type `id-data`.
        case unexpectedContentType = "unexpected-content-type"
        /// The signer's certificate is neither in the message nor in the policy.
        case missingSignerCertificate = "missing-signer-certificate"
        /// Two different certificates match the signer's identifier.
        case ambiguousSignerCertificate = "ambiguous-signer-certificate"
        // The signature
        /// An algorithm is unknown or has invalid parameters, or the policy lacks the signature's kind.
        case unsupportedAlgorithm = "unsupported-algorithm"
        /// The signer's digest algorithm, signature algorithm and key do not match, or the message does not list the
        /// digest algorithm.
        case algorithmMismatch = "algorithm-mismatch"
        /// The policy does not accept the digest algorithm. MD5 is never accepted, SHA-1 only with
        /// ``AlgorithmPolicy/allowsSHA1``.
        case weakAlgorithm = "weak-algorithm"
        /// The policy refuses an RSA key's size, its modulus or exponent is even, or the latter is not 17 to 32 bits.
        case weakKey = "weak-key"
        /// The RSA key is not of the size that the format of the signature requires.
        case keySizeMismatch = "key-size-mismatch"
        /// The policy does not accept the type or the curve of a key, or the key has explicit curve parameters.
        case unsupportedKey = "unsupported-key"
        /// The signed attributes are not DER, state a wrong type, or lack or repeat type or digest (RFC 5652, 5.3 and
        /// 11).
        case invalidSignedAttributes = "invalid-signed-attributes"
        /// The digest of the content or signed attributes is not the one that was signed: they were changed.
        case contentDigestMismatch = "content-digest-mismatch"
        /// The signature does not verify with the key of the signer's certificate: another key made it, or the signed
        /// bytes were changed.
        case invalidSignature = "invalid-signature"
        // The chain
        /// No chain leads from the signer's certificate to an anchor, or `CMSVerifier` was given no anchor.
        case untrustedChain = "untrusted-chain"
        /// None of the pinned intermediates issued the signer's certificate.
        case unpinnedIssuer = "unpinned-issuer"
        /// The chain is not of three certificates (receipt, JWS) or one (JWS of StoreKit Testing), or exceeds the limit
        /// (CMS).
        case invalidChainLength = "invalid-chain-length"
        /// A certificate had expired by the validation date.
        case certificateExpired = "certificate-expired"
        /// A certificate was not yet valid on the validation date.
        case certificateNotYetValid = "certificate-not-yet-valid"
        /// The signature on a certificate does not verify with its issuer's key.
        case invalidCertificateSignature = "invalid-certificate-signature"
        /// An issuer lacks `cA`, has a key usage without `keyCertSign`, or has its path length exceeded (RFC 5280,
        /// 4.2.1.9).
        case invalidIssuer = "invalid-issuer"
        /// The signer's key usage bars signing (RFC 5280, 4.2.1.3), or it is a CA and must not be.
        case invalidKeyUsage = "invalid-key-usage"
        /// A certificate has a critical extension that libcrypto does not know (RFC 5280, 4.2).
        case unknownCriticalExtension = "unknown-critical-extension"
        /// The signer's certificate does not have the extension with which Apple marks its purpose.
        case missingLeafMarker = "missing-leaf-marker"
        /// The intermediate does not have the extension with which Apple marks Worldwide Developer Relations.
        case missingIntermediateMarker = "missing-intermediate-marker"
        /// The policy distrusts a certificate by its fingerprint.
        case distrustedCertificate = "distrusted-certificate"
        /// A certificate, or a required part of it, cannot be read.
        case malformedCertificate = "malformed-certificate"
        /// A certificate is larger than 64 KiB.
        case certificateTooLarge = "certificate-too-large"
        /// A certificate that was passed as a trust anchor is not self-signed. Chains end at root certificates.
        case anchorNotSelfSigned = "anchor-not-self-signed"
        // This host
        /// libcrypto on this host refuses an algorithm that the policy accepts: SHA-1 signatures on RHEL 9, found when
        /// a verifier is made.
        case algorithmUnavailable = "algorithm-unavailable"
        /// libcrypto could not allocate memory.
        case outOfMemory = "out-of-memory"
        /// libcrypto failed for a reason other than the input.
        case libcryptoFailure = "libcrypto-failure"
    }

    /// The kind of fault.
    package let kind: Kind
    /// The start of the element at fault, in bytes of the binary input (of a JWS, of its certificates); `nil` if there
    /// is none.
    package let offset: Int?
    /// The field of the structure; empty if it is not known. The index is that of the signer or the certificate.
    package let path: ASN1Path

    package init(_ kind: Kind, offset: Int? = nil, path: ASN1Path = ASN1Path()) {
        self.kind = kind
        self.offset = offset
        self.path = path
    }
}

extension SignatureTrustError {
    /// Returns the error with its offset mapped.
    package func mappingOffset(_ map: (Int) -> Int) -> SignatureTrustError {
        SignatureTrustError(kind, offset: offset.map(map), path: path)
    }

    /// Runs a closure that reads a part of a certificate, and rethrows its error as `malformed-certificate`.
    package static func reading<Result>(
        _ body: () throws(ASN1DecodingError) -> Result
    ) throws(SignatureTrustError) -> Result {
        do throws(ASN1DecodingError) {
            return try body()
        } catch {
            throw SignatureTrustError(malformed: error)
        }
    }

    package init(malformed error: ASN1DecodingError) {
        self.init(.malformedCertificate, offset: error.offset, path: error.path)
    }

    /// Runs a closure that calls libcrypto. An error gets `offset`, unless the host is at fault.
    package static func calling<Result>(
        at offset: Int? = nil, _ body: () throws(LibcryptoError) -> Result
    ) throws(SignatureTrustError) -> Result {
        do throws(LibcryptoError) {
            return try body()
        } catch {
            let kind = Kind(error)
            throw SignatureTrustError(kind, offset: kind.isHostFault ? nil : offset)
        }
    }
}

extension SignatureTrustError.Kind {
    /// A Boolean value that indicates whether the host is at fault, not the input.
    package var isHostFault: Bool {
        switch self {
        case .algorithmUnavailable, .outOfMemory, .libcryptoFailure: true
        default: false
        }
    }

    /// Whether a chain with this error is nearer to a valid one than one with `other`. The raw values break ties.
    package func isNearerToValid(than other: SignatureTrustError.Kind) -> Bool {
        (nearness, rawValue) > (other.nearness, other.rawValue)
    }

    /// How near a chain with this error is to a valid one: 0 to 6.
    package var nearness: Int {
        switch self {
        case .untrustedChain: 0
        case .malformedCertificate, .certificateTooLarge, .unsupportedKey, .weakKey, .unsupportedAlgorithm,
            .weakAlgorithm:
            1
        case .invalidIssuer: 2
        case .missingIntermediateMarker: 3
        case .invalidCertificateSignature: 4
        case .certificateExpired, .certificateNotYetValid: 5
        default: 6
        }
    }

    /// A clause on what is wrong, such as "a certificate cannot be read".
    package var explanation: String {
        switch self {
        case .signerCount: "the message has no signer or too many signers (a receipt has exactly one)"
        case .missingContent: "the message has no content"
        case .unexpectedContentType: "the content does not have the required type"
        case .missingSignerCertificate: "the message does not contain its signer's certificate"
        case .ambiguousSignerCertificate: "two different certificates match the signer's identifier"
        case .unsupportedAlgorithm: "a digest or signature algorithm is not accepted"
        case .algorithmMismatch: "the digest algorithm, the signature algorithm and the key do not match"
        case .weakAlgorithm: "a digest algorithm is too weak (MD5, or SHA-1 where the policy refuses it)"
        case .weakKey: "an RSA key has a size or an exponent that is not accepted"
        case .keySizeMismatch: "the key is not of the size that the format of the signature requires"
        case .unsupportedKey: "a key has a type or a curve that is not accepted"
        case .invalidSignedAttributes: "the signed attributes do not conform to RFC 5652"
        case .contentDigestMismatch: "the digest of the content does not match the signed digest"
        case .invalidSignature: "the signature does not verify with the key of the signer's certificate"
        case .untrustedChain: "the signer's certificate does not chain to a trusted root"
        case .unpinnedIssuer: "the signer's certificate was not issued by a pinned intermediate"
        case .invalidChainLength:
            "the certificate chain does not have the required length (three certificates for Apple's)"
        case .certificateExpired: "a certificate had expired by the validation date"
        case .certificateNotYetValid: "a certificate was not yet valid on the validation date"
        case .invalidCertificateSignature: "the signature on a certificate does not verify with its issuer's key"
        case .invalidIssuer:
            "an issuing certificate is not a CA, may not sign certificates, or exceeds its path length"
        case .invalidKeyUsage: "a certificate's key usage does not allow the use of its key"
        case .unknownCriticalExtension: "a certificate has an unknown critical extension"
        case .missingLeafMarker: "the signer's certificate does not have Apple's marker extension for this purpose"
        case .missingIntermediateMarker: "the intermediate certificate does not have Apple's marker extension"
        case .distrustedCertificate: "a certificate is one that the policy distrusts"
        case .malformedCertificate: "a certificate cannot be read"
        case .certificateTooLarge: "a certificate is larger than 64 KiB"
        case .anchorNotSelfSigned: "a trust anchor is not self-signed; another certificate issued it"
        case .algorithmUnavailable:
            "libcrypto on this host refuses an algorithm that the policy accepts (SHA-1 signatures on RHEL 9)"
        case .outOfMemory: "libcrypto could not allocate memory"
        case .libcryptoFailure: "libcrypto failed for a reason other than the input"
        }
    }
}

extension SignatureTrustError.Kind {
    package init(_ error: LibcryptoError) {
        self =
            switch error.kind {
            case .algorithmUnavailable: .algorithmUnavailable
            case .allocationFailed: .outOfMemory
            case .malformedCertificate, .malformedKey: .malformedCertificate
            case .unsuitableKey: .unsupportedKey
            // This module reads no revocation lists.
            case .operationFailed, .malformedRevocationList: .libcryptoFailure
            }
    }

    package init(_ fault: ChainFault) {
        self =
            switch fault {
            case .expired: .certificateExpired
            case .notYetValid: .certificateNotYetValid
            case .malformedCertificate: .malformedCertificate
            case .noIssuer, .policyNotAllowed: .untrustedChain
            case .badSignature: .invalidCertificateSignature
            case .invalidCA, .pathLengthExceeded: .invalidIssuer
            case .unknownCriticalExtension: .unknownCriticalExtension
            case .chainTooLong: .invalidChainLength
            case .weakAlgorithm: .weakAlgorithm
            // Receipts and JWS are validated without revocation lists.
            case .revoked, .noRevocationList, .unusableRevocationList, .other: .untrustedChain
            }
    }
}

extension SignatureTrustError: CustomStringConvertible {
    /// The explanation and the byte offset.
    package var description: String { kind.explanation + (offset.map { " at byte \($0)" } ?? "") }
}
