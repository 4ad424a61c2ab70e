import SeededRandom
import Testing

@_spi(Surfaces) @testable import ReceiptReport

@Suite struct HTMLWriterTests {
    private func text(_ string: String) -> String {
        var html = HTMLWriter()
        html.text(string)
        return String(decoding: html.bytes, as: UTF8.self)
    }

    @Test func `text and values of attributes are escaped, and hidden characters are shown by their code points`() {
        let rows = [
            ("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"),
            ("a\u{202E}b", "a<span class=\"cp\">U+202E</span>b"),
            ("\u{0}\n", "<span class=\"cp\">U+0000</span><span class=\"cp\">U+000A</span>"),
            ("é安娜🎵", "é安娜🎵"),
            ("e\u{301}\u{302}\u{303}\u{304}", "e\u{301}\u{302}\u{303}<span class=\"cp\">U+0304</span>"),
        ]
        for (string, expected) in rows { #expect(text(string).utf8.elementsEqual(expected.utf8)) }
        var html = HTMLWriter()
        html.element(.p, .label("\"><script>\u{202E}"), text: "x")
        #expect(
            String(decoding: html.bytes, as: UTF8.self)
                == "<p aria-label=\"&quot;&gt;&lt;script&gt;[U+202E]\">x</p>")
    }

    @Test func `random bytes never become markup`() {
        var random = SeededGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                Bool.random(using: &random)
                    ? UInt8.random(in: 0...255, using: &random)
                    : Array("<>&\"'/=!-".utf8).randomElement(using: &random) ?? 0
            }
            let string = String(decoding: bytes, as: UTF8.self)
            var html = HTMLWriter()
            html.element(.p, .label(string)) { html in
                html.value(string, limit: 10)
                html.phrase(.pieceNumber, .text(string))
            }
            let markup = String(decoding: html.bytes, as: UTF8.self)
            let tags = markup.split(separator: "<").map { $0.prefix { $0.isLetter || $0 == "/" } }
            let known = Set(Tag.allCases.flatMap { [$0.rawValue, "/" + $0.rawValue] })
            #expect(tags.allSatisfy { known.contains(String($0)) }, "\(markup)")
            #expect(
                markup.utf8.filter { $0 == UInt8(ascii: "<") }.count
                    == markup.utf8.filter { $0 == UInt8(ascii: ">") }.count, "\(markup)")
        }
    }

    @Test func `tags and attributes are none that run, load or send anything`() {
        let forbidden = [
            "script", "iframe", "object", "embed", "img", "form", "input", "base", "link", "meta", "style", "use",
            "foreignObject", "audio", "video",
        ]
        #expect(Tag.allCases.allSatisfy { !forbidden.contains($0.rawValue) })
    }

    @Test func `a long value is cut, opens in full, and has no more of the page than is left`() {
        var html = HTMLWriter()
        let long = String(repeating: "x", count: 5000)
        html.value(long)
        let first = String(decoding: html.bytes, as: UTF8.self)
        #expect(first.contains("<details") && first.contains(long))
        html.remainingFullCount = 0
        let before = html.bytes.count
        html.value(long)
        #expect(html.bytes.count - before < 500)
    }

    @Test func `long values of any number have no more of the page than is theirs`() {
        var html = HTMLWriter()
        for length in [20_000, 1_000_000] {
            let before = html.bytes.count
            html.value(String(repeating: "x", count: length))
            #expect(html.bytes.count - before < 10_000, "\(length)")
        }
        for _ in 0..<500 { html.value(String(repeating: "x", count: 5000)) }
        #expect(html.bytes.count < 1 << 20)
    }

    @Test func `a form's values come back byte for byte, and are no markup`() {
        var html = HTMLWriter()
        html.form("/act", hidden: [("account", "\"><script>\u{202E}\r\n'&")]) { html in
            html.field("reason", id: "a\"b", .line, label: "<b>Why</b>")
            html.choice("zone", id: "z", label: "Zone", [("a\"", "<i>"), ("b", "B")], selected: "b")
            html.button("Send")
        }
        #expect(
            String(decoding: html.bytes, as: UTF8.self) == """
                <form method="post" action="/act"><input type="hidden" name="account" value="&quot;&gt;&lt;script&gt;\u{202E}&#13;&#10;&#39;&amp;">\
                <label for="a&quot;b">&lt;b&gt;Why&lt;/b&gt;</label><input spellcheck="false" type="text" autocomplete="off" name="reason" id="a&quot;b" maxlength="255" required>\
                <label for="z">Zone</label><select name="zone" id="z"><option value="a&quot;">&lt;i&gt;</option><option value="b" selected>B</option></select>\
                <button>Send</button></form>
                """)
    }
}
