import SpanASN1
import StrictText

extension ArraySlice<UInt8> {
    /// The first characters between quotation marks, or the first bytes in hexadecimal of what is not text; `nil` where
    /// there are none.
    package var excerpt: String? { isText ? quoted(limit: Self.excerptByteCount) : hexadecimalExcerpt }

    var hexadecimalExcerpt: String? {
        isEmpty ? nil : Hexadecimal.text(Array(prefix(8)).span, separator: " ") + (count > 8 ? "…" : "")
    }

    private static var excerptByteCount: Int { 32 }

    /// Whether the excerpt is UTF-8 with few control characters and no NUL. Its last character may be cut off.
    package var isText: Bool {
        let bytes = prefix(Self.excerptByteCount)
        let controlCount = bytes.count { $0 < 0x20 && !$0.isWhitespace || $0 == 0x7F }
        guard !bytes.contains(0), controlCount * 4 <= bytes.count else { return false }
        let cutCount = count > bytes.count ? 3 : 0
        return (0...cutCount).contains { count in
            if case .some = String(validating: bytes.dropLast(count), as: UTF8.self) { true } else { false }
        }
    }

    /// The first characters between quotation marks; `nil` where there are none.
    func quoted(limit: Int) -> String? {
        guard !isEmpty else { return nil }
        // Only ASCII: other characters can break lines, and hide or reorder the text beside them.
        let text = String(decoding: prefix(limit), as: UTF8.self).unicodeScalars.map { $0.escaped(asASCII: true) }
            .joined()
        return "\"" + text + (count > limit ? "…\"" : "\"")
    }
}

extension String {
    /// The first characters between quotation marks, for messages and logs: a signed string can have any length.
    var excerpt: String { Array(utf8.prefix(129))[...].quoted(limit: 128) ?? "\"\"" }
}
