import Foundation

/// A document of this package with lines that are made from a table.
///
/// `UPDATE_ARTICLES=1` writes them.
package struct Document {
    private let url: URL
    private let text: String

    package init(_ name: String) throws {
        url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../\(name)")
        text = try String(contentsOf: url, encoding: .utf8)
    }

    /// Returns whether the document has these lines between two texts, and no others. It has not without the two texts.
    package func has(_ lines: [String], after start: String, before end: String) throws -> Bool {
        guard let first = text.range(of: start), let last = text[first.upperBound...].range(of: end) else {
            return false
        }
        let own = text[first.upperBound..<last.lowerBound]
        let lines = lines.joined(separator: "\n")
        if ProcessInfo.processInfo.environment["UPDATE_ARTICLES"] != nil {
            let whole = text[..<first.upperBound] + lines + text[last.lowerBound...]
            try String(whole).write(to: url, atomically: true, encoding: .utf8)
            return true
        }
        return own.utf8.elementsEqual(lines.utf8)
    }
}
