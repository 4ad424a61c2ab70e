import SpanASN1
import SpanPKCS7

/// A certificate and its private key.
public struct SigningIdentity: Sendable {
    /// The certificate (DER).
    public let certificate: [UInt8]
    /// The private key of the certificate, or another key on purpose.
    public let key: SigningKey

    /// Creates an identity. Nothing is checked: with a key that does not belong to the certificate, signatures are not
    /// valid.
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
