import Foundation
import TestSupport

/// An article of the documentation.
struct Article {
    let text: String

    init(_ name: String) throws {
        text = try Project.text("Sources/AppStoreReceipt/AppStoreReceipt.docc/\(name).md")
    }

    /// Its blocks of Swift code, without their imports; except manifests, which are no part of a module.
    var code: [String] { Project.code(of: text).filter { !$0.hasPrefix("// swift-tools-version") } }

    /// Those that a source file does not hold word for word, by their first line.
    func codeMissing(in file: String = #filePath) throws -> [Substring] {
        let source = try String(contentsOfFile: file, encoding: .utf8)
        return code.filter { !source.contains($0) }.map { $0.prefix { $0 != "\n" } }
    }

    /// What stands under a heading, to the next.
    func text(under heading: String) -> Substring {
        let sections = text.components(separatedBy: "\n#").map { $0.drop { $0 == "#" || $0 == " " } }
        return sections.first { $0.hasPrefix(heading + "\n") } ?? ""
    }

    /// The rows of the table under a heading, without the table's own: each cell as it is between the bars.
    func rows(under heading: String) -> [[String]] {
        text(under: heading).split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).map { row in
            row.dropFirst(2).dropLast(2).components(separatedBy: " | ")
        }
    }
}
