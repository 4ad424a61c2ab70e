import LargeMemory

/// A converter of BER into the form that ``ASN1Cursor`` reads: definite lengths, and OCTET STRINGs in one piece.
///
/// DER needs no conversion. Read the input as DER first, and convert it if that throws `indefinite-length` or
/// `constructed-string`. The gate rewrites only the structure around the data, because everything that is hashed or
/// signed must stay as received: it never changes the content of an OCTET STRING, and it copies elements that you
/// declare *opaque* byte for byte. Opaque elements must have definite lengths.
///
/// Some receipts need it: StoreKit Testing in Xcode writes indefinite lengths around a content of one segment.
/// Streaming writers of CMS write many segments.
package struct BERGate: Sendable {
    /// The maximum depth of elements outside opaque elements.
    package var maximumDepth: Int
    /// The maximum number of rewritten elements. Segments of a string and opaque elements do not count.
    package var maximumElementCount: Int
    /// Whether an element with this depth (0 for the outermost), this tag and this parent's tag is opaque.
    let isOpaque: @Sendable (_ depth: Int, _ tag: ASN1Tag, _ parent: ASN1Tag?) -> Bool

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - maximumDepth: The maximum depth of elements outside opaque elements.
    ///   - maximumElementCount: The maximum number of rewritten elements.
    ///   - isOpaque: A closure that returns whether an element is opaque, which is required for everything that was
    ///     hashed or signed. Its parameters are the depth of the element (0 for the outermost), its tag and the tag of
    ///     its parent. By default, no element is opaque.
    package init(
        maximumDepth: Int = 32, maximumElementCount: Int = 4096,
        isOpaque: @escaping @Sendable (_ depth: Int, _ tag: ASN1Tag, _ parent: ASN1Tag?) -> Bool = { _, _, _ in false }
    ) {
        self.maximumDepth = maximumDepth
        self.maximumElementCount = maximumElementCount
        self.isOpaque = isOpaque
    }

    /// Converts the single element in `bytes` to definite lengths and joins every constructed OCTET STRING.
    ///
    /// It makes two passes. Its memory is that of the result, which is at most a few bytes larger than the input.
    ///
    /// - Parameter bytes: The received BER.
    /// - Returns: The element with definite lengths.
    /// - Throws: An error of the syntax, with an offset into `bytes`; `nesting-too-deep` or `too-many-elements` if a
    ///   limit is exceeded; `indefinite-length` for an opaque element; `trailing-data`.
    package func normalize(_ bytes: Span<UInt8>) throws(ASN1DecodingError) -> [UInt8] {
        var measure = Measure()
        try walk(bytes) { (event) throws(ASN1DecodingError) in measure.add(event) }

        var output: [UInt8] = []
        output.reserveLargeCapacity(measure.outputCount, likelyCount: measure.outputCount)
        var counts = measure.counts[...]
        try walk(bytes) { (event) throws(ASN1DecodingError) in
            switch event {
            case .open(let tag, _):
                output.append(tag)
                output.append(length: counts.popFirst() ?? 0)
            case .copy(let range):
                let copied = bytes.extracting(range)
                for index in copied.indices { output.append(copied[index]) }
            case .close: break
            }
        }
        return output
    }

    /// Returns the offset in the received bytes of a byte of the converted form. The bytes of a rewritten header map to
    /// the start of its element.
    ///
    /// It is meant for errors: it walks the input again, so that no map is needed in the common case.
    ///
    /// - Parameters:
    ///   - target: The offset in the converted form.
    ///   - bytes: The received BER.
    package func receivedOffset(ofNormalized target: Int, in bytes: Span<UInt8>) -> Int {
        var measure = Measure()
        var counts: ArraySlice<Int> = []
        var position = 0
        var result: Int?
        do {
            try walk(bytes) { (event) throws(ASN1DecodingError) in measure.add(event) }
            counts = measure.counts[...]
            try walk(bytes) { (event) throws(ASN1DecodingError) in
                guard result == nil else { return }
                switch event {
                case .open(let tag, let start):
                    position += Self.headerCount(tag, counts.popFirst() ?? 0)
                    if target < position { result = start }
                case .copy(let range):
                    if target < position + range.count { result = range.lowerBound + (target - position) }
                    position += range.count
                case .close: break
                }
            }
        } catch {
            return error.offset
        }
        return result ?? bytes.count
    }
}

extension BERGate {
    private enum Event {
        /// A rewritten element begins: its tag, and where it begins in the input.
        case open(ASN1Tag, Int)
        /// Bytes that go to the output as they are.
        case copy(Range<Int>)
        /// The innermost rewritten element ends.
        case close
    }

    private struct Frame {
        /// Where the content ends, for a definite length.
        let end: Int?
        let tag: ASN1Tag
        /// Segments of a string have no header in the output.
        let isSegment: Bool
    }

    /// The content length of every rewritten element, in the order in which they open.
    private struct Measure {
        var counts: [Int] = []
        /// The size of the normalized form.
        var outputCount = 0
        private var open: [(index: Int, tag: ASN1Tag)] = []

        mutating func add(_ event: Event) {
            switch event {
            case .open(let tag, _):
                open.append((counts.count, tag))
                counts.append(0)
            case .copy(let range):
                outputCount += range.count
                if let innermost = open.last { counts[innermost.index] += range.count }
            case .close:
                guard let closed = open.popLast() else { return }
                let count = counts[closed.index]
                let headerCount = BERGate.headerCount(closed.tag, count)
                outputCount += headerCount
                if let parent = open.last { counts[parent.index] += headerCount + count }
            }
        }
    }

    /// Visits one element, without recursion.
    private func walk(
        _ bytes: Span<UInt8>, _ visit: (Event) throws(ASN1DecodingError) -> Void
    ) throws(ASN1DecodingError) {
        var stack: [Frame] = []
        var position = 0
        var elementCount = 0
        repeat {
            let parent = stack.last
            let limit = parent?.end ?? bytes.count
            if let parent, parent.end == position || (parent.end == nil && isEndOfContents(bytes, position)) {
                if parent.end == nil { position += 2 }
                stack.removeLast()
                if !parent.isSegment { try visit(.close) }
                continue
            }
            let start = position
            guard start < limit else {
                throw ASN1DecodingError(stack.isEmpty ? .missingElement : .truncated, offset: start)
            }
            let tag = try ASN1Cursor.readTag(bytes, &position, limit, 0)
            guard tag != .endOfContents else { throw ASN1DecodingError(.unexpectedEndOfContents, offset: start) }
            let length = try ASN1Cursor.readLength(bytes, &position, limit, 0, isMinimal: true)
            if let length, length > limit - position { throw ASN1DecodingError(.truncated, offset: start) }
            let isInString = parent?.tag.asPrimitive == .octetString
            // X.690, 8.7.3.2: the segments of an OCTET STRING are OCTET STRINGs.
            if isInString, tag.asPrimitive != .octetString { throw ASN1DecodingError(.unexpectedTag, offset: start) }

            if !tag.isConstructed || (!isInString && isOpaque(stack.count, tag, parent?.tag)) {
                // X.690, 8.1.3.2 a: a primitive element has a definite length.
                guard let length else { throw ASN1DecodingError(.indefiniteLength, offset: start) }
                try visit(.copy((isInString ? position : start)..<position + length))
                position += length
                continue
            }
            guard stack.count < maximumDepth else { throw ASN1DecodingError(.nestingTooDeep, offset: start) }
            stack.append(Frame(end: length.map { position + $0 }, tag: tag, isSegment: isInString))
            if !isInString {
                elementCount += 1
                guard elementCount <= maximumElementCount else {
                    throw ASN1DecodingError(.tooManyElements, offset: start)
                }
                try visit(.open(tag.asPrimitive == .octetString ? tag.asPrimitive : tag, start))
            }
        } while !stack.isEmpty
        guard position == bytes.count else { throw ASN1DecodingError(.trailingData, offset: position) }
    }

    private func isEndOfContents(_ bytes: Span<UInt8>, _ position: Int) -> Bool {
        position + 1 < bytes.count && bytes[position] == 0 && bytes[position + 1] == 0
    }

    private static func headerCount(_ tag: ASN1Tag, _ count: Int) -> Int {
        var octets = 1 + [UInt8].lengthOctetCount(count)
        var number = tag.number
        if number >= 31 {
            repeat {
                octets += 1
                number >>= 7
            } while number > 0
        }
        return octets
    }
}
