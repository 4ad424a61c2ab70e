import StrictText
import Testing

@Suite struct StringPrintableTests {
    @Test(arguments: [
        ("", ""), ("Pro é 安娜 🎵~", "Pro é 安娜 🎵~"), ("\u{1B}[31m", "\\u{1B}[31m"), ("a\u{7F}b", "a\\u{7F}b"),
        ("\u{0}\n\u{1F}", "\\u{0}\\u{A}\\u{1F}"), ("\u{80}\u{9F}", "\\u{80}\\u{9F}"),
        // Turned around, hidden, a new line, no character yet.
        ("\u{202E}exe", "\\u{202E}exe"), ("a\u{200B}", "a\\u{200B}"), ("\u{2028}", "\\u{2028}"),
        ("\u{E000}\u{10FFFF}", "\\u{E000}\\u{10FFFF}"),
        // Letters and marks without a glyph.
        ("b\u{3164}", "b\\u{3164}"), ("\u{115F}\u{FFA0}", "\\u{115F}\\u{FFA0}"),
        ("\u{34F}\u{FE0F}", "\\u{34F}\\u{FE0F}"), ("\u{2800}", "\\u{2800}"),
    ])
    func `what a terminal takes for a command, and what hides, is escaped`(text: String, printable: String) {
        #expect(text.printable.hasSameBytes(as: printable))
    }
}
