/// Edits BER by its structure, and corrects the lengths around a change.
///
/// It has its own reader, which accepts more than those under test, and also reads inside OCTET STRINGs and BIT
/// STRINGs. It reads all of an input: a message of 64 KiB has its certificates and signers after thousands of elements.
public struct TLVEditor {
    public private(set) var bytes: [UInt8]
    public private(set) var elements: [Element] = []

    public struct Element {
        public let start: Int
        public let contentStart: Int
        public let end: Int
        /// The index of the enclosing element; −1 for none.
        public let parent: Int
        /// The number of enclosing elements.
        public let depth: Int
        let isIndefinite: Bool
    }

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        scan()
    }

    mutating func replaceAll(with bytes: [UInt8]) {
        self.bytes = bytes
        scan()
    }

    /// Replaces an element, and corrects the lengths of the enclosing ones.
    public mutating func replace(_ index: Int, with replacement: [UInt8]) {
        var (start, end, parent) = (elements[index].start, elements[index].end, elements[index].parent)
        var replacement = replacement
        while parent >= 0 {
            let outer = elements[parent]
            let content = Array(bytes[outer.contentStart..<start]) + replacement + bytes[end..<outer.end]
            replacement =
                outer.isIndefinite
                ? bytes[outer.start..<outer.contentStart] + content : Self.element(tag(of: outer), content)
            (start, end, parent) = (outer.start, outer.end, outer.parent)
        }
        bytes.replaceSubrange(start..<end, with: replacement)
        scan()
    }

    /// The indices of the elements directly in one; −1 for those in none.
    func children(of parent: Int) -> [Int] { elements.indices.filter { elements[$0].parent == parent } }

    func encoded(_ index: Int) -> [UInt8] { Array(bytes[elements[index].start..<elements[index].end]) }
    func content(_ index: Int) -> [UInt8] { Array(bytes[elements[index].contentStart..<elements[index].end]) }
    func tag(_ index: Int) -> [UInt8] { tag(of: elements[index]) }

    private func tag(of element: Element) -> [UInt8] {
        var end = element.start + 1
        if bytes[element.start] & 0x1F == 0x1F {
            while end < element.contentStart, bytes[end] & 0x80 != 0 { end += 1 }
            end += 1
        }
        return Array(bytes[element.start..<min(end, element.contentStart)])
    }

    public static func element(_ tag: [UInt8], _ content: [UInt8]) -> [UInt8] {
        var element = tag
        element.append(length: content.count)
        return element + content
    }

    // MARK: Reading

    private mutating func scan() {
        elements.removeAll(keepingCapacity: true)
        scan(0..<bytes.count, parent: -1, depth: 0)
    }

    private mutating func scan(_ range: Range<Int>, parent: Int, depth: Int) {
        var position = range.lowerBound
        while position < range.upperBound {
            guard let element = header(position, range.upperBound, parent, depth) else { return }
            let index = elements.count
            elements.append(element)
            let tag = bytes[position]
            var content = element.contentStart..<element.end
            if tag == 0x03, !content.isEmpty { content = content.lowerBound + 1..<content.upperBound }
            if depth < 24, tag & 0x20 != 0 || (tag == 0x03 || tag == 0x04) && holdsElements(content) {
                scan(content, parent: index, depth: depth + 1)
            }
            position = element.end
        }
    }

    private func holdsElements(_ range: Range<Int>) -> Bool {
        var position = range.lowerBound
        while position < range.upperBound {
            guard let element = header(position, range.upperBound, -1, 0), !element.isIndefinite else { return false }
            position = element.end
        }
        return !range.isEmpty
    }

    private func header(_ start: Int, _ limit: Int, _ parent: Int, _ depth: Int) -> Element? {
        var position = start + 1
        if bytes[start] & 0x1F == 0x1F {
            while position < limit, bytes[position] & 0x80 != 0 { position += 1 }
            position += 1
        }
        guard position < limit else { return nil }
        let first = bytes[position]
        position += 1
        if first == 0x80 {
            return Element(
                start: start, contentStart: position, end: limit, parent: parent, depth: depth,
                isIndefinite: true)
        }
        var length = Int(first)
        if first > 0x80 {
            let count = Int(first & 0x7F)
            guard count <= 4, position + count <= limit else { return nil }
            length = bytes[position..<position + count].reduce(0) { $0 << 8 | Int($1) }
            position += count
        }
        guard length <= limit - position else { return nil }
        return Element(
            start: start, contentStart: position, end: position + length, parent: parent, depth: depth,
            isIndefinite: false)
    }
}
