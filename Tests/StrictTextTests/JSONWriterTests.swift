import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import StrictText
import Testing

@Suite struct JSONWriterTests {
    static func write(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `members and elements are written in the order given`() {
        let text = Self.write { writer in
            writer.beginObject()
            writer.name("status")
            writer.integer(0)
            writer.name("empty")
            writer.beginObject()
            writer.endObject()
            writer.name(utf8: "é\"".utf8Span.span)
            writer.beginArray()
            writer.bool(true)
            writer.bool(false)
            writer.null()
            writer.string("x" as StaticString)
            writer.string("y\n" as String)
            writer.beginArray()
            writer.endArray()
            writer.raw("[ 1 ]".utf8Span.span)
            writer.literal("1.50")
            writer.endArray()
            writer.member(rawName: #""\u0061""#.utf8Span.span, rawValue: "{ }".utf8Span.span)
            writer.endObject()
        }
        #expect(text == #"{"status":0,"empty":{},"é\"":[true,false,null,"x","y\n",[],[ 1 ],1.50],"\u0061":{ }}"#)
    }

    @Test func `a writer can be used again`() {
        let text = Self.write { writer in
            writer.integer(1)
            writer.removeAll()
            writer.integer(2)
        }
        #expect(text == "2")
    }

    @Test(arguments: [
        ("", #""""#), ("abc/d", #""abc/d""#), ("\"\\", #""\"\\""#),
        ("\n\r\t\u{8}\u{0}\u{1F}", #""\n\r\t\u0008\u0000\u001f""#),
        ("é😀\u{7F}\u{2028}", "\"é😀\u{7F}\u{2028}\""), ("a\"é\\😀", #""a\"é\\😀""#),
        (
            "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\"",
            #""abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\"""#
        ),
    ])
    func `strings are escaped where they must be and nowhere else`(value: String, text: String) {
        #expect(Self.write { $0.string(value) } == text)
    }

    @Test(arguments: [0, 1, -1, 9, 10, -10, 99, 100, 1_585_714_059_000, .max, .min, .max - 1] as [Int64])
    func `integers are written in full`(value: Int64) {
        #expect(Self.write { $0.integer(value) } == String(value))
    }

    @Test func `random strings come back`() throws {
        var generator = SeededGenerator()
        for _ in 0..<500 {
            let value = String(decoding: generator.bytes(.random(in: 0...100, using: &generator)), as: UTF8.self)
            let text = Array(Self.write { $0.string(value) }.utf8)
            let ours = try JSONCursor.decode(text.span) { (cursor) throws(JSONError) in try cursor.readString().value }
            let theirs = try JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed) as? String
            #expect(ours == value, "\(generator)")
            #expect(theirs == value, "\(generator)")
        }
    }
}
