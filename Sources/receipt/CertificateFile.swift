import AppStoreReceipt
import SignatureTrust
import SpanASN1
import StrictText

/// A file with certificates to trust: one in DER, or any number in PEM.
struct CertificateFile {
    let name: String

    func trustAnchors() throws(CertificateFileError) -> [TrustAnchor] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileInput(name).read()
        } catch {
            throw CertificateFileError(file: name, reason: .unreadable(error))
        }
        let file: PEMFile?
        do throws(PEMFileError) {
            file = try PEMFile(bytes)
        } catch {
            throw CertificateFileError(file: name, reason: .malformedPEM(error))
        }
        guard let file else { return [try anchor(bytes)] }
        var anchors: [TrustAnchor] = []
        for block in file.blocks where block.label.hasSameBytes(as: "CERTIFICATE") {
            anchors.append(try anchor(block.bytes))
        }
        guard !anchors.isEmpty else { throw CertificateFileError(file: name, reason: .noCertificate) }
        return anchors
    }

    private func anchor(_ der: [UInt8]) throws(CertificateFileError) -> TrustAnchor {
        do throws(ASN1DecodingError) {
            return try TrustAnchor(der: der)
        } catch {
            throw CertificateFileError(file: name, reason: .malformedCertificate(error))
        }
    }
}

struct CertificateFileError: Error, Hashable, CustomStringConvertible {
    enum Reason: Hashable {
        case unreadable(SystemError)
        case malformedPEM(PEMFileError)
        case malformedCertificate(ASN1DecodingError)
        case noCertificate
        /// `--distrust` cannot be about roots.
        case onlyRoots
        /// The host does not compute SHA-256.
        case noFingerprint(SignatureTrustError)
    }

    let file: String
    let reason: Reason

    var description: String {
        let explanation =
            switch reason {
            case .unreadable(let error): error.description
            case .malformedPEM(let error): error.description
            case .malformedCertificate(let error): "not a certificate: \(error)"
            case .noCertificate: "no certificate among the PEM blocks"
            case .onlyRoots: "a root certificate cannot be distrusted: choose the roots to trust with --root"
            case .noFingerprint(let error): error.kind.explanation
            }
        return "\(file.printable): \(explanation)"
    }
}
