import AppStoreReceipt

extension VerificationError {
    /// What to do about it, for users of the command: in terms of its options, where the error's own advice is in terms of the library's.
    var commandAdvice: String {
        switch (stage, code) {
        case (.policy, "bundle-id-mismatch"):
            "If it is your app, pass its bundle id with --bundle-id. Otherwise refuse it."
        case (.policy, "app-apple-id-mismatch"):
            "If it is your app, pass its Apple id with --app-apple-id. Otherwise refuse it."
        case (.policy, "environment-mismatch"):
            "To accept it, pass --environment \(found ?? ""). Evidence from TestFlight and App Review is from the sandbox."
        case (.verifier, "no-app-apple-id"): "Pass the app's Apple id with --app-apple-id."
        case (.verifier, "no-trust-anchor"), (.verifier, "unusable-trust-anchor"):
            "Pass a self-signed root certificate with --root; its key must be RSA of 2048 to 4096 bits, P-256 or P-384."
        case (_, "input-too-large"):
            "The command reads receipts of up to \(VerificationLimits().maximumByteCount >> 20) MiB and JWS of up to \(VerificationLimits().maximumJWSByteCount >> 20) MiB."
        case (.header, _):
            "Apple does not send such a header. Made by Xcode? Pass Xcode's certificate with --xcode-root."
        case (.chain, "certificate-expired"):
            "Evidence outlives its signer's certificate. To judge it at its date of signing, leave out --at."
        case (.chain, "untrusted-chain"):
            "Apple did not sign it. Minted by you? Pass its root with --root. Made by Xcode? Pass Xcode's certificate with --xcode-root."
        case (.chain, _): "Apple did not sign it: refuse it."
        case (.signature, "weak-algorithm"), (.signature, "unsupported-algorithm"), (.signature, "weak-key"):
            "Apple never signs with this algorithm: refuse it."
        default: advice
        }
    }
}
