public import SignatureTrust
public import Instants
public import SpanASN1
import SpanPKCS7

/// A verified message. Only a ``CMSVerifier`` makes one.
public struct VerifiedMessage: Sendable {
    /// The type of the content. Compare it with the type that you expect; otherwise one kind of document passes for
    /// another.
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
    /// The certificates (DER) from the signer's to the anchor. If the signer's certificate is an anchor, it is the only
    /// one.
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

    /// The subject of the signer's certificate as in RFC 4514, such as `CN=Ann Example,O=Example`; `nil` if it cannot
    /// be read.
    ///
    /// Use it for display only: the authority that issued the certificate chose the name, and two names can have the
    /// same text.
    public var name: String? {
        let certificate = certificate
        // Names decide nothing, so a subject that cannot be read is no error.
        return try? Certificate(certificate.span).subject.distinguishedName()
    }
}
