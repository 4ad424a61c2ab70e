import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import FuzzSupport
import SignatureTrust

/// Who signs for the places, and what the operations verify with.
enum Signers {
    /// On P-256 throughout, which costs the least.
    static let authority = JWSSigner.authority

    /// The same with an RSA key in the leaf, as Apple's receipts have it.
    static let authorityOfReceipts = FuzzAuthority.made {
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.leaf.keyKind = .rsa(bits: 2048)
        return try TestCertificateAuthority(
            shape, rootKey: authority.root.key, intermediateKey: authority.intermediate.key,
            leafKey: SigningKey(generating: shape.leaf.keyKind))
    }
}

/// Limits on the size are lifted: within them nothing may be quadratic either.
enum Verifiers {
    private static let anchor = FuzzAuthority.made { try Signers.authority.trustAnchor }

    private static var policy: VerificationPolicy {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox])
        policy.limits.maximumJWSByteCount = .max
        policy.limits.maximumTransactionReceiptByteCount = .max
        return policy
    }

    /// Accepts evidence of any app.
    static let lenient = FuzzAuthority.made { try make() }

    /// The same, but it has seen no certificates.
    static func make() throws(VerificationError) -> AppStoreVerifier {
        try AppStoreVerifier(policy: policy, trust: trust)
    }

    private static let trust = FuzzAuthority.made { () throws(MintingError) -> AppStoreTrust in
        let issuer = try Signers.authorityOfReceipts.transactionReceiptIssuer
        return .adding([issuer], to: .roots([anchor]))
    }

    /// Compares all that it can.
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
