import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import SignatureTrust

/// What the operations verify with. Limits on the size are lifted: within them nothing may be quadratic either.
enum Verifiers {
    /// Who signs JWS.
    static let signer = FuzzAuthority.made { try TestCertificateAuthority(.ellipticCurve) }

    static let receipts = FuzzAuthority.verifier()

    /// One that compares all that it can.
    static let strictReceipts = FuzzAuthority.made {
        var policy = FuzzAuthority.policy
        policy.bundleIDs = ["a"]
        policy.rejectsFutureDates = true
        policy.maximumAge = .seconds(1 << 50)
        return try AppStoreVerifier(policy: policy, trust: .roots([FuzzAuthority.anchor]))
    }

    static let responder = FuzzAuthority.made {
        var responder = try VerifyReceiptResponder(policy: FuzzAuthority.policy, trust: .roots([FuzzAuthority.anchor]))
        responder.fillsLatestReceiptInfo = true
        return responder
    }

    /// One for evidence of every kind.
    static let evidence = FuzzAuthority.made {
        var policy = FuzzAuthority.policy
        policy.limits.maximumJWSByteCount = .max
        return try AppStoreVerifier(policy: policy, trust: .roots([FuzzAuthority.anchor, signer.trustAnchor]))
    }

    /// One that compares all that it can of a JWS.
    static let strictJWS = FuzzAuthority.made {
        var policy = VerificationPolicy(bundleIDs: ["a"], appAppleID: "1234567890", environments: [.production])
        policy.limits.maximumJWSByteCount = .max
        policy.rejectsFutureDates = true
        return try AppStoreVerifier(policy: policy, trust: .roots([signer.trustAnchor]))
    }

    static let messages = FuzzAuthority.made {
        var policy = CMSPolicy(anchors: [FuzzAuthority.anchor])
        policy.algorithms = FuzzAuthority.algorithms
        return try CMSVerifier(policy: policy)
    }
}
