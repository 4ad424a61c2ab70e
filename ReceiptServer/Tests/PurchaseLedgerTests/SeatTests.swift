import AppStoreReceipt
import AppStoreReceiptTesting
import Sampling
import SeededRandom
import StrictText
import Testing

@testable import PurchaseLedger

/// Subscriptions of several seats: a period has one grant, whose quantity is not the seats, and members have their own.
@Suite struct SeatTests {
    /// What an account has of a product, under any transaction.
    private func has(_ ledger: PurchaseLedger, _ account: String, _ product: String = "team") throws -> [Int64] {
        try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT quantity FROM grants WHERE account = $1 AND product_id = $2 ORDER BY transaction_id",
                [.text(account), .text(product)]
            ).map { (row) throws(LedgerError) in try row.integer(0) }
        }
    }

    /// The nonzero balances of accounts.
    private func balances(_ ledger: PurchaseLedger) throws -> [String: Int64] {
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT account, transaction_id, quantity FROM grants WHERE quantity > 0")
        }
        return Dictionary(
            uniqueKeysWithValues: try rows.map { ("\(try $0.text(0)) \(try $0.text(1))", try $0.integer(2)) })
    }

    private func balancesByEvents(_ ledger: PurchaseLedger) throws -> [String: Int64] {
        var balances: [String: Int64] = [:]
        for event in try ledger.events() {
            balances["\(event.account) \(event.transactionID)"] = event.quantity == 0 ? nil : Int64(event.quantity)
        }
        return balances
    }

    private func posted(_ ledger: PurchaseLedger, _ account: String) throws -> [String] {
        try ledger.events().filter { $0.account == account }.map { event in
            let seats = event.seats.map(String.init) ?? "-"
            return
                "\(event.kind) \(event.transactionID) \(event.previousQuantity)→\(event.quantity) \(seats) \(event.cause)"
        }
    }

    @Test(arguments: Place.available)
    func `a buyer and two members, from the purchase to the refund of everything`(_ place: Place) throws {
        try place.withLedger { (ledger) throws in
            #expect(try ledger.outcomes(SeatTransaction.eight.evidence, for: "buyer", at: day(1)) == [.granted])
            #expect(try ledger.outcomes(SeatTransaction.three.evidence, for: "buyer", at: day(11)) == [.alreadyYours])
            let answer = try ledger.redeem(SeatTransaction.three.evidence, for: "buyer", at: day(11)).outcomes[0]
            #expect(answer.grantedAs == "1" && answer.quantity == 1 && answer.seats == 11)
            var refunded = SeatTransaction.eightAgain
            (refunded.refundedSeats, refunded.signed) = (2, 12)
            try ledger.record(refunded.notification(.refund, uuid: 1), at: day(12))
            var members = ["701", "702"].map { SeatTransaction(id: "3" + $0, quantity: 8, member: $0, signed: 12) }
            for (account, member) in zip(["anna", "berta"], members) {
                #expect(try ledger.outcomes(member.evidence, for: account, at: day(12)) == [.granted])
            }
            // The first transaction is refunded whole, and the access stays.
            (refunded.revoked, refunded.refundedSeats, refunded.signed) = (14, nil, 14)
            try ledger.record(refunded.notification(.refund, uuid: 2), at: day(14))
            #expect(try has(ledger, "buyer") == [1])
            (members[0].revoked, members[0].revocationType, members[0].signed) = (15, .assignmentRevoke, 15)
            try ledger.record(members[0].notification(.revoke, uuid: 3), at: day(15))
            #expect(try (has(ledger, "anna"), has(ledger, "berta")) == ([0], [1]))
            // An upgrade ends one and grants another.
            var upgraded = SeatTransaction.three
            (upgraded.isUpgraded, upgraded.signed) = (true, 20)
            try ledger.record(upgraded.notification(.didChangeRenewalPreference, uuid: 4), at: day(20))
            var gold = SeatTransaction(id: "4", days: 20..<50, quantity: 5, product: "gold", signed: 20)
            try ledger.record(gold.notification(.didChangeRenewalPreference, uuid: 5), at: day(20))
            #expect(try has(ledger, "buyer", "gold") == [1])
            (gold.revoked, gold.signed) = (22, 22)
            try ledger.record(gold.notification(.refund, uuid: 6), at: day(22))
            #expect(try has(ledger, "buyer", "gold") == [0])
            let all = try posted(ledger, "buyer")
            #expect(
                all == [
                    "granted 1 0→1 8 redeem", "changed 1 1→1 11 redeem", "changed 1 1→1 9 notification",
                    "changed 1 1→1 3 notification", "changed 1 1→1 3 notification", "changed 1 1→1 3 notification",
                    "granted 4 0→1 5 notification",
                    "revoked 4 1→0 0 notification",
                ])
            #expect(
                try posted(ledger, "anna") == ["granted 3701 0→1 - redeem", "revoked 3701 1→0 - notification"])
        }
    }

    @Test(arguments: Place.available, [false, true])
    func `every order of arrival ends in the same state`(_ place: Place, isRefunded: Bool) throws {
        var (eight, three) = (SeatTransaction.eightAgain, SeatTransaction.three)
        (eight.revoked, eight.signed) = (14, 14)
        if isRefunded { (three.revoked, three.signed) = (15, 15) }
        let member = SeatTransaction(id: "3701", quantity: 8, member: "701", signed: 12)
        let pieces: [(account: String, evidence: VerifiedEvidence)] = [
            ("buyer", try SeatTransaction.eight.evidence), ("buyer", try eight.evidence),
            ("buyer", try SeatTransaction.three.evidence),
            ("buyer", try three.evidence), ("anna", try member.evidence), ("anna", try member.receipt),
        ]
        var generator = SeededGenerator(seed: 54)
        for _ in 0..<(place == .sqlite ? 60 : 12) {
            let order = pieces.shuffled(using: &generator)
            try place.withLedger { (ledger) throws in
                // Twice: a purchase that a member's receipt had made hers belongs to the next account that submits it.
                for piece in order + order { _ = try ledger.redeem(piece.evidence, for: piece.account, at: day(16)) }
                let names = order.map { "\($0.account) \($0.evidence.transactionIDs)" }
                #expect(try has(ledger, "buyer").reduce(0, +) == (isRefunded ? 0 : 1), "\(names)")
                #expect(try has(ledger, "anna").reduce(0, +) == 1, "\(names)")
                #expect(try balances(ledger) == balancesByEvents(ledger), "\(names)")
            }
        }
    }

    /// Anybody may submit anything first, also copies of what is another's.
    @Test(arguments: Place.available)
    func `whoever submits what, a period and a member's seat are one account's, and events say whose`(
        _ place: Place
    ) throws {
        var (refunded, revoked, added, upgraded) = (
            SeatTransaction.eightAgain, SeatTransaction.eightAgain, SeatTransaction.three, SeatTransaction.three
        )
        (refunded.refundedSeats, refunded.signed) = (2, 12)
        (revoked.revoked, revoked.signed) = (14, 14)
        (added.id, added.days, added.signed) = ("5", 12..<30, 12)
        (upgraded.isUpgraded, upgraded.signed) = (true, 15)
        let gold = SeatTransaction(id: "4", days: 15..<45, quantity: 5, product: "gold", signed: 15)
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        var removed = member
        (removed.revoked, removed.revocationType, removed.signed) = (15, .assignmentRevoke, 15)
        let other = SeatTransaction(id: "7", quantity: 8, member: "702", signed: 12)
        var (allOfThree, allOfGold) = (upgraded, gold)
        (allOfThree.revoked, allOfThree.signed, allOfGold.revoked, allOfGold.signed) = (18, 18, 18, 18)
        var second = SeatTransaction(id: "6", days: 30..<60, quantity: 8, member: "701", signed: 16)
        second.days = 12..<42
        // A renewal that was refunded before it began, and seats that were added to it.
        let old = SeatTransaction(id: "20", original: "20", days: 0..<10, quantity: 8, signed: 1)
        let renewal = SeatTransaction(id: "21", original: "20", days: 10..<25, quantity: 8, revoked: 9, signed: 11)
        let again = SeatTransaction(id: "22", original: "20", days: 12..<25, quantity: 8, reason: true, signed: 12)
        let boughtAgain = [old, renewal, again]
        let buyers =
            [
                SeatTransaction.eight, SeatTransaction.eightAgain, refunded, revoked, SeatTransaction.three, added,
                upgraded, gold, allOfThree,
                allOfGold,
            ] + boughtAgain
        let members = [member, removed, second, other]
        func signed(_ transactions: [SeatTransaction]) throws -> [(owner: String, evidence: VerifiedEvidence)] {
            try transactions.map { ($0.member.map { $0 == "702" ? "berta" : "anna" } ?? "buyer", try $0.evidence) }
        }
        let (all, few) = (try signed(buyers + members), try signed(boughtAgain))
        let receipts = try [
            ("buyer", SeatTransaction.eight.receipt), ("anna", member.receipt), ("anna", second.receipt),
        ]
        var generator = SeededGenerator("\(place)")
        for _ in 0..<Sampling.count("seat-histories" + (place == .sqlite ? "" : "-postgresql")) {
            var policy = LedgerPolicy()
            policy.wholeLineageLimit = Bool.random(using: &generator) ? 24 : 1
            try place.withLedger(policy) { (ledger) throws in
                var steps: [String] = []
                var model = LedgerModel()
                // A receipt joins a member's transactions with the buyer's, which the model does not.
                let hasReceipts = Bool.random(using: &generator)
                let pieces = Int.random(in: 0..<4, using: &generator) == 0 ? few : hasReceipts ? all + receipts : all
                for number in 0..<Int.random(in: 2...14, using: &generator) {
                    let (owner, evidence) = try #require(pieces.randomElement(using: &generator))
                    let account = Int.random(in: 0..<5, using: &generator) == 0 ? "eve" : owner
                    steps.append("\(account) \(evidence.transactionIDs)")
                    if case .transaction = evidence, Int.random(in: 0..<4, using: &generator) == 0 {
                        let piece = try #require((buyers + members).randomElement(using: &generator))
                        let notification = try piece.notification(.didRenew, uuid: number)
                        try ledger.record(notification, at: day(20))
                        model.record(.notification(notification), at: day(20))
                        steps[steps.count - 1] = "Apple \(piece.id)"
                    } else {
                        let outcomes = try ledger.outcomes(evidence, for: account, at: day(20))
                        let expected = model.redeem(evidence, for: account, at: day(20))
                        #expect(hasReceipts || outcomes == expected, "\(steps)")
                    }
                    let balances = try balances(ledger)
                    let names = Comment(rawValue: steps.joined(separator: ", "))
                    #expect(try hasReceipts || LedgerState(ledger) == model.state, names)
                    for account in ["buyer", "anna", "berta", "eve"] where !hasReceipts {
                        let codes = try ledger.entitlements(of: account, at: day(20)).codes
                        #expect(codes == model.entitlements(of: account, at: day(20)).codes, names)
                    }
                    #expect(try balances == balancesByEvents(ledger), names)
                    for group in [["1", "2", "5"], ["3"], ["4"], ["6"], ["7"], ["20"], ["21", "22"]] {
                        let held = balances.keys.filter { key in group.contains { key.hasSuffix(" \($0)") } }
                        #expect(held.count <= 1, names)
                    }
                    #expect(balances.values.allSatisfy { $0 == 1 }, names)
                }
            }
        }
    }

    @Test(arguments: Place.available)
    func `two grants of one period become one, and those of two accounts stay`(_ place: Place) throws {
        for other in ["buyer", "berta"] {
            try place.withLedger { (ledger) throws in
                var (first, second) = (SeatTransaction.eight, SeatTransaction.three)
                // Neither has a reason yet, and the second is of a subscription of its own.
                (second.reason, second.signed) = (false, 10)
                _ = try ledger.redeem(first.evidence, for: "buyer", at: day(10))
                _ = try ledger.redeem(second.evidence, for: "buyer", at: day(10))
                if other == "berta" {
                    _ = try ledger.store.write { (connection) throws(LedgerError) in
                        try connection.write("UPDATE grants SET account = 'berta' WHERE transaction_id = '2'", [])
                    }
                }
                (first.reason, first.signed) = (true, 11)
                try ledger.record(first.notification(.didChangeRenewalPreference, uuid: 1), at: day(12))
                #expect(try has(ledger, "buyer") == (other == "buyer" ? [1, 0] : [1]))
                #expect(try has(ledger, "berta") == (other == "buyer" ? [] : [1]))
                guard other == "buyer" else { return }
                #expect(try posted(ledger, "buyer").last == "adjusted 2 1→0 - notification")
                let answer = try ledger.redeem(SeatTransaction.three.evidence, for: "buyer", at: day(12)).outcomes[0]
                #expect(answer.outcome == .alreadyYours && answer.grantedAs == "1" && answer.seats == 11)
                let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: "2")
                let adjustment = Adjustment(.quantity(name, 1), reason: "a trial")
                #expect(throws: LedgerError.self) { _ = try ledger.adjust(adjustment, of: "buyer", at: day(12)) }
            }
        }
    }

    @Test(arguments: Place.available)
    func `what a receipt joined is split off, and a claim that rests on it alone is gone`(_ place: Place) throws {
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        try place.withLedger { (ledger) throws in
            // A member's receipt makes her the owner of the subscription, and of the buyer's renewal.
            #expect(try ledger.outcomes(member.receipt, for: "anna", at: day(2)) == [.granted])
            #expect(
                try ledger.outcomes(SeatTransaction.eight.evidence, for: "buyer", at: day(3)) == [.belongsToAnother])
            #expect(try has(ledger, "anna") == [1, 1])
            #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(12)) == [.alreadyYours])
            #expect(try has(ledger, "anna") == [1])
            let all = try posted(ledger, "anna")
            #expect(all.suffix(2) == ["revoked 1 1→0 - redeem", "changed 3 1→1 - redeem"])
            #expect(try ledger.outcomes(SeatTransaction.eight.evidence, for: "buyer", at: day(13)) == [.granted])
            // A receipt joins nothing again.
            _ = try ledger.redeem(member.receipt, for: "anna", at: day(14))
            #expect(try (has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
            #expect(try ledger.uncertainClaims().isEmpty)
            let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: "1")
            #expect(try ledger.story(of: name, at: day(14))?.related == [])
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
        // The buyer's claim has a basis of its own: only the member's part becomes hers.
        try place.withLedger { (ledger) throws in
            #expect(try ledger.outcomes(SeatTransaction.eight.evidence, for: "buyer", at: day(2)) == [.granted])
            #expect(try ledger.outcomes(member.receipt, for: "anna", at: day(3)) == [.belongsToAnother])
            #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(12)) == [.granted])
            #expect(try (has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    /// Whether Apple signs such ids is not known.
    @Test(arguments: Place.available)
    func `a member's first transaction is the original of hers alone, also of what she buys later`(
        _ place: Place
    ) throws {
        var first = SeatTransaction(id: "7", original: "7", quantity: 8, member: "701", signed: 1)
        let second = SeatTransaction(id: "8", original: "7", days: 10..<40, quantity: 8, member: "701", signed: 11)
        let bought = SeatTransaction(id: "9", original: "7", days: 30..<60, signed: 31)
        let renewed = SeatTransaction(id: "10", original: "7", days: 60..<90, signed: 60)
        for receiptsFirst in [true, false] {
            try place.withLedger { (ledger) throws in
                if receiptsFirst {
                    _ = try ledger.redeem(first.receipt, for: "work", at: day(2))
                    _ = try ledger.redeem(second.receipt, for: "work", at: day(12))
                }
                #expect(try ledger.redeem(first.evidence, for: "work", at: day(12)).outcomes.map(\.quantity) == [1])
                for _ in 0..<2 {
                    _ = try ledger.redeem(first.receipt, for: "work", at: day(13))
                    _ = try ledger.redeem(second.receipt, for: "work", at: day(13))
                    _ = try ledger.redeem(first.evidence, for: "work", at: day(14))
                    _ = try ledger.redeem(second.evidence, for: "work", at: day(14))
                }
                #expect(try has(ledger, "work") == [1, 1])
                #expect(try ledger.outcomes(bought.evidence, for: "private", at: day(31)) == [.granted])
                // A grace period is the buyer's, whatever is loaded next.
                var renewal = JWSBuilder.renewalInfo(
                    productID: "team", originalTransactionID: "7", signedDate: day(60))
                renewal.payload["gracePeriodExpiresDate"] = .integer(day(66).millisecondsSince1970)
                var failure = JWSBuilder.notification(
                    .didFailToRenew, bundleID: Minted.bundleID,
                    transaction: try bought.builder.signed(by: Minted.authority.get()),
                    renewalInfo: try renewal.signed(by: Minted.authority.get()))
                failure.payload["notificationUUID"] = "grace"
                try ledger.record(Minted.notification(failure), at: day(60))
                for _ in 0..<2 {
                    let codes = try ledger.entitlements(of: "private", at: day(62)).codes
                    #expect(codes["9"]?.hasPrefix("active") ?? false)
                    _ = try ledger.redeem(bought.evidence, for: "private", at: day(60))
                    #expect(try ledger.events().last { $0.account == "private" }?.until == day(66))
                }
                try ledger.record(renewed.notification(.didRenew, uuid: 1), at: day(61))
                #expect(try has(ledger, "private") == [1, 1])
                #expect(try balances(ledger) == balancesByEvents(ledger))
            }
        }
        // What is bought can be known first.
        try place.withLedger { (ledger) throws in
            first.signed = 32
            #expect(try ledger.outcomes(bought.evidence, for: "private", at: day(31)) == [.granted])
            _ = try ledger.redeem(first.evidence, for: "work", at: day(32))
            try ledger.record(renewed.notification(.didRenew, uuid: 1), at: day(61))
            #expect(try has(ledger, "private") == [1, 1])
        }
    }

    /// X's receipts put both into one lineage. His purchase stays his in whatever order the rest arrives.
    @Test(arguments: Place.available)
    func `what is split off in one request with what is bought divides no subscription`(_ place: Place) throws {
        let member = SeatTransaction(id: "5", original: "5", quantity: 8, member: "701", signed: 12)
        let older = SeatTransaction(id: "6", original: "5", days: 30..<60, signed: 31)
        let bought = SeatTransaction(id: "7", original: "5", days: 60..<90, signed: 60)
        try place.withLedger { (ledger) throws in
            _ = try ledger.redeem(member.receipt, for: "x", at: day(2))
            _ = try ledger.redeem(older.receipt, for: "x", at: day(31))
            let both = try [member, bought].map { signed in
                guard case .transaction(let transaction) = try signed.evidence else { throw LedgerError(.notFound, "") }
                return transaction
            }
            _ = try ledger.redeem(both, with: [], for: "y", at: day(61))
            #expect(try has(ledger, "x").contains(1) && !balances(ledger).keys.contains("y 7"))
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    @Test(arguments: Place.available)
    func `what is split off in a group of requests is notified once`(_ place: Place) throws {
        try place.withLedger { (ledger) throws in
            let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
            _ = try ledger.redeem(member.receipt, for: "anna", at: day(2))
            _ = try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(3))
            let evidence =
                try [member.evidence]
                + (0..<4).map { number in
                    try Minted.evidence(
                        JWSBuilder.transaction(
                            bundleID: Minted.bundleID, productID: "pro", transactionID: "100\(number)"))
                }
            let requests = evidence.enumerated().map { number, evidence in
                RedemptionRequest(
                    submission: Submission(evidence),
                    claim: Claim(account: number == 0 ? "anna" : "other \(number)", token: nil),
                    answered: nil, policy: ledger.policy, now: day(12))
            }
            _ = try ledger.store.write { (connection) throws(LedgerError) in
                try RedemptionRequest.answer(requests, connection)
            }
            #expect(try posted(ledger, "anna").count { $0.hasPrefix("revoked") } == 1)
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    @Test(arguments: Place.available)
    func `a split takes back what it is about alone, and gives nothing back that support took`(_ place: Place) throws {
        try place.withLedger { (ledger) throws in
            let third = SeatTransaction(id: "33", quantity: 8, member: "701", signed: 12)
            let older = SeatTransaction(id: "31", quantity: 8, member: "701", signed: 12)
            _ = try ledger.redeem(third.evidence, for: "berta", at: day(12))
            let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: "33")
            try ledger.adjust(Adjustment(.quantity(name, 0), reason: "a thief"), of: "berta", at: day(12))
            _ = try ledger.redeem(SeatTransaction(id: "30", signed: 12).receipt, for: "berta", at: day(13))
            _ = try ledger.redeem(older.receipt, for: "carla", at: day(13))
            _ = try ledger.redeem(older.evidence, for: "berta", at: day(14))
            #expect(try balances(ledger)["berta 33"] == nil)
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    @Test(arguments: Place.available)
    func `what was signed without an app transaction goes to the member's group, and not the other way round`(
        _ place: Place
    ) throws {
        var first = SeatTransaction(id: "7", quantity: 8, member: "", signed: 1)
        let second = SeatTransaction(id: "8", days: 10..<40, quantity: 8, member: "701", signed: 11)
        let third = SeatTransaction(id: "9", days: 30..<60, quantity: 8, member: "701", signed: 31)
        try place.withLedger { (ledger) throws in
            #expect(try ledger.outcomes(first.evidence, for: "thief", at: day(2)) == [.granted])
            #expect(try ledger.outcomes(second.evidence, for: "anna", at: day(12)) == [.granted])
            (first.member, first.signed) = ("701", 13)
            #expect(try ledger.outcomes(first.evidence, for: "anna", at: day(13)) == [.belongsToAnother])
            #expect(try ledger.outcomes(third.evidence, for: "anna", at: day(31)) == [.granted])
            #expect(try (has(ledger, "thief"), has(ledger, "anna")) == ([1], [1, 1]))
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
        // An unowned lineage becomes the first owner's.
        try place.withLedger { (ledger) throws in
            (first.member, first.signed) = ("", 1)
            #expect(try ledger.outcomes(first.evidence, for: "anna", at: day(2)) == [.granted])
            try ledger.record(second.notification(.didRenew, uuid: 1), at: day(12))
            (first.member, first.signed) = ("701", 13)
            try ledger.record(first.notification(.didRenew, uuid: 2), at: day(13))
            #expect(try has(ledger, "anna") == [1, 1])
        }
    }

    @Test(arguments: Place.available)
    func `a value that is not known takes nothing back, not the number of seats either`(_ place: Place) throws {
        try place.withLedger { (ledger) throws in
            _ = try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(2))
            var unknown = SeatTransaction.eight
            (unknown.ownership, unknown.signed) = (OwnershipType(rawValue: "RENTED"), 3)
            try ledger.record(unknown.notification(.didRenew, uuid: 1), at: day(3))
            #expect(try posted(ledger, "buyer") == ["granted 1 0→1 8 redeem"])
            unknown.revoked = 4
            unknown.signed = 4
            try ledger.record(unknown.notification(.refund, uuid: 2), at: day(4))
            #expect(try has(ledger, "buyer") == [0])
        }
    }

    @Test(arguments: Place.available)
    func `a member needs no token, and closes no order`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        policy.orders?.requiresTokenSince = day(0)
        try place.withLedger(policy) { (ledger) throws in
            let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 1)
            #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(2)) == [.granted])
            #expect(try ledger.outcomes(SeatTransaction.three.evidence, for: "buyer", at: day(11)) == [.tokenMissing])
        }
    }

    @Test(arguments: Place.available)
    func `a notification that names no app is kept once, for thirty days, a thousand of them`(_ place: Place) throws {
        try place.withLedger { (ledger) throws in
            func record(_ number: Int, at date: Instant) throws {
                var builder = JWSBuilder.notification(
                    .unclaimSeats, about: "unclaimInfo", ["unclaimSeatIds": ["a", "b"]])
                builder.payload["notificationUUID"] = .string("\(number)")
                try ledger.record(Minted.notification(builder), at: date)
            }
            try record(0, at: day(0))
            try record(0, at: day(1))
            let kept = try ledger.unnamedNotifications(at: day(1))
            #expect(kept.map(\.uuid) == ["0"] && kept[0].claims == ["a", "b"] && kept[0].type == "UNCLAIM_SEATS")
            for number in 1..<1005 { try record(number, at: day(2)) }
            #expect(try ledger.unnamedNotifications(at: day(2)).count == 1000)
            #expect(try ledger.unnamedNotifications(at: day(31)).count == 999)
            try record(2000, at: day(40))
            #expect(try ledger.unnamedNotifications(at: day(40)).map(\.uuid) == ["2000"])
            #expect(try ledger.events().isEmpty)
        }
    }

    // MARK: Ledgers of 0.3.0

    /// Makes a ledger with the tables of 0.3.0, and rows in them.
    private func old(_ place: Place, _ rows: [String]) throws -> Place.Location {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try store.migrate { (connection) throws(LedgerError) in
            for statement in Schema.versions(connection.dialect).prefix(5).joined() { try connection.run(statement) }
            try connection.run("CREATE TABLE ledger_schema (version BIGINT NOT NULL)")
            try connection.run("INSERT INTO ledger_schema VALUES (5)")
            for row in rows { try connection.run(row) }
        }
        return location
    }

    /// The rows of a transaction that was granted.
    private func rows(_ id: String, _ quantity: Int, lineage: Int = 1, extra: String = "") -> [String] {
        let key = "'production', '\(Minted.bundleID)', '\(id)'"
        let purchase = """
            {"schema":1,"product_id":"team","product_type":"Auto-Renewable Subscription","quantity":\(quantity),\
            "transaction_id":"\(id)","original_transaction_id":"1","web_order_line_item_id":"9\(id)",\
            "purchase_date":\(day(0).millisecondsSince1970),"expires_date":\(day(30).millisecondsSince1970),\
            "signed_date":\(day(1).millisecondsSince1970),"revoked":false,"bundle_id":"\(Minted.bundleID)",\
            "environment":"production"\(extra)}
            """
        return [
            "INSERT INTO identifiers VALUES (\(key), \(lineage))",
            "INSERT INTO evidence VALUES (\(key), 0, \(day(1).millisecondsSince1970), '\(purchase)', NULL)",
            """
            INSERT INTO grants (environment, bundle_id, transaction_id, product_id, account, quantity,
                granted_quantity, granted_at, changed_at, until)
            VALUES (\(key), 'team', 'buyer', \(quantity), \(quantity), \(day(Double(id) ?? 1).millisecondsSince1970), 1,
                \(day(30).millisecondsSince1970))
            """,
        ]
    }

    private static let lineage = "INSERT INTO families (account, claimed_at) VALUES ('buyer', 1)"

    @Test(arguments: Place.available)
    func `a quantity of eight seats is corrected when the ledger is opened, once`(_ place: Place) throws {
        let location = try old(
            place, [Self.lineage] + rows("1", 8, extra: #","upgraded":false,"ownership_type":"PURCHASED""#))
        for _ in 0..<2 {
            let ledger = try PurchaseLedger(location.text)
            #expect(try posted(ledger, "buyer") == ["adjusted 1 8→1 8 migration"])
            #expect(try has(ledger, "buyer") == [1])
        }
    }

    @Test(arguments: Place.available)
    func `what 0.3.0 knew to be assigned is split off when the ledger is opened`(_ place: Place) throws {
        let assigned = #","upgraded":false,"ownership_type":"ASSIGNED","app_transaction_id":"701""#
        let location = try old(place, [Self.lineage] + rows("1", 8) + rows("3", 8, extra: assigned))
        for _ in 0..<2 {
            let ledger = try PurchaseLedger(location.text)
            #expect(try posted(ledger, "buyer") == ["adjusted 1 8→1 8 migration", "adjusted 3 8→1 - migration"])
            // The member's lineage is separate. A transfer gives it to the member.
            #expect(try ledger.uncertainClaims().map(\.name.transactionID) == ["1"])
            let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
            #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(12)) == [.belongsToAnother])
        }
        let ledger = try PurchaseLedger(location.text)
        try ledger.transfer(from: "buyer", to: "anna", transactionID: "3", reason: "hers", at: day(13))
        #expect(try (has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
    }

    @Test(arguments: Place.available)
    func `two grants of one period of 0.3.0 become one when a reason is known`(_ place: Place) throws {
        let location = try old(place, [Self.lineage] + rows("1", 8) + rows("2", 3))
        let ledger = try PurchaseLedger(location.text)
        #expect(try has(ledger, "buyer") == [1, 1])
        try ledger.record(SeatTransaction.three.notification(.didChangeRenewalPreference, uuid: 1), at: day(12))
        #expect(try has(ledger, "buyer") == [1, 0])
        #expect(try posted(ledger, "buyer").last == "adjusted 2 1→0 - notification")
    }

    @Test(arguments: Place.available)
    func `of a claim of 0.3.0 it is not known on what it rests, and the desk lists it`(_ place: Place) throws {
        let location = try old(place, [Self.lineage] + rows("1", 8) + rows("3", 8))
        let ledger = try PurchaseLedger(location.text)
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(12)) == [.belongsToAnother])
        #expect(try has(ledger, "buyer") == [1, 1])
        let listed = try ledger.uncertainClaims()
        #expect(listed.map(\.account) == ["buyer"] && listed.map(\.name.transactionID) == ["1"])
        try ledger.transfer(from: "buyer", to: "anna", transactionID: "3", reason: "hers", at: day(13))
        #expect(try (has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
        try ledger.transfer(from: "buyer", to: "carla", transactionID: "1", reason: "hers", at: day(13))
        #expect(try ledger.uncertainClaims().isEmpty)
    }
}
