import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

/// What the README promises: its code, which `ExamplesTests` compiles, and its length.
@Suite struct ReadmeTests {
    private static let pages = ["README.md", "README.zh-CN.md"]

    /// The blocks of code on a page, of every language.
    private func blocks(of page: String) throws -> [String] {
        let parts = try Project.text(page).components(separatedBy: "```")
        return stride(from: 1, to: parts.count, by: 2).map { parts[$0] }
    }

    @Test func `its function prints what the README says`() throws {
        // The function makes a verifier with Apple's roots, for which no test can sign.
        let code = try #require(Project.code(of: try Project.text("README.md")).first)
        let calls = [
            "try AppStoreVerifier.both(bundleID: \"com.example.app\")", "switch try verifier.verify(body) {",
            "for item in Entitlements([evidence], at: .now).items {",
            "print(item.transactionID, item.productID, item.access.code)",
        ]
        for call in calls { #expect(code.contains(call), "\(call)") }

        var builder = JWSBuilder.transaction(
            bundleID: "com.example.app", productID: "pro.month", transactionID: "1002")
        builder.payload["type"] = .string("Auto-Renewable Subscription")
        builder.payload["expiresDate"] = .integer((Instant.now + .seconds(86_400)).millisecondsSince1970)
        let evidence = try Minted.verifier().verify(builder.signed(by: Minted.ellipticAuthority))
        let lines = Entitlements([evidence], at: .now).items.map { item in
            "\(item.transactionID) \(item.productID) \(item.access.code)"
        }
        #expect(try blocks(of: "README.md").contains("\n" + lines.joined(separator: "\n") + "\n"), "\(lines)")
    }

    @Test(arguments: pages) func `a page is short, and its code fits beside it`(page: String) throws {
        let words = try Project.text(page).split(whereSeparator: \.isWhitespace)
        #expect(words.count <= 900, "\(words.count)")
        for line in try blocks(of: page).flatMap({ $0.split(separator: "\n") }) {
            #expect(line.count <= 90, "\(line)")
        }
    }
}
