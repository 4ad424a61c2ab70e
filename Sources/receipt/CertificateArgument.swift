@_spi(Surfaces) import AppStoreReceipt
import SignatureTrust

/// A file with certificates to trust.
struct CertificateArgument {
    let name: String

    func trustAnchors() throws(CertificateFileError) -> [TrustAnchor] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileInput(name).read()
        } catch {
            throw CertificateFileError(file: name, reason: .unreadable(error))
        }
        do throws(CertificateFileFault) {
            return try CertificateFile(bytes).certificates
        } catch {
            throw CertificateFileError(file: name, reason: .contents(error))
        }
    }
}

struct CertificateFileError: Error, Hashable, CustomStringConvertible {
    enum Reason: Hashable {
        case unreadable(SystemError)
        case contents(CertificateFileFault)
        /// `--distrust` names a root.
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
            case .contents(let fault): fault.description
            case .onlyRoots: "a root certificate cannot be distrusted: choose the roots to trust with --root"
            case .noFingerprint(let error): error.kind.explanation
            }
        return "\(file.printable): \(explanation)"
    }
}
