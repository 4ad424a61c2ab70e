public import SpanASN1

/// The fields of RFC 5652 and RFC 5280 that an error can be in.
extension ASN1Field {
    public static let contentInfo = ASN1Field(rawValue: 60_000)
    public static let signedData = ASN1Field(rawValue: 60_001)
    public static let digestAlgorithms = ASN1Field(rawValue: 60_002)
    public static let encapContentInfo = ASN1Field(rawValue: 60_003)
    public static let certificates = ASN1Field(rawValue: 60_004)
    public static let crls = ASN1Field(rawValue: 60_005)
    public static let signerInfos = ASN1Field(rawValue: 60_006)
    public static let signedAttributes = ASN1Field(rawValue: 60_007)
    public static let unsignedAttributes = ASN1Field(rawValue: 60_008)
    public static let subjectPublicKeyInfo = ASN1Field(rawValue: 60_009)
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
