import AppStoreReceipt
import AppStoreReceiptFoundation
import Foundation
import Testing

struct InstantDateTests {
    @Test func `milliseconds survive the way to a date and back`() {
        for milliseconds: Int64 in [
            0, -1, 1, 1_375_340_400_000, 1_749_988_800_123, 64_092_211_200_001, -62_167_219_200_000,
        ] {
            let instant = Instant(millisecondsSince1970: milliseconds)
            #expect(Instant(instant.date) == instant)
        }
        for milliseconds in stride(from: -62_167_219_200_000 as Int64, through: 253_402_300_799_999, by: 31_556_952_007)
        {
            let instant = Instant(millisecondsSince1970: milliseconds)
            #expect(Instant(instant.date) == instant)
        }
    }

    @Test func `a date is the same moment for Foundation`() {
        #expect(Instant(millisecondsSince1970: 1_585_714_059_000).date.description == "2020-04-01 04:07:39 +0000")
    }

    @Test func `dates that no instant holds end at its bounds`() {
        #expect(Instant(Date(timeIntervalSince1970: 1e300)).millisecondsSince1970 == .max)
        #expect(Instant(Date(timeIntervalSince1970: -.infinity)).millisecondsSince1970 == .min)
        #expect(Instant(Date(timeIntervalSince1970: .nan)).millisecondsSince1970 == .min)
    }
}
