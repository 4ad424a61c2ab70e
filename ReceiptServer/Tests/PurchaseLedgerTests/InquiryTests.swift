import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// The ledger's records of inquiries and answers, in the smallest cases. `ReconciliationTests` make the inquiries.
@Suite struct InquiryTests {
    private static let app = AskedApp(.production, Minted.bundleID)

    private func withLedger(_ place: Place, _ body: (PurchaseLedger) throws -> Void) throws {
        var policy = LedgerPolicy()
        policy.inquiries = InquiryPolicy(apps: [Self.app])
        try place.withLedger(policy, body)
    }

    private func take(
        _ ledger: PurchaseLedger, _ kind: Inquiry.Kind = .transaction, at now: Instant
    ) throws -> [Inquiry] {
        try ledger.takeInquiries(about: Self.app, of: [kind], limit: 9, requestsPerHour: 1000, at: now).inquiries
    }

    private func texts(_ statement: String, _ ledger: PurchaseLedger) throws -> [String] {
        let rows = try ledger.store.read { (connection) throws(LedgerError) in try connection.run(statement) }
        return try rows.map { try $0.text(0) }
    }

    private func confirmed(_ ledger: PurchaseLedger) throws -> [String] {
        try texts("SELECT transaction_id FROM confirmations WHERE confirmed_at IS NOT NULL", ledger).sorted()
    }

    // MARK: Policy

    @Test(
        arguments: [
            (.none, .redeem, Minted.bundleID, []), (.unnotified, .redeem, Minted.bundleID, [.unnotified]),
            (.unnotified, .notification, Minted.bundleID, []),
            (.all, .redeem, Minted.bundleID, [.unnotified, .granted]),
            (.all, .notification, Minted.bundleID, [.granted]), (.all, .reconciliation, Minted.bundleID, []),
            (.all, .redeem, "com.example.other", []),
        ] as [(InquiryPolicy.Confirm, LedgerEvent.Cause, String, [Inquiry.Reason])])
    func `the setting says which granted purchases Apple is asked about, unless Apple notified of them`(
        confirm: InquiryPolicy.Confirm, cause: LedgerEvent.Cause, bundleID: String, reasons: [Inquiry.Reason]
    ) {
        var policy = InquiryPolicy(apps: [Self.app])
        policy.confirm = confirm
        let key = AskedApp(.production, bundleID).key("1")
        #expect(policy.confirmations(of: key, cause, Surroundings(), at: day(0)).map(\.reason) == reasons)
    }

    @Test func `a subscription in billing retry is asked about for 60 days after its end, any other for a day`() {
        func dates(_ schedule: SubscriptionSchedule) -> [Duration] {
            var dates = [schedule.first]
            while let next = dates.last.flatMap(schedule.next(after:)), dates.count < 99 { dates.append(next) }
            return dates.map { $0 - schedule.end }
        }
        let steps: [Duration] = [-3600, 300, 3600, 86_400].map { .seconds($0) }
        #expect(dates(SubscriptionSchedule(end: day(30))) == steps)
        let retries = (2...60).map { Duration.seconds(86_400 * $0) }
        #expect(dates(SubscriptionSchedule(end: day(30), isInBillingRetry: true)) == steps + retries)
    }

    // MARK: Queue

    /// Consumables of an account, whose inquiries are due on the next day.
    private func buy(_ count: Int, _ ledger: PurchaseLedger) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for _ in 0..<count {
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(0)) == [.granted])
        }
    }

    @Test(arguments: Place.available)
    func `what failed is asked again, and what Apple does not know is not`(_ place: Place) throws {
        try withLedger(place) { ledger in
            try buy(3, ledger)
            let taken = try take(ledger, at: day(1))
            for (inquiry, isFailed) in zip(taken, [true, false, false]) {
                try ledger.finish(inquiry, isFailed ? .failed("no-answer") : .unknown, at: day(1))
            }
            func counts() throws -> [Int] {
                try ledger.inquiryCounts(at: day(1)).flatMap { [$0.failed, $0.unknown] }
            }
            #expect(try counts() == [1, 2])
            try ledger.askFailedAgain(about: Self.app, at: day(1))
            #expect(try counts() == [0, 2])
            #expect(try take(ledger, at: day(1)).map(\.subject) == taken.prefix(1).map(\.subject))
        }
    }

    @Test(arguments: Place.available)
    func `an inquiry is open that failed and is soon due again`(_ place: Place) throws {
        try withLedger(place) { ledger in
            try buy(4, ledger)
            #expect(try ledger.openInquiryCount(about: Self.app, at: day(1)) == 4)
            let results: [PurchaseLedger.InquiryResult] = [
                .again(at: day(1) + .seconds(3600), attempts: 1, failure: "no-answer"),
                .again(at: day(1) + .seconds(25_200), attempts: 1, failure: "no-answer"),
                .again(at: day(1) + .seconds(3600), attempts: 0, failure: "no-answer"),
                .again(at: day(1) + .seconds(3600), attempts: 1, failure: nil),
            ]
            for (inquiry, result) in zip(try take(ledger, at: day(1)), results) {
                try ledger.finish(inquiry, result, at: day(1))
            }
            #expect(try ledger.openInquiryCount(about: Self.app, at: day(1)) == 1)
        }
    }

    @Test(arguments: Place.available)
    func `what a server took whose clock was ahead is asked by another`(_ place: Place) throws {
        try withLedger(place) { ledger in
            try buy(1, ledger)
            #expect(try take(ledger, at: day(10)).count == 1)
            #expect(try ledger.nextInquiryDate(about: Self.app, at: day(1)).map { $0 <= day(1) } == true)
            #expect(try take(ledger, at: day(1)).count == 1 && take(ledger, at: day(1)).isEmpty)
        }
    }

    @Test(arguments: Place.available)
    func `a notification ends no inquiry about a purchase that is disputed`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            func reasons() throws -> [String] {
                try texts("SELECT reason FROM questions WHERE kind = 'transaction'", ledger)
            }
            func notify(_ date: Double) throws {
                for notification in try history.verifiedNotifications(through: day(date)) {
                    try ledger.record(notification, at: day(date))
                }
            }
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(0)) == [.granted])
            #expect(try reasons() == ["unheard"])
            try notify(0)
            #expect(try reasons().isEmpty)
            #expect(try ledger.outcomes(evidence, for: "ben", at: day(1)) == [.belongsToAnother])
            history.declineRefund(of: coins, at: day(2))
            try notify(2)
            #expect(try reasons() == ["disputed"])
        }
    }

    @Test(arguments: Place.available)
    func `a subscription about which an inquiry was given up is asked about after its renewal`(
        _ place: Place
    ) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            _ = try ledger.redeem(history.evidence(subscription.firstPeriod, signedAt: day(0)), for: "anna", at: day(0))
            let inquiry = try #require(take(ledger, .statuses, at: day(30)).first)
            try ledger.finish(inquiry, .failed("no-answer"), at: day(30))
            _ = try ledger.redeem(history.evidence(renewal, signedAt: day(31)), for: "anna", at: day(31))
            #expect(try take(ledger, .statuses, at: day(60)).map(\.subject) == [inquiry.subject])
        }
    }

    @Test(arguments: Place.available)
    func `what was not asked is given back to the hour that paid for it, and to no other`(_ place: Place) throws {
        for (seconds, spent) in [(5, 3), (15, 1)] as [(Int64, Int)] {
            try withLedger(place) { ledger in
                try buy(3, ledger)
                let before = day(1) - .seconds(10)
                let taken = try take(ledger, at: before)
                let now = before + .seconds(seconds)
                #expect(try ledger.takeRequest(about: Self.app, priority: 0, requestsPerHour: 1000, at: now))
                let inquiry = try #require(taken.first)
                try ledger.finish(inquiry, .ended, isUnspent: true, at: now)
                #expect(taken.count == 3)
                #expect(try ledger.inquiryCounts(at: now).map(\.spentThisHour) == [spent], "\(seconds)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `a request is made within the limit of the hour`(_ place: Place) throws {
        try withLedger(place) { ledger in
            let requests = try (0..<4).map { number in
                try ledger.takeRequest(
                    about: Self.app, priority: 0, requestsPerHour: 2, at: day(1) + .seconds(number < 3 ? 0 : 3600))
            }
            #expect(requests == [true, true, false, true])
        }
    }

    @Test(arguments: Place.available)
    func `what becomes due while an inquiry is asked stays`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            func redeem(_ period: PurchaseHistory.Transaction, at date: Instant) throws {
                _ = try ledger.redeem(history.evidence(period, signedAt: date), for: "anna", at: date)
            }
            try redeem(subscription.firstPeriod, at: day(1))
            let inquiry = try #require(take(ledger, .statuses, at: day(30)).first)
            try redeem(renewal, at: day(31))
            try ledger.finish(inquiry, .ended, at: day(31))
            #expect(try take(ledger, .statuses, at: day(60)).map(\.subject) == [inquiry.subject])
        }
    }

    @Test(arguments: Place.available)
    func `a purchase that Apple does not know is an alarm when it is three days old`(_ place: Place) throws {
        try withLedger(place) { ledger in
            try buy(1, ledger)
            let inquiry = try #require(take(ledger, at: day(1)).first)
            try ledger.store.write { (connection) throws(LedgerError) in
                try connection.write(
                    "INSERT INTO confirmations VALUES ('production', $1, $2, 0, 0, 5, NULL, NULL)",
                    [.text(Minted.bundleID), .text(inquiry.subject)])
            }
            for (age, isAlarm) in [(1, false), (2.9, false), (3.1, true)] as [(Double, Bool)] {
                try ledger.noteControl(of: Self.app, at: day(age))
                let step = try ledger.recordNotFound(inquiry, at: day(age))
                if case .unknown = step { #expect(isAlarm, "\(age)") } else { #expect(!isAlarm, "\(age)") }
            }
        }
    }

    @Test(arguments: Place.available)
    func `of one receipt, 20 disputed purchases are asked about`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.inquiries = InquiryPolicy(apps: [Self.app])
        policy.inquiries?.confirm = .none
        try place.withLedger(policy) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            for number in 0..<25 { history.buyNonConsumable("product \(number)", at: day(0)) }
            let receipt = try Minted.evidence(history.receipt(signedAt: day(1)))
            _ = try ledger.redeem(receipt, for: "anna", at: day(1))
            let outcomes = try ledger.outcomes(receipt, for: "ben", at: day(2))
            #expect(outcomes == Array(repeating: .belongsToAnother, count: 25))
            #expect(try texts("SELECT reason FROM questions WHERE reason = 'disputed'", ledger).count == 20)
        }
    }

    @Test(arguments: Place.available)
    func `nobody asks at the end of a period what became of it if it was refunded`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let period = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod
            history.refund(period, at: day(20))
            func redeem(_ signedAt: Double) throws {
                _ = try ledger.redeem(history.evidence(period, signedAt: day(signedAt)), for: "anna", at: day(20))
            }
            try redeem(1)
            let inquiry = try #require(take(ledger, .statuses, at: day(30)).first)
            try ledger.finish(inquiry, .ended, at: day(30))
            try redeem(20)
            #expect(try texts("SELECT subject FROM questions WHERE kind = 'statuses'", ledger).isEmpty)
        }
    }

    // MARK: Answers

    private func answered(_ evidence: VerifiedEvidence) -> [Verified<TransactionInfo>] {
        if case .transaction(let transaction) = evidence { [transaction] } else { [] }
    }

    @Test(arguments: Place.available)
    func `an answer with a renewal confirms what was asked about, too, and an empty one is none`(
        _ place: Place
    ) throws {
        try withLedger(place) { ledger in
            func hasAnswer() throws -> Bool {
                try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.hasAnswer(
                        about: Self.app, at: ledger.policy.surroundings.leaseDate(day(31)))
                }
            }
            try ledger.record(answered: [], about: Self.app, at: day(31))
            #expect(try !hasAnswer())
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            try ledger.record(
                answered: answered(history.evidence(renewal, signedAt: day(31))),
                confirming: subscription.originalTransactionID, about: Self.app, at: day(31))
            let both = [subscription.originalTransactionID, renewal.transactionID]
            #expect(try hasAnswer() && confirmed(ledger) == both.sorted())
        }
    }

    @Test(arguments: Place.available)
    func `what Apple did not know and confirms after all is unknown no more`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            try ledger.store.write { (connection) throws(LedgerError) in
                try connection.write(
                    "INSERT INTO confirmations VALUES ('production', $1, $2, 0, 0, 6, NULL, 1)",
                    [.text(Minted.bundleID), .text(coins.transactionID)])
            }
            #expect(try ledger.unknownTransactions().map(\.transactionID) == [coins.transactionID])
            try ledger.record(
                answered: answered(history.evidence(coins, signedAt: day(1))), about: Self.app, at: day(1))
            #expect(try ledger.unknownTransactions().isEmpty && confirmed(ledger) == [coins.transactionID])
        }
    }

    @Test(arguments: Place.available)
    func `an answer is about what was asked if the ledger has both in one lineage`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription).transactionID
            let coins = history.buyConsumable("coins", at: day(0)).transactionID
            for builder in history.transactions(signedAt: day(31)) {
                _ = try ledger.redeem(Minted.evidence(builder), for: "anna", at: day(31))
            }
            let first = subscription.originalTransactionID
            for (ids, asked, isRelated) in [
                ([coins, renewal], first, true), ([first], renewal, true), (["9"], "9", true), ([coins], first, false),
                (["9"], first, false), ([first], "9", false), ([], first, false),
            ] as [([String], String, Bool)] {
                #expect(try ledger.isRelated(ids, to: asked, in: Self.app) == isRelated, "\(ids) \(asked)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `Apple is asked about a subscription before its last period ends`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            for period in [subscription.firstPeriod, renewal] {
                _ = try ledger.redeem(history.evidence(period, signedAt: day(31)), for: "anna", at: day(31))
            }
            let (step, isActive) = try ledger.subscriptionStep(
                of: subscription.originalTransactionID, in: Self.app, isAnswered: false, at: day(45))
            #expect(step == .wait(until: day(60) - .seconds(3600)) && isActive == true)
        }
    }

    // MARK: Notifications

    @Test(arguments: Place.available)
    func `what Apple's history has is confirmed, and reported if it ended without a notification`(
        _ place: Place
    ) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: day(0))
            let (second, third) = (history.renew(subscription), history.renew(subscription))
            let evidence = try history.evidence(second, signedAt: day(8))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(8)) == [.granted])
            var ended: [String] = []
            for notification in try history.verifiedNotifications(through: day(20)) {
                ended += try ledger.record(fromHistory: notification, of: Self.app, at: day(30)).endedUnnotified
            }
            // The first was over before the account had the subscription.
            #expect(ended == [third.transactionID])
            let all = [subscription.firstPeriod, second, third].map(\.transactionID)
            #expect(try confirmed(ledger) == all.sorted())
        }
    }
}
