import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import FuzzSupport
import SignatureTrust

/// The authorities that sign for the places, and the verifiers of the operations.
enum Signers {
    /// All keys are on P-256, which costs the least.
    static let authority = JWSSigner.authority

    /// The same with an RSA key in the leaf, as in Apple's receipts.
    static let authorityOfReceipts = FuzzAuthority.made {
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.leaf.keyKind = .rsa(bits: 2048)
        return try TestCertificateAuthority(
            shape, rootKey: authority.root.key, intermediateKey: authority.intermediate.key,
            leafKey: SigningKey(generating: shape.leaf.keyKind))
    }
}

/// The limits on sizes are lifted, because the time within them must not be quadratic either.
enum Verifiers {
    private static let anchor = FuzzAuthority.made { try Signers.authority.trustAnchor }

    private static var policy: VerificationPolicy {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox])
        policy.limits.maximumJWSByteCount = .max
        policy.limits.maximumCertificateCount = .max
        policy.limits.maximumTransactionReceiptByteCount = .max
        return policy
    }

    /// Accepts evidence of any app.
    static let lenient = FuzzAuthority.made { try make() }

    /// The same with an empty cache.
    static func make() throws(VerificationError) -> AppStoreVerifier {
        try AppStoreVerifier(policy: policy, trust: trust)
    }

    private static let trust = FuzzAuthority.made { () throws(MintingError) -> AppStoreTrust in
        let issuer = try Signers.authorityOfReceipts.transactionReceiptIssuer
        return .roots([anchor]).adding([issuer])
    }

    /// A verifier with all comparisons enabled.
    static let strict = FuzzAuthority.made {
        var policy = Self.policy
        policy.bundleIDs = ["a"]
        policy.appAppleID = "1234567890"
        policy.environments = [.production]
        return try AppStoreVerifier(policy: policy, trust: .roots([anchor]))
    }

    static let responder = FuzzAuthority.made {
        var responder = try VerifyReceiptResponder(policy: policy, trust: trust)
        responder.fillsLatestReceiptInfo = true
        return responder
    }

    static let messages = FuzzAuthority.made { try CMSVerifier(policy: CMSPolicy(anchors: [anchor])) }
}
