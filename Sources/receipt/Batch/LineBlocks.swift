/// The lines that a descriptor has, in blocks of whole lines: as many as one read has given, up to a number.
struct LineBlocks: Sequence, Sendable {
    let descriptor: CInt
    /// How many bytes a line may have.
    let maximumLineByteCount: Int

    /// Some lines, or why there are no more.
    typealias Block = Result<LineBlock, SystemError>

    func makeIterator() -> Iterator { Iterator(self) }

    struct Iterator: IteratorProtocol {
        private let source: LineBlocks
        /// What was read and not given yet.
        private var rest: ArraySlice<UInt8> = []
        private var isAtEnd = false

        /// One read, and the room for it.
        private static let byteCount = 1 << 18
        /// An empty line of one byte gives 300 of output.
        private static let maximumLineCount = 4096

        fileprivate init(_ source: LineBlocks) { self.source = source }

        mutating func next() -> Block? {
            if let end = endOfBlock(from: rest.startIndex) { return .success(takeBlock(to: end, 0)) }
            guard !isAtEnd else { return nil }
            var bytes = Array(rest)
            rest = []
            var receivedByteCount = 0
            while true {
                let start = bytes.count
                let count: Int
                do throws(SystemError) {
                    count = try System.read(source.descriptor, atMost: Self.byteCount, appendingTo: &bytes)
                } catch {
                    isAtEnd = true
                    return .failure(error)
                }
                receivedByteCount += count
                if count == 0 {
                    isAtEnd = true
                    return bytes.isEmpty ? nil : .success(LineBlock(bytes: bytes, receivedByteCount: receivedByteCount))
                }
                rest = bytes[...]
                if let end = endOfBlock(from: start) { return .success(takeBlock(to: end, receivedByteCount)) }
                rest = []
                // Of a line that is too long enough is kept to know it by.
                if bytes.count > source.maximumLineByteCount {
                    bytes.removeSubrange((source.maximumLineByteCount + 1)...)
                }
            }
        }

        /// Where the last line feed of the next block is; before `start` there is none.
        private func endOfBlock(from start: Int) -> Int? {
            let span = rest.span
            var end: Int?
            var lineCount = 0
            var position = start - rest.startIndex
            while lineCount < LineBlocks.Iterator.maximumLineCount {
                position = span.endOfPlainASCII(from: position)
                guard position < span.count else { break }
                if span[position] == .lineFeed {
                    end = rest.startIndex + position
                    lineCount += 1
                }
                position += 1
            }
            return end
        }

        private mutating func takeBlock(to end: Int, _ receivedByteCount: Int) -> LineBlock {
            let block = LineBlock(bytes: Array(rest[..<end]), receivedByteCount: receivedByteCount)
            rest = rest[(end + 1)...]
            return block
        }
    }
}

/// Whole lines, without the line feed after the last. No bytes are one empty line.
struct LineBlock: Sendable {
    let bytes: [UInt8]
    /// How many bytes had to be read for it.
    let receivedByteCount: Int

    /// Calls `body` with where each line is.
    func forEachLine(_ body: (Range<Int>) -> Void) {
        let span = bytes.span
        var start = 0
        var end = 0
        while true {
            end = span.endOfPlainASCII(from: end)
            if end == span.count || span[end] == .lineFeed {
                body(start..<end)
                guard end < span.count else { return }
                start = end + 1
            }
            end += 1
        }
    }
}

extension UInt8 {
    fileprivate static let lineFeed = UInt8(ascii: "\n")
}
