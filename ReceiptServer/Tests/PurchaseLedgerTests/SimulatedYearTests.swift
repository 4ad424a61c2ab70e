import Foundation
import LedgerTestSupport
import Sampling
import SeededRandom
import Testing

/// A year in which everything that can go wrong does, compared with the model.
@Suite struct SimulatedYearTests {
    /// A year is named by its seed, the hours of the longest step, and the database: `RECEIPT_YEAR=37/48/sqlite
    /// scripts/test PurchaseLedger --filter SimulatedYear` has that one again. `RECEIPT_EXTENT` says how many days.
    private static let named = ProcessInfo.processInfo.environment["RECEIPT_YEAR"].map {
        $0.split(separator: "/").map(String.init)
    }
    /// One year that is always the same, or its beginning; in the long run 20 others on each database, in which servers
    /// look at their queue every few hours.
    @Test(arguments: named != nil || Sampling.extent == .long ? Place.available : [.sqlite])
    func `in a year of faults, a ledger does as its model says`(_ place: Place) throws {
        var hours: Int64 = Sampling.extent == .long ? 6 : 48
        var seeds: [UInt64] = [37]
        let days = Sampling.count("simulated-days")
        if let name = Self.named {
            try #require(name.count == 3, "RECEIPT_YEAR is SEED/HOURS/DATABASE")
            try #require(
                Place.available.contains { "\($0)" == name[2] },
                "\(name[2]): RECEIPT_SQLITE_ONLY is set, or no database")
            guard name[2] == "\(place)" else { return }
            (seeds, hours) = ([try #require(UInt64(name[0]))], try #require(Int64(name[1])))
        } else if Sampling.extent == .long {
            var generator = SeededGenerator("years, \(place)")
            seeds = (0..<20).map { _ in generator.next() }
        }
        for seed in seeds {
            let name = "RECEIPT_EXTENT=\(Sampling.extent) RECEIPT_YEAR=\(seed)/\(hours)/\(place)"
            // Names a year that doesn't end.
            print("\(name) begins")
            let start = ContinuousClock.now
            do {
                let scale = SimulatedYear.Scale(days: days, longestStep: .seconds(hours * 3600))
                let year = try SimulatedYear(seed, scale, place)
                try year.run()
                let digest = String(year.digest, radix: 16)
                print("\(name): \(ContinuousClock.now - start), \(digest): \(year.totals)")
            } catch {
                Issue.record("\(name): \(error)")
            }
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `a seed repeats a year to the last byte`() throws {
        let digests = try (0..<2).map { _ in
            let year = try SimulatedYear(37, .init(days: 30), .sqlite)
            try year.run()
            return year.digest
        }
        #expect(digests[0] == digests[1])
    }
}
