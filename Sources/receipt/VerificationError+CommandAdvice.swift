import AppStoreReceipt

/// The options that were given, as far as advice depends on them.
struct GivenOptions {
    var trust = Trust.apple
    /// `--at`
    var hasDate = false

    enum Trust {
        case apple
        /// `--root`
        case roots
        /// `--xcode-root`
        case storeKitTesting
    }
}

extension VerificationError {
    /// One or two sentences that say what to do. They name the options of the command, where ``advice`` names the members of the API.
    func commandAdvice(_ options: GivenOptions) -> String {
        switch (stage, code) {
        case (.policy, "bundle-id-mismatch"):
            "If the app is yours, pass its bundle id with --bundle-id. Otherwise refuse the evidence."
        case (.policy, "app-apple-id-mismatch"):
            "If the app is yours, pass its Apple id with --app-apple-id. Otherwise refuse the evidence."
        case (.policy, "environment-mismatch"): environmentAdvice(options)
        case (.verifier, "no-app-apple-id"): "Pass the app's Apple id with --app-apple-id."
        case (.verifier, "unusable-trust-anchor") where options.trust == .storeKitTesting:
            "Pass Xcode's certificate with --xcode-root; its key must be RSA of 2048 to 4096 bits, P-256 or P-384."
        case (.verifier, "no-trust-anchor"), (.verifier, "unusable-trust-anchor"):
            "Pass a self-signed root certificate with --root; its key must be RSA of 2048 to 4096 bits, P-256 or P-384."
        case (_, "input-too-large"):
            "The command reads receipts of up to \(VerificationLimits().maximumByteCount >> 20) MiB and JWS of up to \(VerificationLimits().maximumJWSByteCount >> 20) MiB."
        case (.container, "too-many-elements"):
            "Apple's receipts are far below the limits of the command. Have the app refresh its receipt."
        case (.signature, "rsa-1024-not-allowed"):
            "To accept it, pass --allow-rsa-1024. Anyone who can factor Apple's 1024-bit key can then forge such receipts."
        case (_, "unpinned-issuer"):
            "Apple did not sign it. If you minted it, pass its root and its intermediate with --root."
        case (.header, "unsupported-version"), (.header, "signature-truncated"),
            (.header, "certificate-length-mismatch"):
            advice
        case (.header, _):
            options.trust == .storeKitTesting
                ? "Xcode does not send such a header. If Apple signed the JWS, omit --xcode-root."
                : "Apple does not send such a header. If Xcode made the JWS, pass Xcode's certificate with --xcode-root."
        case (.chain, "certificate-expired") where options.hasDate:
            "Evidence outlives its signer's certificate. To validate it at its signing date, omit --at."
        case (.chain, "certificate-not-yet-valid") where options.hasDate:
            "The signer's certificate was not valid yet at that date. To validate it at the signing date, omit --at."
        case (.chain, "certificate-expired"):
            "The evidence is dated after its signer's certificate expired. Refuse it."
        case (.chain, "distrusted-certificate"):
            "A certificate that you passed with --distrust signed it. Refuse the evidence."
        case (.chain, "untrusted-chain"):
            switch options.trust {
            case .apple:
                "Apple did not sign it. If you minted it, pass its root certificate with --root. If Xcode made it, pass Xcode's certificate with --xcode-root."
            case .roots:
                "No root passed with --root signed it. If Apple signed it, omit --root. If Xcode made it, pass Xcode's certificate with --xcode-root instead."
            case .storeKitTesting:
                "The certificate passed with --xcode-root did not sign it. If Apple signed it, omit --xcode-root."
            }
        case (.chain, _) where options.trust != .apple,
            (.signature, "malformed-certificate") where options.trust != .apple:
            "Its certificates are not like those of Apple's signers. Refuse the evidence."
        case (.chain, _), (.signature, "malformed-certificate"), (.signature, "certificate-too-large"):
            "Apple did not sign the evidence. Refuse it."
        case (.signature, "weak-algorithm"), (.signature, "unsupported-algorithm"), (.signature, "algorithm-mismatch"),
            (.signature, "weak-key"), (.signature, "unsupported-key"):
            "Apple never signs with this algorithm. Refuse the evidence."
        case (.payload, "missing-member"):
            "Apple signed it, but it is not of a kind that this version knows. Keep it, and look for a newer version."
        case (.verifier, "algorithm-unavailable"):
            "Allow SHA-1 signatures on this host. On RHEL 9, run `update-crypto-policies --set DEFAULT:SHA1`."
        default: advice
        }
    }

    /// Which environments can be accepted depends on the trust.
    private func environmentAdvice(_ options: GivenOptions) -> String {
        switch (foundEnvironment, options.trust) {
        case (.production, .storeKitTesting), (.sandbox, .storeKitTesting):
            "With --xcode-root, only Xcode's evidence is accepted. If Apple signed it, omit --xcode-root. Otherwise refuse it."
        case (.production, _):
            "It is from production, which you did not accept. To accept it, pass --environment production."
        case (.sandbox, _):
            "TestFlight and App Review use the sandbox. To accept it, pass --environment sandbox."
        case (.xcode, _), (.localTesting, _), (nil, _):
            "It is from Xcode, where nobody pays. In tests, pass Xcode's certificate with --xcode-root."
        }
    }
}
