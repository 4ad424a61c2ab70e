import SpanASN1
import Testing

@Suite struct SpanComparisonTests {
    @Test func `bytes are equal if each is, and there are as many`() {
        let bytes = (0..<80).map { UInt8($0) }
        for count in 0...bytes.count {
            let text = Array(bytes.prefix(count))
            #expect(text.span.hasSameBytes(as: text.span))
            #expect(!text.span.hasSameBytes(as: (text + [0]).span) && !(text + [0]).span.hasSameBytes(as: text.span))
        }
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(!bytes.span.hasSameBytes(as: other.span), "byte \(index)")
        }
    }
}
