import HTTPService
import LibcryptoHandles

extension OpenFile {
    private static let pieceByteCount: Int64 = 1 << 20

    /// Adds the bytes of a part to a digest.
    func add(_ range: Range<Int64>, to digest: inout DigestStream) throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let piece = try read(Int(min(Self.pieceByteCount, range.upperBound - offset)), at: offset)
            // The file became shorter. The digest then doesn't match.
            if piece.isEmpty { return }
            try digest.update(piece.span)
            offset += Int64(piece.count)
        }
    }

    /// Returns the SHA-256 of the file, and of its prefixes with these sizes.
    func digests(_ counts: [Int64]) throws -> (all: String, beginnings: [Int64: String]) {
        var digest = try DigestStream(.sha256)
        var beginnings: [Int64: String] = [:]
        var offset: Int64 = 0
        for count in Set(counts).sorted() where count <= byteCount {
            try add(offset..<count, to: &digest)
            beginnings[count] = try digest.value().hexadecimal
            offset = count
        }
        try add(offset..<max(offset, byteCount), to: &digest)
        return (try digest.value().hexadecimal, beginnings)
    }
}
