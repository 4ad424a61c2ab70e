import HTTPService

/// The lines of a file, loaded in pieces. To read ahead, use a copy.
struct LineReader {
    /// The maximum size of a line: the largest body that the server can accept.
    static let maximumByteCount = 64 << 20
    private static let pieceByteCount = 1 << 20

    private let file: OpenFile
    private var piece: [UInt8] = []
    private var start = 0
    /// The file offset of the first unread byte.
    private(set) var offset: Int64
    private var isAtEnd = false

    init(_ file: OpenFile, from offset: Int64) {
        self.file = file
        self.offset = offset
    }

    /// Returns the lines that continue and close the last line's open field, joined, or `nil` if none close it.
    ///
    /// Reads ahead no further than the next line that opens a quotation mark, or ``maximumByteCount`` bytes, so a whole
    /// file is read at most twice.
    mutating func restOfField(_ format: ImportFormat) throws(SystemError) -> (bytes: [UInt8], lineCount: Int64)? {
        var ahead = self
        var lineCount: Int64 = 0
        while let line = try ahead.next(), ahead.offset - offset <= Self.maximumByteCount {
            lineCount += 1
            switch format.end(of: line, withinField: true) {
            case .misplaced: return nil
            case .withinField: continue
            case .complete:
                var rest = self
                var bytes: [UInt8] = []
                for _ in 0..<lineCount { bytes += [UInt8(ascii: "\n")] + (try rest.next() ?? []) }
                self = rest
                return (bytes, lineCount)
            }
        }
        return nil
    }

    /// Returns the next line without its terminator, or `nil` after the last one. Throws if a line is too long.
    mutating func next() throws(SystemError) -> [UInt8]? {
        var searched = start
        while true {
            if let end = piece[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer {
                    offset += Int64(end + 1 - start)
                    start = end + 1
                }
                return Array(piece[start..<end])
            }
            if isAtEnd {
                guard start < piece.count else { return nil }
                defer {
                    offset += Int64(piece.count - start)
                    start = piece.count
                }
                return Array(piece[start...])
            }
            piece.removeFirst(start)
            start = 0
            searched = piece.count
            guard piece.count <= Self.maximumByteCount else { throw .tooLarge }
            let more = try file.read(Self.pieceByteCount, at: offset + Int64(piece.count))
            if more.isEmpty { isAtEnd = true }
            piece += more
        }
    }
}
