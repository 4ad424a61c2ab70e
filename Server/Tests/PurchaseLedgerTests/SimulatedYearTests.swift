import Foundation
import LedgerTestSupport
import SeededRandom
import Testing

/// A year in which everything goes wrong that can, against the model without a database.
@Suite struct SimulatedYearTests {
    /// A year that failed, by the seed that it told: `RECEIPT_YEAR=… swift test --filter SimulatedYear`.
    private static let seed = ProcessInfo.processInfo.environment["RECEIPT_YEAR"].flatMap { UInt64($0) }

    /// One year that is always the same; in the long run 20 others on each database, in which servers look at their queue every few hours.
    @Test(arguments: LongTests.areOn ? Place.available : [.sqlite])
    func `in a year of faults, a ledger does as its model says`(_ place: Place) throws {
        var scale = SimulatedYear.Scale()
        var seeds = [Self.seed ?? 37]
        if LongTests.areOn {
            scale.longestStep = .seconds(6 * 3600)
            var generator = SeededGenerator("years, \(place)")
            if Self.seed == nil { seeds = (0..<20).map { _ in generator.next() } }
        }
        for seed in seeds {
            let start = ContinuousClock.now
            let year = try SimulatedYear(seed, scale, place)
            try year.run()
            let digest = String(year.digest, radix: 16)
            print("a year, \(place), seed \(seed), \(ContinuousClock.now - start), \(digest): \(year.totals)")
        }
    }

    @Test func `a seed repeats a year to the last byte`() throws {
        let digests = try (0..<2).map { _ in
            let year = try SimulatedYear(37, .init(days: 30), .sqlite)
            try year.run()
            return year.digest
        }
        #expect(digests[0] == digests[1])
    }
}
