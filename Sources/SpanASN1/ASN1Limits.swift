/// The limits on an input that is walked.
@frozen
public struct ASN1Limits: Hashable, Sendable {
    /// The maximum number of levels. The outermost element is on the first.
    public var maximumDepth: Int
    /// The maximum number of elements, including end-of-contents markers.
    public var maximumElementCount: Int
    /// The maximum number of bytes.
    public var maximumByteCount: Int

    /// Creates limits; by default 64 levels, 10,000,000 elements and 64 MiB.
    @inlinable
    public init(
        maximumDepth: Int = 64, maximumElementCount: Int = 10_000_000, maximumByteCount: Int = 64 << 20
    ) {
        self.maximumDepth = maximumDepth
        self.maximumElementCount = maximumElementCount
        self.maximumByteCount = maximumByteCount
    }
}
