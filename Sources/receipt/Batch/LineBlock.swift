import StrictText
import Synchronization

/// Complete lines, and the verdicts on them. A block is used again for later lines, so that long work needs no new
/// memory.
final class LineBlock: Sendable {
    private let contents = Mutex(Contents())

    struct Contents: ~Copyable {
        /// The bytes that contain the lines.
        var bytes: [UInt8] = []
        /// The range of each line, without its line feed. A line that is too long is cut off.
        var lines: [Range<Int>] = []
        /// The number of the first line in the input.
        var firstNumber = 1
        /// The number of bytes that were read for the block.
        var receivedByteCount = 0
        /// The verdicts.
        var output = JSONWriter()
        /// The result of each line.
        var results: [LineResult] = []
        /// Which of the lines have a verdict in the output, if not all.
        var shown: [Int] = []

        /// Whether the block begins with the tag of a SEQUENCE and a length that is no character of a text.
        var beginsBinary: Bool { bytes.count > 1 && bytes[0] == 0x30 && bytes[1] >= 0x80 }
    }

    /// Only one of the reader, a worker and the writer has a block at a time, so nobody waits for this lock.
    func withContents<Result: ~Copyable>(_ body: (inout Contents) -> sending Result) -> sending Result {
        contents.withLock { contents in body(&contents) }
    }
}

/// The blocks that are not in use.
final class BlockPool: Sendable {
    private let blocks = Mutex<[LineBlock]>([])

    /// The memory that a block keeps. One with a longer line, or longer verdicts, is not used again.
    private static let maximumByteCount = 4 << 20

    func take() -> LineBlock { blocks.withLock { $0.popLast() } ?? LineBlock() }

    func give(_ block: LineBlock) {
        let byteCount = block.withContents { contents in
            contents.bytes.removeAll(keepingCapacity: true)
            contents.lines.removeAll(keepingCapacity: true)
            contents.shown.removeAll(keepingCapacity: true)
            contents.output.removeAll()
            contents.results.removeAll(keepingCapacity: true)
            contents.receivedByteCount = 0
            return contents.bytes.capacity + contents.output.bytes.capacity
        }
        if byteCount <= Self.maximumByteCount { blocks.withLock { $0.append(block) } }
    }
}
