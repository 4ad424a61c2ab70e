import StrictText
import Testing

@Suite struct UTF8BytesTests {
    /// In the order of their bytes. Swift takes the two of é for equal.
    private static let ordered = ["", "A", "a", "a\u{0}", "aa", "ab", "b", "e\u{301}", "z", "é", "\u{FFFD}", "🎵"]

    @Test func `texts are ordered and told apart by their bytes`() {
        for (left, first) in Self.ordered.enumerated() {
            for (right, second) in Self.ordered.enumerated() {
                #expect((UTF8Bytes(first) < UTF8Bytes(second)) == (left < right), "\(first) \(second)")
                #expect((UTF8Bytes(first) == UTF8Bytes(second)) == (left == right))
                #expect(first.hasSameBytes(as: second) == (left == right))
            }
            #expect(UTF8Bytes(first).string.hasSameBytes(as: first))
        }
        #expect(Set(Self.ordered.map(UTF8Bytes.init)).count == Self.ordered.count)
    }
}
