import AppStoreReceipt
import SignatureTrust

/// `receipt verify`
struct VerifyCommand: Command {
    static let syntax = CommandSyntax(
        name: "verify",
        summary: "Verifies receipts and StoreKit 2 data offline and shows what they say",
        operands: "[FILE|-]...",
        options: [
            .init(name: "--bundle-id", value: "ID", help: "The app's bundle id; not checked when left out."),
            .init(
                name: "--app-apple-id", value: "NUMBER",
                help: "The app's Apple id, for StoreKit 2 data; not checked when left out."),
            .init(
                name: "--environment", value: "production|sandbox",
                help: "Accept this environment; may be repeated. Not checked when left out.", isRepeatable: true),
            .init(
                name: "--root", value: "FILE",
                help: "Trust the certificates in FILE (PEM or DER) in place of Apple's;\nmay be repeated.",
                isRepeatable: true),
            .init(
                name: "--xcode-root", value: "FILE",
                help: "Accept what StoreKit Testing has signed with the certificate in FILE, and\nnothing else."),
            .init(
                name: "--at", value: "DATE",
                help:
                    "Judge the certificates at the date of signing ('creation', the default),\n'now', or a date such as 2025-01-31T12:00:00Z."
            ),
            .init(name: "--format", value: "text|json", help: "'json' prints one line for each input."),
        ],
        notes: """
            A receipt may be binary, base64, PEM, or JSON with 'receipt-data'. StoreKit 2 data is a
            JWS in its compact form: a transaction, renewal information, an app transaction, a
            notification, whose signed parts are verified too, or a real-time request.
            '-' is standard input.
            Exit status: 0 when all were verified, 1 when one was refused, 2 for wrong usage,
            an unreadable file, or a host whose libcrypto cannot verify receipts.
            """)

    private enum Trust {
        case apple
        case roots([String])
        case storeKitTesting(String)
    }

    private let inputs: [FileInput]
    private let bundleID: String?
    private let appAppleID: Int64?
    private let environments: Set<ReceiptEnvironment>
    private let trust: Trust
    private let validationDate: ReceiptPolicy.ValidationDate
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        bundleID = arguments["--bundle-id"]
        environments = Set(arguments.all("--environment").compactMap(ReceiptEnvironment.init(rawValue:)))
        appAppleID = try arguments["--app-apple-id"].map { text throws(UsageError) in
            guard let id = Int64(text), id > 0 else {
                throw .invalidValue(option: "--app-apple-id", value: text, expected: "a number", suggestion: nil)
            }
            return id
        }
        let roots = arguments.all("--root")
        if let file = arguments["--xcode-root"] {
            guard roots.isEmpty else { throw .conflictingOptions("--xcode-root", "--root") }
            guard environments.isEmpty else { throw .conflictingOptions("--xcode-root", "--environment") }
            trust = .storeKitTesting(file)
        } else {
            trust = roots.isEmpty ? .apple : .roots(roots)
        }
        switch arguments["--at"] ?? "creation" {
        case "creation": validationDate = .creationDate
        case "now": validationDate = .now
        case let text:
            guard let date = Timestamp(rfc3339: text) else {
                throw .invalidValue(
                    option: "--at", value: text, expected: "creation, now, or a date such as 2025-01-31T12:00:00Z",
                    suggestion: nearest(to: text, in: ["creation", "now"]))
            }
            validationDate = .date(date)
        }
        isJSON = arguments["--format"] == "json"
        inputs = try arguments.inputs()
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let verifier = makeVerifier(&console) else { return .unusable }
        let report = TextReport(
            style: console.style,
            verification: .init(checksBundleID: bundleID != nil, checksEnvironment: checksEnvironment))
        var writer = JSONWriter()
        var status = ExitStatus.passed
        for (index, input) in inputs.enumerated() {
            if index > 0, !isJSON { console.print() }
            let bytes: [UInt8]
            do throws(SystemError) {
                bytes = try input.read()
            } catch {
                input.report(error, asJSON: isJSON, &console)
                status.formMaximum(.unusable)
                continue
            }
            let result = Result { () throws(EvidenceError) in try verifier.verify(anyEvidence: bytes) }
            if case .failure(let error) = result { status.formMaximum(ExitStatus(error)) }
            if isJSON {
                writer.verdict(result, file: input.name)
                console.print(utf8: writer.bytes)
                writer.removeAll()
            } else {
                report.print(result, of: input, bytes, to: &console)
            }
        }
        return status
    }

    private var checksEnvironment: Bool {
        if case .storeKitTesting = trust { true } else { !environments.isEmpty }
    }

    private func makeVerifier(_ console: inout Console) -> EvidenceVerifier? {
        do throws(CertificateFileError) {
            let trust: ReceiptTrust
            switch self.trust {
            case .apple: trust = .apple
            case .roots(let files):
                var anchors: [TrustAnchor] = []
                for file in files { anchors += try CertificateFile(name: file).trustAnchors() }
                trust = .roots(anchors)
            case .storeKitTesting(let file):
                trust = .storeKitTesting(try CertificateFile(name: file).trustAnchors())
            }
            do throws(EvidenceError) {
                return try EvidenceVerifier(receipts: receiptVerifier(trust), signedData: signedDataVerifier(trust))
            } catch {
                console.report("\(error.code): \(error)")
            }
        } catch {
            console.report(error.description)
        }
        return nil
    }

    private func receiptVerifier(_ trust: ReceiptTrust) throws(EvidenceError) -> ReceiptVerifier {
        var policy = ReceiptPolicy(bundleIDs: bundleID.map { [$0] }, environments: accepted([.xcode]))
        policy.validationDate = validationDate
        do throws(ReceiptError) {
            do throws(ReceiptError) {
                return try ReceiptVerifier(policy: policy, trust: trust)
            } catch .configuration(.unusableTrustAnchor) {
                // Receipts are signed with RSA; a root that was given for StoreKit 2 data may be on an elliptic curve.
                policy.algorithms.kinds.insert(.ecdsa)
                policy.algorithms.curves = [.p256, .p384]
                return try ReceiptVerifier(policy: policy, trust: trust)
            }
        } catch {
            throw .receipt(error)
        }
    }

    private func signedDataVerifier(_ trust: ReceiptTrust) throws(EvidenceError) -> SignedDataVerifier {
        var policy = SignedDataPolicy(
            bundleIDs: bundleID.map { [$0] }, appAppleID: appAppleID, environments: accepted([.xcode, .localTesting]))
        policy.validationDate =
            switch validationDate {
            case .creationDate: .signedDate
            case .now: .now
            case .date(let date): .date(date)
            }
        do throws(SignedDataError) {
            return try SignedDataVerifier(policy: policy, trust: trust)
        } catch {
            throw .signedData(error)
        }
    }

    private func accepted(_ environmentsOfStoreKitTesting: Set<ReceiptEnvironment>) -> Set<ReceiptEnvironment> {
        if case .storeKitTesting = trust { return environmentsOfStoreKitTesting }
        return environments.isEmpty ? [.production, .sandbox] : environments
    }
}

extension ExitStatus {
    /// A host that cannot do the work is no refusal.
    init(_ error: ReceiptError) { self = error.stage == .verifier ? .unusable : .refused }

    init(_ error: EvidenceError) {
        switch error {
        case .receipt(let error): self.init(error)
        case .signedData(let error): self = error.stage == .verifier ? .unusable : .refused
        }
    }
}

extension FileInput {
    /// Says that the input cannot be read; as JSON besides, so that each input has its line.
    func report(_ error: SystemError, asJSON: Bool, _ console: inout Console) {
        if asJSON {
            var writer = JSONWriter()
            writer.failure(code: "unreadable-file", message: error.description, file: name)
            console.print(utf8: writer.bytes)
        }
        console.report("\(name.printable): \(error)")
    }
}
