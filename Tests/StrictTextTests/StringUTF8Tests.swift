import StrictText
import Testing

@Suite struct StringUTF8Tests {
    @Test(arguments: [
        Array("".utf8), Array("a".utf8), Array("fifteen letters".utf8), Array("sixteen letters!".utf8),
        Array("é, 語 and 🧾, which is more than fifteen bytes".utf8), [0], Array(repeating: 0x61, count: 5000),
        [0xFF], Array("sixteen letters!".utf8) + [0xE2, 0x82],
    ])
    func `a string of bytes is that of the standard library, which repairs what is no UTF-8`(bytes: [UInt8]) {
        let string = String(utf8: bytes.span)
        #expect(string.utf8.elementsEqual(String(decoding: bytes, as: UTF8.self).utf8))
    }
}
