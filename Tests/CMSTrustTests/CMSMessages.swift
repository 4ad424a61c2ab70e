import AppStoreReceiptTesting
import CMSTrust
import LibcryptoHandles
import SignatureTrust
import SpanPKCS7
import TestSupport

/// Messages made for a test, and the authorities behind them.
enum CMSMessages {
    static let authority = Result { try Minted.ellipticAuthority }
    static let rsaAuthority = Result { try Minted.authority }
    /// With the same names but for the leaf's serial number.
    static let stranger = Result {
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.leaf.serialNumber = [0x7F]
        return try TestCertificateAuthority(shape)
    }

    /// Within the validity of all certificates.
    static let date = Instant(millisecondsSince1970: 1_780_000_000_000)
    static let text = Array("Whoever signs this signs only a test.".utf8)

    /// The `SubjectPublicKeyInfo` of an RSA key of 512 bits, which no policy accepts.
    static let weakKey: [UInt8] = {
        let key = tlv(0x30, tlv(0x02, [0] + [UInt8](repeating: 0xA5, count: 64)) + tlv(0x02, [1, 0, 1]))
        let algorithm = tlv(0x30, tlv(0x06, ASN1ObjectIdentifier.rsaEncryption.content) + [5, 0])
        return tlv(0x30, algorithm + tlv(0x03, [0] + key))
    }()

    /// A message by the leaf of the authority, with signed attributes.
    static func builder(_ authority: TestCertificateAuthority, content: [UInt8]? = text) -> SignedDataBuilder {
        SignedDataBuilder(content: content, certificates: authority.certificates, signers: [signer(authority.leaf)])
    }

    static func signer(
        _ identity: SigningIdentity, _ attributes: [SignedDataBuilder.SignedAttribute]? = .required,
        digest: SignatureDigest = .sha256
    ) -> SignedDataBuilder.Signer {
        var signer = SignedDataBuilder.Signer(identity, digest: digest)
        signer.signatureAlgorithm = nil
        signer.signedAttributes = attributes
        return signer
    }

    /// The place of the signer that names a certificate: a SET is sorted, and ECDSA signatures differ each time.
    static func index(ofSigner identity: SigningIdentity, in message: [UInt8]) throws -> Int? {
        let certificate = try SpanPKCS7.Certificate(identity.certificate.span)
        var signers = try SignedData(ContentInfo(message.span)).signerInfos
        var index = 0
        while let signer = try signers.next() {
            if try signer.signerIdentifier.names(certificate) { return index }
            index += 1
        }
        return nil
    }

    static func policy(_ authorities: TestCertificateAuthority...) throws -> CMSPolicy {
        CMSPolicy(anchors: try authorities.map { try $0.trustAnchor })
    }

    static func verify(
        _ message: [UInt8], _ policy: CMSPolicy, content: [UInt8]? = nil,
        signedBy signer: Fingerprint? = nil, at date: Instant = date, usesSigningTimes: Bool = false
    ) throws -> VerifiedMessage {
        try CMSVerifier(policy: policy).verify(message, content, signer, date, usesSigningTimes)
    }

    /// The error with which a message is refused, if it is.
    static func refusal(
        _ message: [UInt8], _ policy: CMSPolicy, content: [UInt8]? = nil,
        signedBy signer: Fingerprint? = nil, at date: Instant = date, usesSigningTimes: Bool = false
    ) throws -> CMSVerificationError? {
        let verifier = try CMSVerifier(policy: policy)
        do throws(CMSVerificationError) {
            _ = try verifier.verify(message, content, signer, date, usesSigningTimes)
            return nil
        } catch {
            return error
        }
    }
}

extension [SignedDataBuilder.SignedAttribute] {
    static var required: Self { SignedDataBuilder.SignedAttribute.required }
}

extension TestCertificateAuthority {
    /// Another leaf with another key and serial number.
    func leaf(serial: UInt8, _ change: (inout CertificateSpecification) -> Void = { _ in }) throws -> SigningIdentity {
        var specification = Shape.ellipticCurve.leaf
        specification.serialNumber = [serial]
        change(&specification)
        return try specification.issue(by: intermediate)
    }
}

extension CMSVerifier {
    /// Calls the public function of the two that ``usesSigningTimes`` chooses.
    fileprivate func verify(
        _ message: [UInt8], _ content: [UInt8]?, _ signer: Fingerprint?, _ date: Instant, _ usesSigningTimes: Bool
    ) throws(CMSVerificationError) -> VerifiedMessage {
        usesSigningTimes
            ? try verify(message, detachedContent: content, signedBy: signer, atSigningTimesUntil: date)
            : try verify(message, detachedContent: content, signedBy: signer, at: date)
    }
}
