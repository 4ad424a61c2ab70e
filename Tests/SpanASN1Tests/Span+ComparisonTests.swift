import SpanASN1
import Testing

@Suite struct SpanComparisonTests {
    @Test func `bytes are equal if each is, and there are as many`() {
        let bytes = (0..<80).map { UInt8($0) }
        for count in 0...bytes.count {
            let text = Array(bytes.prefix(count))
            #expect(haveSameBytes(text, text))
            #expect(!haveSameBytes(text, text + [0]) && !haveSameBytes(text + [0], text))
        }
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(!haveSameBytes(bytes, other), "byte \(index)")
        }
    }

    /// Spans cannot be arguments of `#expect`, which keeps what it shows.
    private func haveSameBytes(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        first.span.hasSameBytes(as: second.span)
    }
}
