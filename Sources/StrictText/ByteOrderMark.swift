extension Span<UInt8> {
    /// The number of bytes of a UTF-8 byte order mark at the start: 3, or 0 if there is none.
    ///
    /// Windows editors and libraries write one before a text. It is not part of the text (RFC 8259, 8.1), and no binary
    /// evidence begins like it.
    public var byteOrderMarkCount: Int {
        count >= 3 && self[0] == 0xEF && self[1] == 0xBB && self[2] == 0xBF ? 3 : 0
    }
}

extension [UInt8] {
    /// Removes a UTF-8 byte order mark from the start of a file or a request body.
    public mutating func removeByteOrderMark() {
        let count = span.byteOrderMarkCount
        // Avoids a copy in the usual case.
        if count > 0 { removeFirst(count) }
    }
}
