import Testing

@testable import AppStoreReceipt

struct PropertyListTests {
    private func entries(_ text: String) throws(PropertyListError) -> [[String]] {
        let bytes = Array(text.utf8)
        return try PropertyList(bytes.span).entries.map { entry in
            [entry.key, entry.value].map { String(decoding: bytes[$0], as: UTF8.self) }
        }
    }

    private static let readable: [(String, [[String]])] = [
        ("{}", []), (" \n{ \t} \r\n", []), (#"{"a"="b";}"#, [["a", "b"]]),
        ("{\n\t\"a-b\" = \"\";\n\t\"\" = \"c d\";\n}", [["a-b", ""], ["", "c d"]]),
        (#"{"a" = "é";"A"="//*";}"#, [["a", "é"], ["A", "//*"]]),
    ]

    @Test(arguments: readable)
    func `quoted keys and values are read in their order`(text: String, expected: [[String]]) throws {
        #expect(try entries(text) == expected)
    }

    private static let faults: [(String, PropertyListError.Kind, Int)] = [
        ("", .truncated, 0), ("  ", .truncated, 2), ("{", .truncated, 1), (#"{"a"#, .truncated, 3),
        (#"{"a""#, .truncated, 4), (#"{"a"="#, .truncated, 5), (#"{"a"="b""#, .truncated, 8),
        (#"{"a"="b";"#, .truncated, 9), ("x", .unexpectedCharacter, 0), (#"{"a":"b"}"#, .unexpectedCharacter, 4),
        (#"{"a"="b"}"#, .unexpectedCharacter, 8), (#"{;}"#, .unexpectedCharacter, 1),
        ("{a=\"b\";}", .unquotedString, 1),
        (#"{"a"=b;}"#, .unquotedString, 5), (#"{"a"='b';}"#, .unquotedString, 5),
        (#"{"a"=1;}"#, .unquotedString, 5),
        (#"{"a"="\"";}"#, .unsupportedEscape, 6), (#"{"\U0061"="";}"#, .unsupportedEscape, 2),
        (#"/* */{}"#, .unsupportedComment, 0), ("{// a\n}", .unsupportedComment, 1),
        ("{} // a", .unsupportedComment, 3), ("/", .unexpectedCharacter, 0), ("{/", .unquotedString, 1),
        ("{} /", .trailingData, 3), (#"{/a="b";}"#, .unquotedString, 1),
        (#"{"a"={};}"#, .unsupportedNesting, 5), (#"{"a"=();}"#, .unsupportedNesting, 5),
        (#"{"a"=<00>;}"#, .unsupportedNesting, 5), ("{\"a\"=\"b\nc\";}", .invalidString, 7),
        ("{\"a\u{7F}\"=\"\";}", .invalidString, 3), (#"{"a"="b";"a"="b";}"#, .duplicateKey, 10),
        (#"{"a"="b";} x"#, .trailingData, 11), ("{}{}", .trailingData, 2),
    ]

    @Test(arguments: faults)
    func `a fault has a code and a place`(text: String, kind: PropertyListError.Kind, offset: Int) {
        #expect(throws: PropertyListError(kind, offset: offset)) { try entries(text) }
    }

    @Test func `a string is valid UTF-8`() {
        let text = Array("{\"a\"=\"bc".utf8) + [0xC3, 0x28] + Array("\";}".utf8)
        #expect(throws: PropertyListError(.invalidUTF8, offset: 8)) { try PropertyList(text.span) }
    }

    @Test func `keys that are canonically equivalent are two keys`() throws {
        #expect(try entries("{\"\u{E9}\"=\"1\";\"e\u{301}\"=\"2\";}").count == 2)
    }

    @Test func `there are at most 256 keys`() throws {
        let keys = (0..<256).map { "\"\($0)\"=\"\";" }.joined()
        #expect(try entries("{\(keys)}").count == 256)
        #expect(throws: PropertyListError(.tooManyKeys, offset: keys.utf8.count + 1)) {
            try entries("{\(keys)\"x\"=\"\";}")
        }
    }
}
