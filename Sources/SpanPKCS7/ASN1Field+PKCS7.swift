public import SpanASN1

/// The fields of RFC 5652 and RFC 5280 that an error can be in.
extension ASN1Field {
    /// The outermost structure (RFC 5652, 3).
    public static let contentInfo = ASN1Field(rawValue: 60_000)
    /// The content of a `ContentInfo` that is signed data (RFC 5652, 5.1).
    public static let signedData = ASN1Field(rawValue: 60_001)
    /// The digests that a message announces (RFC 5652, 5.1).
    public static let digestAlgorithms = ASN1Field(rawValue: 60_002)
    /// What is signed, and its type (RFC 5652, 5.2).
    public static let encapContentInfo = ASN1Field(rawValue: 60_003)
    /// The certificates of a message; the path's index says which.
    public static let certificates = ASN1Field(rawValue: 60_004)
    /// The revocation lists of a message; the path's index says which.
    public static let crls = ASN1Field(rawValue: 60_005)
    /// The signers of a message; the path's index says which.
    public static let signerInfos = ASN1Field(rawValue: 60_006)
    /// `signedAttrs` of a signer (RFC 5652, 5.3).
    public static let signedAttributes = ASN1Field(rawValue: 60_007)
    /// `unsignedAttrs` of a signer (RFC 5652, 5.3).
    public static let unsignedAttributes = ASN1Field(rawValue: 60_008)
    /// The public key of a certificate (RFC 5280, 4.1.2.7).
    public static let subjectPublicKeyInfo = ASN1Field(rawValue: 60_009)
    /// The extensions of a certificate (RFC 5280, 4.1.2.9).
    public static let extensions = ASN1Field(rawValue: 60_010)

    /// The field's name in its ASN.1 module; `nil` for numbers that this module did not give out.
    public var pkcs7Name: StaticString? {
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
