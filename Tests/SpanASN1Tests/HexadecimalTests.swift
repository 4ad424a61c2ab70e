import SpanASN1
import Testing

@Suite struct HexadecimalTests {
    @Test func `every byte is two digits, and is read back from either case`() {
        let bytes = (0...255).map { UInt8($0) }
        let text = Hexadecimal.text(bytes.span)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(Hexadecimal.bytes(Array(text.utf8)) == bytes)
        #expect(Hexadecimal.bytes(Array(text.uppercased().utf8)) == bytes)
        let separated = Hexadecimal.text(Array(bytes.prefix(3)).span, separator: ":")
        #expect(separated == "00:01:02")
        #expect(Hexadecimal.bytes([]) == [])
    }

    @Test(arguments: ["0", "000", "0g", "g0", "0 ", "0x", "/0", ":0", "@a", "`a", "0\u{661}"])
    func `anything but pairs of digits is refused`(text: String) {
        #expect(Hexadecimal.bytes(Array(text.utf8)) == nil)
    }
}
