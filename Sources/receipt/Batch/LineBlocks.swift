/// The lines that a descriptor has, in blocks of whole lines: as many as one read has given.
struct LineBlocks: Sequence, Sendable {
    let descriptor: CInt
    /// How many bytes a line may have.
    let maximumLineByteCount: Int

    /// Some lines, or why there are no more.
    typealias Block = Result<LineBlock, SystemError>

    func makeIterator() -> Iterator { Iterator(self) }

    struct Iterator: IteratorProtocol {
        private let source: LineBlocks
        /// The beginning of the line that is not read to its end yet.
        private var rest: [UInt8] = []
        private var isAtEnd = false

        /// One read, and the room for it.
        private static let byteCount = 1 << 18

        fileprivate init(_ source: LineBlocks) { self.source = source }

        mutating func next() -> Block? {
            guard !isAtEnd else { return nil }
            var bytes = rest
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
                    guard !bytes.isEmpty else { return nil }
                } else if let end = bytes[start...].lastIndex(of: .lineFeed) {
                    rest = Array(bytes[(end + 1)...])
                    bytes.removeSubrange(end...)
                } else {
                    // Of a line that is too long enough is kept to know it by.
                    if bytes.count > source.maximumLineByteCount {
                        bytes.removeSubrange((source.maximumLineByteCount + 1)...)
                    }
                    continue
                }
                return .success(LineBlock(bytes: bytes, receivedByteCount: receivedByteCount))
            }
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
