import AppStoreReceiptTesting
import SpanASN1

@testable import AppStoreReceipt

/// JWS by one test authority, and the verifier that trusts it.
enum MintedJWS {
    private static let shared = Result { () throws(MintingError) in try TestCertificateAuthority(.ellipticCurve) }
    private static let otherShared = Result { () throws(MintingError) in try TestCertificateAuthority(.ellipticCurve) }
    private static let xcodeShared = Result { () throws(MintingError) in
        var specification = StoreKitTestingSigner.specification
        specification.keyKind = .p256
        return try StoreKitTestingSigner(specification: specification)
    }

    static let bundleID = "com.example.app"
    static var authority: TestCertificateAuthority { get throws { try shared.get() } }
    /// With the same names and other keys.
    static var otherAuthority: TestCertificateAuthority { get throws { try otherShared.get() } }
    static var xcode: StoreKitTestingSigner { get throws { try xcodeShared.get() } }

    static func verifier(
        _ authority: TestCertificateAuthority? = nil, environments: Set<AppStoreEnvironment> = [.production, .sandbox],
        _ change: (inout VerificationPolicy) -> Void = { _ in }
    ) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: [bundleID], environments: environments)
        change(&policy)
        let anchor = try (authority ?? Self.authority).trustAnchor
        return try AppStoreVerifier(policy: policy, trust: .roots([anchor]))
    }

    static var transaction: JWSBuilder {
        .transaction(bundleID: bundleID, productID: "pro", transactionID: "1000")
    }

    static func text(_ payload: String) throws -> String {
        try JWSBuilder(payload: .raw(payload)).signed(by: authority)
    }

    /// The error of a transaction that is refused; `nil` if it is verified.
    static func failure(_ jws: String, _ verifier: AppStoreVerifier? = nil) throws -> VerificationError? {
        let verifier = try verifier ?? Self.verifier()
        do throws(VerificationError) {
            _ = try verifier.verifyTransaction(jws)
            return nil
        } catch {
            return error
        }
    }
}
