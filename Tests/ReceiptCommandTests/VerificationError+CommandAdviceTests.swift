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

    private static let trusts: [GivenOptions.Trust] = [.apple, .roots, .storeKitTesting]

    @Test(arguments: trusts)
    func `advice of the command is in terms of its options`(trust: GivenOptions.Trust) {
        for error in Self.all {
            let advice = error.commandAdvice(GivenOptions(trust: trust))
            #expect(advice.hasSuffix(".") && advice.count > 20, "\(error.code): \(advice)")
            guard Self.isPossible(error) else { continue }
            #expect(!Self.libraryNames.contains { advice.contains($0) }, "\(error.stage) \(error.code): \(advice)")
        }
    }

    @Test(
        arguments: [
            ("production", .apple, "pass --environment production"),
            ("production", .roots, "pass --environment production"),
            ("sandbox", .apple, "pass --environment sandbox"), ("xcode", .apple, "--xcode-root"),
            ("production", .storeKitTesting, "omit --xcode-root"), ("sandbox", .storeKitTesting, "omit --xcode-root"),
        ] as [(String, GivenOptions.Trust, String)])
    func `advice on an environment names the option that accepts it`(
        found: String, trust: GivenOptions.Trust, expected: String
    ) {
        let error = VerificationError.policy(.environmentMismatch, found: found, expected: "another")
        let advice = error.commandAdvice(GivenOptions(trust: trust))
        #expect(advice.contains(expected))
        #expect(advice.contains("TestFlight") == (found == "sandbox" && trust != .storeKitTesting))
        // What is from production is not told to use the sandbox, in the API's terms either.
        #expect(error.advice.contains("TestFlight") == (found == "sandbox"))
    }

    @Test(arguments: [
        (SignatureTrustError.Kind.untrustedChain, GivenOptions(), "Apple did not sign it"),
        (.untrustedChain, GivenOptions(trust: .roots), "omit --root"),
        (.untrustedChain, GivenOptions(trust: .storeKitTesting), "omit --xcode-root"),
        (.certificateExpired, GivenOptions(hasDate: true), "omit --at"),
        (.certificateExpired, GivenOptions(), "Refuse it"),
        (.certificateNotYetValid, GivenOptions(hasDate: true), "omit --at"),
        (.distrustedCertificate, GivenOptions(), "--distrust"),
        (.missingLeafMarker, GivenOptions(), "Apple did not sign"),
        (.missingLeafMarker, GivenOptions(trust: .roots), "not like those of Apple's signers"),
    ])
    func `advice on a chain fits the options that were given`(
        kind: SignatureTrustError.Kind, options: GivenOptions, expected: String
    ) {
        let error = VerificationError.chain(SignatureTrustError(kind), of: .receipt)
        #expect(error.commandAdvice(options).contains(expected), "\(error.commandAdvice(options))")
    }
}
