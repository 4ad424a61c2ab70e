package import SpanASN1

/// The fields of RFC 5652 and RFC 5280 in which an error can be.
extension ASN1Field {
    /// The outermost structure (RFC 5652, 3).
    package static let contentInfo = ASN1Field(rawValue: 60_000)
    /// The `SignedData` in a `ContentInfo` (RFC 5652, 5.1).
    package static let signedData = ASN1Field(rawValue: 60_001)
    /// The digest algorithms that a message lists (RFC 5652, 5.1).
    package static let digestAlgorithms = ASN1Field(rawValue: 60_002)
    /// The signed content and its type (RFC 5652, 5.2).
    package static let encapContentInfo = ASN1Field(rawValue: 60_003)
    /// The certificates of a message. The index of the path is that of the certificate.
    package static let certificates = ASN1Field(rawValue: 60_004)
    /// The revocation lists of a message. The index of the path is that of the list.
    package static let crls = ASN1Field(rawValue: 60_005)
    /// The signers of a message. The index of the path is that of the signer.
    package static let signerInfos = ASN1Field(rawValue: 60_006)
    /// `signedAttrs` of a signer (RFC 5652, 5.3).
    package static let signedAttributes = ASN1Field(rawValue: 60_007)
    /// `unsignedAttrs` of a signer (RFC 5652, 5.3).
    package static let unsignedAttributes = ASN1Field(rawValue: 60_008)
    /// The public key of a certificate (RFC 5280, 4.1.2.7).
    package static let subjectPublicKeyInfo = ASN1Field(rawValue: 60_009)
    /// The extensions of a certificate (RFC 5280, 4.1.2.9).
    package static let extensions = ASN1Field(rawValue: 60_010)

    /// The name of the field in its ASN.1 module; `nil` for a field of another module.
    package var pkcs7Name: StaticString? {
        switch self {
        case .contentInfo: "ContentInfo"
        case .signedData: "SignedData"
        case .digestAlgorithms: "digestAlgorithms"
        case .encapContentInfo: "encapContentInfo"
        case .certificates: "certificates"
        case .crls: "crls"
        case .signerInfos: "signerInfos"
        case .signedAttributes: "signedAttrs"
        case .unsignedAttributes: "unsignedAttrs"
        case .subjectPublicKeyInfo: "subjectPublicKeyInfo"
        case .extensions: "extensions"
        default: nil
        }
    }
}
