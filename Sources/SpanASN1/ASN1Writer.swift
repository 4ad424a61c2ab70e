/// Writes DER into one buffer, front to back, without nodes in between.
///
/// ```swift
/// let request = ASN1Writer.encode { writer in
///     writer.write(.sequence) { writer in
///         writer.writeInteger(0)
///         writer.writeUTF8String("Käse")
///     }
/// }
/// ```
///
/// An element's length is known only when its content is complete. One octet is kept free for it, enough below 128; a longer one is
/// noted down, and ``finish()`` makes room for all of them in a single pass. So the work is linear in the output however deep it
/// nests; only SET OFs in SET OFs cost another pass over their content per level (``writeSet(_:_:)``).
public struct ASN1Writer: ~Copyable {
    /// An element that is still open, or whose length needs more than the octet kept for it.
    private struct Length {
        /// Where the octet is.
        let position: Int
        /// ``missingCount`` when the element was begun.
        let missingBefore: Int
        /// The length of the content, once it is complete.
        var value = 0
    }

    /// What is written, without the length octets that are still missing.
    private var bytes: [UInt8] = []
    private var lengths: [Length] = []
    /// Indices into `lengths` of the elements that are open.
    private var open: [Int] = []
    /// How many of these ``end()`` may not touch, because a closure is writing their content.
    private var floor = 0
    /// The number of length octets for which there is no room yet.
    private var missingCount = 0

    /// A writer with nothing written; ``encode(_:)`` makes one and finishes it.
    public init() {}

    /// What `body` writes, as bytes.
    ///
    /// - Throws: what `body` throws.
    public static func encode<Failure: Error>(
        _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        var writer = ASN1Writer()
        try body(&writer)
        return writer.finish()
    }

    /// Everything written; elements that are still open are ended.
    public consuming func finish() -> [UInt8] {
        endElements(above: 0)
        makeRoom(forLengthsFrom: 0)
        return bytes
    }

    // MARK: Elements

    /// Writes an element with the given content; `tag` is used as it is, primitive or constructed.
    public mutating func write(_ tag: ASN1Tag, content: Span<UInt8>) {
        append(tag)
        append(length: content.count)
        append(content)
    }

    /// Writes an element as it was received. It may come from any input.
    public mutating func write(_ element: ASN1Element) {
        append(element.encoded)
    }

    /// Writes elements that are encoded already. They must be whole, which is not checked.
    public mutating func write(encoded elements: Span<UInt8>) {
        append(elements)
    }

    /// Writes an element whose content is what `body` writes. When `body` throws, nothing is written.
    ///
    /// - Throws: what `body` throws.
    public mutating func write<Failure: Error>(
        _ tag: ASN1Tag, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try nest(tag, body) { _, _, _ in }
    }

    /// Writes what `body` writes inside an explicit tag `[number]`.
    ///
    /// - Throws: what `body` throws.
    public mutating func writeExplicit<Failure: Error>(
        _ number: UInt32, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try write(.context(number), body)
    }

    /// Writes a SET OF (or one under another constructed tag): the elements that `body` writes, in DER's order (X.690, 11.6).
    ///
    /// Sorting n elements compares O(n log n) times, and moves each byte at most once for every SET OF it is in.
    ///
    /// - Throws: what `body` throws.
    public mutating func writeSet<Failure: Error>(
        _ tag: ASN1Tag = .set, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try nest(tag, body) { writer, contentStart, firstLength in
            writer.makeRoom(forLengthsFrom: firstLength)
            writer.sortElements(from: contentStart)
        }
    }

    /// Begins an element; what is written until ``end()`` is its content. For writers that cannot nest closures, such as
    /// those that follow an ``ASN1Walker``.
    public mutating func begin(_ tag: ASN1Tag) {
        append(tag)
        open.append(lengths.count)
        lengths.append(Length(position: bytes.count, missingBefore: missingCount))
        bytes.append(0)
    }

    /// Ends the element begun last; does nothing when there is none in the closure that is writing.
    public mutating func end() {
        guard open.count > floor, let index = open.popLast() else { return }
        let length = lengths[index]
        let count = bytes.count - length.position - 1 + missingCount - length.missingBefore
        if count < 0x80 {
            // Nothing in it can be longer, so nothing was noted down after it.
            bytes[length.position] = UInt8(count)
            lengths.removeLast()
        } else {
            lengths[index].value = count
            missingCount += Self.octetCount(count)
        }
    }

    private mutating func endElements(above depth: Int) {
        floor = depth
        while open.count > depth { end() }
    }

    private mutating func nest<Failure: Error>(
        _ tag: ASN1Tag, _ body: (inout ASN1Writer) throws(Failure) -> Void,
        complete: (inout ASN1Writer, _ contentStart: Int, _ firstLength: Int) -> Void
    ) throws(Failure) {
        let (start, lengthCount, missing, outerFloor) = (bytes.count, lengths.count, missingCount, floor)
        begin(tag)
        let depth = open.count
        let contentStart = bytes.count
        floor = depth
        do {
            try body(&self)
        } catch {
            bytes.removeSubrange(start...)
            lengths.removeSubrange(lengthCount...)
            open.removeSubrange((depth - 1)...)
            (missingCount, floor) = (missing, outerFloor)
            throw error
        }
        endElements(above: depth)
        complete(&self, contentStart, lengthCount + 1)
        floor = outerFloor
        end()
    }

    // MARK: Octets

    mutating func append(_ octets: Span<UInt8>) {
        bytes.append(addingCapacity: octets.count) { output in
            for index in octets.indices { output.append(octets[index]) }
        }
    }

    @usableFromInline
    mutating func append(_ octet: UInt8) {
        bytes.append(octet)
    }

    mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    @usableFromInline
    mutating func append(_ tag: ASN1Tag) {
        let lead = UInt8(truncatingIfNeeded: tag.rawValue >> 24) & 0xE0
        let number = tag.number
        guard number >= 31 else { return bytes.append(lead | UInt8(number)) }
        bytes.append(lead | 0x1F)
        for shift in stride(from: 21 as UInt32, through: 0, by: -7) where number >> shift > 0 {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift) & 0x7F | (shift > 0 ? 0x80 : 0))
        }
    }

    @usableFromInline
    mutating func append(length: Int) {
        guard length >= 0x80 else { return bytes.append(UInt8(length)) }
        let count = Self.octetCount(length)
        bytes.append(0x80 | UInt8(count))
        for shift in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: length >> (shift * 8))) }
    }

    private static func octetCount(_ length: Int) -> Int {
        (Int.bitWidth - length.leadingZeroBitCount + 7) / 8
    }

    private mutating func makeRoom(forLengthsFrom first: Int) {
        guard first < lengths.count else { return }
        let missing = missingCount - lengths[first].missingBefore
        Self.insert(lengths, from: first, into: &bytes, adding: missing)
        missingCount -= missing
        lengths.removeSubrange(first...)
    }

    /// Moves everything up, last byte first, so that the noted lengths fit in; all of these elements must be ended.
    private static func insert(_ lengths: [Length], from first: Int, into bytes: inout [UInt8], adding count: Int) {
        var source = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count))
        var span = bytes.mutableSpan
        var target = span.count
        for length in lengths[first...].reversed() {
            while source > length.position + 1 {
                source -= 1
                target -= 1
                span[target] = span[source]
            }
            var value = length.value
            while value > 0 {
                target -= 1
                span[target] = UInt8(truncatingIfNeeded: value)
                value >>= 8
            }
            source -= 1
            target -= 1
            span[target] = 0x80 | UInt8(octetCount(length.value))
        }
    }

    private mutating func sortElements(from contentStart: Int) {
        var elements: [Range<Int>] = []
        var cursor = ASN1Cursor(bytes.span.extracting(contentStart...), allowing: .nonMinimalLengths)
        var isSorted = true
        while !cursor.isAtEnd {
            let start = contentStart + cursor.offset
            // What `write(encoded:)` was given against its contract stays in one piece.
            let end = (try? cursor.read())?.range.upperBound ?? cursor.offset + cursor.remainingCount
            let element = start..<contentStart + end
            if let last = elements.last { isSorted = isSorted && ASN1Cursor.isAscending(bytes.span, last, element) }
            elements.append(element)
            if element.upperBound == bytes.count { break }
        }
        guard !isSorted else { return }
        elements.sort { !ASN1Cursor.isAscending(bytes.span, $1, $0) }
        var sorted: [UInt8] = []
        sorted.reserveCapacity(bytes.count - contentStart)
        for element in elements { sorted += bytes[element] }
        bytes.replaceSubrange(contentStart..., with: sorted)
    }
}
