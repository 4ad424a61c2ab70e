import AppStoreReceipt
import SignatureTrust
import StrictText

/// The options that verifying commands share: what to accept, and which certificates to trust.
struct VerifierOptions {
    static let options: [CommandSyntax.Option] = [
        .init(
            name: "--bundle-id", value: "ID", help: "Accept this app only. Without it, the bundle id is not checked."),
        .init(
            name: "--app-apple-id", value: "NUMBER",
            help: "Accept a JWS of this app only. Without it, the Apple id is not checked."),
        .init(
            name: "--environment", value: "production|sandbox",
            help: "Accept this environment; may be repeated. Without it, the environment is not checked.",
            isRepeatable: true),
        .init(
            name: "--root", value: "FILE",
            help:
                "Trust the certificates in FILE (PEM or DER) instead of Apple's; may be repeated. An intermediate with Apple's marker counts for transaction receipts, which do not contain theirs.",
            isRepeatable: true),
        .init(
            name: "--allow-rsa-1024", value: "",
            help:
                "Accept transaction receipts of version 2 (until 2015), which are signed with an RSA key of 1024 bits. Such keys are no longer safe."
        ),
        .init(
            name: "--xcode-root", value: "FILE",
            help: "Accept only what StoreKit Testing signed with the certificate in FILE."),
        .init(
            name: "--at", value: "creation|now|DATE",
            help:
                "Validate the certificates at the signing date ('creation', the default), 'now', or at a date such as 2025-01-31T12:00:00Z. 2025-01-31 is its first moment in UTC."
        ),
        .init(
            name: "--distrust", value: "FILE|FINGERPRINT",
            help:
                "Refuse what a signer's or intermediate certificate signed: those in FILE (PEM or DER), or the one with this SHA-256 in hexadecimal; may be repeated.",
            isRepeatable: true),
    ]

    private enum Trust {
        case apple
        case roots([String])
        case storeKitTesting(String)
    }

    private let bundleID: String?
    private let appAppleID: String?
    private let environments: Set<AppStoreEnvironment>
    private let trust: Trust
    private let allowsRSA1024: Bool
    private let validationDate: VerificationPolicy.ValidationDate
    private let distrusted: [String]
    /// What advice depends on.
    let given: GivenOptions

    /// - Parameter hasValidationDate: Whether `--at` is the validation date of the certificates.
    init(_ arguments: Arguments, hasValidationDate: Bool = true) throws(UsageError) {
        bundleID = arguments["--bundle-id"]
        environments = Set(arguments.all("--environment").compactMap(AppStoreEnvironment.init(rawValue:)))
        appAppleID = try arguments["--app-apple-id"].map { text throws(UsageError) in
            guard let id = Int64(text), id > 0 else {
                throw .invalidValue(option: "--app-apple-id", value: text, expected: "a number", suggestion: nil)
            }
            return String(id)
        }
        allowsRSA1024 = arguments["--allow-rsa-1024"] != nil
        let roots = arguments.all("--root")
        if let file = arguments["--xcode-root"] {
            guard roots.isEmpty else { throw .conflictingOptions("--xcode-root", "--root") }
            guard environments.isEmpty else { throw .conflictingOptions("--xcode-root", "--environment") }
            trust = .storeKitTesting(file)
        } else {
            trust = roots.isEmpty ? .apple : .roots(roots)
        }
        switch hasValidationDate ? arguments["--at"] ?? "creation" : "creation" {
        case "creation": validationDate = .signing
        case "now": validationDate = .now
        case let text:
            validationDate = .date(try Instant(option: "--at", text, orOneOf: ["creation", "now"]))
        }
        distrusted = arguments.all("--distrust")
        given = GivenOptions(
            trust: arguments["--xcode-root"] != nil ? .storeKitTesting : roots.isEmpty ? .apple : .roots,
            hasDate: validationDate != .signing)
    }

    var checksBundleID: Bool { bundleID != nil }

    var checksEnvironment: Bool {
        if case .storeKitTesting = trust { true } else { !environments.isEmpty }
    }

    /// Returns the verifier; `nil` if it cannot be made, which is reported.
    func makeVerifier(_ console: inout Console) -> AppStoreVerifier? {
        do throws(CertificateFileError) {
            let trust: AppStoreTrust
            switch self.trust {
            case .apple: trust = .apple
            case .roots(let files):
                var anchors: [TrustAnchor] = []
                var issuers: [TransactionReceiptIssuer] = []
                for file in files {
                    let certificates = try CertificateFile(name: file).trustAnchors()
                    let marked = certificates.compactMap(\.transactionReceiptIssuer)
                    issuers += marked
                    // A file that has nothing else is no mistake.
                    if marked.count < certificates.count { anchors += roots(certificates, in: file, &console) }
                }
                // Without any root, the verifier says so.
                if anchors.isEmpty { anchors = issuers.compactMap { try? TrustAnchor(der: $0.der) } }
                trust = issuers.isEmpty ? .roots(anchors) : .adding(issuers, to: .roots(anchors))
            case .storeKitTesting(let file):
                trust = .storeKitTesting(try CertificateFile(name: file).trustAnchors())
            }
            var policy = policy
            for name in distrusted { policy.distrusted.formUnion(try fingerprints(name, &console)) }
            do throws(VerificationError) {
                return try AppStoreVerifier(policy: policy, trust: trust)
            } catch {
                console.report("\(error.code): \(error). \(error.commandAdvice(given))")
            }
        } catch {
            console.report(error.description)
        }
        return nil
    }

    /// The roots in a file. A whole chain may stand there, since that is how chains are handed out; what is no root is left out, and told.
    private func roots(
        _ anchors: [TrustAnchor], in file: String, _ console: inout Console
    ) -> [TrustAnchor] {
        let roots = anchors.filter(\.isRoot)
        // Without any, the verifier says so.
        guard !roots.isEmpty, roots.count < anchors.count else { return anchors }
        console.report(
            "\(file.printable): \(anchors.count - roots.count) of \(anchors.count) certificates left out: not self-signed"
        )
        return roots
    }

    /// The fingerprints that a value of `--distrust` names. Roots are left out, and told: no verifier compares them.
    private func fingerprints(
        _ value: String, _ console: inout Console
    ) throws(CertificateFileError) -> [Fingerprint] {
        if let fingerprint = Fingerprint(hex: value) { return [fingerprint] }
        let certificates = try CertificateFile(name: value).trustAnchors()
        let others = certificates.filter { !$0.isRoot }
        guard !others.isEmpty else { throw CertificateFileError(file: value, reason: .onlyRoots) }
        if others.count < certificates.count {
            console.report(
                "\(value.printable): \(certificates.count - others.count) of \(certificates.count) certificates left out: roots are chosen with --root"
            )
        }
        var fingerprints: [Fingerprint] = []
        for certificate in others {
            do throws(SignatureTrustError) {
                fingerprints.append(try Fingerprint(of: certificate.der.span))
            } catch {
                throw CertificateFileError(file: value, reason: .noFingerprint(error))
            }
        }
        return fingerprints
    }

    private var policy: VerificationPolicy {
        let accepted: Set<AppStoreEnvironment> =
            if case .storeKitTesting = trust {
                [.xcode, .localTesting]
            } else {
                environments.isEmpty ? [.production, .sandbox] : environments
            }
        var policy = VerificationPolicy(
            bundleIDs: bundleID.map { [$0] }, appAppleID: appAppleID, environments: accepted)
        policy.validationDate = validationDate
        policy.allowsRSA1024TransactionReceipts = allowsRSA1024
        return policy
    }
}

extension TextReport {
    init(_ style: Style, of verifier: AppStoreVerifier, _ options: VerifierOptions) {
        self.init(
            style: style,
            verification: Verification(
                checksBundleID: options.checksBundleID, checksEnvironment: options.checksEnvironment,
                given: options.given, verifier: verifier))
    }
}

extension TrustAnchor {
    /// The certificate as an intermediate of transaction receipts, if it is one: with one of Apple's markers, and no root.
    fileprivate var transactionReceiptIssuer: TransactionReceiptIssuer? {
        guard !isRoot, let issuer = try? TransactionReceiptIssuer(der: der), !issuer.versions.isEmpty else {
            return nil
        }
        return issuer
    }
}
