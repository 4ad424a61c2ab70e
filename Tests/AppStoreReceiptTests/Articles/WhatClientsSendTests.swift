import Foundation
import TestSupport
import Testing

@testable @_spi(Surfaces) import AppStoreReceipt

/// The article on what clients send has the table of wrappers, and a heading for each code.
///
/// `UPDATE_ARTICLES=1 swift test --filter WhatClientsSendTests` writes its rows.
struct WhatClientsSendTests {
    private static let url = Project.url("Sources/AppStoreReceipt/AppStoreReceipt.docc/WhatClientsSend.md")

    private static var rows: [String] {
        Wrapper.allCases.map { wrapper in
            let members = wrapper.row.members.map { "`\($0.joined(separator: "."))`" }
            let companion = wrapper.row.companion.map { " beside `\($0)`" } ?? ""
            let row = wrapper.row
            return
                "| `\(wrapper.rawValue)` | \(row.meaning) | \(members.joined(separator: ", "))\(companion) | \(row.source) |"
        }
    }

    @Test func `the article has the table of wrappers`() throws {
        var parts = try String(contentsOf: Self.url, encoding: .utf8).components(separatedBy: "\n## ")
        let index = try #require(parts.firstIndex { $0.hasPrefix("What is removed\n") })
        let lines = parts[index].components(separatedBy: "\n")
        let first = try #require(lines.firstIndex { $0.hasPrefix("| `") })
        let count = lines[first...].prefix { $0.hasPrefix("| `") }.count
        guard ProcessInfo.processInfo.environment["UPDATE_ARTICLES"] == nil else {
            parts[index] = (lines[..<first] + Self.rows + lines[(first + count)...]).joined(separator: "\n")
            return try parts.joined(separator: "\n## ").write(to: Self.url, atomically: true, encoding: .utf8)
        }
        #expect(Array(lines[first..<first + count]) == Self.rows)
    }

    @Test func `the article has a heading for each code, and no other`() throws {
        let text = try String(contentsOf: Self.url, encoding: .utf8)
        let headings = text.components(separatedBy: "\n### ").dropFirst().map { $0.prefix { $0 != "\n" } }
        #expect(headings.map(String.init) == InputError.Kind.ofClients.map(\.rawValue))
        for kind in InputError.Kind.ofClients { #expect(kind.fault.page == "WhatClientsSend.md#\(kind.rawValue)") }
    }
}
