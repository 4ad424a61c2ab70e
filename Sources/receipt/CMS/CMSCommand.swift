import AppStoreReceipt
import CMSTrust
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText

/// `receipt cms`
struct CMSCommand: Command {
    static let syntax = CommandSyntax(
        name: "cms",
        summary: "Shows and verifies any signed message (CMS, PKCS#7)",
        operands: "[verify] [FILE|-]",
        maximumOperandCount: 2,
        options: [
            .init(
                "--content", "FILE", "The content of a detached message, exactly as it was signed."),
            .init(
                "--root", "FILE",
                "Trust the self-signed certificates in FILE (PEM or DER); may be repeated. Without it, nothing is verified.",
                isRepeatable: true),
            .init(
                "--intermediate", "FILE",
                "Certificates that the message may not contain: of issuers, or of the signer; may be repeated.",
                isRepeatable: true),
            .init(
                "--at", "now|signing|DATE",
                "Validate the certificates 'now' (the default), at the time that each signer states ('signing'), or at a date such as 2025-01-31T12:00:00Z. 2025-01-31 is its first moment in UTC."
            ),
            .init(
                "--purpose", "email|code|time|OID",
                "Require this purpose in the signer's certificate; may be repeated.", isRepeatable: true),
            .init(
                "--policy", "OID",
                "Require this certificate policy in the chain, or another that is given; may be repeated. Without it, any is accepted.",
                isRepeatable: true),
            .init(
                "--crl", "FILE",
                "Check the signer's certificate with the revocation lists in FILE (PEM or DER); may be repeated.",
                isRepeatable: true),
            .init(
                "--revocation", "signer|chain",
                "The certificates that the lists must cover: the signer's (the default), or the whole chain."),
            .init("--allow-sha1", "Accept SHA-1 signatures."),
            .init("--out", "FILE", "Write the content to FILE if it is verified."),
            .init("--format", "text|json", "'json' prints one line."),
            Style.quietOption,
        ] + Style.options,
        notes: """
            The message is binary (DER or BER), PEM with any label, or base64. Every signer must pass.

            Exit status: 0 if the message was verified, 1 if it was refused or no root was given,
            2 for wrong usage, an unreadable file, or a host whose libcrypto cannot do the work.
            """)

    private let input: FileInput
    private let content: String?
    private let roots: [String]
    private let intermediates: [String]
    private let date: Instant
    private let usesSigningTimes: Bool
    private let purposes: Set<ASN1ObjectIdentifier>
    private let certificatePolicies: Set<ASN1ObjectIdentifier>
    private let lists: [String]
    private let revocation: CMSPolicy.RevocationChecking
    private let allowsSHA1: Bool
    private let output: String?
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        content = arguments["--content"]
        roots = arguments.all("--root")
        intermediates = arguments.all("--intermediate")
        usesSigningTimes = arguments["--at"] == "signing"
        date =
            switch arguments["--at"] ?? "now" {
            case "now", "signing": .now
            case let text: try Instant(option: "--at", text, orOneOf: ["now", "signing"])
            }
        var purposes: Set<ASN1ObjectIdentifier> = []
        for text in arguments.all("--purpose") {
            let names: [String: ASN1ObjectIdentifier] = [
                "email": .emailProtection, "code": .codeSigning, "time": .timeStamping,
            ]
            guard let purpose = names[text] ?? ASN1ObjectIdentifier(text) else {
                throw .invalidValue(
                    option: "--purpose", value: text,
                    expected: "email, code, time, or an OBJECT IDENTIFIER such as 1.3.6.1.5.5.7.3.4",
                    suggestion: nearest(to: text, in: Array(names.keys)))
            }
            purposes.insert(purpose)
        }
        self.purposes = purposes
        var certificatePolicies: Set<ASN1ObjectIdentifier> = []
        for text in arguments.all("--policy") {
            guard let policy = ASN1ObjectIdentifier(text) else {
                throw .invalidValue(
                    option: "--policy", value: text, expected: "an OBJECT IDENTIFIER such as 2.16.840.1.101.3.2.1.48.1",
                    suggestion: nil)
            }
            certificatePolicies.insert(policy)
        }
        self.certificatePolicies = certificatePolicies
        lists = arguments.all("--crl")
        switch arguments["--revocation"] {
        case "chain": revocation = .chain
        case "signer": revocation = .signer
        default: revocation = lists.isEmpty ? .none : .signer
        }
        allowsSHA1 = arguments["--allow-sha1"] != nil
        output = arguments["--out"]
        isJSON = arguments["--format"] == "json"
        isQuiet = arguments["--quiet"] != nil
        // `receipt cms verify FILE` is what people write first.
        let inputs = try arguments.inputs(after: "verify")
        guard inputs.count <= 1 else { throw .unexpectedOperand(inputs[1].name) }
        input = inputs.first ?? .standardInput
    }

    func run(_ console: inout Console) -> ExitStatus {
        let message: [UInt8]
        let content: [UInt8]?
        let verifier: (verifier: CMSVerifier, refusedRoots: [String])?
        do throws(CMSFileError) {
            message = try CMSFile(name: input.name).message()
            content = try self.content.map { (name) throws(CMSFileError) in try CMSFile(name: name).content() }
            verifier = try makeVerifier()
        } catch {
            if isJSON { console.print(utf8: CMSReport.failure(error, file: input.name)) }
            console.report(error.description)
            return .unusable
        }
        let verdict = CMSReport.Verdict(
            verifier.map { (verifier, _) in
                Result { () throws(CMSVerificationError) in
                    try verifier.verify(
                        message, content, nil, date, usesSigningTimes: usesSigningTimes)
                }
            })
        let report = CMSReport(
            file: input.name, outline: CMSReport.outline(message), verdict: verdict,
            advice: CMSAdvice(message, verdict, refusedRoots: verifier?.refusedRoots ?? []).text)
        if !isQuiet || verdict.exitStatus != .passed {
            if isJSON { console.print(utf8: report.json()) } else { report.print(to: &console) }
        }
        if case .verified(let verified) = verdict, let output {
            do throws(SystemError) {
                let content = verified.content
                try System.write(content.span, toFile: output)
            } catch {
                console.report("\(output.printable): \(error)")
                return .unusable
            }
        }
        return verdict.exitStatus
    }

    /// Returns the verifier, and for each root that cannot end a chain its place and the reason; `nil` without a root.
    private func makeVerifier() throws(CMSFileError) -> (CMSVerifier, refusedRoots: [String])? {
        guard !roots.isEmpty else { return nil }
        var policy = CMSPolicy(anchors: [])
        var places = CMSFilePlaces()
        for name in roots {
            let anchors = try CMSFile(name: name).trustAnchors()
            places.roots += CMSFilePlaces.of(name, "certificate", anchors.count)
            policy.anchors += anchors
        }
        for name in intermediates {
            policy.additionalCertificates += try CMSFile(name: name).trustAnchors().map(\.der)
        }
        for name in lists {
            let read = try CMSFile(name: name).revocationLists()
            places.lists += CMSFilePlaces.of(name, "list", read.count)
            policy.revocationLists += read
        }
        policy.revocation = revocation
        policy.purposes = purposes
        policy.certificatePolicies = certificatePolicies
        policy.algorithms.allowsSHA1 = allowsSHA1
        do throws(CMSVerificationError) {
            var refused: [String] = []
            let verifier = try CMSVerifier(policy: policy) { refused.append("\(places.roots[$0]): \($1)") }
            return (verifier, refused)
        } catch {
            throw .policy(error, places.place(of: error))
        }
    }
}

/// The files of a policy's certificates and lists, by their indices in it: `root.pem`, or `roots.pem, certificate 2 of
/// 3`.
private struct CMSFilePlaces {
    var roots: [String] = []
    var lists: [String] = []

    static func of(_ file: String, _ what: String, _ count: Int) -> [String] {
        count == 1 ? [file.printable] : (1...max(1, count)).map { "\(file.printable), \(what) \($0) of \(count)" }
    }

    /// Returns the place of the fault; `nil` if it is in none of the files.
    func place(of error: CMSVerificationError) -> String? {
        guard let index = error.index else { return nil }
        let places = error.path.field == .crls ? lists : roots
        return places.indices.contains(index) ? places[index] : nil
    }
}

/// A file that `receipt cms` reads.
struct CMSFile {
    let name: String

    /// Returns the whole file, because all of the content is signed.
    func content() throws(CMSFileError) -> [UInt8] { try bytes(maximumByteCount: .max, isContent: true) }

    private func bytes(maximumByteCount: Int, isContent: Bool = false) throws(CMSFileError) -> [UInt8] {
        do throws(SystemError) {
            return try FileInput(name).read(maximumByteCount: maximumByteCount, isContent: isContent)
        } catch {
            throw .unreadable(name, error)
        }
    }

    /// Returns the message from the text around it.
    ///
    /// - Throws: ``CMSFileError/severalMessages(_:count:)`` if there are several: one verdict would seem to apply to
    ///   all.
    func message() throws(CMSFileError) -> [UInt8] {
        let parts = try parts()
        guard parts.count == 1 else { throw .severalMessages(name, count: parts.count) }
        return parts[0]
    }

    func trustAnchors() throws(CMSFileError) -> [TrustAnchor] {
        do throws(CertificateFileError) {
            return try CertificateArgument(name: name).trustAnchors()
        } catch {
            throw .certificates(error)
        }
    }

    func revocationLists() throws(CMSFileError) -> [[UInt8]] { try parts() }

    private func parts() throws(CMSFileError) -> [[UInt8]] {
        let bytes = try bytes(maximumByteCount: FileInput.maximumFileByteCount)
        do throws(ASN1InputError) {
            return try ASN1Input.parts(of: bytes).map(\.bytes)
        } catch {
            throw .unreadableText(name, error)
        }
    }
}

enum CMSFileError: Error {
    case unreadable(String, SystemError)
    case unreadableText(String, ASN1InputError)
    case severalMessages(String, count: Int)
    case certificates(CertificateFileError)
    /// No verifier can be made from the files. The place is that of the certificate or list at fault.
    case policy(CMSVerificationError, String?)
}

extension CMSFileError: CustomStringConvertible {
    var description: String {
        switch self {
        case .unreadable(let file, let error): "\(file.printable): \(error)"
        case .unreadableText(let file, let error): "\(file.printable): \(error)"
        case .severalMessages(let file, let count):
            "\(file.printable): the file has \(count) PEM blocks; it must have one, the message"
        case .certificates(let error): error.description
        case .policy(let error, let place):
            "\(place ?? "the given certificates and lists"): cannot be used: \(error)"
        }
    }
}
