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
        ("é😀\u{7F}\u{2028}x", #""é😀\u007f\u2028x""#), ("\u{7F}\u{7F}é\u{9F}", #""\u007f\u007fé\u009f""#),
        ("a\"é\\😀", #""a\"é\\😀""#),
        (
            "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\"",
            #""abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\"""#
        ),
    ])
    func `strings are escaped where they must be, and where characters hide`(value: String, text: String) {
        #expect(Self.write { $0.string(value) } == text)
    }

    /// DEL, the C1 controls, two that end lines in JavaScript, and what turns text around.
    private static let hidden = ([0x7F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029] as Set<UInt32>)
        .union(0x80...0x9F).union(0x202A...0x202E).union(0x2066...0x2069)

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            guard hidden.contains(scalar.value) else { return String(scalar) }
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }

    private static let scalars = (Array(0...0xFFFF) + [0x10000, 0x1F600, 0xE0001, 0x10FFFF] as [UInt32])
        .compactMap(Unicode.Scalar.init)

    @Test func `characters that hide are escaped, and no others but those that must be`() {
        var failures = 0
        for scalar in Self.scalars where scalar.value >= 0x20 && scalar != "\"" && scalar != "\\" {
            let value = "a\(scalar)"
            if Self.write({ $0.string(value) }) != "\"\(Self.escaped(value))\"" { failures += 1 }
        }
        #expect(failures == 0)
    }

    /// What others wrote is passed on as it is, but for these.
    @Test(arguments: ["", " ", "\n"])
    func `characters that hide are escaped in JSON that is passed on`(space: String) {
        let all = String(
            String.UnicodeScalarView(Self.scalars.filter { $0.value >= 0x20 && $0 != "\"" && $0 != "\\" }))
        for text in [all, "\u{7F}", "\u{2028}\u{2028}", "\\\\\u{85}", "\\u2028\u{2028}", "\\\"\u{85} é", "\u{85}\\n"] {
            let json = "{\(space)\"\(text)\":\(space)[\"\(text)\",\(space)1]}"
            let compact = Self.escaped("{\"\(text)\":[\"\(text)\",1]}")
            #expect(Self.write { $0.compact(json.utf8Span.span) } == compact)
            let name = "\"\(text)\""
            let member = Self.write { $0.member(rawName: name.utf8Span.span, rawValue: json.utf8Span.span) }
            #expect(member == Self.escaped(name) + ":" + (space == "\n" ? compact : Self.escaped(json)))
        }
    }

    @Test(arguments: [0, 1, -1, 9, 10, -10, 99, 100, 1_585_714_059_000, .max, .min, .max - 1] as [Int64])
    func `integers are written in full`(value: Int64) {
        #expect(Self.write { $0.integer(value) } == String(value))
    }

    @Test func `a count above that of Int64 is written as the largest Int64`() {
        #expect(Self.write { $0.member("count", UInt64.max) } == "\"count\":\(Int64.max)")
    }

    @Test func `a text that outgrows its memory, above the size of large memory too, keeps its beginning`() {
        let value = String(repeating: "x", count: 1000)
        let count = 12_000
        let text = Self.write { writer in
            writer.beginArray()
            for _ in 0..<count {
                writer.beginObject()
                writer.member("a", value)
                writer.endObject()
            }
            writer.endArray()
        }
        let expected = "[" + Array(repeating: #"{"a":"\#(value)"}"#, count: count).joined(separator: ",") + "]"
        #expect(Array(text.utf8) == Array(expected.utf8))
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
