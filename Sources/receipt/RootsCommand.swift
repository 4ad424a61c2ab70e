import AppStoreReceipt
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
        options: [],
        notes: """
            Each line has the SHA-256 fingerprint, the date the certificate expires, and its subject.
            A FILE is a bundle of certificates, in PEM, such as Debian's testssl.sh has of Apple's:
              receipt roots /etc/testssl/Apple.pem

            Exit status: 1 if a FILE has a root certificate of Apple that has not expired and is not
            trusted by default, 2 if it has none of Apple's at all.
            """)

    private let files: [CertificateFile]

    init(_ arguments: Arguments) { files = arguments.operands.map { CertificateFile(name: $0) } }

    func run(_ console: inout Console) -> ExitStatus {
        if files.isEmpty {
            for root in TrustAnchor.appleRoots { if let line = Line(root) { console.print(line.description) } }
            return .passed
        }
        return files.reduce(.passed) { status, file in max(status, compare(file, &console)) }
    }

    private func compare(_ file: CertificateFile, _ console: inout Console) -> ExitStatus {
        let certificates: [TrustAnchor]
        do throws(CertificateFileError) {
            certificates = try file.trustAnchors()
        } catch {
            console.report(error.description)
            return .unusable
        }
        let (name, now) = (file.name.printable, Instant.now)
        let roots = certificates.filter { $0.isRoot && Line($0)?.isApple == true }
        guard !roots.isEmpty else {
            console.report("\(name): no root certificate of Apple")
            return .unusable
        }
        let unknown = roots.filter { !TrustAnchor.appleRoots.contains($0) }.compactMap(Line.init)
        let isOther = unknown.map { $0.expirationDate >= now }
        for (line, isOther) in zip(unknown, isOther) {
            console.print("\(name): \(isOther ? "not trusted by default" : "expired"): \(line)")
        }
        for line in TrustAnchor.appleRoots.filter({ !roots.contains($0) }).compactMap(Line.init) {
            console.print("\(name): not in it: \(line)")
        }
        guard isOther.contains(true) else {
            console.print("\(name): all valid roots of Apple are trusted by default")
            return .passed
        }
        return .refused
    }

    /// What is shown of a certificate; `nil` if it cannot be read.
    private struct Line: CustomStringConvertible {
        let fingerprint: Fingerprint
        let subject: String
        let expirationDate: Instant

        init?(_ anchor: TrustAnchor) {
            guard let certificate = try? Certificate(anchor.der.span), let validity = try? certificate.validity(),
                let subject = try? certificate.subject.distinguishedName(),
                let fingerprint = try? Fingerprint(of: anchor.der.span)
            else { return nil }
            (self.fingerprint, self.subject, expirationDate) = (fingerprint, subject, validity.upperBound)
        }

        /// Whether the organization is Apple, under its name of today or another.
        var isApple: Bool {
            subject.utf8.split(separator: UInt8(ascii: ",")).contains { $0.starts(with: "O=Apple".utf8) }
        }

        var description: String { "\(fingerprint)  \(expirationDate)  \(subject.printable)" }
    }
}
