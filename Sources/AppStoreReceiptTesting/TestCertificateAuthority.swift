public import SignatureTrust
import SpanASN1

/// A certificate authority with the shape of Apple's, for tests: a root, an intermediate and a leaf that signs receipts.
///
/// ```swift
/// let authority = try TestCertificateAuthority()
/// let verifier = try AppStoreVerifier(
///     bundleID: "com.example.app", environments: [.production], trust: .roots([authority.trustAnchor]))
/// let receipt = try ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])
///     .signed(by: authority)
/// ```
///
/// Nothing signed with it can verify under Apple's roots. A verifier pins whole certificates and not their names, and every signature
/// on the way from the receipt to a pinned root is checked: to mint for Apple's root is to have Apple's private key. The marker
/// extensions are no secret; they say what a certificate is for, and count only below a trusted root. So the one thing to take care of
/// is the other direction: a production verifier must never be given a test root as trust.
public struct TestCertificateAuthority: Sendable {
    /// What a verifier is to trust: ``trustAnchor``.
    public var root: SigningIdentity
    /// What issues the leaf, as Worldwide Developer Relations does.
    public var intermediate: SigningIdentity
    /// What signs receipts.
    public var leaf: SigningIdentity

    /// An authority of certificates and keys made elsewhere; whether they fit together is not checked.
    public init(root: SigningIdentity, intermediate: SigningIdentity, leaf: SigningIdentity) {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
    }

    /// Makes new keys and issues the certificates.
    ///
    /// - Throws: `unsuitable-key` for a key that cannot be made; `algorithm-unavailable` where the host does not sign with the digest.
    public init(_ shape: Shape = Shape()) throws(MintingError) {
        try self.init(
            shape, rootKey: SigningKey(generating: shape.root.keyKind),
            intermediateKey: SigningKey(generating: shape.intermediate.keyKind),
            leafKey: SigningKey(generating: shape.leaf.keyKind))
    }

    /// Issues the certificates for given keys. With RSA keys the result is the same, byte for byte, each time.
    public init(
        _ shape: Shape = Shape(), rootKey: SigningKey, intermediateKey: SigningKey, leafKey: SigningKey
    ) throws(MintingError) {
        root = try shape.root.issue(key: rootKey)
        intermediate = try shape.intermediate.issue(key: intermediateKey, by: root)
        leaf = try shape.leaf.issue(key: leafKey, by: intermediate)
    }

    /// The same keys with certificates of another shape.
    public func reissued(_ shape: Shape) throws(MintingError) -> TestCertificateAuthority {
        try TestCertificateAuthority(shape, rootKey: root.key, intermediateKey: intermediate.key, leafKey: leaf.key)
    }

    /// The root, to be given to a verifier as trust.
    ///
    /// - Throws: `malformed-certificate` when it was made so on purpose.
    public var trustAnchor: TrustAnchor {
        get throws(MintingError) {
            try MintingError.reading { () throws(ASN1DecodingError) in try TrustAnchor(der: root.certificate) }
        }
    }

    /// The certificates as Apple embeds them: leaf, intermediate, root.
    public var certificates: [[UInt8]] { [leaf.certificate, intermediate.certificate, root.certificate] }
}

extension TestCertificateAuthority {
    /// The three certificates to be issued.
    public struct Shape: Hashable, Sendable {
        /// The self-signed certificate.
        public var root: CertificateSpecification
        /// Issued by the root.
        public var intermediate: CertificateSpecification
        /// Issued by the intermediate: what signs.
        public var leaf: CertificateSpecification

        /// RSA-2048 and SHA-256 (or another digest) throughout; marker extensions, key usages and path length as Apple has them.
        ///
        /// Unlike Apple's, the certificates live long: the root 2006–2049, the intermediate and the leaf 2010–2045.
        public init(digest: SigningDigest = .sha256) {
            root = CertificateSpecification(
                subject: DistinguishedName(
                    .country("US"), .organization("Test Inc."), .organizationalUnit("Test Certification Authority"),
                    .commonName("Test Root CA")),
                serialNumber: [0x02], validity: .seconds(1_145_999_936, 2_524_607_999),
                extensions: [
                    .keyUsage(.keyCertSign, .cRLSign), .basicConstraints(isAuthority: true), .subjectKeyIdentifier,
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
                    .subjectKeyIdentifier, .keyUsage(.keyCertSign, .cRLSign), .worldwideDeveloperRelationsMarker,
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

        /// The shape of the chains that sign StoreKit 2 data: EC P-384, P-384 and a P-256 leaf.
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
    /// One part of a stored authority.
    public struct File: Hashable, Sendable {
        /// The file's name, without a folder.
        public var name: String
        /// The file's bytes.
        public var contents: [UInt8]

        /// A file for ``init(files:)``.
        public init(name: String, contents: [UInt8]) {
            self.name = name
            self.contents = contents
        }
    }

    /// The authority as six small files: `root.der` and `root.key` (PKCS#8, PEM), and so for `intermediate` and `leaf`.
    ///
    /// RSA signatures with PKCS#1 v1.5 padding are deterministic, so a stored authority signs the same receipt to the same bytes.
    public func files() throws(MintingError) -> [File] {
        var files: [File] = []
        for (name, identity) in [("root", root), ("intermediate", intermediate), ("leaf", leaf)] {
            files.append(File(name: name + ".der", contents: identity.certificate))
            files.append(File(name: name + ".key", contents: try identity.key.pem()))
        }
        return files
    }

    /// Loads what ``files()`` has made. Other files among them are passed over.
    ///
    /// - Throws: `missing-file`; `malformed-key`. Certificates are taken as they are.
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
