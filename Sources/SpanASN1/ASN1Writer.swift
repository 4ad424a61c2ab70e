/// A writer of DER into one buffer, from front to back and without a tree of nodes.
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
/// The length of an element is known only when its content is complete. The writer reserves one octet for it, which is
/// enough for lengths below 128, and ``finish()`` makes room for all longer lengths in a single pass. The work is
/// linear in the output at any depth. Only nested SET OFs need another pass over their content for each level
/// (``writeSet(_:_:)``).
package struct ASN1Writer: ~Copyable {
    /// An element that is still open, or whose length needs more than the octet kept for it.
    private struct Length {
        /// Where the octet is.
        let position: Int
        /// ``missingCount`` when the element was begun.
        let missingBefore: Int
        /// The length of the content, once it is complete.
        var value = 0
    }

    /// The output without the length octets that are still missing.
    private var bytes: [UInt8] = []
    private var lengths: [Length] = []
    /// Indices into `lengths` of the elements that are open.
    private var open: [Int] = []
    /// The number of these that a closure is writing, which ``end()`` must not end.
    private var floor = 0
    /// The number of length octets for which there is no room yet.
    private var missingCount = 0

    /// Creates an empty writer. ``encode(_:)`` creates and finishes one.
    package init() {}

    /// Returns the bytes that a closure writes.
    ///
    /// - Parameter body: A closure that writes with a writer.
    /// - Throws: The error that `body` throws.
    package static func encode<Failure: Error>(
        _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        var writer = ASN1Writer()
        try body(&writer)
        return writer.finish()
    }

    /// Returns the written bytes. Open elements are ended.
    package consuming func finish() -> [UInt8] {
        endElements(above: 0)
        makeRoom(forLengthsFrom: 0)
        return bytes
    }

    // MARK: Elements

    /// Writes an element with a tag, which is used as it is, and a content.
    package mutating func write(_ tag: ASN1Tag, content: Span<UInt8>) {
        append(tag)
        append(length: content.count)
        append(content)
    }

    /// Writes an element from any input as it was received.
    package mutating func write(_ element: ASN1Element) {
        append(element.encoded)
    }

    /// Writes encoded elements. They must be complete, which is not checked.
    package mutating func write(encoded elements: Span<UInt8>) {
        append(elements)
    }

    /// Writes an element whose content a closure writes. If the closure throws an error, nothing is written.
    ///
    /// - Parameters:
    ///   - tag: The tag, which is used as it is.
    ///   - body: A closure that writes the content.
    /// - Throws: The error that `body` throws.
    package mutating func write<Failure: Error>(
        _ tag: ASN1Tag, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try nest(tag, body) { _, _, _ in }
    }

    /// Writes an explicit tag `[number]` whose content a closure writes.
    ///
    /// - Parameters:
    ///   - number: The number of the explicit tag.
    ///   - body: A closure that writes the content.
    /// - Throws: The error that `body` throws.
    package mutating func writeExplicit<Failure: Error>(
        _ number: UInt32, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try write(.context(number), body)
    }

    /// Writes a SET OF, or another constructed type, and sorts its elements into the order of DER (X.690, 11.6).
    ///
    /// Sorting n elements makes O(n log n) comparisons, and moves each byte at most once for each SET OF that contains
    /// it.
    ///
    /// - Parameters:
    ///   - tag: The tag of the set.
    ///   - body: A closure that writes the elements in any order.
    /// - Throws: The error that `body` throws.
    package mutating func writeSet<Failure: Error>(
        _ tag: ASN1Tag = .set, _ body: (inout ASN1Writer) throws(Failure) -> Void
    ) throws(Failure) {
        try nest(tag, body) { writer, contentStart, firstLength in
            writer.makeRoom(forLengthsFrom: firstLength)
            writer.sortElements(from: contentStart)
        }
    }

    /// Begins an element. Everything written until ``end()`` is its content.
    ///
    /// Use it where closures cannot be nested, such as in code that follows an ``ASN1Walker``.
    ///
    /// - Parameter tag: The tag, which is used as it is.
    package mutating func begin(_ tag: ASN1Tag) {
        append(tag)
        open.append(lengths.count)
        lengths.append(Length(position: bytes.count, missingBefore: missingCount))
        bytes.append(0)
    }

    /// Ends the element that was begun last. It does nothing if the current closure has begun none.
    package mutating func end() {
        guard open.count > floor, let index = open.popLast() else { return }
        let length = lengths[index]
        let count = bytes.count - length.position - 1 + missingCount - length.missingBefore
        if count < 0x80 {
            // Inner elements are shorter, so no length follows it.
            bytes[length.position] = UInt8(count)
            lengths.removeLast()
        } else {
            lengths[index].value = count
            missingCount += [UInt8].lengthOctetCount(count) - 1
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

    mutating func append(_ octet: UInt8) {
        bytes.append(octet)
    }

    mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(_ tag: ASN1Tag) { bytes.append(tag) }

    mutating func append(length: Int) { bytes.append(length: length) }

    mutating func append(digits value: Int, _ count: Int) { bytes.append(digits: value, count) }

    private mutating func makeRoom(forLengthsFrom first: Int) {
        guard first < lengths.count else { return }
        let missing = missingCount - lengths[first].missingBefore
        Self.insert(lengths, from: first, into: &bytes, adding: missing)
        missingCount -= missing
        lengths.removeSubrange(first...)
    }

    /// Inserts the lengths by moving all bytes up, last byte first. Their elements must be ended.
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
            span[target] = 0x80 | UInt8([UInt8].lengthOctetCount(length.value) - 1)
        }
    }

    private mutating func sortElements(from contentStart: Int) {
        var elements: [Range<Int>] = []
        var cursor = ASN1Cursor(bytes.span.extracting(contentStart...), allowing: .nonMinimalLengths)
        var isSorted = true
        while !cursor.isAtEnd {
            let start = contentStart + cursor.offset
            // Keep malformed input of `write(encoded:)` in one piece.
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
