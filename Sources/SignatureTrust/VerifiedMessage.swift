public import SpanASN1

/// A signed message that ``CMSVerifier`` found good. It can be had from there alone.
public struct VerifiedMessage: Sendable {
    /// What the content is: an application must compare it with what it expects, or one kind of document passes for another.
    public let contentType: ASN1ObjectIdentifier
    /// Those whose signatures were verified, in the message's order: all its signers, unless the caller named one.
    public let signers: [VerifiedSigner]
    /// The message as DER, or the detached content.
    let bytes: [UInt8]
    let contentRange: Range<Int>

    /// The octets that were signed: what is in the message's OCTET STRING, or the detached content.
    public var content: ArraySlice<UInt8> { bytes[contentRange] }
}

/// A signer whose signature and chain were verified.
public struct VerifiedSigner: Hashable, Sendable {
    /// Which of the message's `signerInfos` this is.
    public let index: Int
    /// Certificates (DER), from the signer's to the anchor; one alone when the signer is an anchor.
    public let chain: [[UInt8]]
    /// Of the signer's certificate.
    public let fingerprint: Fingerprint
    /// Of the anchor.
    public let anchorFingerprint: Fingerprint
    /// When the signer says it signed. Nobody else vouches for it.
    public let signingTime: Instant?
    /// The date at which the chain was found valid.
    public let validationDate: Instant
    /// What was hashed with, the content and the signed attributes.
    public let digest: SignatureDigest
    /// How the signature is made.
    public let kind: SignatureKind

    /// The signer's certificate (DER).
    public var certificate: [UInt8] { chain.first ?? [] }
}

/// Why a message is not verified.
public enum CMSVerificationError: Error, Hashable, Sendable {
    /// It is not signed data as RFC 5652 and RFC 2315 have it, or beyond the limits.
    case structure(ASN1DecodingError)
    /// A signature does not hold, or its signer is not trusted. The path's index says which of the `signerInfos`.
    case trust(SignatureTrustError)

    /// A stable word that programs may compare.
    public var code: String {
        switch self {
        case .structure(let error): error.kind.rawValue
        case .trust(let error): error.kind.rawValue
        }
    }

    /// Where in the message as received, in bytes.
    public var offset: Int? {
        switch self {
        case .structure(let error): error.offset
        case .trust(let error): error.offset
        }
    }

    /// In which field of the structure; the index of `signerInfos` says which signer.
    public var path: ASN1Path {
        switch self {
        case .structure(let error): error.path
        case .trust(let error): error.path
        }
    }

    func mappingOffset(_ map: (Int) -> Int) -> CMSVerificationError {
        switch self {
        case .structure(let error):
            .structure(ASN1DecodingError(error.kind, offset: map(error.offset), path: error.path))
        case .trust(let error): .trust(error.mappingOffset(map))
        }
    }
}

extension CMSVerificationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .structure(let error): error.description
        case .trust(let error): error.path.index.map { "signer \($0): \(error)" } ?? error.description
        }
    }
}
