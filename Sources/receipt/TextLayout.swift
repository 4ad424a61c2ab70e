// Text in lines that fit the width of a terminal.

extension String {
    /// The number of columns that the text takes in a terminal.
    ///
    /// Scalar by scalar: finding character boundaries takes time in the square of the length (regional indicators,
    /// joiners).
    var columnCount: Int { unicodeScalars.reduce(0) { $0 + $1.columnCount } }

    /// Returns the text with spaces after it, up to a width in columns.
    func padded(to width: Int) -> String {
        let missing = width - columnCount
        return missing > 0 ? self + String(repeating: " ", count: missing) : self
    }

    /// Returns the text or, if it has more than `limit` scalars, its end after an ellipsis, because ids differ at their
    /// ends.
    func keepingEnd(of limit: Int) -> String {
        guard unicodeScalars.count > limit else { return self }
        return "\u{2026}" + String(String.UnicodeScalarView(unicodeScalars.suffix(limit - 1)))
    }

    /// Returns the lines of the text, which break at spaces. A word that is longer than a line has several.
    ///
    /// - Parameters:
    ///   - width: The maximum number of columns; `nil` for no maximum.
    ///   - label: The beginning of the first line, `column` columns wide.
    ///   - indent: The spaces at the beginning of the other lines. A word that fits only with fewer has
    ///     ``narrowIndent``.
    func lines(width: Int?, after label: String = "", _ column: Int = 0, indent: Int) -> [String] {
        guard let width, column + columnCount > width else { return [label + self] }
        var lines = [label]
        var used = column
        var isAtStart = true
        for word in unicodeScalars.split(separator: " ", omittingEmptySubsequences: false) {
            let text = String(word)
            let count = text.columnCount
            let space = isAtStart ? 0 : 1
            if used + space + count <= width {
                lines[lines.count - 1] += (isAtStart ? "" : " ") + text
                used += space + count
                isAtStart = false
                continue
            }
            let narrow = min(indent, Self.narrowIndent)
            let start = indent + count > width && narrow + count <= width ? narrow : indent
            for piece in text.pieces(width: max(width - start, 8)) {
                let line = String(repeating: " ", count: start) + piece
                while isAtStart, lines[0].utf8.last == UInt8(ascii: " ") { lines[0].unicodeScalars.removeLast() }
                // Leaves no line empty.
                if lines.count == 1, lines[0].isEmpty {
                    lines = [line]
                } else {
                    lines.append(line)
                }
                used = start + piece.columnCount
                isAtStart = false
            }
        }
        return lines
    }

    static let narrowIndent = 4

    /// Divides a word into pieces of a width.
    private func pieces(width: Int) -> [String] {
        var pieces: [String] = []
        var piece = String.UnicodeScalarView()
        var used = 0
        for scalar in unicodeScalars {
            if used + scalar.columnCount > width {
                pieces.append(String(piece))
                (piece, used) = (String.UnicodeScalarView(), 0)
            }
            piece.append(scalar)
            used += scalar.columnCount
        }
        return pieces + [String(piece)]
    }
}

extension Unicode.Scalar {
    /// The blocks whose characters take two columns: Unicode's East Asian width W and F.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    fileprivate var columnCount: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: return Self.wide.contains { $0.contains(value) } ? 2 : 1
        }
    }
}
