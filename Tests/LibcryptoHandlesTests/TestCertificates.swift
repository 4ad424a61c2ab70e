import LibcryptoHandles
import TestSupport

/// Keys made once for all tests.
enum TestKeys {
    static let root = Result { try PrivateKey.generateRSA(bits: 2048) }
    static let intermediate = Result { try PrivateKey.generateRSA(bits: 2048) }
    static let leaf = Result { try PrivateKey.generateRSA(bits: 2048) }
    static let stranger = Result { try PrivateKey.generateRSA(bits: 1024) }
    static let p256 = Result { try PrivateKey.generateEC(.p256) }
    static let p384 = Result { try PrivateKey.generateEC(.p384) }
    static let p521 = Result { try PrivateKey.generateEC(.p521) }
}

/// Just enough DER to write certificates and revocation lists.
enum DER {
    static func element(_ tag: UInt8, _ content: [UInt8]...) -> [UInt8] {
        tlv(tag, Array(content.joined()))
    }

    static func sequence(_ content: [UInt8]...) -> [UInt8] { element(0x30, Array(content.joined())) }
    /// `Time ::= CHOICE { utcTime UTCTime, generalTime GeneralizedTime }` (RFC 5280, 4.1), by the length of the text.
    static func time(_ text: String) -> [UInt8] { element(text.utf8.count == 13 ? 0x17 : 0x18, Array(text.utf8)) }

    static func name(_ commonName: String) -> [UInt8] {
        sequence(element(0x31, sequence([0x06, 3, 0x55, 0x04, 0x03], element(0x0C, Array(commonName.utf8)))))
    }

    /// `md5WithRSAEncryption` and its like (RFC 8017, A.2.4), by the last arc.
    static func rsaSignature(_ arc: UInt8) -> [UInt8] {
        sequence([0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, arc], [5, 0])
    }

    static func signed(_ content: [UInt8], by key: PrivateKey, _ algorithm: DigestAlgorithm) throws -> [UInt8] {
        let signature = try key.sign(algorithm.digest(content), scheme: .pkcs1)
        return sequence(content, rsaSignature(arc(of: algorithm)), element(0x03, [0], signature))
    }

    static func arc(of algorithm: DigestAlgorithm) -> UInt8 { algorithm == .sha1 ? 5 : 11 }
}

/// A certificate to be signed, valid in 2025 if nothing else is said.
struct CertificateRequest: Sendable {
    var issuer: String
    var subject: String
    var serial: UInt8 = 1
    var notBefore = "250101000000Z"
    var notAfter = "251231235959Z"
    var extensions: [[UInt8]] = []
    var algorithm = DigestAlgorithm.sha256

    func der(signedBy issuerKey: PrivateKey, for key: PublicKey) throws -> [UInt8] {
        try DER.signed(
            DER.sequence(
                [0xA0, 3, 2, 1, 2], [2, 1, serial], DER.rsaSignature(DER.arc(of: algorithm)), DER.name(issuer),
                DER.sequence(DER.time(notBefore), DER.time(notAfter)), DER.name(subject),
                key.subjectPublicKeyInfo(),
                extensions.isEmpty ? [] : DER.element(0xA3, DER.sequence(Array(extensions.joined())))),
            by: issuerKey, algorithm)
    }

    static func authority(pathLength: UInt8? = nil) -> [UInt8] {
        let constraints = DER.sequence([1, 1, 0xFF], pathLength.map { [2, 1, $0] } ?? [])
        return DER.sequence([6, 3, 0x55, 0x1D, 0x13], [1, 1, 0xFF], DER.element(4, constraints))
    }

    static let notAuthority = DER.sequence([6, 3, 0x55, 0x1D, 0x13], [1, 1, 0xFF], DER.element(4, DER.sequence()))
    static let certificateSigning = DER.sequence([6, 3, 0x55, 0x1D, 0x0F], DER.element(4, [3, 2, 1, 0x06]))
    static let digitalSignature = DER.sequence([6, 3, 0x55, 0x1D, 0x0F], DER.element(4, [3, 2, 7, 0x80]))
    static let unknownCritical = DER.sequence([6, 3, 0x2A, 3, 4], [1, 1, 0xFF], [4, 2, 5, 0])
    static let unknown = DER.sequence([6, 3, 0x2A, 3, 4], [4, 2, 5, 0])
}

/// A root, an intermediate and a leaf; each part can be changed before it is signed.
struct TestChain {
    var root = CertificateRequest(
        issuer: "root", subject: "root", notBefore: "200101000000Z", notAfter: "400101000000Z",
        extensions: [CertificateRequest.authority(), CertificateRequest.certificateSigning])
    var intermediate = CertificateRequest(
        issuer: "root", subject: "intermediate", serial: 2,
        extensions: [CertificateRequest.authority(pathLength: 0), CertificateRequest.certificateSigning])
    var leaf = CertificateRequest(
        issuer: "intermediate", subject: "leaf", serial: 3, extensions: [CertificateRequest.digitalSignature])

    func rootCertificate() throws -> CertificateHandle {
        try CertificateHandle(root.der(signedBy: TestKeys.root.get(), for: TestKeys.root.get().publicKey))
    }

    func intermediateCertificate() throws -> CertificateHandle {
        try CertificateHandle(
            intermediate.der(signedBy: TestKeys.root.get(), for: TestKeys.intermediate.get().publicKey))
    }

    func leafDER() throws -> [UInt8] {
        try leaf.der(signedBy: TestKeys.intermediate.get(), for: TestKeys.leaf.get().publicKey)
    }

    func leafCertificate() throws -> CertificateHandle { try CertificateHandle(leafDER()) }

    /// A revocation list (RFC 5280, 5.1) by an issuer of that name.
    static func revocationList(
        issuer: String, key: PrivateKey, revoked: [UInt8] = [], nextUpdate: String = "260101000000Z"
    ) throws -> RevocationList {
        let entries = revoked.map { DER.sequence([2, 1, $0], DER.time("250201000000Z")) }
        return try RevocationList(
            DER.signed(
                DER.sequence(
                    [2, 1, 1], DER.rsaSignature(11), DER.name(issuer), DER.time("250101000000Z"),
                    DER.time(nextUpdate), entries.isEmpty ? [] : DER.sequence(Array(entries.joined()))),
                by: key, .sha256))
    }
}
