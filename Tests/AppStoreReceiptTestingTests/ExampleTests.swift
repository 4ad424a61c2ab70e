import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import Testing

// The code of the article TestYourBackendWithoutApple, word for word; the last test here compares them.

struct Store {
    let verifier: ReceiptVerifier
    var granted: [String: String] = [:]

    /// Grants each purchase once, and says which products are new.
    mutating func redeem(receiptData: String) throws(ReceiptError) -> [String] {
        let receipt = try verifier.verify(base64: receiptData)
        var products: [String] = []
        for purchase in receipt.inAppPurchases where purchase.cancellationDate == nil {
            guard let product = purchase.productID, let transaction = purchase.transactionID,
                granted.updateValue(product, forKey: transaction) == nil
            else { continue }
            products.append(product)
        }
        return products
    }
}

@Suite struct StoreTests {
    let authority: TestCertificateAuthority
    var store: Store

    init() throws {
        authority = try TestCertificateAuthority()
        store = Store(
            verifier: try ReceiptVerifier(
                bundleID: "com.example.app", environments: [.production], trust: .roots([authority.trustAnchor])))
    }

    func mint(_ purchases: ReceiptBuilder.Purchase...) throws -> [UInt8] {
        try ReceiptBuilder(bundleID: "com.example.app", purchases: purchases).signed(by: authority)
    }

    @Test mutating func `a purchase is granted once`() throws {
        let receipt = Data(try mint(.nonConsumable("pro", transactionID: "1000"))).base64EncodedString()
        #expect(try store.redeem(receiptData: receipt) == ["pro"])
        #expect(try store.redeem(receiptData: receipt) == [])
    }

    @Test mutating func `a refunded purchase is not granted`() throws {
        let purchase = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "1000")
        let refunded = try mint(purchase.cancelled(at: ReceiptBuilder.defaultCreationDate))
        #expect(try store.redeem(receiptData: Data(refunded).base64EncodedString()) == [])
    }

    @Test mutating func `a receipt that was tampered with is refused`() throws {
        var receipt = try mint(.consumable("coins", transactionID: "1000"))
        receipt[700] ^= 1
        #expect(throws: ReceiptError.self) { try store.redeem(receiptData: Data(receipt).base64EncodedString()) }
        #expect(store.granted.isEmpty)
    }

    @Test mutating func `a receipt of another app is refused`() throws {
        let receipt = try ReceiptBuilder(bundleID: "com.example.other").signed(by: authority)
        #expect(throws: ReceiptError.policy(.bundleIDMismatch)) {
            try store.redeem(receiptData: Data(receipt).base64EncodedString())
        }
    }

    @Test mutating func `a receipt signed by someone else is refused`() throws {
        let stranger = try TestCertificateAuthority()
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: stranger)
        #expect(throws: ReceiptError.self) { try store.redeem(receiptData: Data(receipt).base64EncodedString()) }
    }
}

@Test func `the article on testing a backend shows this code`() throws {
    let tests = URL(fileURLWithPath: #filePath)
    let folder = "../../Sources/AppStoreReceiptTesting/AppStoreReceiptTesting.docc/"
    let article = tests.deletingLastPathComponent()
        .appendingPathComponent(folder + "TestYourBackendWithoutApple.md").standardized
    let source = try String(contentsOf: tests, encoding: .utf8)
    let parts = try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
    #expect(parts.count == 3)
    for part in parts {
        let block = part.components(separatedBy: "```\n")[0]
        let isHere = source.contains(block)
        #expect(isHere, "\(block.prefix(60))…")
    }
}
