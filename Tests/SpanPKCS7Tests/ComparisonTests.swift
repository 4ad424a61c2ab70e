import Foundation
import TestSupport
import Testing

/// `Tests/Comparison.md` says "yes" only where a test shows it.
@Suite struct ComparisonTests {
    static let article = Project.url("Tests/Comparison.md")

    @Test func `every yes of ours links to a test that exists`() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        var count = 0
        for line in text.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            guard cells.count > 2, cells[1].hasPrefix("yes") else { continue }
            count += 1
            let link = try #require(cells[1].firstMatch(of: /^yes: \[(.*)\]\((.*)\)/), "\(line)")
            let file = URL(fileURLWithPath: String(link.2), relativeTo: Self.article)
            let source = try String(contentsOf: file, encoding: .utf8)
            #expect(source.contains("func `\(link.1)`"), "\(link.1)")
        }
        #expect(count >= 25)
    }

    @Test func `the number of verdicts is that of the table`() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        let table = try String(
            contentsOf: OpenSSLFiles.directory.appendingPathComponent("verdicts.tsv"), encoding: .utf8)
        #expect(text.contains("has \(table.split(separator: "\n").count - 1) verdicts"))
    }

    /// The codes of the rules by which we are stricter, and no others.
    @Test func `the rules by which we are stricter are those of the table`() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        let section = try #require(text.split(separator: "## Where we are stricter").last)
        let told = Set(section.matches(of: /\n\| `([a-z-]+)` \|/).map { String($0.1) })
        let table = try String(
            contentsOf: OpenSSLFiles.directory.appendingPathComponent("verdicts.tsv"), encoding: .utf8)
        let rows = table.split(separator: "\n").dropFirst().map { $0.split(separator: "\t") }
        #expect(told == Set(rows.filter { $0[4] != "-" }.map { String($0[3]) }))
    }
}
