package import AppStoreReceipt
package import AppStoreReceiptTesting

/// Receipts and JWS by test authorities, and the verifiers that trust these.
///
/// Each authority is made once for all tests of a process, since keys take time.
package enum Minted {
    package static let bundleID = "com.example.app"

    // MARK: Who signs

    private static let rsa = Result { () throws(MintingError) in try TestCertificateAuthority() }
    private static let otherRSA = Result { () throws(MintingError) in try TestCertificateAuthority() }
    private static let elliptic = Result { () throws(MintingError) in try TestCertificateAuthority(.ellipticCurve) }
    private static let otherElliptic = Result { () throws(MintingError) in
        try TestCertificateAuthority(.ellipticCurve)
    }
    private static let xcode = Result { () throws(MintingError) in try StoreKitTestingSigner() }
    private static let ellipticXcode = Result { () throws(MintingError) in
        var specification = StoreKitTestingSigner.specification
        specification.keyKind = .p256
        return try StoreKitTestingSigner(specification)
    }

    /// Signs receipts: its keys are RSA.
    package static var authority: TestCertificateAuthority { get throws(MintingError) { try rsa.get() } }
    /// With the names of ``authority`` and other keys.
    package static var stranger: TestCertificateAuthority { get throws(MintingError) { try otherRSA.get() } }
    /// Signs JWS: its keys are on elliptic curves.
    package static var ellipticAuthority: TestCertificateAuthority { get throws(MintingError) { try elliptic.get() } }
    /// With the names of ``ellipticAuthority`` and other keys.
    package static var ellipticStranger: TestCertificateAuthority {
        get throws(MintingError) { try otherElliptic.get() }
    }
    /// Signs receipts as StoreKit Testing in Xcode does.
    package static var storeKit: StoreKitTestingSigner { get throws(MintingError) { try xcode.get() } }
    /// Signs JWS as StoreKit Testing in Xcode does.
    package static var ellipticStoreKit: StoreKitTestingSigner { get throws(MintingError) { try ellipticXcode.get() } }

    // MARK: Who verifies

    /// The roots of both authorities.
    package static var trust: AppStoreTrust {
        get throws { try .roots([authority.trustAnchor, ellipticAuthority.trustAnchor]) }
    }

    /// A verifier for ``bundleID``.
    ///
    /// - Parameters:
    ///   - authorities: those to trust; both unless given.
    ///   - change: made to the policy.
    package static func verifier(
        _ authorities: TestCertificateAuthority..., environments: Set<AppStoreEnvironment> = [.production, .sandbox],
        _ change: (inout VerificationPolicy) -> Void = { _ in }
    ) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: [bundleID], environments: environments)
        change(&policy)
        return try AppStoreVerifier(
            policy: policy, trust: authorities.isEmpty ? trust : .roots(authorities.map { try $0.trustAnchor }))
    }

    // MARK: Receipts

    /// A receipt of any app that ``authority`` has signed, verified.
    package static func verified(_ builder: ReceiptBuilder) throws -> VerifiedReceipt {
        try verifier { $0.bundleIDs = nil }.verifyReceipt(builder.signed(by: authority))
    }

    package static func verified(_ purchases: ReceiptBuilder.Purchase...) throws -> VerifiedReceipt {
        try verified(ReceiptBuilder(bundleID: bundleID, purchases: purchases))
    }

    // MARK: JWS

    package static var transaction: JWSBuilder {
        .transaction(bundleID: bundleID, productID: "pro", transactionID: "1000")
    }

    /// A JWS that ``ellipticAuthority`` has signed.
    package static func jws(_ builder: JWSBuilder) throws -> String { try builder.signed(by: ellipticAuthority) }
    package static func jws(payload: String) throws -> String { try jws(JWSBuilder(payload: .raw(payload))) }

    /// The error of a transaction that is refused; `nil` if it is verified.
    package static func failure(_ jws: String, _ verifier: AppStoreVerifier? = nil) throws -> VerificationError? {
        let verifier = try verifier ?? Self.verifier()
        do throws(VerificationError) {
            _ = try verifier.verifyTransaction(jws)
            return nil
        } catch {
            return error
        }
    }
}

/// A number of days after 2025-01-01, to the nearest millisecond.
package func day(_ days: Double) -> Instant {
    Instant(millisecondsSince1970: 1_735_689_600_000 + Int64((days * 86_400_000).rounded()))
}
