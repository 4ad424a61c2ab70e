extension Span<UInt8> {
    /// Byte-for-byte equality.
    public func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        // Without an early exit, the compiler compares 16 bytes at once.
        var difference: UInt8 = 0
        for index in 0..<count { difference |= self[index] ^ other[index] }
        return difference == 0
    }
}
