import AppStoreReceiptTesting
import Foundation
import SignatureTrust
import TestSupport
import Testing

@testable import AppStoreReceipt

struct ReceiptCodableTests {
    static let purchases: [ReceiptBuilder.Purchase] = [
        .nonConsumable("pro", transactionID: "007"), ReceiptBuilder.Purchase.period("8", 0..<30, cancelled: 3),
    ]

    private func coded<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test func `a receipt and its purchases are the same after coding`() throws {
        var builder = ReceiptBuilder(bundleID: "com.example.app", purchases: Self.purchases)
        builder.additionalAttributes = [.utf8String(AttributeType(rawValue: 77), "unknown")]
        let verified = try Minted.verified(builder)
        let receipt = try coded(verified.receipt)
        #expect(receipt == verified.receipt)
        #expect(receipt.bundleID == "com.example.app")
        #expect(Array(receipt.attributes) == Array(verified.attributes))
        #expect(try receipt.fingerprint == verified.fingerprint)
        for purchase in verified.inAppPurchases {
            let copy = try coded(purchase)
            #expect(copy == purchase)
            #expect(copy.index == 0)
            #expect(copy.productID == purchase.productID)
            #expect(copy.transactionID == purchase.transactionID)
            #expect(copy.revocationDate == purchase.revocationDate)
            #expect(Array(copy.attributes) == Array(purchase.attributes))
        }
        #expect(try coded(Array(verified.inAppPurchases)) == Array(verified.inAppPurchases))
        #expect(try coded([Instant(millisecondsSince1970: 1)]) == [Instant(millisecondsSince1970: 1)])
        #expect(try coded(AppStoreEnvironment.allCases) == AppStoreEnvironment.allCases)
        #expect(try coded([ProductType.nonConsumable]) == [.nonConsumable])
    }

    @Test func `no decoding makes a verified receipt`() {
        #expect(!((VerifiedReceipt.self as Any.Type) is any Decodable.Type))
        #expect(!((SignerVerification.self as Any.Type) is any Decodable.Type))
    }

    @Test(arguments: ["\"\"", "\"MA\"", "\"????\"", "7", "\"MQAA\"", "\"MAA=\"", "\"MYIB\"", "\"MYj/////////\""])
    func `what is no payload is refused by a decoding error`(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Receipt.self, from: Data(text.utf8)) }
    }

    @Test(arguments: ["\"MA==\"", "\"????\"", "null", "\"AAAA\""])
    func `what is no record is refused by a decoding error`(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(InAppPurchase.self, from: Data(text.utf8)) }
    }

    @Test func `the fingerprint is that of the content, and not of what is around it`() throws {
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: Self.purchases)
        let other = try Minted.stranger
        let first = try Minted.verified(builder)
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production]), trust: .roots([other.trustAnchor]))
        let second = try verifier.verifyReceipt(builder.signed(by: other))
        #expect(try first.fingerprint == second.fingerprint)
        let payload = try builder.payload()
        let expected = try Fingerprint(of: payload.span)
        #expect(try first.fingerprint == expected)
        #expect(first.receipt == second.receipt)
        #expect(first != second)
    }

    @Test func `descriptions are one line, whatever the strings`() throws {
        var builder = ReceiptBuilder(
            bundleID: "com.example\n\u{1B}[31m.app",
            purchases: [ReceiptBuilder.Purchase.period("1", 0..<30, "a\nb", cancelled: 4)])
        builder.creationDate = day(40)
        let receipt = try Minted.verified(builder)
        #expect(
            receipt.description
                == #""com.example\n\u{1B}[31m.app" "1.0", "Production", made 2025-02-10T00:00:00Z, 1 purchase"#)
        #expect(
            receipt.inAppPurchases[0].description == #"""
                "a\nb", transaction "1", bought 2025-01-01T00:00:00Z, expires 2025-01-31T00:00:00Z, cancelled 2025-01-05T00:00:00Z
                """#)
        #expect("\(receipt.receipt)" == "\(receipt)")
        let unverified = try UnverifiedReceipt(decoding: builder.signed(by: Minted.authority))
        #expect("\(unverified)" == "not verified: \(receipt)")
    }
}
