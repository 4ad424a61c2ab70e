import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText
import TestSupport
import Testing

@Suite struct InstantPlainTests {
    /// A purchase's dates have a reader of their own, which takes eight characters at a time.
    @Test(.timeLimit(.minutes(10)))
    func `a date in a purchase is read as anywhere else, with any byte changed`() throws {
        let seed = SeededGenerator()
        var generator = PayloadGenerator(random: seed)
        var texts = (0..<1_500).map { _ in generator.mutatedDate() } + (0..<500).map { _ in generator.date() }
        for plain in ["2024-02-29T23:59:59Z", "1900-02-28T00:00:00Z", "2019-09-19T19:09:09Z"].map({ Array($0.utf8) }) {
            for octet: UInt8 in [0x20, 0x30, 0x5A] { texts.append(plain + [octet]) }
            for index in plain.indices {
                for octet: UInt8 in [
                    0, 0x20, 0x2C, 0x2D, 0x2E, 0x2F, 0x30, 0x39, 0x3A, 0x3B, 0x54, 0x5A, 0x74, 0x7A, 0x7F,
                ] {
                    texts.append(plain)
                    texts[texts.count - 1][index] = octet
                }
            }
        }
        var accepted = 0
        for text in texts {
            let expected = Instant(rfc3339: text.span)
            // Behind the date there is more, so that the fast reader may look ahead.
            let attribute = tlv(0x30, [0x02, 0x02, 0x06, 0xA8, 0x02, 0x01, 0x01] + tlv(0x04, tlv(0x16, text)))
            let record = tlv(0x30, [0x02, 0x01, 0x11, 0x02, 0x01, 0x01] + tlv(0x04, tlv(0x31, attribute)))
            let padding = tlv(0x30, [0x02, 0x01, 0x07, 0x02, 0x01, 0x01] + tlv(0x04, [UInt8](repeating: 0, count: 40)))
            let receipt = try? UnverifiedReceipt(decoding: PayloadModel.container(tlv(0x31, record + padding)).bytes)
            #expect(
                receipt?.inAppPurchases.first?.purchaseDate == expected,
                "\(String(decoding: text, as: UTF8.self)), \(seed)")
            if expected != nil { accepted += 1 }
        }
        #expect(accepted > 400 && accepted < texts.count - 400)
    }
}
