import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

@Suite struct ASN1ElementTests {
    /// Calls every reader there is, as if the element had the tag that the reader asks for.
    private func readAll(_ element: ASN1Element) -> Int {
        let tag = element.tag
        var count = 0
        func attempt<Value>(_ read: (ASN1Element) throws(ASN1DecodingError) -> Value) {
            do throws(ASN1DecodingError) {
                _ = try read(element)
                count += 1
            } catch {
                #expect(element.range ~= error.offset)
            }
        }
        attempt { (element) throws(ASN1DecodingError) in try element.integer(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.integer(as: UInt8.self, tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.integer(as: UInt64.self, tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.integer(as: Int128.self, tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.integerBytes(tagged: tag).count }
        attempt { (element) throws(ASN1DecodingError) in try element.unsignedIntegerBytes(tagged: tag).count }
        attempt { (element) throws(ASN1DecodingError) in try element.boolean(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.null(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.bitString(tagged: tag).count }
        attempt { (element) throws(ASN1DecodingError) in try element.octetString(tagged: tag).count }
        attempt { (element) throws(ASN1DecodingError) in try element.objectIdentifier(tagged: tag).description }
        attempt { (element) throws(ASN1DecodingError) in try element.relativeOID(tagged: tag).description }
        attempt { (element) throws(ASN1DecodingError) in try element.utf8String(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.printableString(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.ia5String(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.numericString(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.visibleString(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.bmpString(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.universalString(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.teletexString(tagged: tag) }
        attempt { (element) throws(ASN1DecodingError) in try element.utcTime(tagged: tag).description }
        attempt { (element) throws(ASN1DecodingError) in try element.generalizedTime(tagged: tag).description }
        attempt { (element) throws(ASN1DecodingError) in try element.string() }
        attempt { (element) throws(ASN1DecodingError) in try element.time() }
        return count
    }

    @Test func `no content traps any reader, and errors lie in the element`() throws {
        var generator = SeededGenerator()
        let likely: [[UInt8]] = [
            [], [0x00], [0x80], [0xFF], [0x7F], [0x30], Array("991231235959".utf8), Array("+0100Z.,".utf8),
        ]
        for _ in 0..<5_000 {
            var content: [UInt8] = []
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                content += likely[Int.random(in: 0..<likely.count, using: &generator)]
                content += generator.bytes(Int.random(in: 0...3, using: &generator))
            }
            let tag: UInt8 = [0x02, 0x0C, 0x17, 0x18, 0x1E, 0x80, 0x30, 0xA0].randomElement(using: &generator) ?? 0x02
            let bytes = tlv(tag, content)
            for relaxations in [[], ASN1Relaxations(rawValue: .max)] as [ASN1Relaxations] {
                var cursor = ASN1Cursor(bytes.span, baseOffset: 50, allowing: relaxations)
                // Any octets are an OCTET STRING and a TeletexString, in primitive form.
                let count = readAll(try cursor.read())
                #expect(tag & 0x20 != 0 ? count == 0 : count >= 2)
            }
        }
    }

    @Test func `an element's content is read whole, under the tag that is asked for`() {
        func read(_ text: String) -> Result<Int, Kind> {
            outcome(hex(text)) { (element) throws(ASN1DecodingError) in
                try element.decode(.sequence) { (cursor) throws(ASN1DecodingError) in
                    try cursor.read(.integer).integer()
                }
            }
        }
        #expect(read("30 03 02 01 05") == .success(5))
        #expect(read("31 03 02 01 05") == .failure(.unexpectedTag))
        #expect(read("30 05 02 01 05 05 00") == .failure(.trailingData))
    }
}
