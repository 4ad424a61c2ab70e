/// The style of text: in colour on a terminal, unless `NO_COLOR` is set (no-color.org).
struct Style {
    var isColored = false
    /// The maximum number of characters in a line; `nil` for no maximum.
    var width: Int?

    static func ofStandardOutput() -> Style {
        guard System.isTerminal(System.standardOutput) else { return Style() }
        let refusesColor = System.environment("NO_COLOR").map { !$0.isEmpty } ?? false
        return Style(
            isColored: !refusesColor && System.environment("TERM") != "dumb",
            width: System.columnCount(of: System.standardOutput))
    }

    enum Ink: String {
        case bold = "1"
        case dim = "2"
        case red = "1;31"
        case green = "1;32"
        case yellow = "1;33"
    }

    func callAsFunction(_ ink: Ink, _ text: String) -> String {
        isColored ? "\u{1B}[\(ink.rawValue)m\(text)\u{1B}[0m" : text
    }
}

extension String {
    /// The text with escapes (`\u{1B}`) for every character that a terminal could take for a command, or that hides or reorders text around it.
    ///
    /// Attackers can write receipts and the names of files.
    var printable: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        // Scalar by scalar: `append(contentsOf:)` of a view of scalars takes time in the whole text.
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isUnprintable {
                text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Returns the text with spaces after it, up to a width in characters.
    func padded(to width: Int) -> String {
        let missing = width - count
        return missing > 0 ? self + String(repeating: " ", count: missing) : self
    }
}

extension Unicode.Scalar {
    /// Whether the character is a control or has no glyph: Unicode's general categories C, Zl and Zp.
    fileprivate var isUnprintable: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
