@_spi(Surfaces) import AppStoreReceipt
import SignatureTrust
import StrictText

/// The options that verifying commands share: what to accept, and which certificates to trust.
struct VerifierOptions {
    static let options = options(areAboutDecisions: false)
    /// The options about what purchases mean.
    static let decisionOptions = options(areAboutDecisions: true)

    private static func options(areAboutDecisions: Bool) -> [CommandSyntax.Option] {
        VerifierSetting.onCommandLine(of: .command).filter { $0.row.isAboutDecisions == areAboutDecisions }
            .compactMap { setting in
                setting.name(on: .command).map { name in
                    CommandSyntax.Option(
                        name, setting.flagValue,
                        setting.flagHelp(.inspecting) + (setting.isRepeatable ? " May be repeated." : ""),
                        isRepeatable: setting.isRepeatable)
                }
            }
    }

    private var settings = VerifierSettings(.inspecting)
    /// The values that are read when the verifier is made.
    private var files: [(setting: VerifierSetting, name: String)] = []
    /// The audience of advice: a user who gave these options.
    let audience: Audience

    /// - Parameter hasValidationDate: Whether `--at` is the validation date of the certificates.
    init(_ arguments: Arguments, hasValidationDate: Bool = true) throws(UsageError) {
        for setting in VerifierSetting.onCommandLine(of: .command) {
            guard let option = setting.name(on: .command), hasValidationDate || setting != .validationDate else {
                continue
            }
            for value in arguments.all(option) {
                if setting.takesFiles, setting != .distrusted || Fingerprint(value) == nil {
                    files.append((setting, value))
                    continue
                }
                do throws(SettingFault) {
                    try settings.add(word: value, to: setting)
                } catch {
                    let words = setting.flagValue.split(separator: "|").map(String.init)
                        .filter { !$0.contains(where: \.isUppercase) }
                    throw .invalidValue(
                        option: option, value: value, expected: error.expected,
                        suggestion: nearest(to: value, in: words))
                }
            }
        }
        func isGiven(_ setting: VerifierSetting) -> Bool {
            setting.name(on: .command).map { !arguments.all($0).isEmpty } ?? false
        }
        if let (first, second) = VerifierSetting.conflict(where: isGiven), let first = first.name(on: .command),
            let second = second.name(on: .command)
        {
            throw .conflictingOptions(first, second)
        }
        audience = Audience(
            .command, trust: isGiven(.storeKitTesting) ? .storeKitTesting : isGiven(.roots) ? .roots : .apple,
            hasValidationDate: settings.verificationPolicy.validationDate != .whenSigned)
    }

    /// What the verifier does not check, in words, with the options that would.
    var unchecked: [String] {
        var all: [(what: String, setting: VerifierSetting)] = []
        if !settings.has(.bundleIDs) { all.append(("bundle id", .bundleIDs)) }
        if !files.contains(where: { $0.setting == .storeKitTesting }), !settings.has(.environments) {
            all.append(("environment", .environments))
        }
        return all.map { "\($0.what) (\($0.setting.name(on: .command) ?? ""))" }
    }

    /// What the app states of its products.
    var productTypes: ProductCatalog { ProductCatalog(settings.productTypes) }

    /// Returns the verifier; `nil` if it cannot be made, which is reported.
    func makeVerifier(_ console: inout Console) -> AppStoreVerifier? {
        do throws(CertificateFileError) {
            var settings = settings
            var issuers: [TransactionReceiptIssuer] = []
            for (setting, file) in files { issuers += try read(file, of: setting, into: &settings, &console) }
            // If there is no root, the verifier reports it.
            if files.contains(where: { $0.setting == .roots }), !settings.has(.roots) {
                for issuer in issuers.compactMap({ try? TrustAnchor(der: $0.der) }) { settings.add(issuer, to: .roots) }
            }
            do throws(VerificationError) {
                return try AppStoreVerifier(policy: settings.verificationPolicy, trust: settings.trust)
            } catch {
                console.report("\(error.code): \(error). \(error.advice(for: audience))")
            }
        } catch {
            console.report(error.description)
        }
        return nil
    }

    /// Reads a file, and returns the intermediates of transaction receipts in it.
    private func read(
        _ file: String, of setting: VerifierSetting, into settings: inout VerifierSettings, _ console: inout Console
    ) throws(CertificateFileError) -> [TransactionReceiptIssuer] {
        if setting == .distrusted {
            for fingerprint in try fingerprints(file, &console) { settings.addDistrusted(fingerprint) }
            return []
        }
        let certificates = try CertificateArgument(name: file).trustAnchors()
        let issuers = setting == .roots ? certificates.compactMap(\.transactionReceiptIssuer) : []
        for issuer in issuers { settings.add(issuer) }
        // A file with nothing else is accepted.
        guard certificates.count > issuers.count else { return issuers }
        let anchors = setting == .roots ? roots(certificates, in: file, &console) : certificates
        for anchor in anchors { settings.add(anchor, to: setting) }
        return issuers
    }

    /// The roots in a file. Other certificates, such as those of a whole chain, are skipped with a warning.
    private func roots(
        _ anchors: [TrustAnchor], in file: String, _ console: inout Console
    ) -> [TrustAnchor] {
        let roots = anchors.filter(\.isRoot)
        // If there is none, the verifier reports it.
        guard !roots.isEmpty, roots.count < anchors.count else { return anchors }
        console.report(
            "\(file.printable): \(anchors.count - roots.count) of \(anchors.count) certificates left out: not self-signed"
        )
        return roots
    }

    /// The fingerprints of the certificates in a `--distrust` file. Roots are skipped with a warning: no verifier
    /// compares them.
    private func fingerprints(
        _ value: String, _ console: inout Console
    ) throws(CertificateFileError) -> [Fingerprint] {
        let certificates = try CertificateArgument(name: value).trustAnchors()
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
}

extension TextReport {
    init(_ style: Style, of verifier: AppStoreVerifier, _ options: VerifierOptions) {
        self.init(
            style: style,
            verification: Verification(
                unchecked: options.unchecked, audience: options.audience, verifier: verifier))
    }
}

extension TrustAnchor {
    /// The certificate as an intermediate of transaction receipts; `nil` if it is a root, or has none of Apple's
    /// markers.
    fileprivate var transactionReceiptIssuer: TransactionReceiptIssuer? {
        guard !isRoot, let issuer = try? TransactionReceiptIssuer(der: der), !issuer.versions.isEmpty else {
            return nil
        }
        return issuer
    }
}
