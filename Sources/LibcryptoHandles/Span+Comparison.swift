import CLibcryptoShims

extension Span<UInt8> {
    /// Byte-for-byte equality by `memcmp`: the chain cache compares whole certificates for every receipt.
    package func isIdentical(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard count > 0 else { return true }
        return unsafe withUnsafeBufferPointer { mine in
            unsafe other.withUnsafeBufferPointer { theirs in
                guard let mine = mine.baseAddress, let theirs = theirs.baseAddress else { return false }
                return unsafe memcmp(mine, theirs, count) == 0
            }
        }
    }
}
