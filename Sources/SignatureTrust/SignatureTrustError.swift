import LibcryptoHandles
public import SpanASN1

/// Why a signature, or the chain behind it, is not trusted.
public struct SignatureTrustError: Error, Hashable, Sendable {
    /// What is wrong. The raw values are stable words that programs may compare.
    public enum Kind: String, Sendable, CaseIterable {
        // The message
        /// A receipt has not exactly one signer, or another message none or more than ``CMSLimits/maximumSignerCount``.
        case signerCount = "signer-count"
        /// The message is detached, and no content was given with it.
        case missingContent = "missing-content"
        /// A content was given with a message that carries its own.
        case unexpectedContent = "unexpected-content"
        /// The content is no OCTET STRING, or in a receipt not of the type `id-data`.
        case unexpectedContentType = "unexpected-content-type"
        /// None of the signers has the certificate of ``CMSVerifier/SignerSelection/certificate(_:)``.
        case missingSigner = "missing-signer"
        /// The certificate that the signer names is not in the message, nor among the policy's.
        case missingSignerCertificate = "missing-signer-certificate"
        /// Two different certificates answer to the name that the signer gives.
        case ambiguousSignerCertificate = "ambiguous-signer-certificate"
        // The signature
        /// A digest or signature algorithm that is unknown, has parameters that it should not have, or is of a kind not in the policy.
        case unsupportedAlgorithm = "unsupported-algorithm"
        /// The signer's digest, its signature algorithm and its key do not fit together, or the message does not announce the digest.
        case algorithmMismatch = "algorithm-mismatch"
        /// A digest that the policy does not accept: MD5 never, SHA-1 unless ``AlgorithmPolicy/allowsSHA1``.
        case weakAlgorithm = "weak-algorithm"
        /// An RSA key whose size the policy does not accept, or with an exponent that is even or not of 17 to 32 bits.
        case weakKey = "weak-key"
        /// A key of another kind or on another curve than the policy accepts, or with curve parameters in place of a name.
        case unsupportedKey = "unsupported-key"
        /// Content that is not plain data was signed without signed attributes (RFC 5652, 5.3): its type is then not signed.
        case missingSignedAttributes = "missing-signed-attributes"
        /// The content is what another message's signed attributes look like: the signature may have been made over those.
        case signedAttributesAsContent = "signed-attributes-as-content"
        /// More attributes than ``CMSLimits/maximumAttributeCount``.
        case tooManyAttributes = "too-many-attributes"
        /// The chain is to be judged at the signing time, and the signer gives none.
        case missingSigningTime = "missing-signing-time"
        /// The signing time is after the latest that the caller accepts.
        case futureSigningTime = "future-signing-time"
        /// The signed attributes are not in DER, or lack the content's type or digest, or have one twice (RFC 5652, 5.3 and 11).
        case invalidSignedAttributes = "invalid-signed-attributes"
        /// The content's digest is not the one among the signed attributes: the content was changed.
        case contentDigestMismatch = "content-digest-mismatch"
        /// The signature was not made with the key of the certificate that the signer names, or what was signed was changed.
        case invalidSignature = "invalid-signature"
        // The chain
        /// No certificate leads from the signer's to an anchor; with ``CMSVerifier``, also when no anchor can be used at all.
        case untrustedChain = "untrusted-chain"
        /// The chain has not the length that the format prescribes.
        case invalidChainLength = "invalid-chain-length"
        /// The certificates can be put together in more ways than ``CMSLimits/maximumIssuerCheckCount`` and ``CMSLimits/maximumPathCount`` allow to try.
        case tooManyPaths = "too-many-paths"
        /// A certificate had expired at the date of validation.
        case certificateExpired = "certificate-expired"
        /// A certificate was not yet valid at the date of validation.
        case certificateNotYetValid = "certificate-not-yet-valid"
        /// A certificate was not signed with the key of its issuer.
        case invalidCertificateSignature = "invalid-certificate-signature"
        /// A certificate was issued by one that is no authority, or that may not have so many below it (RFC 5280, 4.2.1.9).
        case invalidIssuer = "invalid-issuer"
        /// The key usage of a certificate does not have what it was used for (RFC 5280, 4.2.1.3).
        case invalidKeyUsage = "invalid-key-usage"
        /// A certificate does not state the purposes of ``CMSPolicy/purposes``.
        case invalidExtendedKeyUsage = "invalid-extended-key-usage"
        /// A critical extension that libcrypto does not know (RFC 5280, 4.2).
        case unknownCriticalExtension = "unknown-critical-extension"
        /// The signer's certificate lacks the extension by which Apple marks such signers: it is for something else.
        case missingLeafMarker = "missing-leaf-marker"
        /// The intermediate lacks the extension by which Apple marks Worldwide Developer Relations.
        case missingIntermediateMarker = "missing-intermediate-marker"
        /// A certificate whose fingerprint the policy distrusts.
        case distrustedCertificate = "distrusted-certificate"
        /// A certificate that a revocation list of the policy lists.
        case revokedCertificate = "revoked-certificate"
        /// No list of the policy covers a certificate that ``CMSPolicy/revocation`` asks for, or it was not current.
        case missingRevocationList = "missing-revocation-list"
        /// A revocation list of the policy cannot be read, or has what no full list has.
        case malformedRevocationList = "malformed-revocation-list"
        /// A revocation list of the policy is a delta list (RFC 5280, 5.2.4): it leaves out what an older list says.
        case deltaRevocationList = "delta-revocation-list"
        /// A revocation list of the policy has a critical extension that libcrypto does not know (RFC 5280, 5.2 and 5.3).
        case unsupportedRevocationList = "unsupported-revocation-list"
        /// A certificate, or a part of it that is needed, cannot be read.
        case malformedCertificate = "malformed-certificate"
        /// A certificate of more than 64 KiB.
        case certificateTooLarge = "certificate-too-large"
        // This host
        /// This host's libcrypto does not verify what the policy accepts: SHA-1 signatures on RHEL 9. Found when a verifier is made.
        case algorithmUnavailable = "algorithm-unavailable"
        /// libcrypto could not allocate memory.
        case outOfMemory = "out-of-memory"
        /// libcrypto failed for no reason that lies in the input.
        case libcryptoFailure = "libcrypto-failure"
    }

    /// What is wrong.
    public let kind: Kind
    /// Where the offending element begins, in bytes from the start of the received binary input; `nil` where there is no such place.
    public let offset: Int?
    /// In which field of the structure; empty where that is not known. The index says which signer or certificate.
    public let path: ASN1Path

    init(_ kind: Kind, offset: Int? = nil, path: ASN1Path = ASN1Path()) {
        self.kind = kind
        self.offset = offset
        self.path = path
    }
}

extension SignatureTrustError {
    /// The same error with its offset changed.
    package func mappingOffset(_ map: (Int) -> Int) -> SignatureTrustError {
        SignatureTrustError(kind, offset: offset.map(map), path: path)
    }

    /// Runs what reads a part of a certificate that was not read when the message was.
    static func reading<Result>(
        _ body: () throws(ASN1DecodingError) -> Result
    ) throws(SignatureTrustError) -> Result {
        do throws(ASN1DecodingError) {
            return try body()
        } catch {
            throw SignatureTrustError(malformed: error)
        }
    }

    init(malformed error: ASN1DecodingError) {
        self.init(.malformedCertificate, offset: error.offset, path: error.path)
    }

    /// Runs what calls libcrypto; the error is at the certificate that begins at `offset`, unless the host is at fault.
    static func calling<Result>(
        at offset: Int? = nil, _ body: () throws(LibcryptoError) -> Result
    ) throws(SignatureTrustError) -> Result {
        do throws(LibcryptoError) {
            return try body()
        } catch {
            let kind: Kind =
                switch error.kind {
                case .algorithmUnavailable: .algorithmUnavailable
                case .allocationFailed: .outOfMemory
                case .malformedCertificate, .malformedKey: .malformedCertificate
                case .malformedRevocationList: .malformedRevocationList
                case .unsuitableKey: .unsupportedKey
                case .operationFailed: .libcryptoFailure
                }
            throw SignatureTrustError(kind, offset: kind.isHostFault ? nil : offset)
        }
    }
}

extension SignatureTrustError.Kind {
    /// Whether this host, and not the input, is at fault.
    public var isHostFault: Bool {
        switch self {
        case .algorithmUnavailable, .outOfMemory, .libcryptoFailure: true
        default: false
        }
    }

    /// Whether the message's structure is at fault, rather than a signature in it.
    public var isAboutStructure: Bool {
        switch self {
        case .signerCount, .missingContent, .unexpectedContent, .unexpectedContentType, .missingSigner,
            .missingSignerCertificate, .ambiguousSignerCertificate:
            true
        default: false
        }
    }

    /// Whether a chain got further that failed so; of two that got as far, always the same one counts.
    func explainsMore(than other: SignatureTrustError.Kind) -> Bool {
        (progress, rawValue) > (other.progress, other.rawValue)
    }

    /// How far a chain got before it failed.
    private var progress: Int {
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

    /// What is wrong, as a clause of a sentence.
    public var explanation: String {
        switch self {
        case .signerCount: "the message has no signer, or more than are accepted"
        case .missingContent: "the message has no content"
        case .unexpectedContent: "the message carries its content, and another was given"
        case .unexpectedContentType: "the content is not plain data"
        case .missingSigner: "no signer of the message has the certificate that was asked for"
        case .missingSignerCertificate: "the certificate that the signer names is not in the message"
        case .ambiguousSignerCertificate: "two different certificates answer to the name of the signer"
        case .unsupportedAlgorithm: "an algorithm that is not accepted"
        case .algorithmMismatch: "the algorithms of digest, signature and key do not go together"
        case .weakAlgorithm: "a signature algorithm that is too weak"
        case .weakKey: "a key that is too weak, or too large to be used safely"
        case .unsupportedKey: "a key of a kind that is not accepted"
        case .missingSignedAttributes: "content that is not plain data was signed without signed attributes"
        case .signedAttributesAsContent: "the content is what another message's signed attributes look like"
        case .tooManyAttributes: "more attributes than are accepted"
        case .missingSigningTime: "the signer does not say when it signed"
        case .futureSigningTime: "the signer says it signed at a time to come"
        case .invalidSignedAttributes: "the signed attributes are not as RFC 5652 requires"
        case .contentDigestMismatch: "the content is not what was signed"
        case .invalidSignature: "the signature was not made with the key of the signer's certificate"
        case .untrustedChain: "the signer's certificate does not chain to a trusted root"
        case .invalidChainLength: "the chain has not the required length"
        case .tooManyPaths: "the certificates can be put together in more ways than are tried"
        case .certificateExpired: "a certificate had expired at the date of validation"
        case .certificateNotYetValid: "a certificate was not yet valid at the date of validation"
        case .invalidCertificateSignature: "a certificate was not signed by its issuer"
        case .invalidIssuer: "a certificate was issued by one that may not issue certificates"
        case .invalidKeyUsage: "a certificate's key usage forbids what it was used for"
        case .invalidExtendedKeyUsage: "a certificate is not meant for the purpose that is asked for"
        case .unknownCriticalExtension: "a certificate has a critical extension of unknown meaning"
        case .missingLeafMarker: "the signer's certificate lacks the marker extension of its purpose"
        case .missingIntermediateMarker: "the intermediate certificate lacks its marker extension"
        case .distrustedCertificate: "a certificate that you distrust"
        case .revokedCertificate: "a revoked certificate"
        case .missingRevocationList: "no usable revocation list for a certificate"
        case .malformedRevocationList: "a revocation list that cannot be read"
        case .deltaRevocationList: "a delta revocation list where a full one is needed"
        case .unsupportedRevocationList: "a revocation list has a critical extension of unknown meaning"
        case .malformedCertificate: "a certificate that cannot be read"
        case .certificateTooLarge: "a certificate of more than 64 KiB"
        case .algorithmUnavailable:
            "this host's libcrypto refuses an algorithm that receipts need (SHA-1 signatures, on RHEL 9: update-crypto-policies --set DEFAULT:SHA1)"
        case .outOfMemory: "libcrypto could not allocate memory"
        case .libcryptoFailure: "libcrypto failed for no reason that lies in the input"
        }
    }
}

extension SignatureTrustError: CustomStringConvertible {
    public var description: String { kind.explanation + (offset.map { " at byte \($0)" } ?? "") }
}
