import Foundation
import SignatureTrust
import TestSupport
import Testing

@testable @_spi(Surfaces) import AppStoreReceipt
@testable import ReceiptReport

/// The Chinese page says what the English tables say.
///
/// `UPDATE_ARTICLES=1 swift test --filter ChinesePageTests` writes its rows of codes, in the words of the report.
@Suite struct ChinesePageTests {
    private static let name = "README.zh-CN.md"

    /// The cells of the rows under a heading whose first cell is code.
    private func rows(in text: String, under heading: String) -> [[String]] {
        let section = text.components(separatedBy: "\n## ").first { $0.hasPrefix(heading + "\n") } ?? ""
        return section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
            row.dropFirst(2).dropLast(2).components(separatedBy: " | ").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The text of the first English page of the server that has a heading.
    private func serverPage(with heading: String) throws -> String {
        let folder = Project.root.appending(path: "ReceiptServer")
        let pages = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }
            .sorted()
        let texts = try pages.map { try Project.text("ReceiptServer/\($0)") }
        return try #require(texts.first { $0.contains("\n## \(heading)\n") })
    }

    @Test func `its twenty codes have the words of the report`() throws {
        let all = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })
        var text = try Project.text(Self.name)
        let rows = rows(in: text, under: "客服常见的二十个代码")
        #expect(rows.count == 20)
        for cells in rows {
            let code = cells[0].trimmingCharacters(in: ["`"])
            let error = try #require(all.first { $0.code.rawValue == code }, "\(code)")
            let words = [
                error.sentence(in: .simplifiedChinese), error.advice(for: .swift, in: .simplifiedChinese),
            ]
            if ProcessInfo.processInfo.environment["UPDATE_ARTICLES"] != nil {
                let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("| \(cells[0]) |") })
                text = text.replacing(row, with: "| \(cells[0]) | \(words.joined(separator: " | ")) |")
            } else {
                #expect(cells.dropFirst() == words[...])
            }
        }
        if ProcessInfo.processInfo.environment["UPDATE_ARTICLES"] != nil {
            try text.write(to: Project.root.appending(path: Self.name), atomically: true, encoding: .utf8)
        }
    }

    @Test func `its outcomes are all outcomes, and the same of them may be finished`() throws {
        let english = rows(in: try serverPage(with: "Outcomes"), under: "Outcomes")
        let chinese = rows(in: try Project.text(Self.name), under: "结果")
        #expect(english.count == 10 && chinese.map(\.[0]) == english.map(\.[0]))
        #expect(chinese.map { $0.last == "可以" } == english.map { $0.last == "yes" })
    }

    @Test func `its commands are those of the English pages, which are tested`() throws {
        let commands = try Project.text(Self.name).components(separatedBy: "```sh\n").dropFirst()
            .flatMap { $0.components(separatedBy: "```\n")[0].split(separator: "\n") }
        #expect(commands.count == 14)
        let page = try serverPage(with: "Sell and grant")
        for command in commands { #expect(page.contains("\n\(command)\n"), "\(command)") }
    }
}
