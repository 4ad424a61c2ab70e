extension Hasher {
    /// Adds bytes and their number.
    ///
    /// `unsafe` by name only: the bytes are borrowed for the call. `combine` of an array takes them one by one, which
    /// is 60 times slower.
    public mutating func combine(_ bytes: Span<UInt8>) {
        combine(bytes.count)
        unsafe bytes.withUnsafeBytes { unsafe combine(bytes: $0) }
    }
}
