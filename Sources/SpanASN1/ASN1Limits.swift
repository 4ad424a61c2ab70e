/// The limits of an ``ASN1Walker``.
@usableFromInline
package struct ASN1Limits: Hashable, Sendable {
    /// The maximum number of levels. The outermost element is on the first.
    @usableFromInline package var maximumDepth: Int
    /// The maximum number of elements, including end-of-contents markers.
    @usableFromInline package var maximumElementCount: Int
    /// The maximum number of bytes.
    @usableFromInline package var maximumByteCount: Int

    /// Creates limits; by default 64 levels, 10,000,000 elements and 64 MiB.
    @inlinable
    package init(
        maximumDepth: Int = 64, maximumElementCount: Int = 10_000_000, maximumByteCount: Int = 64 << 20
    ) {
        self.maximumDepth = maximumDepth
        self.maximumElementCount = maximumElementCount
        self.maximumByteCount = maximumByteCount
    }
}
