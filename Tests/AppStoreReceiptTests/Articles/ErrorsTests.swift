import Foundation
import StrictText
import TestSupport
import Testing

@testable @_spi(Surfaces) import AppStoreReceipt
@testable import SignatureTrust

/// The article on errors has the table of faults, whole and in its words.
///
/// `UPDATE_ARTICLES=1 swift test --filter ErrorsTests` writes its rows.
struct ErrorsTests {
    /// The errors of each section. Sections of syntax list codes once for several stages, and have a list of what to do
    /// at each.
    private static let sections: [(heading: String, errors: [VerificationError], isSyntax: Bool)] = {
        let all = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })
        func section(_ heading: String, isSyntax: Bool = false, _ isIncluded: (VerificationError) -> Bool)
            -> (String, [VerificationError], Bool)
        {
            (heading, all.filter(isIncluded), isSyntax)
        }
        return [
            section("Input") { if case .input = $0.reason { true } else { false } },
            section("Container") {
                if case .signature(_, .receipt) = $0.reason { $0.stage == .container } else { false }
            },
            section("JWS form") { if case .compactJWS = $0.reason { true } else { false } },
            section("JWS header") { if case .header = $0.reason { true } else { false } },
            section("Transaction receipt signature") { if case .signatureBlob = $0.reason { true } else { false } },
            section("Signature and chain") {
                if case .signature(_, .receipt) = $0.reason { $0.stage == .signature } else { false }
            },
            section("Date") { if case .date = $0.reason { true } else { false } },
            section("Policy") { $0.stage == .policy },
            section("Verifier and host") { $0.stage == .verifier },
            section("ASN.1", isSyntax: true) {
                switch $0.reason {
                case .container, .payload: true
                default: false
                }
            },
            section("JSON", isSyntax: true) {
                switch $0.reason {
                case .headerSyntax, .members: true
                default: false
                }
            },
            section("Property lists", isSyntax: true) {
                if case .propertyList = $0.reason { true } else { false }
            },
        ]
    }()

    @Test func `the article has the table of faults, whole and in its words`() throws {
        let url = Project.url("Sources/AppStoreReceipt/AppStoreReceipt.docc/Errors.md")
        let text = try String(contentsOf: url, encoding: .utf8)
        var article = text
        func replace(_ heading: String, beginning prefix: String, with lines: [String]) {
            article = Self.replacing(linesOf: article, under: heading, beginning: prefix, with: lines)
        }
        func replace(_ heading: String, with faults: [Fault]) throws {
            let (common, rows) = try Self.table(faults)
            replace(heading, beginning: "Category ", with: [common])
            replace(heading, beginning: "| `", with: rows)
        }
        for (heading, errors, isSyntax) in Self.sections {
            if isSyntax {
                replace(heading, beginning: "- Stage ", with: Self.items(errors))
                replace(heading, beginning: "| `", with: Self.syntaxRows(errors))
            } else {
                try replace(heading, with: errors.map(\.fault))
            }
        }
        try replace("Before verification", with: SurfaceFault.allCases.map(\.fault))
        if ProcessInfo.processInfo.environment["UPDATE_ARTICLES"] != nil {
            return try article.write(to: url, atomically: true, encoding: .utf8)
        }
        #expect(text == article, "UPDATE_ARTICLES=1 swift test --filter ErrorsTests writes the rows")
    }

    @Test func `every error is in one section`() {
        let all = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })
        let listed = Set(Self.sections.flatMap(\.errors).map { "\($0.stage) \($0.code)" })
        for error in all {
            // The section on the chain has what can be wrong with the signature, too.
            let stage = error.stage == .chain ? VerificationError.Stage.signature : error.stage
            #expect(listed.contains("\(stage) \(error.code)") || listed.contains("container \(error.code)"), "\(error)")
        }
    }

    /// The category of a section's errors with the advice that many of them have, and the rows with all other advice.
    private static func table(_ faults: [Fault]) throws -> (common: String, rows: [String]) {
        let advice = faults.map { $0.advice(for: .swift) }
        let counts = Dictionary(advice.map { ($0, 1) }, uniquingKeysWith: +)
        let most = try #require(counts.max { ($0.value, $0.key) < ($1.value, $1.key) })
        let common = most.value > 1 && 3 * most.value >= faults.count ? most.key : nil
        let category = try #require(faults.first?.party.category)
        try #require(faults.allSatisfy { $0.party.category == category })
        var line = "Category `\(category)`, \(category.httpStatus)."
        if let common { line += counts.count == 1 ? " \(common)" : " Unless the table says what to do: \(common)" }
        let rows = zip(faults, advice).map { fault, advice in
            let row = "| `\(fault.code)` | \(fault.explanation) |"
            return counts.count == 1 ? row : row + (advice == common ? " |" : " \(advice) |")
        }
        return (line, rows)
    }

    private static func syntaxRows(_ errors: [VerificationError]) -> [String] {
        var rows: [String] = []
        for row in errors.map({ "| `\($0.code)` | \($0.explanation) |" }) where !rows.contains(row) { rows.append(row) }
        return rows
    }

    /// What to do at each stage. The codes are named unless they are most of the stage's.
    private static func items(_ errors: [VerificationError]) -> [String] {
        var groups: [(head: String, advice: String, codes: [String])] = []
        for error in errors {
            var head = "- Stage `\(error.stage)`, category `\(error.category)`, \(error.category.httpStatus)"
            // The one code whose meaning depends on what the caller asked for.
            if case .members(let fault, _, let expected) = error.reason, fault.kind == .missingMember {
                head += expected == nil ? ", from `verify(_:)`" : ", from a method for one kind"
            }
            if let index = groups.firstIndex(where: { $0.head == head && $0.advice == error.advice }) {
                groups[index].codes.append("`\(error.code)`")
            } else {
                groups.append((head, error.advice, ["`\(error.code)`"]))
            }
        }
        return groups.map { group in
            let codes = group.codes.count > 3 ? "" : ", for " + group.codes.joined(separator: " and ")
            return "\(group.head)\(codes): \(group.advice)"
        }
    }

    /// Returns the text with `lines` in place of those that begin with `prefix` in the section under a heading.
    private static func replacing(
        linesOf text: String, under heading: String, beginning prefix: String, with lines: [String]
    ) -> String {
        var result: [String] = []
        var isInSection = false
        var isDone = false
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("## ") || line.hasPrefix("### ") {
                isInSection = line.drop { $0 == "#" || $0 == " " } == heading
            }
            guard isInSection, line.hasPrefix(prefix) else {
                result.append(line)
                continue
            }
            if !isDone { result += lines }
            isDone = true
        }
        return result.joined(separator: "\n")
    }

    @Test func `every stage, category and status is in the article on errors`() throws {
        let article = try Article("Errors")
        #expect(article.rows(under: "Stages").map { $0[0] } == VerificationError.Stage.allCases.map { "`\($0)`" })
        #expect(
            article.rows(under: "Categories").map { Array($0.prefix(2)) }
                == VerificationError.Category.allCases.map { ["`\($0)`", String($0.httpStatus)] })
        #expect(
            article.rows(under: "verifyReceipt statuses").map { $0[0] }
                == VerifyReceiptStatus.allCases.map { String($0.rawValue) })
    }
}
