package import SignatureTrust
package import Instants
package import SpanASN1

/// The specification of a certificate to issue. You can set every part, also to wrong values.
package struct CertificateSpecification: Hashable, Sendable {
    /// The kind of key to generate if you pass none.
    package var keyKind = SigningKey.Kind.rsa(bits: 2048)
    /// The X.509 version, which is usually 3. With 1, no version is written, but the extensions are.
    package var version = 3
    /// The content octets of the serial number.
    package var serialNumber: [UInt8]
    /// The digest algorithm of the issuer's signature.
    package var digest = SignatureDigest.sha256
    /// The signature algorithm in the signed part; `nil` for the algorithm of the signature.
    package var innerSignatureAlgorithm: AlgorithmName?
    /// The signature algorithm before the signature; `nil` for the algorithm of the signature.
    package var outerSignatureAlgorithm: AlgorithmName?
    /// The issuer; `nil` for the subject of the issuer's certificate.
    package var issuer: DistinguishedName?
    /// The subject.
    package var subject: DistinguishedName
    /// The start of the validity, in whole seconds.
    package var notBefore: Instant
    /// The end of the validity, in whole seconds.
    package var notAfter: Instant
    /// An encoded `SubjectPublicKeyInfo` to write instead of the key's; `nil` for the key's.
    package var subjectPublicKeyInfo: [UInt8]?
    /// The extensions, in the order in which they are written. An extension may be repeated.
    package var extensions: [Extension]

    /// Creates the specification of a certificate of version 3 with an RSA-2048 key, signed with SHA-256.
    ///
    /// - Parameters:
    ///   - subject: The subject.
    ///   - serialNumber: The content octets of the serial number.
    ///   - validity: The start and the end of the validity, in whole seconds.
    ///   - extensions: The extensions, in the order in which they are written.
    package init(
        subject: DistinguishedName, serialNumber: [UInt8], validity: ClosedRange<Instant>,
        extensions: [Extension]
    ) {
        self.subject = subject
        self.serialNumber = serialNumber
        notBefore = validity.lowerBound
        notAfter = validity.upperBound
        self.extensions = extensions
    }

    /// Removes the extensions with an identifier.
    package mutating func removeExtensions(_ identifier: ASN1ObjectIdentifier) {
        extensions.removeAll { $0.identifier == identifier }
    }

    /// Replaces the first extension that has the same identifier, or appends the extension if there is none.
    package mutating func replaceExtension(_ replacement: Extension) {
        if let index = extensions.firstIndex(where: { $0.identifier == replacement.identifier }) {
            extensions[index] = replacement
        } else {
            extensions.append(replacement)
        }
    }
}

extension CertificateSpecification {
    /// Returns the `TBSCertificate` that the issuer signs (RFC 5280, 4.1).
    ///
    /// - Parameters:
    ///   - key: The key of the subject.
    ///   - issuer: The issuer; `nil` for a self-signed certificate.
    /// - Throws: `inexpressible-value` for a date that X.509 cannot express; `malformed-certificate` for an issuer
    ///   without a name.
    package func tbsCertificate(key: SigningKey, issuer: SigningIdentity?) throws(MintingError) -> [UInt8] {
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
                try writer.write(notBefore)
                try writer.write(notAfter)
            }
            writer.write(subject)
            writer.write(encoded: keyInfo.span)
            guard !extensions.isEmpty else { return }
            try writer.writeExplicit(3) { (writer) throws(MintingError) in
                try writer.write(extensions, own: key, issuer: issuerKey)
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
    ///   - key: The key of the subject; `nil` to generate one of the kind ``keyKind``.
    ///   - issuer: The issuer; `nil` for a self-signed certificate.
    /// - Returns: The certificate and its key.
    /// - Throws: The errors of `tbsCertificate(key:issuer:)`; `algorithm-unavailable` if the host does not sign with
    ///   the digest algorithm.
    package func issue(key: SigningKey? = nil, by issuer: SigningIdentity? = nil) throws(MintingError)
        -> SigningIdentity
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

    /// Returns a certificate (RFC 5280, 4.1) with a `TBSCertificate` of any bytes.
    ///
    /// - Parameters:
    ///   - tbsCertificate: The bytes to sign.
    ///   - algorithm: The signature algorithm to write.
    ///   - digest: The digest algorithm of the signature.
    ///   - key: The issuer's key.
    /// - Throws: `algorithm-unavailable` if the host does not sign with the digest algorithm.
    package static func certificate(
        tbsCertificate: [UInt8], algorithm: AlgorithmName, digest: SignatureDigest, key: SigningKey
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
