public import SpanASN1
import SpanPKCS7

/// A certificate to be issued. Every part can be set, and set wrong on purpose.
public struct CertificateSpecification: Hashable, Sendable {
    /// The key to generate where none is given.
    public var keyKind = SigningKey.Kind.rsa(bits: 2048)
    /// As people say it: 1 writes no version (and its extensions all the same), 3 is usual.
    public var version = 3
    /// The content octets of the serial number.
    public var serialNumber: [UInt8]
    /// The digest that the issuer signs over.
    public var digest = SigningDigest.sha256
    /// The signature algorithm that is signed; `nil` for the one used.
    public var innerSignatureAlgorithm: AlgorithmName?
    /// The signature algorithm that stands before the signature; `nil` for the one used.
    public var outerSignatureAlgorithm: AlgorithmName?
    /// `nil` for the subject of the issuer's certificate.
    public var issuer: DistinguishedName?
    /// Whom the certificate is for.
    public var subject: DistinguishedName
    /// The first moment at which it is valid; whole seconds.
    public var notBefore: Instant
    /// The last moment at which it is valid; whole seconds.
    public var notAfter: Instant
    /// An encoded `SubjectPublicKeyInfo` in place of the key's own.
    public var subjectPublicKeyInfo: [UInt8]?
    /// In the order written. One may be there twice.
    public var extensions: [Extension]

    /// A certificate of version 3 with an RSA-2048 key, signed with SHA-256.
    ///
    /// - Parameters:
    ///   - subject: whom it is for.
    ///   - serialNumber: the content octets of the INTEGER.
    ///   - validity: `notBefore` and `notAfter`, whole seconds.
    ///   - extensions: in the order written.
    public init(
        subject: DistinguishedName, serialNumber: [UInt8], validity: ClosedRange<Instant>,
        extensions: [Extension]
    ) {
        self.subject = subject
        self.serialNumber = serialNumber
        notBefore = validity.lowerBound
        notAfter = validity.upperBound
        self.extensions = extensions
    }

    /// Leaves out the extensions with this identifier.
    public mutating func removeExtensions(_ identifier: ASN1ObjectIdentifier) {
        extensions.removeAll { $0.identifier == identifier }
    }

    /// Puts an extension in the place of the first with its identifier, or at the end.
    public mutating func replaceExtension(_ replacement: Extension) {
        if let index = extensions.firstIndex(where: { $0.identifier == replacement.identifier }) {
            extensions[index] = replacement
        } else {
            extensions.append(replacement)
        }
    }
}

extension CertificateSpecification {
    /// The `TBSCertificate` (RFC 5280, 4.1) that the issuer signs.
    ///
    /// - Parameters:
    ///   - key: the key that is certified.
    ///   - issuer: `nil` for a self-signed certificate.
    /// - Throws: `inexpressible-value` for a date that X.509 cannot express; `malformed-certificate` for an issuer without a name.
    public func tbsCertificate(key: SigningKey, issuer: SigningIdentity?) throws(MintingError) -> [UInt8] {
        let issuerKey = issuer?.key ?? key
        let signatureAlgorithm = try innerSignatureAlgorithm.orElse { () throws(MintingError) in
            try issuerKey.signatureAlgorithm(digest)
        }
        let keyInfo = try subjectPublicKeyInfo.orElse { () throws(MintingError) in
            try key.subjectPublicKeyInfo()
        }
        let issuerName = try encodedIssuer(issuer)
        var writer = ASN1Writer()
        try writer.write(.sequence) { (writer) throws(MintingError) in
            if version != 1 { writer.writeExplicit(0) { $0.writeInteger(version - 1) } }
            writer.write(.integer, content: serialNumber.span)
            writer.write(signatureAlgorithm)
            writer.write(encoded: issuerName.span)
            try writer.write(.sequence) { (writer) throws(MintingError) in
                do throws(ASN1EncodingError) {
                    try writer.writeTime(notBefore)
                    try writer.writeTime(notAfter)
                } catch {
                    throw .inexpressibleValue
                }
            }
            writer.write(subject)
            writer.write(encoded: keyInfo.span)
            guard !extensions.isEmpty else { return }
            try writer.writeExplicit(3) { (writer) throws(MintingError) in
                try writer.write(.sequence) { (writer) throws(MintingError) in
                    for certificateExtension in extensions {
                        let encoded = try certificateExtension.encoded(own: key, issuer: issuerKey)
                        writer.write(encoded: encoded.span)
                    }
                }
            }
        }
        return writer.finish()
    }

    private func encodedIssuer(_ identity: SigningIdentity?) throws(MintingError) -> [UInt8] {
        if issuer == nil, let identity { return try identity.encodedSubject() }
        let name = issuer ?? subject
        return ASN1Writer.encode { $0.write(name) }
    }

    /// Issues the certificate.
    ///
    /// - Parameters:
    ///   - key: the key that is certified; `nil` generates one by ``keyKind``.
    ///   - issuer: `nil` for a self-signed certificate.
    /// - Throws: as ``tbsCertificate(key:issuer:)``; `algorithm-unavailable` where the host does not sign with the digest.
    public func issue(key: SigningKey? = nil, by issuer: SigningIdentity? = nil) throws(MintingError) -> SigningIdentity
    {
        let key = try key.orElse { () throws(MintingError) in try SigningKey(generating: keyKind) }
        let issuerKey = issuer?.key ?? key
        let algorithm = try outerSignatureAlgorithm.orElse { () throws(MintingError) in
            try issuerKey.signatureAlgorithm(digest)
        }
        let certificate = try CertificateSpecification.certificate(
            tbsCertificate: tbsCertificate(key: key, issuer: issuer), algorithm: algorithm, digest: digest,
            key: issuerKey)
        return SigningIdentity(certificate: certificate, key: key)
    }

    /// A certificate (RFC 5280, 4.1) over the given `TBSCertificate`, whatever its bytes are.
    ///
    /// - Throws: `algorithm-unavailable` where the host does not sign with the digest.
    public static func certificate(
        tbsCertificate: [UInt8], algorithm: AlgorithmName, digest: SigningDigest, key: SigningKey
    ) throws(MintingError) -> [UInt8] {
        let signature = try key.sign(tbsCertificate, digest: digest)
        return ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.write(encoded: tbsCertificate.span)
                writer.write(algorithm)
                writer.writeBitString { $0.write(encoded: signature.span) }
            }
        }
    }
}

/// A certificate and the key that belongs to it.
public struct SigningIdentity: Sendable {
    /// The certificate, DER.
    public let certificate: [UInt8]
    /// The private key of the certificate, or another on purpose.
    public let key: SigningKey

    /// Nothing is checked: a key that does not belong to the certificate makes signatures that do not hold.
    public init(certificate: [UInt8], key: SigningKey) {
        self.certificate = certificate
        self.key = key
    }

    /// The certificate's encoded subject.
    func encodedSubject() throws(MintingError) -> [UInt8] {
        try MintingError.reading { () throws(ASN1DecodingError) in
            [UInt8](copying: try Certificate(certificate.span).subject.encoded)
        }
    }

    /// The certificate's encoded issuer and serial number, one after the other.
    func encodedIssuerAndSerialNumber() throws(MintingError) -> [UInt8] {
        try MintingError.reading { () throws(ASN1DecodingError) in
            let certificate = try Certificate(certificate.span)
            return [UInt8](copying: certificate.issuer.encoded) + [UInt8](copying: certificate.serialNumber.encoded)
        }
    }
}
