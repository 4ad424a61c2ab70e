import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText
import TestSupport
import Testing

// The code of the articles GettingStarted, ComingFromVerifyReceipt, Platforms and WhatOfflineVerificationCanKnow, word
// for word; the last test here compares them.

func makeVerifier() throws(VerificationError) -> AppStoreVerifier {
    try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
}

func check(_ evidence: String, with verifier: AppStoreVerifier) {
    do {
        for item in Entitlements([try verifier.verify(evidence)], at: .now).items {
            print("transaction", item.transactionID, "of", item.productID, "is", item.access.code)
        }
    } catch {
        print(error.code, error.category, error.advice)
    }
}

func entitlements(of receipt: VerifiedReceipt, at now: Instant) -> [String] {
    let entitlements = receipt.entitlements(at: now)
    for subscription in entitlements.subscriptions where subscription.isActive {
        print(subscription.productID, "until", subscription.expiresDate)
    }
    return entitlements.activeProductIDs
}

func makeTestVerifier(rootBytes: [UInt8]) throws -> AppStoreVerifier {
    let trust = AppStoreTrust.roots([try TrustAnchor(der: rootBytes)])
    return try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
}

func makeVerifier(distrusting stolen: Fingerprint, trust: AppStoreTrust = .apple) throws -> AppStoreVerifier {
    var policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
    policy.distrusted = [stolen]
    return try AppStoreVerifier(policy: policy, trust: trust)
}

struct VerifyReceiptEndpoint {
    let production: VerifyReceiptResponder
    let sandbox: VerifyReceiptResponder

    init(trust: AppStoreTrust = .apple) throws(VerificationError) {
        let apps: Set = ["com.example.app"]
        production = try VerifyReceiptResponder(bundleIDs: apps, environments: [.production], trust: trust)
        sandbox = try VerifyReceiptResponder(bundleIDs: apps, environments: [.sandbox], trust: trust)
    }

    /// Asks production first, and the sandbox on status 21007, as Apple tells backends to do.
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

struct GettingStartedTests {
    @Test func `a receipt entitles to what is owned and what is active`() throws {
        let receipt = try Minted.verified(
            .nonConsumable("pro", transactionID: "1", purchaseDate: day(1)),
            .consumable("coins", transactionID: "2", purchaseDate: day(1)),
            .autoRenewable("monthly", transactionID: "3", purchaseDate: day(1), expiresDate: day(31)))
        #expect(Set(entitlements(of: receipt, at: day(2))) == ["pro", "monthly"])
        #expect(entitlements(of: receipt, at: day(31)) == ["pro"])
        #expect(entitlements(of: receipt, at: day(0)) == [])
    }

    @Test func `the verifier of the article trusts Apple and nobody else`() throws {
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: Minted.authority)
        let verifier = try makeVerifier()
        check(Base64.encode(receipt.span), with: verifier)
        #expect(verifier.counts.refused == [.untrustedChain: 1])
        #expect(throws: VerificationError.self) { try AppStoreVerifier(policy: modernPolicy()).verify(receipt) }
    }

    @Test func `a backend under test trusts the root that it is given, and not Apple's`() throws {
        let verifier = try makeTestVerifier(rootBytes: Minted.authority.root.certificate)
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: Minted.authority)
        #expect(try verifier.verifyReceipt(receipt).verification.authority == .customRoot)
        #expect(try verifier.verify(receipt) == .receipt(verifier.verifyReceipt(receipt)))
        let forged = try ReceiptBuilder(bundleID: "com.example.app").signed(by: TestCertificateAuthority())
        #expect(throws: VerificationError.self) { try verifier.verifyReceipt(forged) }
        #expect(throws: VerificationError.self) { try verifier.verify(forged) }
    }

    @Test func `what a certificate signs is refused from the day on that it is distrusted`() throws {
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: Minted.authority)
        let signer = try Minted.verifier().verifyReceipt(receipt).verification.signer
        let other = try #require(Fingerprint(String(repeating: "0", count: 64)))
        let stolen = try #require(Fingerprint(signer.description))
        let trust = try Minted.trust
        _ = try makeVerifier(distrusting: other, trust: trust).verify(receipt)
        let verifier = try makeVerifier(distrusting: stolen, trust: trust)
        let error = #expect(throws: VerificationError.self) { try verifier.verify(receipt) }
        #expect(error?.code == .distrustedCertificate)
        #expect(verifier.policy.distrusted == [stolen])
    }

    @Test func `the two steps end at the environment that the receipt is from`() throws {
        let endpoint = try VerifyReceiptEndpoint(trust: Minted.trust)
        for environment in [ReceiptBuilder.ReceiptType.production, .sandbox] {
            let receipt = try ReceiptBuilder(bundleID: "com.example.app", environment: environment)
                .signed(by: Minted.authority)
            let answer = endpoint.answer(to: Array(#"{"receipt-data":"\#(Base64.encode(receipt.span))"}"#.utf8))
            #expect(answer.status == .valid)
            #expect(try answer.result.get().environment == (environment == .sandbox ? .sandbox : .production))
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
