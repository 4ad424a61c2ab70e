import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

@Suite struct JWSBuilderTests {
    private let authority: TestCertificateAuthority
    private let verifier: AppStoreVerifier
    private let date = Instant(millisecondsSince1970: 1_740_000_000_000)

    init() throws {
        authority = try Minted.ellipticAuthority
        verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production, .sandbox]),
            trust: .roots([authority.trustAnchor]))
    }

    @Test func `what is set on a transaction is what a verifier reads`() throws {
        var builder = JWSBuilder.transaction(bundleID: "com.example.other", productID: "a", transactionID: "1")
        builder.bundleID = "com.example.app"
        builder.environment = .sandbox
        builder.signedDate = date + .seconds(1)
        (builder.transactionID, builder.originalTransactionID, builder.webOrderLineItemID) = ("2", "3", "4")
        (builder.appTransactionID, builder.appAccountToken) = ("5", "00000000-0000-4000-8000-000000000006")
        (builder.productID, builder.productType) = ("plan", .autoRenewableSubscription)
        (builder.subscriptionGroupID, builder.quantity, builder.price) = ("group", 7, 8)
        (builder.ownershipType, builder.reason, builder.isUpgraded) = (.familyShared, .renewal, true)
        builder.purchaseDate = date
        builder.originalPurchaseDate = date - .seconds(1)
        builder.expiresDate = date + .seconds(2)
        (builder.offerType, builder.offerID) = (.winBack, "offer")
        (builder.offerDiscountType, builder.offerPeriod) = (.payUpFront, "P1M")
        builder.revocationDate = date + .milliseconds(1)
        (builder.revocationReason, builder.revocationType) = (.appIssue, .proratedRefund)
        builder.revocationPercentage = 50_000
        let info = try verifier.verifyTransaction(builder.signed(by: authority)).payload

        #expect(info.bundleID == builder.bundleID && info.environment == builder.environment)
        #expect(info.signedDate == builder.signedDate && info.transactionID == builder.transactionID)
        #expect(info.originalTransactionID == "3" && info.originalTransactionID == builder.originalTransactionID)
        #expect(info.webOrderLineItemID == "4" && info.webOrderLineItemID == builder.webOrderLineItemID)
        #expect(info.appTransactionID == "5" && info.appTransactionID == builder.appTransactionID)
        #expect(info.appAccountToken?.description == builder.appAccountToken && info.appAccountToken != nil)
        #expect(info.productID == "plan" && info.productID == builder.productID)
        #expect(info.productType == .autoRenewableSubscription && info.productType == builder.productType)
        #expect(info.subscriptionGroupID == "group" && info.subscriptionGroupID == builder.subscriptionGroupID)
        #expect(info.quantity == 7 && builder.quantity == 7)
        #expect(info.price == 8 && builder.price == 8)
        #expect(info.ownershipType == .familyShared && info.ownershipType == builder.ownershipType)
        #expect(info.reason == .renewal && info.reason == builder.reason)
        #expect(info.isUpgraded == true && builder.isUpgraded == true)
        #expect(info.purchaseDate == date && info.purchaseDate == builder.purchaseDate)
        #expect(info.originalPurchaseDate == date - .seconds(1))
        #expect(info.originalPurchaseDate == builder.originalPurchaseDate)
        #expect(info.expiresDate == date + .seconds(2) && info.expiresDate == builder.expiresDate)
        #expect(info.offerType == .winBack && info.offerType == builder.offerType)
        #expect(info.offerID == "offer" && info.offerID == builder.offerID)
        #expect(info.offerDiscountType == .payUpFront && info.offerDiscountType == builder.offerDiscountType)
        #expect(info.offerPeriod == "P1M" && info.offerPeriod == builder.offerPeriod)
        #expect(info.revocationDate == date + .milliseconds(1) && info.revocationDate == builder.revocationDate)
        #expect(info.revocationReason == .appIssue && info.revocationReason == builder.revocationReason)
        #expect(info.revocationType == .proratedRefund && info.revocationType == builder.revocationType)
        #expect(info.revocationPercentage == 50_000 && builder.revocationPercentage == 50_000)
    }

    @Test func `what is set on renewal information is what a verifier reads`() throws {
        var builder = JWSBuilder.renewalInfo(productID: "a", originalTransactionID: "1")
        (builder.autoRenewProductID, builder.autoRenewStatus) = ("b", .off)
        (builder.expirationIntent, builder.isInBillingRetryPeriod) = (.billingError, true)
        builder.gracePeriodExpiresDate = date
        builder.renewalDate = date + .seconds(1)
        builder.recentSubscriptionStartDate = date - .seconds(1)
        (builder.renewalPrice, builder.priceIncreaseStatus) = (9, .accepted)
        let info = try verifier.verifyRenewalInfo(builder.signed(by: authority)).payload
        #expect(info.autoRenewProductID == "b" && builder.autoRenewProductID == "b")
        #expect(info.autoRenewStatus == .off && builder.autoRenewStatus == .off)
        #expect(info.expirationIntent == .billingError && builder.expirationIntent == .billingError)
        #expect(info.isInBillingRetryPeriod == true && builder.isInBillingRetryPeriod == true)
        #expect(info.gracePeriodExpiresDate == date && builder.gracePeriodExpiresDate == date)
        #expect(info.renewalDate == date + .seconds(1) && info.renewalDate == builder.renewalDate)
        #expect(info.recentSubscriptionStartDate == date - .seconds(1))
        #expect(info.recentSubscriptionStartDate == builder.recentSubscriptionStartDate)
        #expect(info.renewalPrice == 9 && builder.renewalPrice == 9)
        #expect(info.priceIncreaseStatus == .accepted && builder.priceIncreaseStatus == .accepted)
    }

    @Test func `nil removes a member, and a member of another type is nil`() {
        var builder = JWSBuilder.transaction(bundleID: "a", productID: "b", transactionID: "c")
        builder.signedDate = nil
        #expect(builder.payload["signedDate"] == nil)
        for value: JSONValue in ["x", .raw("1.5"), true, .null, []] {
            builder.payload["quantity"] = value
            #expect(builder.quantity == nil)
        }
        builder.payload["productId"] = 1
        builder.payload["isUpgraded"] = 1
        builder.payload["purchaseDate"] = "1"
        builder.payload["environment"] = "Staging"
        builder.payload["type"] = false
        #expect(builder.productID == nil && builder.isUpgraded == nil && builder.purchaseDate == nil)
        #expect(builder.environment == nil && builder.productType == nil)
    }

    @Test(arguments: AppStoreEnvironment.allCases)
    func `an environment is written as it is read`(environment: AppStoreEnvironment) {
        #expect(
            JWSBuilder.transaction(bundleID: "a", productID: "b", transactionID: "c", environment: environment)
                .environment == environment)
    }

    @Test func `notifications that are not about a purchase are verified`() throws {
        let appTransaction = try JWSBuilder.appTransaction(bundleID: "com.example.app").signed(by: authority)
        let consent = try verifier.verifyNotification(
            JWSBuilder.rescindConsent(bundleID: "com.example.app", appTransaction: appTransaction)
                .signed(by: authority))
        #expect(consent.type == .rescindConsent && consent.appTransaction?.bundleID == "com.example.app")

        let summary = try verifier.verifyNotification(
            JWSBuilder.renewalExtensionSummary(
                productID: "plan", bundleID: "com.example.app", succeeded: 3, failed: 1, storefronts: ["CAN"],
                environment: .sandbox
            ).signed(by: authority))
        #expect(summary.type == .renewalExtension && summary.subtype == .summary)
        #expect(summary.summary?.succeededCount == 3 && summary.summary?.failedCount == 1)
        #expect(summary.summary?.productID == "plan" && summary.summary?.storefrontCountryCodes == ["CAN"])
        #expect(summary.summary?.environment == .sandbox && summary.summary?.appAppleID == "1234567890")

        let token = try verifier.verifyNotification(
            JWSBuilder.externalPurchaseToken(
                "SANDBOX_1", subtype: .created, bundleID: "com.example.app", kind: .services, creationDate: date,
                expirationDate: date + .seconds(1)
            ).signed(by: authority))
        #expect(token.type == .externalPurchaseToken && token.subtype == .created && token.environment == .sandbox)
        #expect(token.externalPurchaseToken?.externalPurchaseID == "SANDBOX_1")
        #expect(token.externalPurchaseToken?.kind == .services)
        #expect(token.externalPurchaseToken?.creationDate == date)
        #expect(token.externalPurchaseToken?.expirationDate == date + .seconds(1))
    }
}

@Suite struct ReceiptBuilderPurchaseTests {
    @Test func `each period has a web order line item id of its own`() {
        let ids = [
            "1", "2", "0003", "340000000000100", "340000000000101", "2000000000000001", "2000000000000002", "a", "b",
        ]
        let periods = ids.map {
            ReceiptBuilder.Purchase.autoRenewable(
                "a", transactionID: $0, expiresDate: ReceiptBuilder.defaultCreationDate)
        }
        let lineItems = periods.compactMap(\.webOrderLineItemID)
        #expect(Set(lineItems).count == ids.count)
        #expect(lineItems.map(\.utf8.count) == [15, 15, 15, 15, 15, 16, 16, 15, 15])
        #expect(Set(lineItems).isDisjoint(with: ids))
        #expect(lineItems[5].hasPrefix("2000000"))
    }

    @Test(arguments: [
        (ProductType.nonConsumable, "Non-Consumable"), (.consumable, "Consumable"),
        (.nonRenewingSubscription, "Non-Renewing Subscription"),
        (.autoRenewableSubscription, "Auto-Renewable Subscription"), (.freeSubscription, "Free Subscription"),
        (ProductType(rawValue: "77"), "77"), (ProductType(rawValue: "Rental"), nil),
    ])
    func `the type of a product is written as its number, if it has one`(type: ProductType, read: String?) throws {
        let builder = ReceiptBuilder(
            bundleID: "a", purchases: [ReceiptBuilder.Purchase(productID: "b", transactionID: "1", productType: type)])
        let receipt = try UnverifiedReceipt(decoding: builder.signed(by: Minted.authority))
        #expect(receipt.inAppPurchases.first?.productType?.rawValue == read)
    }
}
