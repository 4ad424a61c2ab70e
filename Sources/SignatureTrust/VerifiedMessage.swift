public import SpanASN1

/// A verified message. Only a ``CMSVerifier`` makes one.
public struct VerifiedMessage: Sendable {
    /// The type of the content. Compare it with the type that you expect; otherwise one kind of document passes for another.
    public let contentType: ASN1ObjectIdentifier
    /// The verified signers, in the order of the message: all signers, or those that you selected.
    public let signers: [VerifiedSigner]
    /// The message as DER, or the detached content.
    let bytes: [UInt8]
    let contentRange: Range<Int>

    /// The signed octets: the content of the message's OCTET STRING, or the detached content.
    public var content: ArraySlice<UInt8> { bytes[contentRange] }
}

/// A verified signer of a message.
public struct VerifiedSigner: Hashable, Sendable {
    /// The index of the signer in the message's `signerInfos`.
    public let index: Int
    /// The certificates (DER) from the signer's to the anchor. If the signer's certificate is an anchor, it is the only one.
    public let chain: [[UInt8]]
    /// The fingerprint of the signer's certificate.
    public let fingerprint: Fingerprint
    /// The fingerprint of the anchor.
    public let anchorFingerprint: Fingerprint
    /// The signing time that the signer states; `nil` if it states none. Only the signer vouches for it.
    public let signingTime: Instant?
    /// The date at which the chain was validated.
    public let validationDate: Instant
    /// The digest algorithm for the content and the signed attributes.
    public let digest: SignatureDigest
    /// The kind of the signature.
    public let kind: SignatureKind

    /// The signer's certificate (DER).
    public var certificate: [UInt8] { chain.first ?? [] }
}

/// The reason a message was refused.
public enum CMSVerificationError: Error, Hashable, Sendable {
    /// The message is not `SignedData` of RFC 5652 or RFC 2315, or exceeds a limit.
    case structure(ASN1DecodingError)
    /// A signature is not valid, or its signer is not trusted. The index of the error's path is that of the signer.
    case trust(SignatureTrustError)

    /// A stable word for programs, such as `untrusted-chain`.
    public var code: String {
        switch self {
        case .structure(let error): error.kind.rawValue
        case .trust(let error): error.kind.rawValue
        }
    }

    /// The position of the fault, in bytes from the start of the received message; `nil` if there is none.
    public var offset: Int? {
        switch self {
        case .structure(let error): error.offset
        case .trust(let error): error.offset
        }
    }

    /// The field of the structure. The index of `signerInfos` is that of the signer.
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
    /// The explanation, with the signer and the byte offset.
    public var description: String {
        switch self {
        case .structure(let error): error.description
        case .trust(let error): error.path.index.map { "signer \($0): \(error)" } ?? error.description
        }
    }
}
