import AppStoreReceipt
import AppStoreReceiptTesting
import Sampling
import TestSupport
import Testing

@Suite struct ReceiptTests {
    private func builder() -> ReceiptBuilder {
        ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: [
                .consumable("coins", transactionID: "1", quantity: 3), .nonConsumable("pro", transactionID: "2"),
                .nonConsumable("pro", transactionID: "2"),
            ])
    }

    private func decode(_ builder: ReceiptBuilder) throws -> UnverifiedReceipt {
        try UnverifiedReceipt(decoding: PayloadModel.container(builder.payload()).bytes)
    }

    @Test func `a receipt of a volume purchase has expired from its expiration date on`() throws {
        var builder = builder()
        #expect(try !Minted.verified(builder).isExpired(at: .distantFuture))
        builder.expirationDate = day(5)
        let receipt = try Minted.verified(builder)
        #expect(!receipt.isExpired(at: day(4.99)) && receipt.isExpired(at: day(5)))
    }

    @Test func `what was minted is read back`() throws {
        var builder = builder()
        builder.attributeOrder = .asGiven
        builder.preorderDate = Instant(millisecondsSince1970: 5_000)
        builder.expirationDate = Instant(millisecondsSince1970: 6_000)
        builder.purchases[0].expiresDate = Instant(millisecondsSince1970: 1_500)
        builder.purchases[0].revocationDate = Instant(millisecondsSince1970: 7_000)
        builder.purchases[0].revocationReason = .appIssue
        builder.purchases[0].promotionalOfferID = "täglich"
        builder.purchases[0].isTrialPeriod = true
        builder.purchases[0].isInIntroOfferPeriod = true
        let receipt = try decode(builder)
        #expect(receipt.receiptType == "Production" && receipt.environment == .production)
        #expect(receipt.bundleID == builder.bundleID && receipt.applicationVersion == builder.applicationVersion)
        #expect(
            receipt.creationDate == builder.creationDate && receipt.originalCreationDate == builder.originalCreationDate
        )
        #expect(receipt.preorderDate == builder.preorderDate && receipt.expirationDate == builder.expirationDate)
        #expect(receipt.opaqueValue == builder.opaqueValue && receipt.platform == builder.platform)
        #expect(receipt.appItemID == "1234567890" && receipt.downloadID == "70000000000001")
        #expect(receipt.versionExternalIdentifier == "860000001")
        #expect(receipt.originalApplicationVersion == builder.originalApplicationVersion)
        #expect(receipt.inAppPurchases.map(\.productID) == ["coins", "pro", "pro"])
        let purchase = receipt.inAppPurchases[0]
        #expect(purchase.quantity == 3 && purchase.productType == .consumable && purchase.revocationReason == .appIssue)
        #expect(purchase.expiresDate == builder.purchases[0].expiresDate)
        #expect(purchase.revocationDate == builder.purchases[0].revocationDate)
        #expect(purchase.promotionalOfferID == "täglich")
        #expect(purchase.isTrialPeriod == true && purchase.isInIntroOfferPeriod == true)
        #expect(purchase.transactionID == "1" && purchase.originalTransactionID == "1")
    }

    @Test(
        arguments: [
            ("Production", .production), ("ProductionVPP", .production), ("ProductionSandbox", .sandbox),
            ("ProductionVPPSandbox", .sandbox), ("Xcode", .xcode), ("production", nil), ("Sandbox", nil), ("", nil),
            ("Production ", nil), ("ProductionVPP\0", nil),
        ] as [(String, AppStoreEnvironment?)])
    func `an environment is one of five strings`(row: (String, AppStoreEnvironment?)) throws {
        var builder = builder()
        builder.receiptType = row.0
        #expect(try decode(builder).environment == row.1)
    }

    @Test func `receipts are equal when their payloads are, wherever they came in`() throws {
        let builder = builder()
        let payload = try builder.payload()
        let der = try UnverifiedReceipt(decoding: PayloadModel.container(payload).bytes)
        var container = SignedDataBuilder(content: payload, certificates: nil, signers: [])
        container.encoding = .ber(segmentSize: 7)
        let ber = try UnverifiedReceipt(decoding: container.encoded())
        #expect(der == ber && der.receipt == ber.receipt && der.hashValue == ber.hashValue)
        #expect(der.receipt.hashValue == ber.receipt.hashValue)
        #expect(Array(der.inAppPurchases) == Array(ber.inAppPurchases))
        #expect(Set([der.receipt, ber.receipt]).count == 1)
        for index in payload.indices {
            var other = payload
            other[index] ^= 0x01
            guard let receipt = try? UnverifiedReceipt(decoding: PayloadModel.container(other).bytes) else { continue }
            #expect(receipt != der)
        }
    }

    /// An attacker who chooses the receipts of a set must not choose their hashes: 4,000 that shared one took 87 s.
    @Test func `receipts that differ anywhere hash differently`() throws {
        let payload = try builder().payload()
        var receipts = Set<Receipt>()
        var hashes = Set<Int>()
        let bits = Sampling.share(0..<8, of: "hashed-bits")
        for index in payload.indices {
            for bit in bits {
                var other = payload
                other[index] ^= 1 << bit
                guard let receipt = try? UnverifiedReceipt(decoding: PayloadModel.container(other).bytes) else {
                    continue
                }
                receipts.insert(receipt.receipt)
                hashes.insert(receipt.hashValue)
            }
        }
        #expect(receipts.count * 8 > payload.count * bits.count && hashes.count == receipts.count)
    }

    @Test func `a receipt is hashed once`() throws {
        var builder = builder()
        builder.additionalAttributes = [.init(.init(rawValue: 4000), value: [UInt8](repeating: 0x41, count: 1 << 22))]
        let receipt = try decode(builder).receipt
        let clock = ContinuousClock()
        var hashes: Set<Int> = []
        let first = clock.measure { hashes.insert(receipt.hashValue) }
        let copy = receipt
        let others = clock.measure { for _ in 0..<100 { hashes.insert(copy.hashValue) } }
        #expect(hashes.count == 1 && others < first * 10)
    }

    @Test func `purchases are equal when their records are`() throws {
        let receipt = try decode(builder())
        var other = builder()
        other.bundleID = "com.example.another"
        other.purchases[1].productID = "plus"
        let purchases = receipt.inAppPurchases
        #expect(purchases.count { $0.productID == "pro" } == 2)
        let pros = purchases.filter { $0.productID == "pro" }
        #expect(pros[0] == pros[1] && pros[0].hashValue == pros[1].hashValue && pros[0].index != pros[1].index)
        #expect(Set(purchases).count == 2)
        let coins = try decode(other).inAppPurchases.filter { $0.productID == "coins" }
        #expect(coins == purchases.filter { $0.productID == "coins" })
        #expect(try Set(decode(other).inAppPurchases) != Set(purchases))
    }

    @Test func `the purchases are a random access collection`() throws {
        let purchases = try decode(builder()).inAppPurchases
        #expect(purchases.count == 3 && purchases.indices == 0..<3)
        #expect(purchases.map(\.index) == [0, 1, 2] && purchases.reversed().map(\.index) == [2, 1, 0])
        #expect(purchases.first == purchases[0] && purchases.last == purchases[2])
        #expect(purchases.dropFirst().map(\.transactionID) == purchases.map(\.transactionID).suffix(2))
    }

    /// SHA-1 of the device's identifier, attribute 4, and attribute 2 as it is encoded.
    @Test func `a receipt is made for one device`() throws {
        let device = ReceiptBuilder.defaultDeviceIdentifier
        let receipt = try decode(builder())
        #expect(try receipt.matches(deviceIdentifier: device))
        #expect(try !receipt.matches(deviceIdentifier: []))
        #expect(try !receipt.matches(deviceIdentifier: device.dropLast()))
        #expect(try !receipt.matches(deviceIdentifier: device + [0]))
        // The boundary between identifier and opaque value is not part of the hash.
        #expect(try !receipt.matches(deviceIdentifier: device + (receipt.opaqueValue ?? [])))
        for change in [{ $0.opaqueValue = nil }, { $0.sha1Hash = [1, 2, 3] }, { $0.bundleID = nil }]
            as [(inout ReceiptBuilder) -> Void]
        {
            var builder = builder()
            change(&builder)
            #expect(try !decode(builder).matches(deviceIdentifier: device))
        }
        var withoutHash = builder()
        withoutHash.deviceIdentifier = nil
        #expect(try !decode(withoutHash).matches(deviceIdentifier: device))
        #expect(try !decode(withoutHash).matches(deviceIdentifier: []))
    }

    /// The octets of the bundle id, moved into attribute 4, have the same hash.
    @Test func `a receipt without a bundle id is made for no device`() throws {
        var builder = builder()
        let receipt = try decode(builder)
        builder.opaqueValue = (receipt.opaqueValue ?? []) + tlv(0x0C, Array("com.example.app".utf8))
        (builder.sha1Hash, builder.bundleID) = (receipt.sha1Hash, nil)
        #expect(try !decode(builder).matches(deviceIdentifier: ReceiptBuilder.defaultDeviceIdentifier))
    }

    @Test func `a received hash is compared as a whole`() throws {
        let device = ReceiptBuilder.defaultDeviceIdentifier
        let hash = try decode(builder()).sha1Hash ?? []
        #expect(hash.count == 20)
        for wrong in [Array(hash.dropLast()), hash + [0], []] {
            var builder = builder()
            builder.sha1Hash = wrong
            #expect(try !decode(builder).matches(deviceIdentifier: device))
        }
    }
}
