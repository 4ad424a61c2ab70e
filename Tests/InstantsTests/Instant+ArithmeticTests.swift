import Instants
import Testing

@Suite struct InstantArithmeticTests {
    /// Milliseconds at and near the ends of the range, and durations that no instant can be advanced by.
    static let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, 1_750_000_000_000, .max - 1, .max]
    static let durations: [Duration] = [
        .zero, .milliseconds(1), .milliseconds(-1), .milliseconds(Int64.max), .milliseconds(Int64.min),
        .seconds(Int64.max), .seconds(Int64.min), .milliseconds(Int64.max) * 2 + .milliseconds(1),
        .milliseconds(Int64.min) * 2, .seconds(Int64.max) * 2, .seconds(Int64.min) * 2, Duration(attoseconds: .max),
        Duration(attoseconds: .min), Duration(attoseconds: .min) + Duration(attoseconds: 1),
    ]

    @Test(arguments: extremes)
    func `an instant is advanced by any duration, to the ends of the range at most`(milliseconds: Int64) {
        let instant = Instant(millisecondsSince1970: milliseconds)
        func clamped(_ exact: Int128) -> Instant { Instant(millisecondsSince1970: Int64(clamping: exact)) }
        for duration in Self.durations {
            let whole = duration.attoseconds / 1_000_000_000_000_000
            #expect(instant.advanced(by: duration) == clamped(Int128(milliseconds) + whole), "\(duration.attoseconds)")
            #expect(instant + duration == instant.advanced(by: duration))
            #expect(instant - duration == clamped(Int128(milliseconds) - whole), "\(duration.attoseconds)")
            var (later, earlier) = (instant, instant)
            later += duration
            earlier -= duration
            #expect(later == instant + duration && earlier == instant - duration)
        }
    }

    @Test func `the duration between two instants leads from one to the other, whatever they are`() {
        for first in Self.extremes.map(Instant.init(millisecondsSince1970:)) {
            for second in Self.extremes.map(Instant.init(millisecondsSince1970:)) {
                let duration = first.duration(to: second)
                #expect(first.advanced(by: duration) == second)
                #expect(second - duration == first && second - first == duration)
                #expect((duration < .zero) == (second < first))
            }
        }
    }

    @Test(
        arguments: [
            (.microseconds(1_999), 1), (.microseconds(999), 0), (.microseconds(-999), 0), (.microseconds(-1_999), -1),
            (.seconds(1) + .nanoseconds(1), 1000), (.seconds(-1) - .nanoseconds(1), -1000),
        ] as [(Duration, Int64)])
    func `a fraction of a millisecond is cut off`(row: (Duration, Int64)) {
        for start in [0, 5_000, -5_000] as [Int64] {
            let instant = Instant(millisecondsSince1970: start)
            #expect(instant.advanced(by: row.0).millisecondsSince1970 == start + row.1)
            #expect((instant - row.0).millisecondsSince1970 == start - row.1)
        }
    }

    @Test func `nothing is before the distant past or after the distant future`() {
        let range = Instant.distantPast ... .distantFuture
        #expect(Self.extremes.allSatisfy { range.contains(Instant(millisecondsSince1970: $0)) })
        #expect(Instant.distantPast.advanced(by: .seconds(-1)) == .distantPast)
        #expect(Instant.distantFuture.advanced(by: .seconds(1)) == .distantFuture)
    }
}
