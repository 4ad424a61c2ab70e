public import Instants

extension JSONCursor {
    /// Reads milliseconds since 1970. A fraction is discarded (Xcode writes `1697679936049.7297`).
    ///
    /// - Throws: `unexpected-value` for a number with an exponent.
    public mutating func readInstant() throws(JSONError) -> Instant {
        let number = try readNumber()
        if number.isInteger { return Instant(millisecondsSince1970: try number.int64()) }
        let raw = number.raw
        var end = 0
        while end < raw.count, raw[end] != UInt8(ascii: ".") { end += 1 }
        for index in raw.indices where raw[index] | 0x20 == UInt8(ascii: "e") {
            throw JSONError(.unexpectedValue, offset: number.offset)
        }
        let whole = JSONNumber(raw.extracting(0..<end), offset: number.offset, isInteger: true)
        return Instant(millisecondsSince1970: try whole.int64())
    }
}
