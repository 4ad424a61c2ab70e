/// The identifiers that a caller of `CMSTrust` compares or chooses. Those of algorithms and extensions are in
/// `SpanPKCS7`.
extension ASN1ObjectIdentifier {
    // Types of content: 1.2.840.113549.1.7 (RFC 5652, 4 and 5.1)
    /// `id-data`, 1.2.840.113549.1.7.1: content of arbitrary bytes (RFC 5652, 4).
    public static let data = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01])
    /// `id-signedData`, 1.2.840.113549.1.7.2 (RFC 5652, 5.1).
    public static let signedData = ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02])

    // Purposes in extended key usage: 1.3.6.1.5.5.7.3 (RFC 5280, 4.2.1.12)
    /// The purpose of signing code, 1.3.6.1.5.5.7.3.3.
    public static let codeSigning = ASN1ObjectIdentifier(content: [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03])
    /// The purpose of signing mail (S/MIME), 1.3.6.1.5.5.7.3.4.
    public static let emailProtection = ASN1ObjectIdentifier(content: [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x04])
    /// The purpose of signing timestamps, 1.3.6.1.5.5.7.3.8.
    public static let timeStamping = ASN1ObjectIdentifier(content: [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08])
}
