import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText
import Testing

// The code of the articles GettingStarted, ComingFromVerifyReceipt, Platforms and WhatOfflineVerificationCanKnow, word for word; the last test
// here compares them.

func makeVerifier() throws -> AppStoreVerifier {
    try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
}

func check(receiptData: String, with verifier: AppStoreVerifier) {
    do throws(VerificationError) {
        let receipt = try verifier.verifyReceipt(receiptData)
        print("signed by", receipt.verification.authority, "on", receipt.creationDate ?? "no day")
        for purchase in receipt.inAppPurchases {
            print(purchase.productID ?? "?", purchase.transactionID ?? "?", purchase.expiresDate ?? "for good")
        }
    } catch {
        print(error.code, error.category, error.advice)
    }
}

func entitlements(of receipt: VerifiedReceipt, at now: Instant) -> [String] {
    var products = receipt.ownedNonConsumables(at: now).compactMap(\.productID)
    for subscription in receipt.subscriptions(at: now) where subscription.isActive {
        if let product = subscription.productID { products.append(product) }
    }
    return products
}

func makeTestVerifiers(rootBytes: [UInt8]) throws -> (AppStoreVerifier, AppStoreVerifier) {
    let trust = AppStoreTrust.roots([try TrustAnchor(der: rootBytes)])
    return (
        try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust),
        try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
    )
}

func makeVerifier(distrusting stolen: Fingerprint, trust: AppStoreTrust = .apple) throws -> AppStoreVerifier {
    var receipts = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
    receipts.distrusted = [stolen]
    var signedData = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
    signedData.distrusted = [stolen]
    return AppStoreVerifier(
        receipts: try AppStoreVerifier(policy: receipts, trust: trust),
        signedData: try AppStoreVerifier(policy: signedData, trust: trust))
}

struct VerifyReceiptEndpoint {
    let production: VerifyReceiptResponder
    let sandbox: VerifyReceiptResponder

    init() throws(VerificationError) {
        production = try VerifyReceiptResponder(environment: .production, bundleIDs: ["com.example.app"])
        sandbox = try VerifyReceiptResponder(environment: .sandbox, bundleIDs: ["com.example.app"])
    }

    /// Production first, and on status 21007 the sandbox: what Apple tells backends to do.
    func answer(to body: [UInt8]) -> VerifyReceiptAnswer {
        let answer = production.answer(to: body)
        return answer.status == .sandboxReceipt ? sandbox.answer(to: body) : answer
    }
}

func modernPolicy() -> VerificationPolicy {
    var policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
    policy.algorithms.allowsSHA1 = false
    return policy
}

extension VerifyReceiptEndpoint {
    /// The same with another authority than Apple.
    fileprivate init(trust: AppStoreTrust) throws {
        production = try VerifyReceiptResponder(environment: .production, trust: trust)
        sandbox = try VerifyReceiptResponder(environment: .sandbox, trust: trust)
    }
}

struct GettingStartedTests {
    @Test func `a receipt entitles to what is owned and what is active`() throws {
        let receipt = try MintedReceipts.verified(
            .nonConsumable("pro", transactionID: "1", purchaseDate: day(1)),
            .consumable("coins", transactionID: "2", purchaseDate: day(1)),
            .autoRenewable("monthly", transactionID: "3", purchaseDate: day(1), expiresDate: day(31)))
        #expect(entitlements(of: receipt, at: day(2)) == ["pro", "monthly"])
        #expect(entitlements(of: receipt, at: day(31)) == ["pro"])
        #expect(entitlements(of: receipt, at: day(0)) == [])
    }

    @Test func `the verifier of the article trusts Apple and nobody else`() throws {
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: MintedReceipts.authority)
        let verifier = try makeVerifier()
        check(receiptData: Base64.encode(receipt.span), with: verifier)
        #expect(verifier.counts.refused == ["untrusted-chain": 1])
        #expect(throws: VerificationError.self) { try AppStoreVerifier(policy: modernPolicy()).verify(receipt) }
    }

    @Test func `a backend under test trusts the root that it is given, and not Apple's`() throws {
        let (receipts, evidence) = try makeTestVerifiers(rootBytes: MintedReceipts.authority.root.certificate)
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: MintedReceipts.authority)
        #expect(try receipts.verifyReceipt(receipt).verification.authority == .customRoot)
        #expect(try evidence.verify(receipt) == .receipt(receipts.verifyReceipt(receipt)))
        let forged = try ReceiptBuilder(bundleID: "com.example.app").signed(by: TestCertificateAuthority())
        #expect(throws: VerificationError.self) { try receipts.verifyReceipt(forged) }
        #expect(throws: VerificationError.self) { try evidence.verify(forged) }
    }

    @Test func `what a certificate signs is refused from the day on that it is distrusted`() throws {
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: MintedReceipts.authority)
        let signer = try MintedReceipts.verifier().verify(receipt).verification.signer
        let other = try #require(Fingerprint(hex: String(repeating: "0", count: 64)))
        let stolen = try #require(Fingerprint(hex: signer.description))
        let trust = try MintedReceipts.trust
        _ = try makeVerifier(distrusting: other, trust: trust).verify(receipt)
        let verifier = try makeVerifier(distrusting: stolen, trust: trust)
        let error = #expect(throws: VerificationError.self) { try verifier.verify(receipt) }
        #expect(error?.code == "distrusted-certificate")
        #expect(verifier.policy.distrusted == [stolen])
    }

    @Test func `the two steps end at the environment that the receipt is from`() throws {
        let endpoint = try VerifyReceiptEndpoint(trust: MintedReceipts.trust)
        for environment in [ReceiptBuilder.ReceiptType.production, .sandbox] {
            let receipt = try ReceiptBuilder(bundleID: "com.example.app", environment: environment)
                .signed(by: MintedReceipts.authority)
            let answer = endpoint.answer(to: Array(#"{"receipt-data":"\#(Base64.encode(receipt.span))"}"#.utf8))
            #expect(answer.status == .valid)
            #expect(try answer.result.get().receiptType == environment.rawValue)
        }
        let refused = try VerifyReceiptEndpoint().answer(to: Array("[]".utf8))
        #expect(refused.status == .unreadableRequest)
    }

    @Test(arguments: [
        ("GettingStarted", 3), ("ComingFromVerifyReceipt", 1), ("Platforms", 1), ("WhatOfflineVerificationCanKnow", 1),
    ])
    func `the articles show this code`(name: String, count: Int) throws {
        let article = try Article(name)
        #expect(article.code.count == count)
        #expect(try article.codeMissing(in: #filePath) == [])
    }
}
