import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite struct TextLayoutTests {
    private let folder: TemporaryFolder
    private let root: String
    private let receipt: String

    /// As long as App Store Connect allows.
    private static let longID = "com.example.app." + String(repeating: "subscription.", count: 6) + "yearly"
    private static let ids = ["com.example.app.premium.subscription.monthly", "com.example.app.pro", longID]

    init() throws {
        folder = try TemporaryFolder()
        let authority = try Minted.authority
        root = try folder.write("root.der", authority.root.certificate)
        let date = ReceiptBuilder.defaultCreationDate
        var purchases = Self.ids.enumerated().map { index, id in
            ReceiptBuilder.Purchase.autoRenewable(
                id, transactionID: "20000000000000\(index)", originalTransactionID: "200000000000000",
                purchaseDate: date, expiresDate: date + .seconds(86_400 * 30))
        }
        purchases[1].revocationDate = date
        purchases[1].revocationReason = .appIssue
        purchases[1].promotionalOfferID = "summer"
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: purchases)
        receipt = try folder.write("receipt.der", try builder.signed(by: authority))
    }

    @Test(arguments: [80, 120, 100, 60, 40])
    func `every line of a report fits the terminal, and nothing is cut`(width: Int) throws {
        for words in [["verify", "--root", root, "r"], ["decode", "r"], ["verify", "--bundle-id", "x", "r"]] {
            // The name of a file is not divided.
            let words = words.map { $0 == "r" ? receipt : $0 }
            let result = run(words, style: Style(width: width))
            for line in result.lines where !line.contains(receipt) {
                #expect(line.unicodeScalars.count <= width, "\(line)")
            }
            guard result.status == 0 else { continue }
            let text = result.output.filter { !$0.isWhitespace }
            for id in Self.ids + ["200000000000000", "200000000000002", "(problemwiththeapp)", "offersummer"] {
                #expect(text.contains(id), "\(id)")
            }
            #expect(!result.output.contains("\u{2026}"))
        }
    }

    @Test func `at 80 columns, what does not fit beside a purchase stands below it, under its own head`() {
        let lines = run("decode", receipt, style: Style(width: 80)).lines.drop { !$0.hasPrefix("  PRODUCT") }
        #expect(
            Array(lines.prefix(9)) == [
                "  PRODUCT", "      KIND            TRANSACTION      ORIGINAL         PURCHASED (UTC)",
                "      EXPIRES (UTC)", "      NOTES", "  com.example.app.premium.subscription.monthly",
                "      auto-renewable  200000000000000                   2025-06-15 12:00:00",
                "      2025-07-15 12:00:00", "  com.example.app.pro",
                "      auto-renewable  200000000000001  200000000000000  2025-06-15 12:00:00",
            ])
    }

    @Test(arguments: [["--wide"], []])
    func `with --wide, or without a terminal, each purchase is one line`(options: [String]) {
        let result = run(["decode"] + options + [receipt], style: Style(width: options.isEmpty ? nil : 80))
        let table = result.lines.drop { !$0.hasPrefix("  PRODUCT") }
        #expect(table.count == 4)
        for (line, id) in zip(table.dropFirst(), Self.ids) { #expect(line.hasPrefix("  \(id) ")) }
    }

    @Test func `with --wide, values of any length are in full`() throws {
        let id = String(repeating: "x", count: 5000) + "end"
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable(id, transactionID: "1")])
        let file = try folder.write("long.der", try builder.signed(by: Minted.authority))
        #expect(run("decode", "--wide", file).output.contains(id))
        let cut = run("decode", file)
        #expect(!cut.output.contains(id) && cut.output.contains("\u{2026}xxxx") && cut.output.contains("xend "))
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["\u{1F1E6}", "e\u{301}\u{301}", "\u{65E5}", " ", "x"])
    func `layout takes linear time, whatever the text`(_ character: String) {
        let text = String(repeating: character, count: 200_000)
        let lines = text.lines(width: 80, after: "  ", 2, indent: 2)
        #expect(lines.allSatisfy { $0.columnCount <= 80 })
        #expect(lines.count >= text.columnCount / 80)
    }

    @Test(arguments: [
        ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("한국", 4), ("ＡＢ", 4), ("Grüße", 5), ("\u{1F389}", 2), ("", 0),
    ])
    func `wide characters take two columns, and marks none`(text: String, count: Int) {
        #expect(text.columnCount == count)
        #expect(text.padded(to: 6).columnCount == 6)
    }

    @Test(arguments: [
        ("one two three", 8, 0, ["one two", "three"]), ("one two", 7, 0, ["one two"]),
        ("abcdefghijkl", 10, 2, ["  abcdefgh", "  ijkl"]), ("a abcdefghij b", 10, 2, ["a", "  abcdefgh", "  ij b"]),
        ("", 10, 0, [""]),
    ])
    func `lines break at spaces, and within a word that is longer than a line`(
        text: String, width: Int, indent: Int, expected: [String]
    ) {
        #expect(text.lines(width: width, indent: indent) == expected)
    }

    @Test(arguments: [
        (["always"], true, true), (["never"], true, false), (["auto"], true, true), (["auto"], false, false),
        ([], true, true), (["always"], false, true),
    ])
    func `--color decides before the terminal does`(words: [String], isTerminal: Bool, isColored: Bool) {
        for command in [["verify", "--root", root], ["decode"], ["asn1"], ["cms"]] {
            let result = run(
                command + words.flatMap { ["--color", $0] } + [receipt], style: Style(isColored: isTerminal, width: 80))
            #expect(result.output.contains("\u{1B}[") == isColored, "\(command)")
        }
    }

    @Test func `--quiet prints only what was refused`() throws {
        let broken = try folder.write("broken.der", [0x30, 0x80])
        for command in [["verify", "--root", root], ["decode"]] {
            for format in ["text", "json"] {
                let words = command + ["--format", format, "--quiet"]
                let passed = run(words + [receipt])
                #expect(passed.status == 0 && passed.output.isEmpty && passed.errorOutput.isEmpty)
                let mixed = run(words + [receipt, broken, receipt])
                #expect(mixed.status == 1 && mixed.output.contains("broken.der"))
                #expect(!mixed.output.contains("receipt.der") && !mixed.output.hasPrefix("\n"))
            }
        }
        #expect(run("cms", "--quiet", "--root", root, broken).output.hasPrefix("REFUSED"))
    }
}
