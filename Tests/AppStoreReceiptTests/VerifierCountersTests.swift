import AppStoreReceiptTesting
import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

struct VerifierCountersTests {
    @Test func `verified, refused by code, and what the cache of chains did`() throws {
        let verifier = try Minted.verifier()
        #expect(verifier.counts.verified == 0 && verifier.counts.refused.isEmpty)
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: Minted.authority)
        for _ in 0..<3 { _ = try verifier.verifyReceipt(receipt) }
        _ = try verifier.verifyReceipt(receipt)
        _ = try verifier.verifyReceipt(Base64.encode(receipt.span))
        for input in [[], receipt.dropLast(), receipt.dropLast()] { _ = try? verifier.verifyReceipt(Array(input)) }
        for text in ["?", "MII?"] { _ = try? verifier.verifyReceipt(text) }
        _ = try? verifier.verifyReceipt(receipt, applicationVersion: "none")
        let stranger = try ReceiptBuilder(bundleID: "com.example.app").signed(by: Minted.stranger)
        _ = try? verifier.verifyReceipt(stranger)

        let counts = verifier.counts
        #expect(counts.verified == 5)
        #expect(
            counts.refused == [
                .emptyInput: 1, .truncated: 2, .unrecognizedForm: 1, .invalidBase64: 1,
                .applicationVersionMismatch: 1,
                .untrustedChain: 1,
            ])
        #expect(counts.chainCacheHits == 5)
        #expect(counts.chainCacheMisses == 2)
        #expect(counts.chainCacheEvictions == 0)
    }

    @Test func `counts are right with many threads`() async throws {
        let verifier = try Minted.verifier()
        let receipt = try ReceiptBuilder(bundleID: "com.example.app").signed(by: Minted.authority)
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<50 { _ = try? verifier.verifyReceipt(task % 2 == 0 ? receipt : [0x30]) }
                }
            }
        }
        #expect(verifier.counts.verified == 200)
        #expect(verifier.counts.refused.values.reduce(0, +) == 200)
        #expect(verifier.counts.chainCacheHits + verifier.counts.chainCacheMisses == 200)
    }
}
