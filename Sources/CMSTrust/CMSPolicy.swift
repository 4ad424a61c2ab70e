public import SignatureTrust
public import SpanASN1
import StrictText

/// The conditions that a signed message must meet for ``CMSVerifier`` to verify it.
public struct CMSPolicy: Sendable {
    /// The self-signed certificates at which chains may end. The signer's certificate itself may be one.
    public var anchors: [TrustAnchor]
    /// Additional certificates for building chains: intermediates and signers' certificates that a message does not
    /// contain. Each element is one in DER, or a file of any number in PEM (RFC 7468) with the label `CERTIFICATE`.
    ///
    /// They are no more trusted than the certificates in a message.
    public var additionalCertificates: [[UInt8]] = []
    /// The algorithms and keys that may sign, in the message and in the chain.
    public var algorithms = AlgorithmPolicy.cms
    /// The purposes that the signer's certificate must state in its extended key usage, such as
    /// `ASN1ObjectIdentifier.emailProtection`.
    ///
    /// It must state all of them, and so must every intermediate that states purposes. `anyExtendedKeyUsage` does not
    /// stand for any of them.
    public var purposes: Set<ASN1ObjectIdentifier> = []
    /// A Boolean value that indicates whether a signer's certificate without an extended key usage, which restricts
    /// nothing, meets ``purposes`` (RFC 5280, 4.2.1.12).
    public var allowsUnstatedPurposes = false
    /// The certificate policies (RFC 5280, 4.2.1.4). Every chain must be valid for at least one of them; otherwise the
    /// code is `untrusted-chain`.
    ///
    /// If it is empty, which is the default, any policy is accepted, and none is required unless a certificate of the
    /// chain requires one. Policy constraints, mappings and inhibitions of the certificates always count (RFC 5280,
    /// 6.1).
    public var certificatePolicies: Set<ASN1ObjectIdentifier> = []
    /// The certificates that ``revocationLists`` must cover.
    public var revocation = RevocationChecking.none
    /// The full revocation lists, which are checked at the validation date. Each element is one in DER, or a file of
    /// any number in PEM (RFC 7468) with the label `X509 CRL`. A delta list is refused when you make the verifier.
    ///
    /// Revocation lists in a message are ignored, because its author chose them.
    public var revocationLists: [[UInt8]] = []
    /// The fingerprints of the certificates that no chain may contain.
    public var distrusted: Set<Fingerprint> = []
    /// The limits on a message.
    public var limits = CMSLimits()

    /// Creates a policy that accepts RSA or ECDSA with SHA-2 and any purpose, checks no revocation lists, and has the
    /// default limits.
    ///
    /// - Parameter anchors: The self-signed certificates at which chains may end.
    public init(anchors: [TrustAnchor]) { self.anchors = anchors }

    /// Creates a policy that trusts the certificates in a file.
    ///
    /// The rest of the policy is as in ``init(anchors:)``.
    ///
    /// - Parameter file: One self-signed certificate in DER, or any number in PEM (RFC 7468) with the label
    ///   `CERTIFICATE`. Blocks with unrelated labels, such as a private key, and the text between blocks are ignored. A
    ///   label that only ends with `CERTIFICATE`, such as `TRUSTED CERTIFICATE`, is refused.
    /// - Throws: `malformed-certificate`, with its ``CMSVerificationError/index``; `invalid-pem` for malformed PEM, or
    ///   PEM without a certificate.
    public init(anchorsIn file: [UInt8]) throws(CMSVerificationError) {
        var anchors: [TrustAnchor] = []
        for der in try Self.contents(of: file, "CERTIFICATE", ASN1Path(.certificates)) {
            do throws(ASN1DecodingError) {
                anchors.append(try TrustAnchor(der: der))
            } catch {
                throw .policy(
                    CMSTrustError(
                        .signature(.malformedCertificate), offset: error.offset,
                        path: ASN1Path(.certificates, index: anchors.count)))
            }
        }
        self.init(anchors: anchors)
    }

    /// Returns the policy with certificates and lists in DER.
    func decodingPEM() throws(CMSVerificationError) -> CMSPolicy {
        var policy = self
        policy.additionalCertificates = try Self.contents(
            ofEach: additionalCertificates, "CERTIFICATE", .certificates)
        policy.revocationLists = try Self.contents(ofEach: revocationLists, "X509 CRL", .crls)
        return policy
    }

    private static func contents(
        ofEach files: [[UInt8]], _ label: String, _ field: ASN1Field
    ) throws(CMSVerificationError) -> [[UInt8]] {
        var contents: [[UInt8]] = []
        for (index, file) in files.enumerated() {
            contents += try Self.contents(of: file, label, ASN1Path(field, index: index))
        }
        return contents
    }

    /// - Parameter path: The path of an error.
    private static func contents(
        of file: [UInt8], _ label: String, _ path: ASN1Path
    ) throws(CMSVerificationError) -> [[UInt8]] {
        do throws(PEMFileError) {
            return try PEMFile(file)?.contents(labelled: label) ?? [file]
        } catch {
            throw CMSVerificationError(reason: .pem(error, path))
        }
    }

    /// The certificates that a revocation list must cover. The code for a certificate without one is
    /// `missing-revocation-list`.
    public enum RevocationChecking: Hashable, Sendable {
        /// None. ``revocationLists`` are ignored.
        case none
        /// The signer's certificate.
        case signer
        /// The signer's certificate and the intermediates.
        case chain
    }
}

/// The limits on a message, which bound the time of its verification.
public struct CMSLimits: Hashable, Sendable {
    /// The maximum size of a received message, in bytes; of PEM, that of its text. Detached content is not counted.
    public var maximumMessageByteCount = 64 << 20
    /// The maximum number of signers. The code for more is `signer-count`.
    public var maximumSignerCount = 16
    /// The maximum number of certificates of all kinds.
    public var maximumCertificateCount = 64
    /// The maximum number of revocation lists and other revocation information, which are only parsed.
    public var maximumRevocationInfoCount = 64
    /// The maximum number of signed attributes of a signer, and of unsigned attributes.
    public var maximumAttributeCount = 64
    /// The maximum number of certificates between the signer's and the anchor; at most 100.
    public var maximumIntermediateCount = 8

    /// The maximum number of certificate signatures that are checked in a message to find the issuers. The code for
    /// more is `too-many-paths`.
    ///
    /// Only an authority below one of the anchors can issue certificates that exceed the default.
    public var maximumIssuerCheckCount = 256
    /// The maximum number of paths to an anchor that are tried in a message, for all signers together. The code for
    /// more is `too-many-paths`.
    public var maximumPathCount = 64

    /// Creates the default limits: 64 MiB, 16 signers, 64 certificates, 64 revocation lists, 64 attributes for each
    /// signer, 8 intermediates, 256 checks of issuers and 64 paths.
    public init() {}
}
