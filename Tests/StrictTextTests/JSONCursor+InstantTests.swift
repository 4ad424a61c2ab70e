import StrictText
import Testing

@Suite struct JSONCursorInstantTests {
    private func milliseconds(_ text: String) throws(JSONError) -> Int64 {
        try JSONCursor.decode(Array(text.utf8).span) { (cursor) throws(JSONError) in
            try cursor.readInstant().millisecondsSince1970
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-1", -1), ("1697679936049", 1_697_679_936_049), ("1697679936049.7297", 1_697_679_936_049),
            ("1.999", 1), ("-1.999", -1),
        ] as [(String, Int64)])
    func `a date is in milliseconds, and a fraction of one is left out`(text: String, expected: Int64) throws {
        #expect(try milliseconds(text) == expected)
    }

    @Test(
        arguments: [
            ("1e3", .unexpectedValue), ("1.5e3", .unexpectedValue), ("1.5E-3", .unexpectedValue),
            ("9223372036854775808", .numberOutOfRange), ("9223372036854775808.5", .numberOutOfRange),
            ("\"1\"", .unexpectedType),
        ] as [(String, JSONError.Kind)])
    func `a number with an exponent is no date`(text: String, kind: JSONError.Kind) {
        #expect(throws: JSONError(kind, offset: 0)) { try milliseconds(text) }
    }
}
