@_spi(Ledger) package import AppStoreReceipt
package import AppStoreReceiptTesting
import Testing

/// What test authorities sign, verified.
package enum Minted {
    package static let bundleID = "com.example.app"
    package static let authority = Result { () throws(MintingError) in try TestCertificateAuthority(.ellipticCurve) }

    package static let verifier = Result {
        try AppStoreVerifier(
            bundleID: bundleID, environments: [.production, .sandbox],
            trust: .roots([try authority.get().trustAnchor]))
    }

    package static func evidence(_ builder: JWSBuilder) throws -> VerifiedEvidence {
        try verifier.get().verify(try builder.signed(by: authority.get()))
    }

    package static func evidence(_ receipt: ReceiptBuilder) throws -> VerifiedEvidence {
        try verifier.get().verify(receipt.signed(by: authority.get()))
    }

    package static func notification(_ builder: JWSBuilder) throws -> VerifiedNotification {
        try verifier.get().verifyNotification(builder.signed(by: authority.get()))
    }
}

extension Minted {
    /// A period of a subscription to «basic», for 30 days.
    package static func period(
        _ id: String, of original: String, from start: Double, signed: Double? = nil,
        _ change: (inout JWSBuilder) -> Void = { _ in }
    ) throws -> VerifiedEvidence {
        var builder = LedgerModels.period(id, of: original, "basic", from: start, signed: signed)
        change(&builder)
        return try evidence(builder)
    }

    /// Renewal information.
    package static func renewal(
        of original: String = "1", product: String = "basic", signed: Double, ends: Double,
        _ change: (inout JWSBuilder) -> Void = { _ in }
    ) throws -> VerifiedEvidence {
        var builder = JWSBuilder.renewalInfo(
            productID: product, originalTransactionID: original, signedDate: day(signed))
        builder.renewalDate = day(ends)
        change(&builder)
        return try evidence(builder)
    }
}

extension PurchaseHistory {
    /// A transaction as Apple would have signed it at a date, verified.
    package func evidence(_ transaction: Transaction, signedAt date: Instant) throws -> VerifiedEvidence {
        try Minted.evidence(try #require(self.transaction(transaction, signedAt: date)))
    }

    /// All notifications through a date, verified, in the order in which Apple sends them.
    package func verifiedNotifications(through date: Instant) throws -> [VerifiedNotification] {
        try notifications(through: date).map {
            try Minted.notification(builder(for: $0, partsSignedBy: Minted.authority.get()))
        }
    }
}

/// A number of days after 2025-01-01.
package func day(_ days: Double) -> Instant {
    Instant(millisecondsSince1970: 1_735_689_600_000 + Int64(days * 86_400_000))
}

extension Entitlements {
    /// Decides by plain purchases, as if they had been stored.
    package init(
        trustingStored purchases: some Sequence<Purchase>, renewals: [SubscriptionRenewal] = [], at date: Instant,
        clockAllowance: Duration = .seconds(300), productTypes: ProductCatalog = [:]
    ) {
        self.init(
            stored: purchases.map { StoredPurchase(trusting: $0) },
            renewals: renewals.map { StoredRenewal(trusting: $0) }, at: date, clockAllowance: clockAllowance,
            productTypes: productTypes)
    }
}

/// A period of a subscription, from a day on, for 30 days.
package func period(
    _ id: String, of original: String, _ product: String = "monthly", from start: Double, signed: Double? = nil
) -> JWSBuilder {
    var builder = JWSBuilder.transaction(
        bundleID: Minted.bundleID, productID: product, transactionID: id, signedDate: day(signed ?? start))
    builder.originalTransactionID = original
    builder.productType = .autoRenewableSubscription
    builder.subscriptionGroupID = "group"
    builder.webOrderLineItemID = "9" + id
    builder.purchaseDate = day(start)
    builder.expiresDate = day(start + 30)
    return builder
}
