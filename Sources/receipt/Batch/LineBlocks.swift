import AppStoreReceipt
import StrictText

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
        /// What was read, and where in it begins what was not given yet.
        private var bytes: [UInt8] = []
        private var start = 0
        private var isAtEnd = false

        /// One read, and the room for it.
        private static let byteCount = 1 << 17
        /// An empty line of one byte gives 300 of output.
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

        /// The next block; `nil` when there is no whole line.
        ///
        /// - Parameter position: no line that was not given yet ends before it.
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

        /// Into room of its own: the blocks given so far share what was read.
        private mutating func moveRest() {
            var moved: [UInt8] = []
            moved.reserveCapacity(bytes.count - start + Self.byteCount)
            moved.append(contentsOf: bytes[start...])
            bytes = moved
            start = 0
        }
    }
}

/// Lines, whole but for the end of one that is too long.
struct LineBlock: Sendable {
    /// The lines are somewhere in it.
    let bytes: [UInt8]
    /// Where each line is, without its line feed.
    let lines: [Range<Int>]
    /// How many bytes had to be read for it.
    let receivedByteCount: Int
}
