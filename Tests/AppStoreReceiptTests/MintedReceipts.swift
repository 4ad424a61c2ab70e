import AppStoreReceipt
import AppStoreReceiptTesting
import SpanASN1

/// Receipts signed by one test authority, and the verifier that trusts it.
enum MintedReceipts {
    private static let shared = Result { () throws(MintingError) in try TestCertificateAuthority() }
    static var authority: TestCertificateAuthority { get throws { try shared.get() } }
    static var trust: AppStoreTrust { get throws { try .roots([authority.trustAnchor]) } }

    static func verifier() throws -> AppStoreVerifier {
        try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox]), trust: trust)
    }

    static func verified(_ builder: ReceiptBuilder) throws -> VerifiedReceipt {
        try verifier().verifyReceipt(builder.signed(by: authority))
    }

    static func verified(_ purchases: ReceiptBuilder.Purchase...) throws -> VerifiedReceipt {
        try verified(ReceiptBuilder(bundleID: "com.example.app", purchases: purchases))
    }
}

/// Receipts and JWS, each signed by its own test authority, and the verifier that trusts both.
enum MintedEvidence {
    static func verifier() throws -> AppStoreVerifier {
        try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: [MintedJWS.bundleID], environments: [.production, .sandbox]),
            trust: .roots([MintedReceipts.authority.trustAnchor, MintedJWS.authority.trustAnchor]))
    }
}

/// So many days after 2025-01-01.
func day(_ days: Double) -> Instant {
    Instant(millisecondsSince1970: 1_735_689_600_000 + Int64(days * 86_400_000))
}
