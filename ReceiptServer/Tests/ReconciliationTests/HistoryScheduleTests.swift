import AppStoreReceipt
import PurchaseLedger
import Testing

@testable import Reconciliation

/// Which notifications Apple is asked for, and from when. ``HistoryTests`` read the pages.
@Suite struct HistoryScheduleTests {
    private static let app = AskedApp(.production, "com.example.app")

    /// Days since the store's first.
    private func day(_ number: Double) -> Instant { Shop.start + .seconds(Int64(number * 86_400)) }

    private func take(_ ledger: PurchaseLedger, at now: Instant) throws -> [Inquiry] {
        try ledger.takeInquiries(about: Self.app, of: [.history], limit: 9, requestsPerHour: 1000, at: now).inquiries
    }

    private func window(_ inquiry: Inquiry, until date: Instant) -> HistoryWindow {
        HistoryWindow(
            from: date - .seconds(3600), until: date, of: HistoryRange(inquiry))
    }

    /// Answers the due inquiries, and returns their ranges, and the ends of gaps.
    private func answer(_ ledger: PurchaseLedger, at now: Instant) throws -> (ranges: Set<String>, gaps: [Instant]) {
        var ranges: Set<String> = []
        var gaps: [Instant] = []
        for inquiry in try take(ledger, at: now) {
            if let gap = try ledger.historyWindow(of: inquiry, at: now).gap { gaps.append(gap.until) }
            try ledger.complete(inquiry, window(inquiry, until: now), at: now)
            ranges.insert(inquiry.subject)
        }
        return (ranges, gaps)
    }

    private func everything(_ ledger: PurchaseLedger, at now: Instant) throws -> Inquiry? {
        try take(ledger, at: now).first { $0.subject == HistoryRange.everything.rawValue }
    }

    /// A ledger that has asked for everything on day 0.
    private func withHistory(_ place: Place, _ body: (PurchaseLedger) throws -> Void) throws {
        let location = try place.makeLocation()
        var policy = LedgerPolicy()
        policy.inquiries = InquiryPolicy(apps: [Self.app])
        let ledger = try PurchaseLedger(location.text, policy: policy)
        try ledger.beginHistory(of: Self.app, at: day(0))
        #expect(try answer(ledger, at: day(0)).ranges == ["failures", "everything"])
        try body(ledger)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `after an hour without answers, a server that starts asks for everything at once`(_ place: Place) throws {
        try withHistory(place) { ledger in
            for (minute, ranges) in [(50, ["failures"]), (120, ["failures", "everything"])] as [(Int64, Set<String>)] {
                let now = day(0) + .seconds(60 * minute)
                try ledger.beginHistory(of: Self.app, at: now)
                #expect(try answer(ledger, at: now).ranges == ranges)
            }
        }
    }

    @Test(arguments: Place.available)
    func `a date from which an operator asks is never later than what was asked for`(_ place: Place) throws {
        try withHistory(place) { ledger in
            for (since, expected) in [(5, 0), (-3, -3), (-1, -3)] as [(Double, Double)] {
                try ledger.beginHistory(of: Self.app, since: day(since), at: day(10))
                let checkpoint = try ledger.historyCheckpoint(of: Self.app)
                #expect(checkpoint.sweptUntil == day(expected))
            }
        }
    }

    @Test(arguments: Place.available)
    func `a date from which an operator asks counts while everything is being asked for`(_ place: Place) throws {
        try withHistory(place) { ledger in
            let inquiry = try #require(try everything(ledger, at: day(2)))
            try ledger.pause(
                inquiry, window(inquiry, until: day(2)), until: day(3), attempts: 0, failure: nil, at: day(2))
            try ledger.beginHistory(of: Self.app, since: day(-5), at: day(2))
            let next = try #require(try everything(ledger, at: day(2)))
            #expect(next.cursor == nil)
        }
    }

    @Test(arguments: Place.available)
    func `with a date from which an operator asks, what went wrong in an earlier window is asked for again, too`(
        _ place: Place
    ) throws {
        try withHistory(place) { ledger in
            var faultyFrom: Instant?
            for isFaulty in [true, false] {
                let inquiry = try #require(try everything(ledger, at: day(30)))
                var window = try ledger.historyWindow(of: inquiry, at: day(30)).window
                window.isFaulty = isFaulty
                if isFaulty { faultyFrom = window.from }
                try ledger.complete(inquiry, window, at: day(30))
            }
            try ledger.beginHistory(of: Self.app, since: day(25), at: day(30))
            let next = try #require(try everything(ledger, at: day(30)))
            let window = try ledger.historyWindow(of: next, at: day(30)).window
            #expect(next.cursor == nil)
            #expect(try window.from <= #require(faultyFrom))
        }
    }

    @Test(arguments: Place.available)
    func `a server that was too slow does not set back what another one has read since`(_ place: Place) throws {
        try withHistory(place) { ledger in
            let slow = try #require(try everything(ledger, at: day(2)))
            let now = day(2) + PurchaseLedger.inquiryLease
            let next = try #require(try everything(ledger, at: now))
            let window = window(slow, until: day(2))
            try ledger.pause(slow, window, until: day(3), attempts: 1, failure: "no-answer", at: now)
            let advanced = try ledger.advance(next, to: window.cursor(), requestsPerHour: 1000, at: now)
            #expect(advanced?.hasRequest == true)
        }
    }

    @Test(arguments: Place.available)
    func `a run is complete when its last part is`(_ place: Place) throws {
        try withHistory(place) { ledger in
            func completeUntil() throws -> Instant? {
                try ledger.historyCheckpoint(of: Self.app).completeUntil
            }
            var ends: [Instant] = []
            while try completeUntil() == day(0), ends.count < 9 {
                let inquiry = try #require(try everything(ledger, at: day(20)))
                let window = try ledger.historyWindow(of: inquiry, at: day(20)).window
                try ledger.complete(inquiry, window, at: day(20))
                ends.append(window.until)
            }
            // From a day before the checkpoint on.
            #expect(try ends == [day(6), day(13), day(20)] && completeUntil() == day(20))
        }
    }

    @Test func `a clock that steps back, by any time, makes no window of the future and loses none`() {
        let now = Shop.start
        for step in [Duration.seconds(1), .seconds(600), .hours(2), .days(1), .days(400)] {
            for range in HistoryRange.allCases {
                var checkpoint = HistoryCheckpoint()
                (checkpoint.completeUntil, checkpoint.sweptUntil) = (now + step, now + step)
                let window = checkpoint.window(range, of: Self.app, at: now)
                // A date from a slightly fast clock is within the overlap.
                #expect(window.from <= now - .seconds(3600) && window.runUntil == now, "\(step)")
                checkpoint.complete(window, range, of: Self.app, at: now)
                let noted = range == .failures ? checkpoint.completeUntil : checkpoint.sweptUntil
                #expect(noted == window.until || step < .seconds(3601), "\(step)")
            }
        }
    }

    @Test func `what Apple was late to send before a long outage is in the gap`() {
        var checkpoint = HistoryCheckpoint()
        (checkpoint.completeUntil, checkpoint.sweptUntil) = (day(1), day(1))
        for range in HistoryRange.allCases {
            _ = checkpoint.window(range, of: Self.app, at: day(400))
            #expect(checkpoint.gap?.from == day(0))
        }
    }

    @Test func `what could not be read is asked for again five times, and is then a gap`() {
        var checkpoint = HistoryCheckpoint()
        for number in 1...6 {
            var window = HistoryWindow(from: day(1), until: day(2), of: .everything)
            window.restart()
            checkpoint.complete(window, .everything, of: Self.app, at: day(2))
            #expect(checkpoint.doubtfulFrom == (number < 6 ? day(1) : nil))
            #expect(checkpoint.gap?.from == (number < 6 ? nil : day(1)))
        }
    }

    @Test(arguments: Place.available)
    func `each time that Apple has no more is reported once`(_ place: Place) throws {
        try withHistory(place) { ledger in
            for now in [day(400), day(800)] {
                try ledger.beginHistory(of: Self.app, at: now)
                #expect(try answer(ledger, at: now).gaps == [now - HistoryCheckpoint.kept(Self.app)])
            }
        }
    }

    @Test(arguments: Place.available)
    func `a run that was interrupted for half a day is followed by another`(_ place: Place) throws {
        for (hours, isRepeated) in [(11, false), (13, true)] as [(Int64, Bool)] {
            try withHistory(place) { ledger in
                let inquiry = try #require(try everything(ledger, at: day(2)))
                let now = day(2) + .seconds(3600 * hours)
                try ledger.complete(inquiry, window(inquiry, until: day(2)), at: now)
                let next = try everything(ledger, at: now)
                #expect((next != nil) == isRepeated, "\(hours)")
            }
        }
    }
}
