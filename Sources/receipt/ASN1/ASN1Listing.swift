import ReceiptReport
import SpanASN1
import StrictText

/// The structure of BER, line by line, including the structure inside OCTET STRINGs and BIT STRINGs.
///
/// It has no recursion: a walker reads the bytes once, and one level is stored for each open element.
struct ASN1Listing {
    let style: Style
    /// The widths of the columns.
    let offsetWidth: Int
    let countWidth: Int

    init(style: Style, byteCount: Int) {
        self.style = style
        offsetWidth = max(6, String(byteCount).count)
        countWidth = max(7, String(byteCount).count)
    }

    /// A string in segments, which are joined as they are visited. A segment may have one byte, so little is stored for
    /// each.
    private struct SegmentedString {
        let depth: Int
        var segmentCount = 0
        var content: [UInt8] = []
        /// The start of each segment in `content`, and its offset in the received bytes.
        private var starts: [(joined: UInt32, received: UInt32)] = []
        /// Whether all segments could be joined. The limit is 4 GiB.
        private(set) var isWhole = true

        init(depth: Int) { self.depth = depth }

        mutating func append(_ segment: Range<Int>, of bytes: Span<UInt8>) {
            segmentCount += 1
            guard !segment.isEmpty else { return }
            guard isWhole, let joined = UInt32(exactly: content.count),
                let received = UInt32(exactly: segment.lowerBound)
            else { return isWhole = false }
            starts.append((joined, received))
            for index in segment { content.append(bytes[index]) }
        }

        /// Returns the offset of a byte of `content` in the received bytes.
        func receivedOffset(of position: Int) -> Int {
            // The last segment that begins at or before the position.
            var low = 0
            var high = starts.count
            while high - low > 1 {
                let middle = (low + high) / 2
                if starts[middle].joined <= position { low = middle } else { high = middle }
            }
            return Int(starts[low].received) + position - Int(starts[low].joined)
        }
    }

    /// Prints all elements up to the end, or up to the first malformed element.
    ///
    /// It also prints the available part of elements that the end of the input cuts off.
    func print(_ bytes: Span<UInt8>, to console: inout Console) throws(ASN1DecodingError) {
        console.print(style(.dim, line(offset: "offset", header: "header", content: "content", "element")))
        try print(bytes, joining: true, to: &console) { $0 }
    }

    private func print(
        _ bytes: Span<UInt8>, joining: Bool, indentation: Int = 0, to console: inout Console,
        offset: (Int) -> Int
    ) throws(ASN1DecodingError) {
        var state = ASN1Outline.State()
        var string: SegmentedString?
        var start = 0
        var fault: ASN1DecodingError?
        repeat {
            let depth = state.levels.count - 1
            var walker = ASN1Walker(
                bytes.extracting(start...), baseOffset: start, rules: .ber,
                limits: ASN1Outline.limits(depth: ASN1Outline.maximumDepth - depth))
            do throws(ASN1DecodingError) {
                while let element = try walker.next() {
                    let node = ASN1Outline.Node(element, below: depth)
                    if let ended = string, node.depth <= ended.depth {
                        string = nil
                        try print(ended, indentation, to: &console, offset)
                    }
                    let note = state.descend(to: node, bytes)
                    let isEntered = state.enters(node, bytes) && walker.enter(element, skipping: node.wrapperCount)
                    print(node, isEntered, note, bytes, indentation, to: &console, offset)

                    // The only segment was visited as the whole string, so nothing is joined.
                    if isEntered { string = nil }
                    guard joining, node.isString, !isEntered else { continue }
                    if node.tag.isConstructed {
                        if string == nil { string = SegmentedString(depth: node.depth) }
                    } else if let content = node.content {
                        string?.append(content, of: bytes)
                    }
                }
                break
            } catch {
                fault = fault ?? error
                guard error.kind == .truncated, let node = state.nodeCutOff(at: error.offset, bytes) else { break }
                let note = state.descend(to: node, bytes)
                let isEntered = state.enters(node, bytes)
                print(node, isEntered, note, bytes, indentation, to: &console, offset)
                guard isEntered || node.tag.isConstructed else { break }
                start = node.contentOffset + (isEntered ? node.wrapperCount : 0)
            }
        } while state.levels.count <= ASN1Outline.maximumDepth
        if let fault { throw ASN1DecodingError(fault.kind, offset: offset(fault.offset)) }
        if let string { try print(string, indentation, to: &console, offset) }
    }

    /// Prints the structure inside a string of several segments.
    private func print(
        _ string: SegmentedString, _ indentation: Int, to console: inout Console,
        _ offset: (Int) -> Int
    ) throws(ASN1DecodingError) {
        guard string.isWhole, string.segmentCount > 1,
            ASN1Outline.isOneElement(string.content.span, ASN1Outline.maximumDepth)
        else { return }
        let indentation = indentation + string.depth + 1
        console.print(
            style(.dim, line(offset: "", header: "", content: "", "")) + String(repeating: "  ", count: indentation)
                + style(.bold, "the \(string.segmentCount) segments joined"))
        try print(string.content.span, joining: false, indentation: indentation, to: &console) { position in
            offset(string.receivedOffset(of: position))
        }
    }
}

// MARK: - Lines

extension ASN1Listing {
    private func print(
        _ node: ASN1Outline.Node, _ isEntered: Bool, _ note: String?, _ bytes: Span<UInt8>, _ indentation: Int,
        to console: inout Console, _ offset: (Int) -> Int
    ) {
        var text = String(repeating: "  ", count: node.depth + indentation) + node.tag.description
        if node.tag.isConstructed, node.isString { text += " (in segments)" }
        if let content = node.content, let count = node.contentCount {
            if content.count < count {
                text += " (cut off after \(content.count) bytes)"
            } else if !node.tag.isConstructed, !isEntered, node.tag != .endOfContents {
                var cursor = ASN1Cursor(
                    bytes.extracting(node.offset..<content.upperBound), allowing: .nonMinimalLengths)
                // The walker has read it before.
                if let element = try? cursor.read(), case let value = ASN1ValueText.text(of: element), !value.isEmpty {
                    text += " " + value
                }
            }
        }
        if let note { text += "  " + style(.bold, note) }
        let columns = line(
            offset: String(offset(node.offset)), header: String(node.contentOffset - node.offset),
            content: node.contentCount.map(String.init) ?? "indef", "")
        console.print(style(.dim, columns) + text)
    }

    private func line(offset: String, header: String, content: String, _ text: String) -> String {
        func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        return "\(right(offset, offsetWidth))  \(right(header, 6))  \(right(content, countWidth))  \(text)"
    }
}
