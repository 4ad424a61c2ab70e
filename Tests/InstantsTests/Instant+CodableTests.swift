import Foundation
import Instants
import Testing

@Suite struct InstantCodableTests {
    @Test(arguments: [.min, -1, 0, 1_750_000_000_123, .max] as [Int64])
    func `an instant is stored as its milliseconds`(milliseconds: Int64) throws {
        let instant = Instant(millisecondsSince1970: milliseconds)
        let data = try JSONEncoder().encode([instant])
        #expect(String(decoding: data, as: UTF8.self) == "[\(milliseconds)]")
        #expect(try JSONDecoder().decode([Instant].self, from: data) == [instant])
    }

    @Test func `the current time is that of the system, to the millisecond`() {
        let before = Date.now.timeIntervalSince1970
        let now = Instant.now
        let after = Date.now.timeIntervalSince1970
        #expect((Int64(before * 1000) - 1...Int64(after * 1000) + 1).contains(now.millisecondsSince1970))
    }
}
