import SignatureTrust
import Instants
import SpanASN1
import SpanPKCS7

/// The contents of a message in words, verified or not.
struct CMSOutline {
    struct Certificate {
        var subject: String
        var issuer: String
        /// Hexadecimal.
        var serialNumber: String
        var validity: ClosedRange<Instant>
        var key: String
        var signatureAlgorithm: String
        var fingerprint: Fingerprint
    }

    struct RevocationList {
        var issuer: String
        var thisUpdate: Instant
        var nextUpdate: Instant?
    }

    struct Signer {
        var identifier: String
        var digestAlgorithm: String
        var signatureAlgorithm: String
        var signingTime: Instant?
        var signedAttributes: [String]
        var unsignedAttributes: [String]
    }

    var type: String
    var contentByteCount: Int?
    /// The following properties are those of `SignedData`.
    var version: Int?
    var contentType: String?
    var certificates: [Certificate] = []
    var otherCertificates: [String] = []
    var revocationLists: [RevocationList] = []
    var signers: [Signer] = []

    /// - Throws: The reason `SignedData` cannot be read. For a message of another type, the outline has only the type
    ///   and the size of the content.
    init(_ der: [UInt8]) throws(ASN1DecodingError) {
        let contentInfo = try ContentInfo(der.span)
        type = try contentInfo.contentType.objectIdentifier().text
        contentByteCount = contentInfo.content?.encoded.count
        guard try contentInfo.isSignedData() else { return }
        let message = try SignedData(contentInfo, allowing: .emptyUnsignedAttributes)
        version = message.version
        contentType = try message.contentType.objectIdentifier().text
        contentByteCount = message.content?.contentCount
        var choices = message.certificateChoices
        while let choice = try choices.next() {
            if let certificate = try choice.certificate() {
                try certificates.append(Certificate(certificate))
            } else {
                otherCertificates.append(choice.kind.rawValue)
            }
        }
        var infos = message.revocationInfos
        while let info = try infos.next() {
            guard let list = try info.revocationList() else { continue }
            revocationLists.append(
                RevocationList(
                    issuer: try list.issuer.distinguishedName(), thisUpdate: list.thisUpdate,
                    nextUpdate: list.nextUpdate))
        }
        var signerInfos = message.signerInfos
        while let signer = try signerInfos.next() { try signers.append(Signer(signer)) }
    }
}

extension CMSOutline.Certificate {
    init(_ certificate: SpanPKCS7.Certificate) throws(ASN1DecodingError) {
        subject = try certificate.subject.distinguishedName()
        issuer = try certificate.issuer.distinguishedName()
        serialNumber = Hexadecimal.text(certificate.serialNumber.content)
        validity = try certificate.validity()
        key = try certificate.subjectPublicKeyInfo.text()
        signatureAlgorithm = try certificate.signatureAlgorithm.algorithm.objectIdentifier().text
        do throws(SignatureTrustError) {
            fingerprint = try Fingerprint(of: certificate.element.encoded)
        } catch {
            throw certificate.element.error(.unexpectedValue)
        }
    }
}

extension CMSOutline.Signer {
    fileprivate init(_ signer: SignerInfo) throws(ASN1DecodingError) {
        switch signer.signerIdentifier {
        case .issuerAndSerialNumber(let name):
            let serialNumber = Hexadecimal.text(name.serialNumber.content)
            identifier = "serial number \(serialNumber) of \(try name.issuer.distinguishedName())"
        case .subjectKeyIdentifier(let identifier):
            self.identifier = "key identifier \(Hexadecimal.text(identifier.content))"
        }
        digestAlgorithm = try signer.digestAlgorithm.algorithm.objectIdentifier().text
        signatureAlgorithm = try signer.signatureAlgorithm.algorithm.objectIdentifier().text
        // The verifier reports a value that is not a time.
        signingTime = try? signer.signedAttributes?.signingTime()
        signedAttributes = try signer.signedAttributes?.names() ?? []
        unsignedAttributes = try signer.unsignedAttributes?.names() ?? []
    }
}

extension AttributeSet {
    fileprivate func names() throws(ASN1DecodingError) -> [String] {
        var names: [String] = []
        var attributes = self.attributes
        while let attribute = try attributes.next() { names.append(try attribute.type.objectIdentifier().text) }
        return names
    }
}

extension SubjectPublicKeyInfo {
    /// `RSA 2048`, `P-256`, or the algorithm's name.
    fileprivate func text() throws(ASN1DecodingError) -> String {
        if algorithm.matches(.rsaEncryption) || algorithm.matches(.rsaPSS) {
            let size = try rsaPublicKey().modulusBitCount
            return "\(algorithm.matches(.rsaPSS) ? "RSASSA-PSS" : "RSA") \(size)"
        }
        if algorithm.matches(.ecPublicKey), let curve = algorithm.parameters {
            return curve.tag == .objectIdentifier ? try curve.objectIdentifier().text : "a curve by its parameters"
        }
        return try algorithm.algorithm.objectIdentifier().text
    }
}

extension ASN1ObjectIdentifier {
    /// The name if there is one, or dotted decimal.
    var text: String { name ?? description }
}
