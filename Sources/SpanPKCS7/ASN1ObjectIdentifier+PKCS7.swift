package import SpanASN1

/// The identifiers of RFC 2315, RFC 5652 and RFC 5280, and of their algorithms.
extension ASN1ObjectIdentifier {
    // Attributes: 1.2.840.113549.1.9 (PKCS#9)
    /// The attribute `content-type`, 1.2.840.113549.1.9.3 (RFC 5652, 11.1).
    package static let contentType = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03,
    ])
    /// The attribute `message-digest`, 1.2.840.113549.1.9.4 (RFC 5652, 11.2).
    package static let messageDigest = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04,
    ])
    /// The attribute `signing-time`, 1.2.840.113549.1.9.5 (RFC 5652, 11.3).
    package static let signingTime = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x05,
    ])
    // Digests: 1.2.840.113549.2.5, 1.3.14.3.2.26, 2.16.840.1.101.3.4.2
    /// MD5, 1.2.840.113549.2.5 (RFC 3370, 2.2). It is broken, and is named so that it can be refused.
    package static let md5 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x05])
    /// SHA-1, 1.3.14.3.2.26 (RFC 3370, 2.1).
    package static let sha1 = ASN1ObjectIdentifier(content: [0x2B, 0x0E, 0x03, 0x02, 0x1A])
    /// SHA-256, 2.16.840.1.101.3.4.2.1 (RFC 5754, 2.2).
    package static let sha256 = ASN1ObjectIdentifier(content: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01])
    /// SHA-384, 2.16.840.1.101.3.4.2.2 (RFC 5754, 2.3).
    package static let sha384 = ASN1ObjectIdentifier(content: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02])
    /// SHA-512, 2.16.840.1.101.3.4.2.3 (RFC 5754, 2.4).
    package static let sha512 = ASN1ObjectIdentifier(content: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03])
    /// SHA-224, 2.16.840.1.101.3.4.2.4 (RFC 5754, 2.1).
    package static let sha224 = ASN1ObjectIdentifier(content: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x04])
    // Keys and signatures: 1.2.840.113549.1.1 (PKCS#1)
    /// `rsaEncryption`, 1.2.840.113549.1.1.1: an RSA key; in a `SignerInfo` also PKCS#1 v1.5 with the signer's digest
    /// (RFC 3370, 3.2).
    package static let rsaEncryption = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01,
    ])
    /// RSA PKCS#1 v1.5 with MD5, 1.2.840.113549.1.1.4 (RFC 3279, 2.2.1). It is broken, and is named so that it can be
    /// refused.
    package static let md5WithRSAEncryption = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x04,
    ])
    /// RSA PKCS#1 v1.5 with SHA-1, 1.2.840.113549.1.1.5 (RFC 3279, 2.2.1).
    package static let sha1WithRSAEncryption = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05,
    ])
    /// `id-RSASSA-PSS`, 1.2.840.113549.1.1.10 (RFC 4055, 3): a key or a signature, with ``RSAPSSParameters``.
    package static let rsaPSS = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A])
    /// RSA PKCS#1 v1.5 with SHA-256, 1.2.840.113549.1.1.11 (RFC 4055, 5).
    package static let sha256WithRSAEncryption = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B,
    ])
    /// RSA PKCS#1 v1.5 with SHA-384, 1.2.840.113549.1.1.12 (RFC 4055, 5).
    package static let sha384WithRSAEncryption = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0C,
    ])
    /// RSA PKCS#1 v1.5 with SHA-512, 1.2.840.113549.1.1.13 (RFC 4055, 5).
    package static let sha512WithRSAEncryption = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0D,
    ])
    /// RSA PKCS#1 v1.5 with SHA-224, 1.2.840.113549.1.1.14 (RFC 4055, 5).
    package static let sha224WithRSAEncryption = ASN1ObjectIdentifier(content: [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0E,
    ])
    /// The mask generation function of RSASSA-PSS, 1.2.840.113549.1.1.8 (RFC 4055, 2.2).
    package static let mgf1 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x08])
    // Elliptic curves: 1.2.840.10045 (X9.62), 1.3.132.0
    /// `id-ecPublicKey`, 1.2.840.10045.2.1: a key on the curve that its parameters name (RFC 5480, 2.1.1).
    package static let ecPublicKey = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01])
    /// The curve P-256 (secp256r1), 1.2.840.10045.3.1.7 (RFC 5480, 2.1.1.1).
    package static let p256 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])
    /// The curve P-384 (secp384r1), 1.3.132.0.34 (RFC 5480, 2.1.1.1).
    package static let p384 = ASN1ObjectIdentifier(content: [0x2B, 0x81, 0x04, 0x00, 0x22])
    /// The curve P-521 (secp521r1), 1.3.132.0.35 (RFC 5480, 2.1.1.1).
    package static let p521 = ASN1ObjectIdentifier(content: [0x2B, 0x81, 0x04, 0x00, 0x23])
    /// ECDSA with SHA-1, 1.2.840.10045.4.1 (RFC 3279, 2.2.3).
    package static let ecdsaWithSHA1 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01])
    /// ECDSA with SHA-224, 1.2.840.10045.4.3.1 (RFC 5758, 3.2).
    package static let ecdsaWithSHA224 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x01])
    /// ECDSA with SHA-256, 1.2.840.10045.4.3.2 (RFC 5758, 3.2).
    package static let ecdsaWithSHA256 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02])
    /// ECDSA with SHA-384, 1.2.840.10045.4.3.3 (RFC 5758, 3.2).
    package static let ecdsaWithSHA384 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03])
    /// ECDSA with SHA-512, 1.2.840.10045.4.3.4 (RFC 5758, 3.2).
    package static let ecdsaWithSHA512 = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x04])
    // Certificate extensions: 2.5.29
    /// The extension `SubjectKeyIdentifier`, 2.5.29.14 (RFC 5280, 4.2.1.2).
    package static let subjectKeyIdentifier = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x0E])
    /// The extension `KeyUsage`, 2.5.29.15 (RFC 5280, 4.2.1.3).
    package static let keyUsage = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x0F])
    /// The extension `BasicConstraints`, 2.5.29.19 (RFC 5280, 4.2.1.9).
    package static let basicConstraints = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x13])
    /// The extension `AuthorityKeyIdentifier`, 2.5.29.35 (RFC 5280, 4.2.1.1).
    package static let authorityKeyIdentifier = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x23])
    /// The extension `ExtKeyUsageSyntax`, 2.5.29.37 (RFC 5280, 4.2.1.12).
    package static let extendedKeyUsage = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x25])
    // Extensions of revocation lists and of their entries: 2.5.29
    /// The extension `CRLReason` of an entry, 2.5.29.21 (RFC 5280, 5.3.1).
    package static let reasonCode = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x15])
    /// The extension `BaseCRLNumber` of a delta list, 2.5.29.27 (RFC 5280, 5.2.4).
    package static let deltaCRLIndicator = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x1B])
    /// The extension `IssuingDistributionPoint` of a list, 2.5.29.28 (RFC 5280, 5.2.5).
    package static let issuingDistributionPoint = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x1C])
    /// The extension `CertificateIssuer` of an entry, 2.5.29.29 (RFC 5280, 5.3.3).
    package static let certificateIssuer = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x1D])
}
