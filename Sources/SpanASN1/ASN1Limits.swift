/// How much of an input is looked at before it is refused.
@frozen
public struct ASN1Limits: Hashable, Sendable {
    /// How many levels elements may have; the outermost is the first.
    public var maximumDepth: Int
    /// How many elements there may be, end-of-contents markers included.
    public var maximumElementCount: Int
    /// How many bytes the input may have.
    public var maximumByteCount: Int

    /// 64 levels, 10,000,000 elements and 64 MiB unless said otherwise.
    @inlinable
    public init(
        maximumDepth: Int = 64, maximumElementCount: Int = 10_000_000, maximumByteCount: Int = 64 << 20
    ) {
        self.maximumDepth = maximumDepth
        self.maximumElementCount = maximumElementCount
        self.maximumByteCount = maximumByteCount
    }
}
