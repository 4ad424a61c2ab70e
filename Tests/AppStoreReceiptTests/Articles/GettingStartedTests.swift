import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText
import Testing

// The code of the articles GettingStarted, ComingFromVerifyReceipt, Platforms and WhatOfflineVerificationCanKnow, word for word; the last test
// here compares them.

func makeVerifier() throws -> ReceiptVerifier {
    try ReceiptVerifier(bundleID: "com.example.app", environments: [.production])
}

func check(receiptData: String, with verifier: ReceiptVerifier) {
    do throws(ReceiptError) {
        let receipt = try verifier.verify(base64: receiptData)
        print("signed by", receipt.trust.authority, "on", receipt.creationDate ?? "no day")
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

func makeTestVerifiers(rootBytes: [UInt8]) throws -> (ReceiptVerifier, EvidenceVerifier) {
    let trust = AppStoreTrust.roots([try TrustAnchor(der: rootBytes)])
    return (
        try ReceiptVerifier(bundleID: "com.example.app", environments: [.production], trust: trust),
        try EvidenceVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
    )
}

func makeVerifier(distrusting stolen: Fingerprint, trust: AppStoreTrust = .apple) throws -> EvidenceVerifier {
    var receipts = ReceiptPolicy(bundleIDs: ["com.example.app"], environments: [.production])
    receipts.distrusted = [stolen]
    var signedData = SignedDataPolicy(bundleIDs: ["com.example.app"], environments: [.production])
    signedData.distrusted = [stolen]
    return EvidenceVerifier(
        receipts: try ReceiptVerifier(policy: receipts, trust: trust),
        signedData: try SignedDataVerifier(policy: signedData, trust: trust))
}

struct VerifyReceiptEndpoint {
    let production: VerifyReceiptResponder
    let sandbox: VerifyReceiptResponder

    init() throws(ReceiptError) {
        production = try VerifyReceiptResponder(environment: .production, bundleIDs: ["com.example.app"])
        sandbox = try VerifyReceiptResponder(environment: .sandbox, bundleIDs: ["com.example.app"])
    }

    /// Production first, and on status 21007 the sandbox: what Apple tells backends to do.
    func answer(to body: [UInt8]) -> VerifyReceiptAnswer {
        let answer = production.answer(to: body)
        return answer.status == .sandboxReceipt ? sandbox.answer(to: body) : answer
    }
}

func modernPolicy() -> ReceiptPolicy {
    var policy = ReceiptPolicy(bundleIDs: ["com.example.app"], environments: [.production])
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
        #expect(throws: ReceiptError.self) { try ReceiptVerifier(policy: modernPolicy()).verify(receipt) }
    }

    @Test func `a backend under test trusts the root that it is given, and not Apple's`() throws {
        let (receipts, evidence) = try makeTestVerifiers(rootBytes: MintedReceipts.authority.root.certificate)
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: MintedReceipts.authority)
        #expect(try receipts.verify(receipt).trust.authority == .customRoot)
        #expect(try evidence.verify(anyEvidence: receipt) == .receipt(receipts.verify(receipt)))
        let forged = try ReceiptBuilder(bundleID: "com.example.app").signed(by: TestCertificateAuthority())
        #expect(throws: ReceiptError.self) { try receipts.verify(forged) }
        #expect(throws: EvidenceError.self) { try evidence.verify(anyEvidence: forged) }
    }

    @Test func `what a certificate signs is refused from the day on that it is distrusted`() throws {
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: MintedReceipts.authority)
        let signer = try MintedReceipts.verifier().verify(receipt).trust.signer
        let other = try #require(Fingerprint(hex: String(repeating: "0", count: 64)))
        let stolen = try #require(Fingerprint(hex: signer.description))
        let trust = try MintedReceipts.trust
        _ = try makeVerifier(distrusting: other, trust: trust).verify(anyEvidence: receipt)
        let verifier = try makeVerifier(distrusting: stolen, trust: trust)
        let error = #expect(throws: EvidenceError.self) { try verifier.verify(anyEvidence: receipt) }
        #expect(error?.code == "distrusted-certificate")
        #expect(verifier.signedData.policy.distrusted == [stolen])
    }

    @Test func `the two steps end at the environment that the receipt is from`() throws {
        let endpoint = try VerifyReceiptEndpoint(trust: MintedReceipts.trust)
        for environment in [ReceiptBuilder.Environment.production, .sandbox] {
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
