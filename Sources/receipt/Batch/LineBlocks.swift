import AppStoreReceipt
import StrictText

/// The lines of a descriptor, in blocks of complete lines: those of one read, up to a maximum.
struct LineBlocks: Sequence, Sendable {
    let descriptor: CInt
    /// The maximum number of bytes in a line.
    let maximumLineByteCount: Int

    /// A block of lines, or the reason there are no more.
    typealias Block = Result<LineBlock, SystemError>

    func makeIterator() -> Iterator { Iterator(self) }

    struct Iterator: IteratorProtocol {
        private let source: LineBlocks
        /// The bytes that were read, and the start of those that were not returned yet.
        private var bytes: [UInt8] = []
        private var start = 0
        private var isAtEnd = false

        /// The size of one read.
        private static let byteCount = 1 << 17
        /// The maximum number of lines. An empty line of one byte causes 300 bytes of output.
        private static let maximumLineCount = 4096

        fileprivate init(_ source: LineBlocks) { self.source = source }

        mutating func next() -> Block? {
            if let block = takeBlock(searchingFrom: start, 0) { return .success(block) }
            guard !isAtEnd else { return nil }
            var receivedByteCount = 0
            moveRest()
            while true {
                let end = bytes.count
                let count: Int
                do throws(SystemError) {
                    count = try System.read(source.descriptor, atMost: Self.byteCount, appendingTo: &bytes)
                } catch {
                    bytes = []
                    isAtEnd = true
                    return .failure(error)
                }
                receivedByteCount += count
                if count == 0 {
                    isAtEnd = true
                    defer { start = end }
                    return end == 0
                        ? nil
                        : .success(LineBlock(bytes: bytes, lines: [0..<end], receivedByteCount: receivedByteCount))
                }
                if let block = takeBlock(searchingFrom: end, receivedByteCount) { return .success(block) }
                // Of a line that is too long enough is kept to know it by.
                if bytes.count > source.maximumLineByteCount {
                    bytes.removeSubrange((source.maximumLineByteCount + 1)...)
                }
            }
        }

        /// Returns the next block; `nil` if there is no complete line.
        ///
        /// - Parameter position: A position before which no line ends that was not returned yet.
        private mutating func takeBlock(searchingFrom position: Int, _ receivedByteCount: Int) -> LineBlock? {
            let bytes = bytes
            let span = bytes.span
            var lines: [Range<Int>] = []
            var (start, position) = (start, position)
            while lines.count < Self.maximumLineCount {
                position = span.endOfPlainASCII(from: position)
                guard position < span.count else { break }
                if span[position] == UInt8(ascii: "\n") {
                    lines.append(start..<position)
                    start = position + 1
                }
                position += 1
            }
            self.start = start
            return lines.isEmpty ? nil : LineBlock(bytes: bytes, lines: lines, receivedByteCount: receivedByteCount)
        }

        /// Reads into a new buffer, because earlier blocks share the old one.
        private mutating func moveRest() {
            var moved: [UInt8] = []
            moved.reserveCapacity(bytes.count - start + Self.byteCount)
            moved.append(contentsOf: bytes[start...])
            bytes = moved
            start = 0
        }
    }
}

/// Complete lines, except that a line that is too long is cut off.
struct LineBlock: Sendable {
    /// The bytes that contain the lines.
    let bytes: [UInt8]
    /// The range of each line, without its line feed.
    let lines: [Range<Int>]
    /// The number of bytes that were read for it.
    let receivedByteCount: Int
}
