public import SignatureTrust
public import SpanASN1
public import StrictText

/// The contents of a file with certificates that an operator chose: one in DER, or any number in PEM (RFC 7468).
@_spi(Surfaces)
public struct CertificateFile: Sendable {
    public let certificates: [TrustAnchor]

    /// - Throws: The fault of a file in which any certificate, or any block of PEM, is malformed, or that has no
    ///   certificate.
    public init(_ bytes: [UInt8]) throws(CertificateFileFault) {
        var bytes = bytes
        bytes.removeByteOrderMark()
        let encoded: [[UInt8]]
        do throws(PEMFileError) {
            encoded = try PEMFile(bytes)?.contents(labelled: "CERTIFICATE") ?? [bytes]
        } catch {
            throw error.kind == .missingBlock ? .noCertificate : .malformedPEM(error)
        }
        do throws(ASN1DecodingError) {
            certificates = try encoded.map { (der) throws(ASN1DecodingError) in try TrustAnchor(der: der) }
        } catch {
            throw .malformedCertificate(error)
        }
    }

    /// The fingerprints of the certificates; `nil` if this host does not compute SHA-256.
    public var fingerprints: [Fingerprint]? {
        do throws(SignatureTrustError) {
            return try certificates.map { (certificate) throws(SignatureTrustError) in
                try Fingerprint(of: certificate.der.span)
            }
        } catch {
            return nil
        }
    }
}

/// The reason a file is not used as certificates.
@_spi(Surfaces)
public enum CertificateFileFault: Error, Hashable, Sendable, CustomStringConvertible {
    case malformedPEM(PEMFileError)
    case malformedCertificate(ASN1DecodingError)
    case noCertificate

    public var description: String {
        switch self {
        case .malformedPEM(let error): error.description
        case .malformedCertificate(let error): "not a certificate: \(error)"
        case .noCertificate: "no certificate among the PEM blocks"
        }
    }
}
