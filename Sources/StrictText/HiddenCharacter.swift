/// A character that is invisible, ends a line for some readers, or changes the direction of text: DEL, the C1 controls
/// (U+0080–U+009F), U+2028 and U+2029, and the bidirectional controls (U+061C, U+200E, U+200F, U+202A–U+202E,
/// U+2066–U+2069).
///
/// JSON allows them in strings. ``JSONWriter`` escapes them, so that people see the actual line of output.
struct HiddenCharacter {
    /// Its only UTF-16 code unit.
    let codeUnit: UInt16
    /// The number of its bytes in UTF-8.
    let byteCount: Int

    /// Creates the hidden character at a position of a text in UTF-8; returns `nil` if there is another character, or
    /// none.
    @inline(__always)
    init?(_ text: Span<UInt8>, at position: Int) {
        switch text[position] {
        case 0x7F: self.init(codeUnit: 0x7F, byteCount: 1)
        case 0xC2, 0xD8, 0xE2: self.init(afterLead: text, at: position)
        default: return nil
        }
    }

    private init(codeUnit: UInt16, byteCount: Int) {
        self.codeUnit = codeUnit
        self.byteCount = byteCount
    }

    @inline(never)
    private init?(afterLead text: Span<UInt8>, at position: Int) {
        guard text.count - position >= 2 else { return nil }
        let second = text[position + 1]
        switch (text[position], second) {
        case (0xC2, 0x80...0x9F): self.init(codeUnit: UInt16(second), byteCount: 2)
        case (0xD8, 0x9C): self.init(codeUnit: 0x061C, byteCount: 2)
        case (0xE2, 0x80...0x81) where text.count - position >= 3:
            let codeUnit = 0x2000 + UInt16(second & 0x3F) << 6 + UInt16(text[position + 2] & 0x3F)
            switch codeUnit {
            case 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: self.init(codeUnit: codeUnit, byteCount: 3)
            default: return nil
            }
        default: return nil
        }
    }
}
