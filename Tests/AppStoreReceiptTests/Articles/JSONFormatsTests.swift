import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

/// The article on JSON shows what the library prints: the text around each `…`, in its order.
@Suite struct JSONFormatsTests {
    private let article: Article
    private let verifier: AppStoreVerifier

    init() throws {
        article = try Article("JSONFormats")
        verifier = try AppStoreVerifier(
            bundleID: "com.example.app", environments: [.production], trust: Minted.trust)
    }

    /// The examples under a heading, each on one line.
    private func examples(under heading: String) -> [String] {
        let blocks = article.text(under: heading).components(separatedBy: "```json\n").dropFirst()
        return blocks.flatMap { block in
            let lines = block.components(separatedBy: "```")[0].components(separatedBy: "\n").filter { !$0.isEmpty }
            return lines.reduce(into: [String]()) { examples, line in
                if line.hasPrefix(" "), let last = examples.indices.last {
                    examples[last] += line.drop { $0 == " " }
                } else {
                    examples.append(line)
                }
            }
        }
    }

    private func expect(_ output: String, toHavePartsOf example: String) {
        var rest = output[...]
        for part in example.components(separatedBy: "…") {
            guard let range = rest.range(of: part) else {
                Issue.record("\(output) has no \(part)")
                return
            }
            rest = rest[range.upperBound...]
        }
    }

    @Test func `the verdicts are those of a genuine and of a refused receipt`() throws {
        let examples = examples(under: "Verdict")
        try #require(examples.count == 2)
        let genuine = try verifier.verify(ReceiptBuilder(bundleID: "com.example.app").signed(by: Minted.authority))
        expect(genuine.json.replacing(#""custom-root""#, with: #""apple""#), toHavePartsOf: examples[0])
        let other = try ReceiptBuilder(bundleID: "com.example.other").signed(by: Minted.authority)
        let error = try #require(throws: VerificationError.self) { try verifier.verify(other) }
        expect(error.json, toHavePartsOf: examples[1])
    }

    @Test func `the entitlements are those of a subscription`() throws {
        let examples = examples(under: "Entitlements")
        try #require(examples.count == 1)
        let (now, end) = (ReceiptBuilder.defaultCreationDate, try #require(Instant(rfc3339: "2025-07-01T00:00:00Z")))
        let receipt = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: [.autoRenewable("com.example.app.monthly", transactionID: "70001", expiresDate: end)])
        let output = try verifier.verifyReceipt(receipt.signed(by: Minted.authority)).entitlements(at: now).json
        // Which pieces there are comes from the command.
        let own = try #require(examples[0].components(separatedBy: #""accepted""#).first)
        expect(output, toHavePartsOf: String(own.prefix { $0 != "…" }))
        #expect(own.hasSuffix("…}],"))
    }

    @Test func `the categories are listed`() {
        let row = article.rows(under: "Verdict").first { $0[0] == "`error`" }
        let categories = VerificationError.Category.allCases.map { "`\($0)`" }
        for category in categories { #expect(row?[2].contains(category) == true, "\(category)") }
    }
}
