import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import StrictText
import Testing

@Suite struct JSONCursorTests {
    /// What is wrong with `text`; `nil` when it is JSON.
    static func failure(_ text: [UInt8]) -> JSONError? {
        do {
            try JSONCursor.decode(text.span) { (cursor) throws(JSONError) in _ = try cursor.skipValue() }
            return nil
        } catch {
            return error
        }
    }

    static func string(_ text: String) throws(JSONError) -> String {
        try JSONCursor.decode(text.utf8Span.span) { (cursor) throws(JSONError) in try cursor.readString().value }
    }

    static func number<Result>(
        _ text: String, _ read: (borrowing JSONNumber) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        try JSONCursor.decode(text.utf8Span.span) { (cursor) throws(JSONError) in try read(cursor.readNumber()) }
    }

    // MARK: Syntax

    @Test(arguments: [
        "{}", "[]", "\"\"", "0", "-0", "true", "false", "null", " \t\r\n[ ] \n", "[1,2 , 3]", "{\"a\":{\"b\":[{}]}}",
        "[1.5,-2e10,3E-7,0.0e+0,10]", "[\"é\",\"\u{10FFFF}\",\"\u{7F}\"]", "{\"a\":1,\"a\":2}", "[[],[[]],{\"\":[]}]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
    ])
    func `what RFC 8259 allows is JSON`(text: String) {
        #expect(Self.failure(Array(text.utf8)) == nil)
    }

    @Test(
        arguments: [
            ("", .truncated, 0), ("  ", .truncated, 2), ("{", .truncated, 1), ("[", .truncated, 1),
            ("[1", .truncated, 2),
            ("[1,", .truncated, 3), ("{\"a\"", .truncated, 4), ("{\"a\":", .truncated, 5), ("{\"a\":1", .truncated, 6),
            ("{\"a\":1,", .truncated, 7), ("\"abc", .truncated, 4), ("tru", .truncated, 3), ("-", .truncated, 1),
            ("1.", .truncated, 2), ("1e", .truncated, 2), ("1e+", .truncated, 3),
            ("]", .unexpectedCharacter, 0), ("[1,]", .unexpectedCharacter, 3), ("[,1]", .unexpectedCharacter, 1),
            ("[1 2]", .unexpectedCharacter, 3), ("[1}", .unexpectedCharacter, 2),
            ("{\"a\" 1}", .unexpectedCharacter, 5),
            ("{\"a\":1,}", .unexpectedCharacter, 7), ("{a:1}", .unexpectedCharacter, 1),
            ("{1:1}", .unexpectedCharacter, 1),
            ("{\"a\":1]", .unexpectedCharacter, 6), ("'a'", .unexpectedCharacter, 0), ("trUe", .unexpectedCharacter, 2),
            ("nan", .unexpectedCharacter, 1), ("+1", .unexpectedCharacter, 0), (".5", .unexpectedCharacter, 0),
            ("\u{FEFF}1", .unexpectedCharacter, 0), ("\u{0}", .unexpectedCharacter, 0),
            ("[1\u{0}]", .unexpectedCharacter, 2),
            ("// a\n1", .unexpectedCharacter, 0), ("[\u{A0}1]", .unexpectedCharacter, 1),
            ("01", .invalidNumber, 1), ("-01", .invalidNumber, 2), ("1.e5", .invalidNumber, 2),
            ("1x", .invalidNumber, 1),
            ("-a", .invalidNumber, 1), ("0x10", .invalidNumber, 1), ("1e5x", .invalidNumber, 3),
            ("[1.,2]", .invalidNumber, 3),
            ("1 2", .trailingData, 2), ("{}{}", .trailingData, 2), ("null,", .trailingData, 4),
            ("1\u{0}", .trailingData, 1),
            ("\"a\nb\"", .invalidString, 2), ("\"\u{0}\"", .invalidString, 1), ("\"\u{1F}\"", .invalidString, 1),
            ("{\"a\tb\":1}", .invalidString, 3), ("\"abcdefghijklmnopqrstuvwxyz0123456789\u{1}\"", .invalidString, 37),
            ("\"\\x\"", .invalidEscape, 1), ("\"\\", .invalidEscape, 1), ("\"\\u12\"", .invalidEscape, 1),
            ("\"\\u12G4\"", .invalidEscape, 1), ("\"\\U0041\"", .invalidEscape, 1), ("\"\\'\"", .invalidEscape, 1),
            ("\"a\\uD800\"", .invalidEscape, 2), ("\"\\uDC00\"", .invalidEscape, 1),
            ("\"\\uD800\\u0041\"", .invalidEscape, 1),
            ("\"\\uD800\\uD800\"", .invalidEscape, 1), ("\"\\uD800x\"", .invalidEscape, 1),
            ("\"\\uD83D\\uDE0\"", .invalidEscape, 1),
        ] as [(String, JSONError.Kind, Int)])
    func `everything else is refused where it is`(text: String, kind: JSONError.Kind, offset: Int) {
        #expect(Self.failure(Array(text.utf8)) == JSONError(kind, offset: offset))
    }

    @Test(
        arguments: [
            ([0x80], 0), ([0x41, 0xC3], 1), ([0xC0, 0x80], 0), ([0xED, 0xA0, 0x80], 0), ([0xF4, 0x90, 0x80, 0x80], 0),
            ([0xC3, 0xA9, 0xE2, 0x82], 2), ([0xFF], 0), ([0xF0, 0x9F, 0x98], 0),
        ] as [([UInt8], Int)])
    func `invalid UTF-8 in a string is refused where it begins`(bytes: [UInt8], offset: Int) {
        let text = [0x5B, 0x22] + bytes + [0x22, 0x5D]
        #expect(Self.failure(text) == JSONError(.invalidUTF8, offset: 2 + offset))
    }

    @Test func `every truncation and every byte outside ASCII is refused`() {
        let text = Array(#"{"a":[1,-2.5e+3,"x\u00e9y\n",true,false,null,{"b":{}}],"c":""}"#.utf8)
        #expect(Self.failure(text) == nil)
        for count in 0..<text.count { #expect(Self.failure(Array(text[..<count])) != nil) }
        for place in text.indices {
            var changed = text
            changed[place] = 0x80
            #expect(Self.failure(changed) != nil)
        }
    }

    @Test func `nesting is allowed to a depth, and beyond it refused in linear time`() {
        func nested(_ open: String, _ close: String, _ depth: Int) -> [UInt8] {
            Array((String(repeating: open, count: depth) + String(repeating: close, count: depth)).utf8)
        }
        let depth = JSONCursor.maximumDepth
        #expect(Self.failure(nested("[", "]", depth)) == nil)
        #expect(Self.failure(nested("[", "]", depth + 1)) == JSONError(.nestingTooDeep, offset: depth))
        #expect(Self.failure(nested("{\"a\":[", "]}", depth / 2)) == nil)
        // The outermost is still known to be an object when the innermost has ended.
        let (open, close) = ([UInt8](repeating: 0x5B, count: depth - 1), [UInt8](repeating: 0x5D, count: depth - 1))
        #expect(Self.failure(Array("{\"a\":".utf8) + open + [0x30] + close + Array("}".utf8)) == nil)
        #expect(Self.failure(Array("{\"a\":".utf8) + open + [0x30] + close + Array("]".utf8)) != nil)
        #expect(Self.failure(nested("[", "", 1 << 20)) == JSONError(.nestingTooDeep, offset: depth))
        #expect(Self.failure(nested("{\"a\":", "", 1 << 18)) == JSONError(.nestingTooDeep, offset: 5 * depth))
        // Sixty-four containers that are open, ten thousand times.
        let wide =
            Array("[".utf8)
            + Array(repeating: nested("[", "]", depth - 1), count: 10_000).joined(separator: Array(",".utf8))
        #expect(Self.failure(wide + Array("]".utf8)) == nil)
    }

    // MARK: Values

    @Test(arguments: [
        (#""""#, ""), (#""abc""#, "abc"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\ud83d\ude00 😀""#, "😀 😀"), (#""\u0000""#, "\u{0}"), (#""\udbff\udfff""#, "\u{10FFFF}"), (#""é\n""#, "é\n"),
        (#""\uFFFF\uE000""#, "\u{FFFF}\u{E000}"),
    ])
    func `strings are decoded`(text: String, value: String) throws {
        #expect(try Self.string(text) == value)
        #expect(try Self.string("  \(text)\n") == value)
        let text = Array(text.utf8)
        try JSONCursor.decode(text.span) { (cursor) throws(JSONError) in
            let string = try cursor.readString()
            let isEqual = string == value
            #expect(isEqual)
            #expect(string.bytes == Array(value.utf8))
            #expect(string.range == 0..<text.count)
        }
    }

    @Test func `a byte of a decoded string is found in the text`() throws {
        // In the text: [ at 0, the quotation mark at 1, a at 2, \n at 3, é at 5, \u00e9 at 7, the pair at 13, b at 25.
        let text = Array(#"["a\né\u00e9\ud83d\ude00b"]"#.utf8)
        let offsets = [2, 3, 5, 6, 7, 7, 13, 13, 13, 13, 25, 26, 26]
        try JSONCursor.decode(text.span) { (cursor) throws(JSONError) in
            try cursor.readArray { (cursor) throws(JSONError) in
                let string = try cursor.readString()
                #expect(string.bytes.count == 11)
                for (index, offset) in offsets.enumerated() { #expect(string.offset(ofByte: index) == offset) }
            }
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("1", 1), ("-1", -1), ("1585714059000", 1_585_714_059_000),
            ("9223372036854775807", .max), ("-9223372036854775808", .min),
        ] as [(String, Int64)])
    func `integers are exact`(text: String, value: Int64) throws {
        #expect(try Self.number(text) { (number) throws(JSONError) in try number.int64() } == value)
    }

    @Test(
        arguments: [
            ("9223372036854775808", .numberOutOfRange), ("-9223372036854775809", .numberOutOfRange),
            ("100000000000000000000000000", .numberOutOfRange), ("1.0", .unexpectedValue), ("1e3", .unexpectedValue),
        ] as [(String, JSONError.Kind)])
    func `what is no 64-bit integer is refused as one`(text: String, kind: JSONError.Kind) {
        #expect(throws: JSONError(kind, offset: 1)) {
            try Self.number(" " + text) { (number) throws(JSONError) in try number.int64() }
        }
    }

    @Test(arguments: [
        ("0", 0), ("-0", -0.0), ("1.5", 1.5), ("-2e-3", -0.002), ("9007199254740993", 9_007_199_254_740_992),
        ("1e-400", 0), ("1.7976931348623157e308", .greatestFiniteMagnitude),
    ])
    func `numbers are read as the nearest double`(text: String, value: Double) throws {
        #expect(try Self.number(text) { (number) throws(JSONError) in try number.double() } == value)
    }

    @Test func `a number that is not finite is refused as a double, in linear time`() {
        for text in ["1e309", "-1e309", String(repeating: "9", count: 1 << 20)] {
            #expect(throws: JSONError(.numberOutOfRange, offset: 0)) {
                try Self.number(text) { (number) throws(JSONError) in try number.double() }
            }
        }
    }

    @Test func `booleans and nulls are read`() throws {
        try JSONCursor.decode("[true, false, null, 1]".utf8Span.span) { (cursor) throws(JSONError) in
            var index = 0
            try cursor.readArray { (cursor) throws(JSONError) in
                switch index {
                case 0: #expect(try cursor.readBool())
                case 1: #expect(try !cursor.readBool())
                case 2: #expect(try cursor.readIfNull())
                default:
                    #expect(try !cursor.readIfNull())
                    #expect(try cursor.readInt64() == 1)
                }
                index += 1
            }
            #expect(index == 4)
        }
    }

    @Test func `an object and an array may be empty`() throws {
        try JSONCursor.decode("{ }".utf8Span.span) { (cursor) throws(JSONError) in
            try cursor.readObject { (_, _) throws(JSONError) in Issue.record("a member") }
        }
        try JSONCursor.decode("[ ]".utf8Span.span) { (cursor) throws(JSONError) in
            try cursor.readArray { _ throws(JSONError) in Issue.record("an element") }
        }
    }

    @Test func `null is spelled out`() {
        #expect(throws: JSONError(.unexpectedCharacter, offset: 3)) {
            try JSONCursor.decode("nulx".utf8Span.span) { (cursor) throws(JSONError) in try cursor.readIfNull() }
        }
        #expect(throws: JSONError(.trailingData, offset: 5)) {
            try JSONCursor.decode("null x".utf8Span.span) { (cursor) throws(JSONError) in try cursor.readIfNull() }
        }
    }

    @Test func `the start of a string is that of no other value`() throws {
        try JSONCursor.decode(" \"ab\"".utf8Span.span) { (cursor) throws(JSONError) in
            #expect(try cursor.startOfString().count == 3)
            #expect(try cursor.readString().value == "ab")
        }
        #expect(throws: JSONError(.unexpectedType, offset: 0)) {
            try JSONCursor.decode("12".utf8Span.span) { (cursor) throws(JSONError) in try cursor.startOfString().count }
        }
    }

    @Test func `a value of another type is refused where it begins`() {
        #expect(throws: JSONError(.unexpectedType, offset: 1)) { try Self.string(" 1") }
        #expect(throws: JSONError(.unexpectedType, offset: 0)) {
            try Self.number("null") { (number) throws(JSONError) in try number.int64() }
        }
        #expect(throws: JSONError(.unexpectedType, offset: 0)) {
            try JSONCursor.decode("{}".utf8Span.span) { (cursor) throws(JSONError) in try cursor.readBool() }
        }
        #expect(throws: JSONError(.unexpectedType, offset: 0)) {
            try JSONCursor.decode("[]".utf8Span.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (_, _) throws(JSONError) in }
            }
        }
    }

    // MARK: Objects

    @Test func `members come in order, and those that are not read are skipped`() throws {
        let text = #" { "a" : [1, {"b": 2}] , "\u0062" : "x" , "c":{}, "a": -1 } "#
        var names: [String] = []
        var values: [String] = []
        try JSONCursor.decode(text.utf8Span.span) { (cursor) throws(JSONError) in
            try cursor.readObject { (cursor, name) throws(JSONError) in
                names.append(name.value)
                if name == "b" { values.append(try cursor.readString().value) }
                if name == "c" { _ = try cursor.peekType() }
            }
        }
        #expect(names == ["a", "b", "c", "a"])
        #expect(values == ["x"])
    }

    @Test func `a value can be passed on as it is`() throws {
        let text = Array(#"{"id" : 7 ,"tags":[ "x" , {"\u0061":1.50} ] }"#.utf8)
        var passed: [String] = []
        try JSONCursor.decode(text.span) { (cursor) throws(JSONError) in
            try cursor.readObject { (cursor, name) throws(JSONError) in
                let value = try cursor.skipValue()
                passed.append(String(decoding: text[name.range], as: UTF8.self))
                passed.append(String(decoding: text[value], as: UTF8.self))
            }
        }
        #expect(passed == [#""id""#, "7", #""tags""#, #"[ "x" , {"\u0061":1.50} ]"#])
    }

    enum Member: String, CaseIterable { case bundleID = "bundleId", type, date, data }

    @Test func `known members are told apart, others are skipped, known ones may not be repeated`() throws {
        let members = JSONMembers<Member>()
        func read(_ text: String) throws(JSONError) -> [Member] {
            try JSONCursor.decode(text.utf8Span.span) { (cursor) throws(JSONError) in
                var found: [Member] = []
                try cursor.readObject(of: members) { (_, member) throws(JSONError) in found.append(member) }
                return found
            }
        }
        #expect(
            try read(#"{"date":1,"x":2,"d\u0061ta":[3],"":0,"bundleID":5,"typE":{},"bundleId":4,"toolongaName":0}"#)
                == [.date, .data, .bundleID])
        #expect(try read(#"{"x":1,"x":2}"#) == [])
        #expect(throws: JSONError(.duplicateMember, offset: 10)) { try read(#"{"date":1,"date":1}"#) }
        #expect(throws: JSONError(.duplicateMember, offset: 10)) { try read(#"{"date":1,"d\u0061te":1}"#) }
    }

    // MARK: Another judge

    @Test func `Foundation finds the same texts to be JSON, but for commas before a closing bracket`() {
        var generator = SeededGenerator()
        let seeds = [
            #"{"receipt-data":"MIIT+/\/\u002b==","password":"é\n😀","n":[1,-0,2.5,true,false,null,{"a":{}},[]]}"#,
            #"[0,10,"\ud83d\ude00",{"a":"","b":[[[1]]]}]"#,
        ].map { Array($0.utf8) }
        let alphabet = Array("{}[]\",:\\/ue+-.0123456789truefalsn \n\tE".utf8)
        var accepted = 0
        for _ in 0..<6_000 {
            var text = seeds.randomElement(using: &generator) ?? []
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                let place = Int.random(in: 1..<text.count - 1, using: &generator)
                let byte = alphabet.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text[place] = byte
                case 1: text.insert(byte, at: place)
                default: text.remove(at: place)
                }
            }
            let ours = Self.failure(text) == nil
            let theirs = (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
            if ours { accepted += 1 }
            let characters = String(decoding: text, as: UTF8.self)
            let withoutSpace = String(characters.unicodeScalars.filter { !$0.properties.isWhitespace })
            let hasExtraComma = withoutSpace.contains(",]") || withoutSpace.contains(",}")
            #expect(ours == theirs || !ours && hasExtraComma, "\(generator) \(characters)")
        }
        #expect(accepted > 100, "\(generator)")
    }

    // It reads 32 bytes at once, then 8, then one by one.
    @Test func `a plain text ends at the first byte that is special in a JSON string, wherever that is`() {
        for byte in UInt8.min...UInt8.max {
            let isPlain = (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            for count in [1, 7, 8, 9, 15, 17, 31, 32, 33, 41, 70] {
                for place in 0..<count {
                    var text = [UInt8](repeating: UInt8(ascii: "e"), count: count)
                    text[place] = byte
                    // Bytes next to the limits: arithmetic on several at once must not carry from one into another.
                    if place > 0 { text[place - 1] = 0x20 }
                    if place + 1 < count { text[place + 1] = 0x21 }
                    #expect(
                        text.span.endOfPlainASCII(from: 0) == (isPlain ? count : place),
                        "\(byte) at \(place) of \(count)")
                }
            }
        }
    }
}
