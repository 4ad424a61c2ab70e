@_spi(Surfaces) import AppStoreReceipt
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText

/// `receipt roots`
struct RootsCommand: Command {
    static let syntax = CommandSyntax(
        name: "roots",
        summary: "Lists the root certificates that are trusted by default, or compares them with Apple's",
        operands: "[FILE]...",
        options: [
            .init("--pem", "Print the certificates in PEM, for a file to pass with --root.")
        ],
        notes: """
            Each line has the SHA-256 fingerprint, the date the certificate expires, and its subject.
            A FILE is a bundle of certificates, in PEM, such as Debian's testssl.sh has of Apple's:
              receipt roots /etc/testssl/Apple.pem

            --root replaces the roots that are trusted by default. To trust another one beside them:
              receipt roots --pem > roots.pem
              cat another.pem >> roots.pem
              receipt verify --root roots.pem receipt.der

            Exit status: 1 if a FILE has a root certificate of Apple that has not expired and is not
            trusted by default, 2 if it has none of Apple's at all.
            """)

    private let files: [CertificateArgument]
    private let printsPEM: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        files = arguments.operands.map { CertificateArgument(name: $0) }
        printsPEM = arguments["--pem"] != nil
        if printsPEM, !files.isEmpty { throw .conflictingOptions("--pem", "FILE") }
    }

    func run(_ console: inout Console) -> ExitStatus {
        if printsPEM {
            for root in TrustAnchor.appleRoots { console.print(PEMFile.text(of: root.der, label: "CERTIFICATE")) }
            return .passed
        }
        do throws(CertificateFileError) {
            let trusted = try TrustAnchor.appleRoots.map { (root) throws(CertificateFileError) in
                try Root(root, in: "the roots of this program")
            }
            if files.isEmpty { for root in trusted { console.print(root.description) } }
            var status = ExitStatus.passed
            for file in files { status = max(status, try compare(file, trusted, &console)) }
            return status
        } catch {
            console.report(error.description)
            return .unusable
        }
    }

    private func compare(
        _ file: CertificateArgument, _ trusted: [Root], _ console: inout Console
    ) throws(CertificateFileError) -> ExitStatus {
        let (name, now) = (file.name.printable, Instant.now)
        let found = try file.trustAnchors().filter(\.isRoot).map { (root) throws(CertificateFileError) in
            try Root(root, in: file.name)
        }.filter(\.isApple)
        guard !found.isEmpty else {
            console.report("\(name): no root certificate of Apple")
            return .unusable
        }
        var status = ExitStatus.passed
        for root in found where !trusted.contains(where: { $0.fingerprint == root.fingerprint }) {
            let isExpired = root.expirationDate < now
            console.print("\(name): \(isExpired ? "expired" : "not trusted by default"): \(root)")
            if !isExpired { status = .refused }
        }
        for root in trusted where !found.contains(where: { $0.fingerprint == root.fingerprint }) {
            console.print("\(name): not in it: \(root)")
        }
        if status == .passed { console.print("\(name): all valid roots of Apple are trusted by default") }
        return status
    }

    /// What is shown of a root certificate.
    private struct Root: CustomStringConvertible {
        let fingerprint: Fingerprint
        let subject: String
        let expirationDate: Instant

        init(_ anchor: TrustAnchor, in file: String) throws(CertificateFileError) {
            do throws(SignatureTrustError) {
                fingerprint = try Fingerprint(of: anchor.der.span)
            } catch {
                throw CertificateFileError(file: file, reason: .noFingerprint(error))
            }
            do throws(ASN1DecodingError) {
                let certificate = try Certificate(anchor.der.span)
                subject = try certificate.subject.distinguishedName()
                expirationDate = try certificate.validity().upperBound
            } catch {
                throw CertificateFileError(file: file, reason: .contents(.malformedCertificate(error)))
            }
        }

        /// Whether the organization is Apple, under any of its names.
        var isApple: Bool {
            subject.utf8.split(separator: UInt8(ascii: ",")).contains { $0.starts(with: "O=Apple".utf8) }
        }

        var description: String { "\(fingerprint)  \(expirationDate)  \(subject.printable)" }
    }
}
