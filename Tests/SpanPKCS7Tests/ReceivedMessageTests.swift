import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct ReceivedMessageTests {
    @Test func `DER is kept, and BER becomes DER with offsets that lead back`() throws {
        let der = try OpenSSLFiles.bytes("rsa-sha256.der")
        #expect(try ReceivedMessage(der).der == der)
        #expect(try ReceivedMessage(der).receivedOffset(of: 17) == 17)

        let ber = try OpenSSLFiles.bytes("indefinite-segments.der")
        let message = try ReceivedMessage(ber)
        #expect(message.received == ber)
        #expect(message.der.count < ber.count)
        let range = try SignedData(ContentInfo(message.der.span)).content?.contentRange
        let content = try #require(range)
        #expect(message.der[content] == ArraySlice(repeating: UInt8(ascii: "x"), count: 40_000))
        #expect(ber[message.receivedOffset(of: content.lowerBound)] == UInt8(ascii: "x"))
        #expect(ber[message.receivedOffset(of: content.lowerBound) - 1] != UInt8(ascii: "x"))
    }

    @Test func `content in segments is joined, also where every length is definite`() throws {
        let segments = [Node("first", 0x04, [1, 2]), Node("second", 0x04, [3])]
        let bytes = Node.message.changed(.replace("octets", Node("octets", 0x24, nodes: segments))).encoded().bytes
        let message = try ReceivedMessage(bytes)
        let range = try SignedData(ContentInfo(message.der.span)).content?.contentRange
        #expect(try message.der[#require(range)] == [1, 2, 3])
    }

    @Test func `what is wrong in another way than being BER is left to the reader`() throws {
        for bytes in [[], [0x30], [0x30, 0x03, 0x02, 0x01, 0x00], [0x05, 0x00, 0x00]] as [[UInt8]] {
            #expect(try ReceivedMessage(bytes).der == bytes)
        }
        // BER that ends too early.
        let error = failure { () throws(ASN1DecodingError) in _ = try ReceivedMessage([0x30, 0x80, 0x05]) }
        #expect(error?.kind == .truncated)
    }
}
