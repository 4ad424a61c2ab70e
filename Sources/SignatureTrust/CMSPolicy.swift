public import SpanASN1

/// What a signed message must be for ``CMSVerifier`` to call it verified.
public struct CMSPolicy: Sendable {
    /// The self-signed certificates at which chains may end. A signer's own certificate may be one.
    public var anchors: [TrustAnchor]
    /// Certificates (DER) to build chains with beside those that a message carries: intermediates, and signers that a message leaves out.
    /// They are trusted no more than those.
    public var additionalCertificates: [[UInt8]] = []
    /// The algorithms and keys that may sign, in the message and in the chain.
    public var algorithms = AlgorithmPolicy.cms
    /// Purposes that the signer's certificate must state in its extended key usage, all of them, such as
    /// `ASN1ObjectIdentifier.emailProtection`. Intermediates that state purposes must state these too. `anyExtendedKeyUsage` stands for none.
    public var purposes: Set<ASN1ObjectIdentifier> = []
    /// Whether a signer's certificate without extended key usage, which is restricted to nothing, will do for ``purposes`` (RFC 5280, 4.2.1.12).
    public var allowsUnstatedPurposes = false
    /// Which certificates ``revocationLists`` must cover.
    public var revocation = RevocationChecking.none
    /// Full revocation lists (DER), judged at the date of validation; a delta list makes no verifier. Those that a message carries are not consulted:
    /// its author chose them.
    public var revocationLists: [[UInt8]] = []
    /// Certificates that no chain may contain, by their fingerprints.
    public var distrusted: Set<Fingerprint> = []
    /// What a message may carry.
    public var limits = CMSLimits()

    /// A policy with these anchors: RSA or ECDSA with SHA-2, any purpose, no revocation checking, the default limits.
    public init(anchors: [TrustAnchor]) { self.anchors = anchors }

    /// Which certificates a revocation list must cover. One that no list covers fails as `missing-revocation-list`.
    public enum RevocationChecking: Hashable, Sendable {
        /// None: ``revocationLists`` are not looked at.
        case none
        /// The signer's certificate.
        case signer
        /// The signer's certificate and the intermediates.
        case chain
    }
}

/// What makes verification slow is refused by number before it begins.
public struct CMSLimits: Hashable, Sendable {
    /// The size of a message as received, in bytes. A detached content is not counted.
    public var maximumByteCount = 64 << 20
    /// Signers; more are `signer-count`.
    public var maximumSignerCount = 16
    /// Certificates of every kind.
    public var maximumCertificateCount = 64
    /// Revocation lists and other revocation information; they are parsed, and no more.
    public var maximumRevocationInfoCount = 64
    /// Signed attributes, and unsigned ones, of one signer.
    public var maximumAttributeCount = 64
    /// Certificates between a signer's and its anchor; at most 100.
    public var maximumIntermediateCount = 8

    /// How many signatures of certificates are checked in a message to find out who issued whom; more are `too-many-paths`. Only an authority below one of
    /// the anchors can issue certificates that take more than the default.
    public var maximumIssuerCheckCount = 256
    /// How many paths to an anchor are tried in a message, for all signers together; more are `too-many-paths`.
    public var maximumPathCount = 64

    /// The defaults: 64 MiB, 16 signers, 64 certificates, 64 revocation lists, 64 attributes a signer, 8 intermediates, 256 checks of issuers, 64 paths.
    public init() {}
}
