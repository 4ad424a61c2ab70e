import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText
import TestSupport
import Testing

// The code of the article LargeReceiptsAndBatches, word for word; the last test here compares them.

/// Returns the accounts whose evidence is refused, with the reason. A line is `{"account":…,"receipt-data":…}`.
func refusals(in lines: some Sequence<[UInt8]> & Sendable, _ verifier: AppStoreVerifier) -> [String] {
    var refusals: [String] = []
    verifier.forEachVerdict(on: lines) { verdict in
        guard case .failure(let error) = verdict.result else { return }
        refusals.append("\(error.code) \(verdict.otherMembers?.text ?? "")")
    }
    return refusals
}

func transactionIDs(in lines: some Sequence<[UInt8]> & Sendable, _ verifier: AppStoreVerifier) -> [[String]] {
    var ids: [[String]] = []
    verifier.forEachVerdict(on: lines, concurrency: 4, transform: { (try? $0.result.get().transactionIDs) ?? [] }) {
        ids.append($0)
    }
    return ids
}

func record<Messages: AsyncSequence & Sendable>(
    _ messages: Messages, _ verifier: AppStoreVerifier, in log: TransactionLog
) async throws where Messages.Element == [UInt8] {
    for try await verdict in verifier.verdicts(on: messages, concurrency: 64) {
        if case .success(let evidence) = verdict.result { await log.append(evidence.transactionIDs) }
    }
}

actor TransactionLog {
    private(set) var ids: [String] = []
    func append(_ ids: [String]) { self.ids += ids }
}

struct LargeReceiptsAndBatchesTests {
    private func verifier() throws -> AppStoreVerifier {
        try AppStoreVerifier(
            bundleID: "com.example.app", environments: [.production], trust: Minted.trust)
    }

    /// Of accounts 0, 1, 2 and so on, where every third has a receipt of somebody else's.
    private func lines() throws -> [[UInt8]] {
        try (0..<12).map { account in
            let builder = ReceiptBuilder(
                bundleID: account % 3 == 2 ? "com.example.other" : "com.example.app",
                purchases: [.consumable("coins", transactionID: "\(1000 + account)")])
            let receipt = try builder.signed(by: Minted.authority)
            return Array(#"{"account":\#(account),"receipt-data":"\#(Base64.encode(receipt.span))"}"#.utf8)
        }
    }

    private var genuine: [String] { (0..<12).filter { $0 % 3 != 2 }.map { "\(1000 + $0)" } }

    @Test func `what is refused comes back with its account`() throws {
        let refusals = try refusals(in: lines(), verifier())
        #expect(refusals == [2, 5, 8, 11].map { #"bundle-id-mismatch {"account":\#($0)}"# })
    }

    @Test func `what is done with each verdict keeps the order`() throws {
        let ids = try transactionIDs(in: lines(), verifier())
        #expect(ids.flatMap(\.self) == genuine)
    }

    @Test func `messages are recorded in order`() async throws {
        let (messages, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for line in try lines() { continuation.yield(line) }
        continuation.finish()
        let ledger = TransactionLog()
        let verifier = try verifier()
        try await record(messages, verifier, in: ledger)
        #expect(await ledger.ids == genuine)
    }

    @Test func `the article on large receipts and batches shows this code`() throws {
        let article = try Article("LargeReceiptsAndBatches")
        #expect(article.code.count == 3)
        #expect(try article.codeMissing(in: #filePath) == [])
    }
}
