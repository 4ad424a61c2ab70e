public import SignatureTrust
import Instants
import SpanASN1

/// A certificate authority for tests with the shape of Apple's: a root, an intermediate, and a leaf that signs
/// receipts.
///
/// ```swift
/// let authority = try TestCertificateAuthority()
/// let verifier = try AppStoreVerifier(
///     bundleID: "com.example.app", environments: [.production], trust: .roots([authority.trustAnchor]))
/// let receipt = try ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])
///     .signed(by: authority)
/// ```
///
/// Nothing that it signs verifies under Apple's roots. A verifier pins whole certificates, not their names, and checks
/// every signature from the receipt to a pinned root. Only Apple has the private keys of Apple's roots. The marker
/// extensions are not secret: they state the purpose of a certificate, and count only below a trusted root. Never give
/// a test root to a production verifier.
public struct TestCertificateAuthority: Sendable {
    /// The root. Pass ``trustAnchor`` to a verifier.
    public var root: SigningIdentity
    /// The intermediate, which issues the leaf, like Apple's Worldwide Developer Relations.
    public var intermediate: SigningIdentity
    /// The leaf, which signs receipts.
    public var leaf: SigningIdentity

    /// Creates an authority from existing certificates and keys. It does not check that they belong together.
    public init(root: SigningIdentity, intermediate: SigningIdentity, leaf: SigningIdentity) {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
    }

    /// Creates an authority with new keys and certificates.
    ///
    /// - Parameter shape: The specifications of the certificates.
    /// - Throws: `unsuitable-key` for a key that cannot be made; `algorithm-unavailable` if the host does not sign with
    ///   the digest algorithm.
    public init(_ shape: Shape = Shape()) throws(MintingError) {
        try self.init(
            shape, rootKey: SigningKey(generating: shape.root.keyKind),
            intermediateKey: SigningKey(generating: shape.intermediate.keyKind),
            leafKey: SigningKey(generating: shape.leaf.keyKind))
    }

    /// Creates an authority with existing keys and new certificates. With RSA keys, the result is the same byte for
    /// byte each time.
    public init(
        _ shape: Shape = Shape(), rootKey: SigningKey, intermediateKey: SigningKey, leafKey: SigningKey
    ) throws(MintingError) {
        root = try shape.root.issue(key: rootKey)
        intermediate = try shape.intermediate.issue(key: intermediateKey, by: root)
        leaf = try shape.leaf.issue(key: leafKey, by: intermediate)
    }

    /// Returns an authority with the same keys and certificates of another shape.
    package func reissued(_ shape: Shape) throws(MintingError) -> TestCertificateAuthority {
        try TestCertificateAuthority(shape, rootKey: root.key, intermediateKey: intermediate.key, leafKey: leaf.key)
    }

    /// Returns an authority under the same root, with a new leaf and, if wanted, a new intermediate.
    ///
    /// - Parameter serialNumber: The end of the serial numbers of the new certificates.
    @_spi(Surfaces) public func renewed(
        _ shape: Shape = Shape(), serialNumber: [UInt8], includingIntermediate: Bool
    ) throws(MintingError) -> TestCertificateAuthority {
        var (shape, issuer) = (shape, intermediate)
        shape.intermediate.serialNumber = [0x4A] + serialNumber
        shape.leaf.serialNumber = [0x5B] + serialNumber
        if includingIntermediate { issuer = try shape.intermediate.issue(key: intermediate.key, by: root) }
        return Self(root: root, intermediate: issuer, leaf: try shape.leaf.issue(key: leaf.key, by: issuer))
    }

    /// The root as a trust anchor for a verifier.
    ///
    /// - Throws: `malformed-certificate` if the certificate is deliberately malformed.
    public var trustAnchor: TrustAnchor {
        get throws(MintingError) {
            try MintingError.reading { () throws(ASN1DecodingError) in try TrustAnchor(der: root.certificate) }
        }
    }

    /// The certificates in Apple's order: leaf, intermediate, root.
    public var certificates: [[UInt8]] { [leaf.certificate, intermediate.certificate, root.certificate] }
}

extension TestCertificateAuthority {
    /// The specifications of the three certificates.
    public struct Shape: Hashable, Sendable {
        /// The root, which is self-signed.
        package var root: CertificateSpecification
        /// The intermediate, which the root issues.
        package var intermediate: CertificateSpecification
        /// The leaf, which the intermediate issues, and which signs.
        package var leaf: CertificateSpecification

        /// Creates a shape with RSA-2048 and one digest algorithm, by default SHA-256, and with Apple's marker
        /// extensions, key usages and path length.
        ///
        /// Unlike Apple's, the certificates are valid for long: the root from 2006 to 2049, the intermediate and the
        /// leaf from 2010 to 2045.
        public init(digest: SignatureDigest = .sha256) {
            root = CertificateSpecification(
                subject: DistinguishedName(
                    .country("US"), .organization("Test Inc."), .organizationalUnit("Test Certification Authority"),
                    .commonName("Test Root CA")),
                serialNumber: [0x02], validity: .seconds(1_145_999_936, 2_524_607_999),
                extensions: [
                    .keyUsage(.keyCertSign, .crlSign), .basicConstraints(isAuthority: true), .subjectKeyIdentifier,
                    .authorityKeyIdentifier,
                ])
            intermediate = CertificateSpecification(
                subject: DistinguishedName(
                    .commonName("Test Worldwide Developer Relations Certification Authority"),
                    .organizationalUnit("G5"), .organization("Test Inc."), .country("US")),
                serialNumber: [0x3B, 0x9A, 0x01, 0x55, 0x7C, 0x20, 0xE4, 0x06],
                validity: .seconds(1_262_304_000, 2_398_377_599),
                extensions: [
                    .basicConstraints(isAuthority: true, pathLength: 0), .authorityKeyIdentifier,
                    .subjectKeyIdentifier, .keyUsage(.keyCertSign, .crlSign), .worldwideDeveloperRelationsMarker,
                ])
            leaf = CertificateSpecification(
                subject: DistinguishedName(
                    .commonName("Test Mac App Store and iTunes Store Receipt Signing"),
                    .organizationalUnit("Test Worldwide Developer Relations"), .organization("Test Inc."),
                    .country("US")),
                serialNumber: [
                    0x15, 0x27, 0x9F, 0x4E, 0x61, 0x08, 0xD2, 0x33, 0x7A, 0x90, 0x1C, 0x44, 0x5E, 0xB7, 0x21, 0x6D,
                ],
                validity: .seconds(1_262_304_000, 2_398_377_599),
                extensions: [
                    .basicConstraints(isAuthority: false), .authorityKeyIdentifier, .subjectKeyIdentifier,
                    .keyUsage(.digitalSignature), .receiptSigningMarker,
                ])
            root.digest = digest
            intermediate.digest = digest
            leaf.digest = digest
        }

        /// The shape of the chains of StoreKit 2: a root and an intermediate on P-384, and a leaf on P-256.
        public static var ellipticCurve: Shape {
            var shape = Shape(digest: .sha384)
            shape.root.keyKind = .p384
            shape.intermediate.keyKind = .p384
            shape.leaf.keyKind = .p256
            return shape
        }
    }
}

// MARK: - Storing

extension TestCertificateAuthority {
    /// A file of a stored authority: its name without a folder, and its bytes.
    public typealias File = (name: String, contents: [UInt8])

    /// Returns the authority as six small files: `root.der` and `root.key` (PKCS#8 in PEM), and the same for
    /// `intermediate` and `leaf`.
    ///
    /// RSA signatures with PKCS#1 v1.5 padding are deterministic. Therefore a stored authority always signs the same
    /// receipt to the same bytes.
    public func files() throws(MintingError) -> [File] {
        var files: [File] = []
        for (name, identity) in [("root", root), ("intermediate", intermediate), ("leaf", leaf)] {
            files.append(File(name: name + ".der", contents: identity.certificate))
            files.append(File(name: name + ".key", contents: try identity.key.pem()))
        }
        return files
    }

    /// Creates an authority from the files that ``files()`` returned. Other files are ignored.
    ///
    /// - Parameter files: The files.
    /// - Throws: `missing-file`; `malformed-key`. Certificates are not checked.
    public init(files: [File]) throws(MintingError) {
        func contents(_ name: String) throws(MintingError) -> [UInt8] {
            guard let file = files.first(where: { $0.name == name }) else { throw .missingFile }
            return file.contents
        }
        func identity(_ name: String) throws(MintingError) -> SigningIdentity {
            try SigningIdentity(certificate: contents(name + ".der"), key: SigningKey(pem: contents(name + ".key")))
        }
        try self.init(root: identity("root"), intermediate: identity("intermediate"), leaf: identity("leaf"))
    }
}

extension ClosedRange<Instant> {
    static func seconds(_ first: Int64, _ last: Int64) -> ClosedRange<Instant> {
        Instant(millisecondsSince1970: first * 1000)...Instant(millisecondsSince1970: last * 1000)
    }
}
