public import SpanASN1
import SpanPKCS7

/// An intermediate certificate that issues the certificates with which transaction receipts are signed.
///
/// A transaction receipt contains its signer's certificate and no other. Therefore the verifier has the intermediates:
/// Apple's three, and those that you add with ``AppStoreTrust/adding(_:)``.
public struct TransactionReceiptIssuer: Hashable, Sendable {
    /// The certificate (DER).
    public let der: [UInt8]
    /// The versions of transaction receipts for which the certificate counts.
    public let versions: Set<TransactionReceipt.Version>

    /// Creates an issuer from a certificate.
    ///
    /// - Parameters:
    ///   - der: The certificate (DER).
    ///   - versions: The versions of transaction receipts for which it counts; `nil` for those whose marker extension
    ///     it has: version 2 for the marker of the iTunes Store (1.2.840.113635.100.6.2.2), versions 3 and 4 for that
    ///     of Worldwide Developer Relations (…6.2.1).
    /// - Throws: An error of the syntax if `der` is not exactly one certificate.
    public init(der: [UInt8], versions: Set<TransactionReceipt.Version>? = nil) throws(ASN1DecodingError) {
        let certificate = try Certificate(der.span)
        var marked: Set<TransactionReceipt.Version> = []
        for version in TransactionReceipt.Version.allCases {
            if try certificate.certificateExtension(version.rules.issuerMarker) != nil { marked.insert(version) }
        }
        self.der = der
        self.versions = versions ?? marked
    }

    /// Creates an issuer from a certificate in this source.
    init(knownCertificate hexadecimal: String, _ versions: Set<TransactionReceipt.Version>) {
        der = Hexadecimal.bytes(Array(hexadecimal.utf8)) ?? []
        self.versions = versions
    }
}
