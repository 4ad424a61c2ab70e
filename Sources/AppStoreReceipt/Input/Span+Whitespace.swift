import StrictText

extension Span<UInt8> {
    /// The first position from `start` on that has no whitespace; `count` if there is none. A byte order mark before
    /// the text counts as whitespace.
    func endOfWhitespace(from start: Int = 0) -> Int {
        var position = start == 0 ? byteOrderMarkCount : start
        while position < count, self[position].isWhitespace { position += 1 }
        return position
    }

    /// The positions without whitespace at the start and at the end.
    var trimmedRange: Range<Int> {
        let start = endOfWhitespace()
        var end = count
        while start < end, self[end - 1].isWhitespace { end -= 1 }
        return start..<end
    }
}
