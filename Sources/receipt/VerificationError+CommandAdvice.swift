import AppStoreReceipt

extension VerificationError {
    /// One or two sentences that say what to do. They name the options of the command, where ``advice`` names the members of the API.
    var commandAdvice: String {
        switch (stage, code) {
        case (.policy, "bundle-id-mismatch"):
            "If the app is yours, pass its bundle id with --bundle-id. Otherwise refuse the evidence."
        case (.policy, "app-apple-id-mismatch"):
            "If the app is yours, pass its Apple id with --app-apple-id. Otherwise refuse the evidence."
        case (.policy, "environment-mismatch"):
            "To accept it, pass --environment \(found ?? ""). TestFlight and App Review use the sandbox."
        case (.verifier, "no-app-apple-id"): "Pass the app's Apple id with --app-apple-id."
        case (.verifier, "no-trust-anchor"), (.verifier, "unusable-trust-anchor"):
            "Pass a self-signed root certificate with --root; its key must be RSA of 2048 to 4096 bits, P-256 or P-384."
        case (_, "input-too-large"):
            "The command reads receipts of up to \(VerificationLimits().maximumByteCount >> 20) MiB and JWS of up to \(VerificationLimits().maximumJWSByteCount >> 20) MiB."
        case (.container, "too-many-elements"):
            "Apple's receipts are far below the limits of the command. Have the app refresh its receipt."
        case (.signature, "rsa-1024-not-allowed"):
            "To accept it, pass --allow-rsa-1024. It is then as safe as RSA-1024: whoever can factor Apple's key of that size can forge such receipts."
        case (_, "unpinned-issuer"):
            "Apple did not sign it. If you minted it, pass its root and its intermediate with --root."
        case (.header, "unsupported-version"), (.header, "signature-truncated"),
            (.header, "certificate-length-mismatch"):
            advice
        case (.header, _):
            "Apple does not send such a header. If Xcode made the JWS, pass Xcode's certificate with --xcode-root."
        case (.chain, "certificate-expired"):
            "Evidence outlives its signer's certificate. To validate it at its signing date, omit --at."
        case (.chain, "untrusted-chain"):
            "Apple did not sign it. If you minted it, pass its root certificate with --root. If Xcode made it, pass Xcode's certificate with --xcode-root."
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
}
