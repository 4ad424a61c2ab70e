import AppStoreReceipt
import AppStoreReceiptTesting
import SignatureTrust
import StrictText
import TestSupport
import Testing

func date(_ text: String) throws -> Instant { try #require(Instant(rfc3339: text)) }

@Suite struct ReceiptBuilderTests {
    @Test func `a receipt with one purchase is verified in a few lines`() throws {
        let receipt = try ReceiptBuilder(
            bundleID: "com.example.app", purchases: [.nonConsumable("com.example.app.pro", transactionID: "1000")]
        ).signed(by: Minted.authority)
        let verified = try Minted.verifier(environments: [.production]).verifyReceipt(receipt)
        #expect(verified.inAppPurchases.map(\.productID) == ["com.example.app.pro"])
        #expect(verified.verification.authority == .customRoot)
    }

    @Test func `an authority on elliptic curves signs receipts and transactions under one root`() throws {
        let authority = try Minted.ellipticAuthority
        let verifier = try AppStoreVerifier(
            bundleID: "com.example.app", environments: [.production], trust: .roots([authority.trustAnchor]))
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: authority)
        let transaction = try JWSBuilder.transaction(
            bundleID: "com.example.app", productID: "pro", transactionID: "1000"
        ).signed(by: authority)
        #expect(throws: Never.self) { try verifier.verify(receipt) }
        #expect(throws: Never.self) { try verifier.verify(transaction) }
    }

    @Test func `every typed field comes back as it was given`() throws {
        var builder = ReceiptBuilder(bundleID: "com.example.app")
        builder.receiptType = "ProductionVPP"
        builder.appItemID = "1"
        builder.applicationVersion = "2.0"
        builder.opaqueValue = [1, 2, 3]
        builder.sha1Hash = [4, 5, 6]
        builder.originalCreationDate = try date("2025-01-01T00:00:01Z")
        builder.serverBuild = 9
        builder.ageRating = "12+"
        builder.sellerID = "11"
        builder.creationDate = try date("2025-01-01T00:00:02.500Z")
        builder.clientVersion = 13
        builder.downloadID = "15"
        builder.versionExternalIdentifier = "16"
        builder.originalPurchaseDate = try date("2025-01-01T00:00:03Z")
        builder.originalApplicationVersion = "1.9"
        builder.expirationDate = try date("2026-01-01T00:00:04Z")
        builder.platform = 2
        builder.preorderDate = try date("2024-01-01T00:00:05Z")
        builder.additionalAttributes = [.init(.init(rawValue: 77), version: 3, value: [7])]
        var purchase = ReceiptBuilder.Purchase.autoRenewable(
            "product", transactionID: "t", originalTransactionID: "o", purchaseDate: try date("2025-01-02T00:00:01Z"),
            originalPurchaseDate: try date("2024-01-02T00:00:01Z"), expiresDate: try date("2025-02-02T00:00:01Z"),
            isTrialPeriod: true
        ).revoked(at: try date("2025-01-03T00:00:00Z"), reason: .appIssue)
        purchase.quantity = 7
        purchase.itemID = "1710"
        purchase.webOrderLineItemID = "1711"
        purchase.isInIntroOfferPeriod = true
        purchase.promotionalOfferID = "offer"
        purchase.additionalAttributes = [.init(.init(rawValue: 1777), version: 2, value: [])]
        builder.purchases = [purchase]

        let receipt = try Minted.verifier(environments: [.production]).verifyReceipt(
            builder.signed(by: Minted.authority))
        #expect(receipt.receiptType == builder.receiptType)
        #expect(receipt.appItemID == "1")
        #expect(receipt.bundleID == builder.bundleID)
        #expect(receipt.applicationVersion == builder.applicationVersion)
        #expect(receipt.opaqueValue == builder.opaqueValue)
        #expect(receipt.sha1Hash == builder.sha1Hash)
        #expect(receipt.originalCreationDate == builder.originalCreationDate)
        #expect(receipt.serverBuild == builder.serverBuild)
        #expect(receipt.ageRating == builder.ageRating)
        #expect(receipt.sellerID == "11")
        #expect(receipt.creationDate == builder.creationDate)
        #expect(receipt.clientVersion == builder.clientVersion)
        #expect(receipt.downloadID == "15")
        #expect(receipt.versionExternalIdentifier == "16")
        #expect(receipt.originalPurchaseDate == builder.originalPurchaseDate)
        #expect(receipt.originalApplicationVersion == builder.originalApplicationVersion)
        #expect(receipt.expirationDate == builder.expirationDate)
        #expect(receipt.platform == builder.platform)
        #expect(receipt.preorderDate == builder.preorderDate)
        let unknown = try #require(receipt.unknownAttributes.first { $0.type.rawValue == 77 })
        #expect(unknown.version == 3 && unknown.value == [7])

        let minted = try #require(receipt.inAppPurchases.first)
        #expect(minted.quantity == 7)
        #expect(minted.productID == purchase.productID)
        #expect(minted.transactionID == purchase.transactionID)
        #expect(minted.purchaseDate == purchase.purchaseDate)
        #expect(minted.originalTransactionID == purchase.originalTransactionID)
        #expect(minted.originalPurchaseDate == purchase.originalPurchaseDate)
        #expect(minted.productType == .autoRenewableSubscription)
        #expect(minted.expiresDate == purchase.expiresDate)
        #expect(minted.itemID == "1710")
        #expect(minted.webOrderLineItemID == "1711")
        #expect(minted.revocationDate == purchase.revocationDate)
        #expect(minted.isTrialPeriod == true)
        #expect(minted.isInIntroOfferPeriod == true)
        #expect(minted.revocationReason == .appIssue)
        #expect(minted.promotionalOfferID == "offer")
        #expect(minted.unknownAttributes.contains { $0.type.rawValue == 1777 && $0.version == 2 && $0.value.isEmpty })
    }

    @Test func `what is nil is not there`() throws {
        var builder = ReceiptBuilder(bundleID: "com.example.app", environment: .xcode, purchases: [.init()])
        builder.applicationVersion = nil
        let receipt = try UnverifiedReceipt(decoding: builder.signed(by: Minted.storeKit))
        #expect(receipt.applicationVersion == nil)
        #expect(receipt.originalApplicationVersion == nil)
        #expect(receipt.platform == nil)
        let purchase = try #require(receipt.inAppPurchases.first)
        #expect(purchase.productID == nil && purchase.quantity == nil && purchase.attributes.map(\.type).isEmpty)
    }

    @Test(arguments: ReceiptBuilder.ReceiptType.allCases)
    func `each environment makes receipts of its own`(_ environment: ReceiptBuilder.ReceiptType) throws {
        let builder = ReceiptBuilder(
            bundleID: "com.example.app", environment: environment,
            purchases: [.consumable("coins", transactionID: "1")])
        if environment == .xcode {
            let verifier = try AppStoreVerifier(
                bundleID: "com.example.app", environments: [.xcode],
                trust: .storeKitTesting([Minted.storeKit.trustAnchor]))
            let receipt = try verifier.verifyReceipt(builder.signed(by: Minted.storeKit))
            #expect(receipt.environment == .xcode)
        } else {
            let receipt = try Minted.verifier(environments: [.production, .sandbox]).verifyReceipt(
                builder.signed(by: Minted.authority))
            #expect(receipt.receiptType == environment.rawValue)
        }
    }

    @Test func `purchases keep the order given, or have DER's, or are shuffled the same way each time`() throws {
        let ids = (0..<20).map { "product" + String(repeating: "x", count: 20 - $0) }
        var builder = ReceiptBuilder(
            bundleID: "com.example.app", purchases: ids.map { .consumable($0, transactionID: "1") })
        func products() throws -> [String?] {
            try UnverifiedReceipt(decoding: builder.signed(by: Minted.authority)).inAppPurchases
                .map(\.productID)
        }
        #expect(try products() == ids.reversed())
        builder.attributeOrder = .asGiven
        #expect(try products() == ids)
        builder.attributeOrder = .shuffled(seed: 5)
        let shuffled = try products()
        #expect(Set(shuffled) == Set(ids))
        #expect(shuffled != ids)
        #expect(try products() == shuffled)
    }

    @Test func `attributes are in DER's order unless said otherwise`() throws {
        let receipt = try UnverifiedReceipt(
            decoding: ReceiptBuilder(
                bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")]
            ).signed(by: Minted.authority))
        // With values of fewer than 128 bytes, DER's order is that of length, type and value.
        let keys = receipt.attributes.map { $0.value.count }
        #expect(keys == keys.sorted())
    }

    @Test func `the device's hash is the one that a verifier asks for`() throws {
        var builder = ReceiptBuilder(bundleID: "com.example.app")
        builder.deviceIdentifier = [1, 2, 3, 4, 5, 6]
        let receipt = try builder.signed(by: Minted.authority)
        _ = try Minted.verifier(environments: [.production]).verifyReceipt(
            receipt, deviceIdentifier: [1, 2, 3, 4, 5, 6])
        #expect(throws: VerificationError.policy(.deviceMismatch)) {
            try Minted.verifier(environments: [.production]).verifyReceipt(
                receipt, deviceIdentifier: [6, 5, 4, 3, 2, 1])
        }
    }

    @Test(arguments: [SignatureDigest.sha1, .sha224, .sha256, .sha384, .sha512])
    func `a receipt is signed with the digest asked for`(_ digest: SignatureDigest) throws {
        var builder = ReceiptBuilder(bundleID: "com.example.app")
        builder.digest = digest
        let receipt = try Minted.verifier(environments: [.production]).verifyReceipt(
            builder.signed(by: Minted.authority))
        #expect(receipt.verification.digest.rawValue == digest.rawValue)
    }

    @Test(arguments: [1, 7, 1000, nil])
    func `BER has segments of the size asked for`(_ segmentSize: Int?) throws {
        var builder = ReceiptBuilder(bundleID: "com.example.app")
        let der = try builder.signed(by: Minted.authority)
        builder.encoding = .ber(segmentSize: segmentSize)
        let ber = try builder.signed(by: Minted.authority)
        #expect(ber != der)
        #expect(
            try Minted.verifier(environments: [.production]).verifyReceipt(ber).receipt
                == Minted.verifier(environments: [.production]).verifyReceipt(der).receipt)
    }

    @Test func `a receipt of 10,000 purchases has them all`() throws {
        let builder = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: (0..<10_000).map { .consumable("coins", transactionID: String($0)) })
        let receipt = try Minted.verifier(environments: [.production]).verifyReceipt(
            builder.signed(by: Minted.authority))
        #expect(Set(receipt.inAppPurchases.map(\.transactionID)).count == 10_000)
    }
}
