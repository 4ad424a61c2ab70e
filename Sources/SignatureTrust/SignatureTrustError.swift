import LibcryptoHandles
public import SpanASN1

/// Why a signature, or the chain behind it, is not trusted.
public struct SignatureTrustError: Error, Hashable, Sendable {
    /// What is wrong. The raw values are stable words that programs may compare.
    public enum Kind: String, Sendable, CaseIterable {
        // The message
        case signerCount = "signer-count"
        case missingContent = "missing-content"
        case unexpectedContent = "unexpected-content"
        case unexpectedContentType = "unexpected-content-type"
        case missingSigner = "missing-signer"
        case missingSignerCertificate = "missing-signer-certificate"
        case ambiguousSignerCertificate = "ambiguous-signer-certificate"
        // The signature
        case unsupportedAlgorithm = "unsupported-algorithm"
        case algorithmMismatch = "algorithm-mismatch"
        case weakAlgorithm = "weak-algorithm"
        case weakKey = "weak-key"
        case unsupportedKey = "unsupported-key"
        case missingSignedAttributes = "missing-signed-attributes"
        case signedAttributesAsContent = "signed-attributes-as-content"
        case tooManyAttributes = "too-many-attributes"
        case missingSigningTime = "missing-signing-time"
        case futureSigningTime = "future-signing-time"
        case invalidSignedAttributes = "invalid-signed-attributes"
        case contentDigestMismatch = "content-digest-mismatch"
        case invalidSignature = "invalid-signature"
        // The chain
        case untrustedChain = "untrusted-chain"
        case invalidChainLength = "invalid-chain-length"
        case certificateExpired = "certificate-expired"
        case certificateNotYetValid = "certificate-not-yet-valid"
        case invalidCertificateSignature = "invalid-certificate-signature"
        case invalidIssuer = "invalid-issuer"
        case invalidKeyUsage = "invalid-key-usage"
        case invalidExtendedKeyUsage = "invalid-extended-key-usage"
        case unknownCriticalExtension = "unknown-critical-extension"
        case missingLeafMarker = "missing-leaf-marker"
        case missingIntermediateMarker = "missing-intermediate-marker"
        case distrustedCertificate = "distrusted-certificate"
        case revokedCertificate = "revoked-certificate"
        case missingRevocationList = "missing-revocation-list"
        case malformedRevocationList = "malformed-revocation-list"
        case malformedCertificate = "malformed-certificate"
        case certificateTooLarge = "certificate-too-large"
        // This host
        case algorithmUnavailable = "algorithm-unavailable"
        case outOfMemory = "out-of-memory"
        case libcryptoFailure = "libcrypto-failure"
    }

    public let kind: Kind
    /// Where the offending element begins, in bytes from the start of the received binary input; `nil` where there is no such place.
    public let offset: Int?
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
                case .malformedCertificate, .malformedKey, .malformedRevocationList: .malformedCertificate
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
