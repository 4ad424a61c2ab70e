import AppStoreReceipt
import SignatureTrust
import TestSupport
import Testing

@Suite(.enabled(if: Corpus.isPresent, "RECEIPT_CORPUS names no folder of receipts"))
struct PurchaseKeyCorpusTests {
    private func verifier(trusting certificate: TrustAnchor? = nil) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: nil, environments: nil)
        policy.allowsRSA1024TransactionReceipts = true
        guard let certificate else { return try AppStoreVerifier(policy: policy) }
        return try AppStoreVerifier(policy: policy, trust: .storeKitTesting([certificate]))
    }

    private func items(_ evidence: VerifiedEvidence) -> [Entitlements.Item] {
        Entitlements([evidence], at: .now).items
    }

    @Test func `what a receipt has has a key, unless it has no original transaction id`() throws {
        var count = 0
        for file in Corpus.apple + Corpus.xcode {
            let bytes = try Corpus.bytes(file)
            let isXcodes = Corpus.xcode.contains(file)
            let verifier = try verifier(trusting: isXcodes ? Corpus.certificate(in: bytes) : nil)
            let expected = try #require(Corpus.expected[file.lastPathComponent]).purchases
            // An independent decoder names attributes by their numbers: 1703 is the transaction id, and 1705 the
            // original one.
            let originals = Dictionary(expected.map { ($0["1703"], $0["1705"]) }) { first, _ in first }
            for item in items(.receipt(try verifier.verifyReceipt(bytes))) {
                let isMissing = originals[item.transactionID].flatMap(\.self)?.isEmpty ?? true
                #expect((item.purchaseKey == nil) == isMissing, "\(file.lastPathComponent) \(item.transactionID)")
                #expect(isXcodes || !isMissing)
                count += 1
            }
        }
        print("corpus: keys of \(count) purchases in receipts")
        #expect(count > 0)
    }

    @Test func `periods have keys of their own, also where all were restored together`() throws {
        for file in Corpus.apple {
            let items = items(.receipt(try verifier().verifyReceipt(Corpus.bytes(file))))
            let byKey = Dictionary(grouping: items) { $0.purchaseKey }
            for (key, items) in byKey where items.count > 1 {
                let periods = Set(items.map { [$0.originalTransactionID, $0.purchase.webOrderLineItemID] })
                #expect(periods.count == 1, "\(key ?? "")")
            }
        }
    }

    @Test func `every transaction of StoreKit 2 has a key, alone and in a notification`() throws {
        var count = 0
        for (name, jws) in try Corpus.jws("jws-apple-") + Corpus.jws("jws-xcode-") {
            let certificate = name.hasPrefix("jws-xcode-") ? try Corpus.certificate(inHeaderOf: jws) : nil
            let items = items(try verifier(trusting: certificate).verify(Array(jws.utf8)))
            #expect(items.allSatisfy { $0.purchaseKey != nil }, "\(name)")
            count += items.count
        }
        print("corpus: keys of \(count) transactions")
        #expect(count > 0)
    }

    @Test func `every transaction receipt has a key`() throws {
        var count = 0
        for file in Corpus.files("ios6") where file.pathExtension == "b64" {
            guard let evidence = try? verifier().verify(Corpus.bytes(file)) else { continue }
            #expect(items(evidence).allSatisfy { $0.purchaseKey != nil }, "\(file.lastPathComponent)")
            count += items(evidence).count
        }
        #expect(count == 3)
    }
}
