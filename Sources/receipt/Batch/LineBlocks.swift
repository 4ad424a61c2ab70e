/// The lines of a descriptor, in blocks of complete lines: those that are available, up to a maximum.
struct LineBlocks: Sequence, Sendable {
    let descriptor: CInt
    /// The maximum number of bytes in a line.
    let maximumLineByteCount: Int
    /// The number of the first line that is wanted. The lines before it are skipped.
    var firstNumber = 1
    /// The number of lines that were skipped.
    let skippedCount = SharedCount()
    /// The pool of the blocks. Return them to it after use.
    let pool: BlockPool

    /// A block of lines, or the reason there are no more.
    typealias Block = Result<LineBlock, SystemError>

    func makeIterator() -> Iterator { Iterator(self) }

    struct Iterator: IteratorProtocol {
        private let source: LineBlocks
        /// The bytes that were read and not returned yet.
        private var rest: [UInt8] = []
        /// The number of the line with which they begin.
        private var number = 1
        private var isAtEnd = false

        /// The size of a block. It fits into a processor's caches, and threads seldom contend.
        private static let byteCount = 1 << 18
        /// The maximum number of lines. An empty line of one byte causes 300 bytes of output.
        private static let maximumLineCount = 4096

        fileprivate init(_ source: LineBlocks) { self.source = source }

        mutating func next() -> Block? {
            guard !isAtEnd || !rest.isEmpty else { return nil }
            let block = source.pool.take()
            let result = block.withContents { contents in
                Result { () throws(SystemError) in try fill(&contents) }
            }
            switch result {
            case .success(true): return .success(block)
            case .success(false): return nil
            case .failure(let error):
                rest = []
                isAtEnd = true
                return .failure(error)
            }
        }

        /// Returns whether there are lines.
        private mutating func fill(_ block: inout LineBlock.Contents) throws(SystemError) -> Bool {
            block.bytes.reserveCapacity(Self.byteCount)
            block.bytes.append(contentsOf: rest)
            rest.removeAll(keepingCapacity: true)
            var position = 0
            while true {
                takeLines(of: &block, searchingFrom: position)
                guard block.lines.isEmpty else { return true }
                guard !isAtEnd else { return takeLastLine(of: &block) }
                // Keep enough of an overlong line to recognize it.
                if block.bytes.count > source.maximumLineByteCount {
                    block.bytes.removeSubrange((source.maximumLineByteCount + 1)...)
                }
                position = block.bytes.count
                try read(into: &block)
            }
        }

        /// Waits for input, and reads what is there, up to the size of a block.
        private mutating func read(into block: inout LineBlock.Contents) throws(SystemError) {
            let start = block.bytes.count
            let end = Swift.max(Self.byteCount, start + Self.byteCount / 2)
            isAtEnd = try System.read(source.descriptor, atMost: end - start, appendingTo: &block.bytes) == 0
            while !isAtEnd, block.bytes.count < end, System.isReadable(source.descriptor) {
                let missing = end - block.bytes.count
                // The next read reports an error again, after these lines.
                guard let count = try? System.read(source.descriptor, atMost: missing, appendingTo: &block.bytes) else {
                    break
                }
                isAtEnd = count == 0
            }
            block.receivedByteCount += block.bytes.count - start
        }

        /// Finds the complete lines of a block, and keeps what follows them for the next one.
        ///
        /// - Parameter position: A position before which no line ends.
        private mutating func takeLines(of block: inout LineBlock.Contents, searchingFrom position: Int) {
            var lines: [Range<Int>] = []
            swap(&lines, &block.lines)
            let end = findLines(in: block.bytes.span, from: position, &lines)
            swap(&lines, &block.lines)
            guard end > 0 else { return }
            block.firstNumber = number - block.lines.count
            rest.append(contentsOf: block.bytes[end...])
            // If no line of the block is wanted, the block is empty.
            if block.lines.isEmpty {
                block.bytes.removeAll(keepingCapacity: true)
                swap(&block.bytes, &rest)
            }
        }

        /// Returns the end of the last line.
        private mutating func findLines(
            in bytes: Span<UInt8>, from position: Int, _ lines: inout [Range<Int>]
        ) -> Int {
            var (start, end) = (0, System.indexOfLineFeed(in: bytes, from: position))
            while end < bytes.count, lines.count < Self.maximumLineCount {
                if number >= source.firstNumber { lines.append(start..<end) } else { source.skippedCount.add(1) }
                number += 1
                start = end + 1
                end = System.indexOfLineFeed(in: bytes, from: start)
            }
            return start
        }

        private mutating func takeLastLine(of block: inout LineBlock.Contents) -> Bool {
            guard !block.bytes.isEmpty else { return false }
            guard number >= source.firstNumber else {
                source.skippedCount.add(1)
                return false
            }
            block.firstNumber = number
            block.lines.append(0..<block.bytes.count)
            return true
        }
    }
}
