import Testing

@testable import receipt

@Suite struct StyleTests {
    @Test(arguments: [
        ("com.example.app", "com.example.app"), ("Grüße 日本 🎉", "Grüße 日本 🎉"),
        ("a\u{1B}[2Jb", "a\\u{1B}[2Jb"), ("a\nb\r\tc", "a\\u{A}b\\u{D}\\u{9}c"), ("\u{7F}\u{0}", "\\u{7F}\\u{0}"),
        // C1 controls: a CSI in one character.
        ("\u{9B}31m", "\\u{9B}31m"),
        // What reorders, hides or breaks lines.
        ("a\u{202E}b\u{2066}\u{200B}\u{FEFF}", "a\\u{202E}b\\u{2066}\\u{200B}\\u{FEFF}"),
        ("\u{2028}\u{2029}\u{E000}\u{E0041}", "\\u{2028}\\u{2029}\\u{E000}\\u{E0041}"),
    ])
    func `nothing reaches a terminal that it could take for a command`(text: String, printable: String) {
        #expect(text.printable == printable)
    }

    @Test(.timeLimit(.minutes(10)))
    func `escaping takes linear time`() {
        let text = String(repeating: "\u{1}", count: 1_000_000)
        #expect(text.printable.utf8.count == 5_000_000)
    }

    @Test func `colour is written only where it is asked for`() {
        #expect(Style()(.red, "x") == "x")
        #expect(Style(isColored: true)(.red, "x") == "\u{1B}[1;31mx\u{1B}[0m")
    }
}
