import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

// The code of the article TestYourBackendWithoutApple, word for word; the last test here compares them.

struct Store {
    let verifier: AppStoreVerifier
    var granted: [String: String] = [:]

    /// Grants each purchase once, and says which products are new.
    mutating func redeem(receiptData: String, at now: Instant = .now) throws(VerificationError) -> [String] {
        let receipt = try verifier.verifyReceipt(receiptData)
        var products: [String] = []
        for item in receipt.entitlements(at: now).items where item.access.isGrantable {
            // A restored copy has another transaction id, and the same key.
            guard let key = item.purchaseKey, granted.updateValue(item.productID, forKey: key) == nil else { continue }
            products.append(item.productID)
        }
        return products
    }
}

@Suite struct StoreTests {
    /// RSA keys take up to a second to make, so all tests share an authority.
    static let authority = Result { try TestCertificateAuthority() }
    let authority: TestCertificateAuthority
    var store: Store

    init() throws {
        authority = try Self.authority.get()
        store = Store(
            verifier: try AppStoreVerifier(
                bundleID: "com.example.app", environments: [.production], trust: .roots([authority.trustAnchor])))
    }

    func mint(_ purchases: ReceiptBuilder.Purchase...) throws -> String {
        try ReceiptBuilder(bundleID: "com.example.app", purchases: purchases).signedBase64(by: authority)
    }

    @Test mutating func `a purchase is granted once`() throws {
        let receipt = try mint(.nonConsumable("pro", transactionID: "1000"))
        #expect(try store.redeem(receiptData: receipt) == ["pro"])
        #expect(try store.redeem(receiptData: receipt) == [])
    }

    @Test mutating func `a refunded purchase is not granted`() throws {
        let purchase = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "1000")
        let refunded = try mint(purchase.revoked(at: ReceiptBuilder.defaultCreationDate))
        #expect(try store.redeem(receiptData: refunded) == [])
    }

    @Test mutating func `a subscription is granted until it expires`() throws {
        let end = ReceiptBuilder.defaultCreationDate
        let subscription = ReceiptBuilder.Purchase.autoRenewable("monthly", transactionID: "1000", expiresDate: end)
        let receipt = try mint(subscription)
        #expect(try store.redeem(receiptData: receipt, at: end) == [])
        #expect(try store.redeem(receiptData: receipt, at: ReceiptBuilder.defaultPurchaseDate) == ["monthly"])
    }

    @Test mutating func `a receipt that was tampered with is refused`() throws {
        let receipt = try mint(.consumable("coins", transactionID: "1000"))
        let changed = "\(receipt.prefix(900))AAAA\(receipt.dropFirst(904))"
        #expect(throws: VerificationError.self) { try store.redeem(receiptData: changed) }
        #expect(store.granted.isEmpty)
    }

    @Test mutating func `a receipt of another app is refused`() throws {
        let receipt = try ReceiptBuilder(bundleID: "com.example.other").signedBase64(by: authority)
        let error = #expect(throws: VerificationError.self) { try store.redeem(receiptData: receipt) }
        #expect(error?.code == .bundleIDMismatch)
        #expect(error?.found == "com.example.other")
    }

    @Test mutating func `a receipt signed by someone else is refused`() throws {
        let stranger = try TestCertificateAuthority()
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signedBase64(by: stranger)
        #expect(throws: VerificationError.self) { try store.redeem(receiptData: receipt) }
    }
}

@Suite struct TransactionTests {
    let authority: TestCertificateAuthority
    let verifier: AppStoreVerifier

    init() throws {
        authority = try TestCertificateAuthority(.ellipticCurve)
        verifier = try AppStoreVerifier(
            bundleID: "com.example.app", environments: [.production], trust: .roots([authority.trustAnchor]))
    }

    let builder = JWSBuilder.transaction(bundleID: "com.example.app", productID: "pro", transactionID: "1000")

    @Test func `a transaction grants its product`() throws {
        let transaction = try verifier.verifyTransaction(builder.signed(by: authority))
        #expect(transaction.productID == "pro")
        #expect(Entitlements([.transaction(transaction)], at: .now).isActive("pro"))
    }

    @Test func `a transaction that was refunded grants nothing`() throws {
        var builder = builder
        builder.revocationDate = JWSBuilder.defaultDate
        let transaction = try verifier.verifyTransaction(builder.signed(by: authority))
        #expect(!Entitlements([.transaction(transaction)], at: .now).isActive("pro"))
    }

    @Test func `a refund comes as a notification`() throws {
        var refunded = builder
        refunded.revocationDate = JWSBuilder.defaultDate
        let notification = try JWSBuilder.notification(
            .refund, bundleID: "com.example.app", transaction: refunded.signed(by: authority))
        let verified = try verifier.verifyNotification(notification.signed(by: authority))
        #expect(verified.type == .refund)
        #expect(verified.transactionInfo?.isRevoked == true)
    }

    @Test func `a transaction signed by someone else is refused`() throws {
        let stranger = try TestCertificateAuthority(.ellipticCurve)
        #expect(throws: VerificationError.self) { try verifier.verifyTransaction(builder.signed(by: stranger)) }
    }
}

func makeVerifier(
    receipts: TestCertificateAuthority, transactions: TestCertificateAuthority
) throws -> AppStoreVerifier {
    try AppStoreVerifier(
        bundleID: "com.example.app", environments: [.production],
        trust: .roots([receipts.trustAnchor, transactions.trustAnchor]))
}

@Test func `a verifier with a root for each takes receipts and transactions`() throws {
    let (receipts, transactions) = (try TestCertificateAuthority(), try TestCertificateAuthority(.ellipticCurve))
    let verifier = try makeVerifier(receipts: receipts, transactions: transactions)
    let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: receipts)
    guard case .receipt = try verifier.verify(receipt) else {
        Issue.record("not taken for a receipt")
        return
    }
    let jws = try JWSBuilder.transaction(bundleID: "com.example.app", productID: "pro", transactionID: "1000")
        .signed(by: transactions)
    guard case .transaction(let transaction) = try verifier.verify(jws) else {
        Issue.record("not taken for a transaction")
        return
    }
    #expect(transaction.productID == "pro")
}

@Suite struct HistoryTests {
    let receipts: TestCertificateAuthority
    let transactions: TestCertificateAuthority
    let verifier: AppStoreVerifier

    init() throws {
        (receipts, transactions) = (try TestCertificateAuthority(), try TestCertificateAuthority(.ellipticCurve))
        verifier = try makeVerifier(receipts: receipts, transactions: transactions)
    }

    @Test func `a refund ends the period that was renewed`() throws {
        let start = try #require(Instant(rfc3339: "2025-01-01T00:00:00Z"))
        let refund = try #require(Instant(rfc3339: "2025-02-10T00:00:00Z"))
        var history = PurchaseHistory(bundleID: "com.example.app")
        let plan = history.subscribe(to: "monthly", in: "group", for: .month, at: start, offer: .freeTrial)
        let second = history.renew(plan)
        history.refund(second, at: refund)

        let before = try verifier.verifyReceipt(
            history.receipt(signedAt: second.purchaseDate).signed(by: receipts))
        #expect(before.entitlements(at: refund).isActive("monthly"))
        let after = try verifier.verifyReceipt(history.receipt(signedAt: refund).signed(by: receipts))
        #expect(!after.entitlements(at: refund).isActive("monthly"))

        for notification in history.notifications(through: refund) {
            let builder = try history.builder(for: notification, partsSignedBy: transactions)
            let verified = try verifier.verifyNotification(builder.signed(by: transactions))
            #expect(verified.transactionInfo?.isRevoked == (verified.type == .refund))
        }
    }
}

@Test func `the article on testing a backend shows this code`() throws {
    let article = "Sources/AppStoreReceiptTesting/AppStoreReceiptTesting.docc/TestYourBackendWithoutApple.md"
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    let code = Project.code(of: try Project.text(article))
    #expect(code.count == 6)
    for block in code {
        let isHere = source.contains(block)
        #expect(isHere, "\(block.prefix(60))…")
    }
}
