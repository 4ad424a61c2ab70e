import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import SignatureTrust

/// What the operations verify with. Limits on the size are lifted: within them nothing may be quadratic either.
enum Verifiers {
    /// Who signs signed data.
    static let signer = FuzzAuthority.made { try TestCertificateAuthority(.ellipticCurve) }

    static let receipts = FuzzAuthority.verifier()

    /// One that compares all that it can.
    static let strictReceipts = FuzzAuthority.made {
        var policy = FuzzAuthority.policy
        policy.bundleIDs = ["a"]
        policy.rejectsFutureDates = true
        policy.maximumAge = .max
        return try ReceiptVerifier(policy: policy, trust: .roots([FuzzAuthority.anchor]))
    }

    static let responder = FuzzAuthority.made {
        var responder = try VerifyReceiptResponder(policy: FuzzAuthority.policy, trust: .roots([FuzzAuthority.anchor]))
        responder.fillsLatestReceiptInfo = true
        return responder
    }

    static let signedData = FuzzAuthority.made {
        var policy = SignedDataPolicy(bundleIDs: nil, environments: [.production, .sandbox])
        policy.maximumByteCount = .max
        return try SignedDataVerifier(policy: policy, trust: .roots([signer.trustAnchor]))
    }

    static let strictSignedData = FuzzAuthority.made {
        var policy = SignedDataPolicy(bundleIDs: ["a"], appAppleID: 1_234_567_890, environments: [.production])
        policy.maximumByteCount = .max
        policy.rejectsFutureDates = true
        return try SignedDataVerifier(policy: policy, trust: .roots([signer.trustAnchor]))
    }

    static let evidence = EvidenceVerifier(receipts: receipts, signedData: signedData)

    static let messages = FuzzAuthority.made {
        var policy = CMSPolicy(anchors: [FuzzAuthority.anchor])
        policy.algorithms = FuzzAuthority.algorithms
        return try CMSVerifier(policy: policy)
    }
}
