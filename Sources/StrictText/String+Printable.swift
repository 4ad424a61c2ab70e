extension String {
    /// The text with escapes (`\u{1B}`) for every character that a terminal could take for a command, or that hides or
    /// reorders text around it.
    ///
    /// Attackers can write receipts and the names of files.
    public var printable: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        // `append(contentsOf:)` with a view of scalars takes time linear in the whole text.
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
}

extension Unicode.Scalar {
    /// Whether the character is a control or has no glyph: Unicode's general categories C, Zl and Zp, default
    /// ignorables (such as the Hangul fillers), and the Braille blank.
    package var isUnprintable: Bool {
        if isASCII { return value < 0x20 || value == 0x7F }
        return switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: properties.isDefaultIgnorableCodePoint || value == 0x2800
        }
    }
}
