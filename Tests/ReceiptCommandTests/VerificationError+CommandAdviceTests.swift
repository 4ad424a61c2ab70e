import AppStoreReceipt
import TestSupport
import Testing

@testable import SignatureTrust
@testable import receipt

@Suite struct VerificationErrorCommandAdviceTests {
    static let all = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })

    /// What a user of the command has not heard of.
    private static let libraryNames = ["VerificationPolicy", "VerificationLimits", "AppStoreTrust", "AlgorithmPolicy"]

    /// What no option and no input leads to.
    private static func isPossible(_ error: VerificationError) -> Bool {
        switch (error.stage, error.code) {
        case (.verifier, "no-bundle-id"), (.verifier, "no-environment"), (.verifier, "environment-not-of-trust"): false
        // There is no option for an age.
        case (.policy, "receipt-too-old"), (.policy, "signed-too-long-ago"): false
        // A host's faults are of the stage `verifier`.
        case (.signature, "algorithm-unavailable"), (.chain, "algorithm-unavailable"): false
        // Before the chain, of a certificate no more is asked than that its key can be read.
        case (.signature, "untrusted-chain"), (.signature, "invalid-chain-length"), (.signature, "invalid-issuer"),
            (.signature, "invalid-key-usage"), (.signature, "invalid-extended-key-usage"),
            (.signature, "unknown-critical-extension"), (.signature, "missing-leaf-marker"),
            (.signature, "missing-intermediate-marker"):
            false
        default: true
        }
    }

    @Test func `advice of the command is in terms of its options`() {
        for error in Self.all {
            let advice = error.commandAdvice
            #expect(advice.hasSuffix(".") && advice.count > 20, "\(error.code): \(advice)")
            guard Self.isPossible(error) else { continue }
            #expect(!Self.libraryNames.contains { advice.contains($0) }, "\(error.stage) \(error.code): \(advice)")
        }
    }
}
