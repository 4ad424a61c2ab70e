import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import Sampling
import SeededRandom
import StrictText
import Testing

/// Subscriptions of several seats: a period has one grant, whose quantity is not the seats, and members have their own.
@Suite struct SeatDecisionTests {
    /// What an account has of a product, under any transaction.
    private func has(_ ledger: MemoryLedger, _ account: String, _ product: String = "team") -> [Int64] {
        ledger.grants.filter { $0.account == account && $0.productID == product }
            .sorted { $0.transaction < $1.transaction }.map(\.quantity)
    }

    private func posted(_ ledger: MemoryLedger, _ account: String) -> [String] {
        ledger.events.filter { $0.account == account }.map { event in
            let change = "\(event.kind.rawValue) \(event.transactionID) \(event.previousQuantity)→\(event.quantity)"
            return "\(change) \(event.seats.map(String.init) ?? "-") \(event.cause.rawValue)"
        }
    }

    @Test func `a buyer and two members, from the purchase to the refund of everything`() throws {
        let ledger = MemoryLedger()
        #expect(try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(1)) == [.granted])
        #expect(try ledger.redeem(SeatTransaction.three.evidence, for: "buyer", at: day(11)) == [.alreadyYours])
        _ = try ledger.redeem(SeatTransaction.three.evidence, for: "buyer", at: day(11))
        let answer = try #require(ledger.lastOutcomes.first)
        #expect(answer.grantedAs == "1" && answer.quantity == 1 && answer.seats == 11)
        var refunded = SeatTransaction.eightAgain
        (refunded.refundedSeats, refunded.signed) = (2, 12)
        try ledger.record(.notification(refunded.notification(.refund, uuid: 1)), at: day(12))
        var members = ["701", "702"].map { SeatTransaction(id: "3" + $0, quantity: 8, member: $0, signed: 12) }
        for (account, member) in zip(["anna", "berta"], members) {
            #expect(try ledger.redeem(member.evidence, for: account, at: day(12)) == [.granted])
        }
        // The first transaction is refunded whole, and the access stays.
        (refunded.revoked, refunded.refundedSeats, refunded.signed) = (14, nil, 14)
        try ledger.record(.notification(refunded.notification(.refund, uuid: 2)), at: day(14))
        #expect(has(ledger, "buyer") == [1])
        (members[0].revoked, members[0].revocationType, members[0].signed) = (15, .assignmentRevoke, 15)
        try ledger.record(.notification(members[0].notification(.revoke, uuid: 3)), at: day(15))
        #expect((has(ledger, "anna"), has(ledger, "berta")) == ([0], [1]))
        // An upgrade ends one and grants another.
        var upgraded = SeatTransaction.three
        (upgraded.isUpgraded, upgraded.signed) = (true, 20)
        try ledger.record(.notification(upgraded.notification(.didChangeRenewalPreference, uuid: 4)), at: day(20))
        var gold = SeatTransaction(id: "4", days: 20..<50, quantity: 5, product: "gold", signed: 20)
        try ledger.record(.notification(gold.notification(.didChangeRenewalPreference, uuid: 5)), at: day(20))
        #expect(has(ledger, "buyer", "gold") == [1])
        (gold.revoked, gold.signed) = (22, 22)
        try ledger.record(.notification(gold.notification(.refund, uuid: 6)), at: day(22))
        #expect(has(ledger, "buyer", "gold") == [0])
        let all = posted(ledger, "buyer")
        #expect(
            all == [
                "granted 1 0→1 8 redeem", "changed 1 1→1 11 redeem", "changed 1 1→1 9 notification",
                "changed 1 1→1 3 notification", "changed 1 1→1 3 notification", "changed 1 1→1 3 notification",
                "granted 4 0→1 5 notification",
                "revoked 4 1→0 0 notification",
            ])
        #expect(
            posted(ledger, "anna") == ["granted 3701 0→1 - redeem", "revoked 3701 1→0 - notification"])
    }

    @Test(arguments: [false, true])
    func `every order of arrival ends in the same state`(isRefunded: Bool) throws {
        var (eight, three) = (SeatTransaction.eightAgain, SeatTransaction.three)
        (eight.revoked, eight.signed) = (14, 14)
        if isRefunded { (three.revoked, three.signed) = (15, 15) }
        let member = SeatTransaction(id: "3701", quantity: 8, member: "701", signed: 12)
        let pieces: [(account: String, evidence: VerifiedEvidence)] = [
            ("buyer", try SeatTransaction.eight.evidence), ("buyer", try eight.evidence),
            ("buyer", try SeatTransaction.three.evidence),
            ("buyer", try three.evidence), ("anna", try member.evidence), ("anna", try member.receipt),
        ]
        var generator = SeededGenerator("orders of seats, refunded \(isRefunded)")
        for _ in 0..<60 {
            let order = pieces.shuffled(using: &generator)
            let ledger = MemoryLedger()
            // Twice: a purchase that a member's receipt had made hers belongs to the next account that submits it.
            for piece in order + order { ledger.redeem(piece.evidence, for: piece.account, at: day(16)) }
            let names = Comment("\(order.map { SeatHistories.Step.submitted($0.evidence, account: $0.account) })")
            #expect(has(ledger, "buyer").reduce(0, +) == (isRefunded ? 0 : 1), names)
            #expect(has(ledger, "anna").reduce(0, +) == 1, names)
            #expect(ledger.balances == ledger.balancesByEvents, names)
        }
    }

    @Test func `whoever submits what, a period and a member's seat are one account's, and events say whose`() throws {
        let histories = try SeatHistories()
        var generator = SeededGenerator("decisions about seats")
        for _ in 0..<Sampling.count("seat-decisions") {
            let history = try histories.random(using: &generator)
            let ledger = MemoryLedger()
            var (steps, model) = ([String](), LedgerModel())
            for step in history.steps {
                steps.append("\(step)")
                let names = Comment(rawValue: steps.joined(separator: ", "))
                switch step {
                case .recorded(let notification):
                    ledger.record(.notification(notification), at: day(20))
                    model.record(.notification(notification), at: day(20))
                case .submitted(let evidence, let account):
                    let outcomes = ledger.redeem(evidence, for: account, at: day(20))
                    let expected = model.redeem(evidence, for: account, at: day(20))
                    #expect(history.hasReceipts || outcomes == expected, names)
                }
                #expect(history.hasReceipts || ledger.state == model.state, names)
                #expect(ledger.balances == ledger.balancesByEvents, names)
                SeatHistories.check(ledger.balances, names)
            }
        }
    }

    @Test func `what a receipt joined is split off, and a claim that rests on it alone is gone`() throws {
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        do {
            let ledger = MemoryLedger()
            // A member's receipt makes her the owner of the subscription, and of the buyer's renewal.
            #expect(try ledger.redeem(member.receipt, for: "anna", at: day(2)) == [.granted])
            #expect(
                try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(3)) == [.belongsToAnother])
            #expect(has(ledger, "anna") == [1, 1])
            #expect(try ledger.redeem(member.evidence, for: "anna", at: day(12)) == [.alreadyYours])
            #expect(has(ledger, "anna") == [1])
            let all = posted(ledger, "anna")
            #expect(all.suffix(2) == ["revoked 1 1→0 - redeem", "changed 3 1→1 - redeem"])
            #expect(try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(13)) == [.granted])
            // A receipt joins nothing again.
            _ = try ledger.redeem(member.receipt, for: "anna", at: day(14))
            #expect((has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
            #expect(ledger.uncertain.isEmpty)
            #expect(ledger.balances == ledger.balancesByEvents)
        }
        // The buyer's claim has a basis of its own: only the member's part becomes hers.
        do {
            let ledger = MemoryLedger()
            #expect(try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(2)) == [.granted])
            #expect(try ledger.redeem(member.receipt, for: "anna", at: day(3)) == [.belongsToAnother])
            #expect(try ledger.redeem(member.evidence, for: "anna", at: day(12)) == [.granted])
            #expect((has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
            #expect(ledger.balances == ledger.balancesByEvents)
        }
    }

    /// Whether Apple signs such ids is not known.
    @Test func `a member's first transaction is the original of hers alone, also of what she buys later`() throws {
        var first = SeatTransaction(id: "7", original: "7", quantity: 8, member: "701", signed: 1)
        let second = SeatTransaction(id: "8", original: "7", days: 10..<40, quantity: 8, member: "701", signed: 11)
        let bought = SeatTransaction(id: "9", original: "7", days: 30..<60, signed: 31)
        let renewed = SeatTransaction(id: "10", original: "7", days: 60..<90, signed: 60)
        for receiptsFirst in [true, false] {
            let ledger = MemoryLedger()
            if receiptsFirst {
                _ = try ledger.redeem(first.receipt, for: "work", at: day(2))
                _ = try ledger.redeem(second.receipt, for: "work", at: day(12))
            }
            _ = try ledger.redeem(first.evidence, for: "work", at: day(12))
            #expect(ledger.lastOutcomes.map(\.quantity) == [1])
            for _ in 0..<2 {
                _ = try ledger.redeem(first.receipt, for: "work", at: day(13))
                _ = try ledger.redeem(second.receipt, for: "work", at: day(13))
                _ = try ledger.redeem(first.evidence, for: "work", at: day(14))
                _ = try ledger.redeem(second.evidence, for: "work", at: day(14))
            }
            #expect(has(ledger, "work") == [1, 1])
            #expect(try ledger.redeem(bought.evidence, for: "private", at: day(31)) == [.granted])
            // A grace period is the buyer's, whatever is loaded next.
            try ledger.record(.notification(bought.failedRenewal(graceUntil: day(66))), at: day(60))
            for _ in 0..<2 {
                _ = try ledger.redeem(bought.evidence, for: "private", at: day(60))
                #expect(ledger.events.last { $0.account == "private" }?.until == day(66))
            }
            try ledger.record(.notification(renewed.notification(.didRenew, uuid: 1)), at: day(61))
            #expect(has(ledger, "private") == [1, 1])
            #expect(ledger.balances == ledger.balancesByEvents)
        }
        // What is bought can be known first.
        do {
            let ledger = MemoryLedger()
            first.signed = 32
            #expect(try ledger.redeem(bought.evidence, for: "private", at: day(31)) == [.granted])
            _ = try ledger.redeem(first.evidence, for: "work", at: day(32))
            try ledger.record(.notification(renewed.notification(.didRenew, uuid: 1)), at: day(61))
            #expect(has(ledger, "private") == [1, 1])
        }
    }

    @Test func `a split takes back what it is about alone, and gives nothing back that support took`() throws {
        let ledger = MemoryLedger()
        let third = SeatTransaction(id: "33", quantity: 8, member: "701", signed: 12)
        let older = SeatTransaction(id: "31", quantity: 8, member: "701", signed: 12)
        _ = try ledger.redeem(third.evidence, for: "berta", at: day(12))
        let key = try #require(ledger.grants.first?.transaction)
        try ledger.adjust(key, to: 0, at: day(12))
        _ = try ledger.redeem(SeatTransaction(id: "30", signed: 12).receipt, for: "berta", at: day(13))
        _ = try ledger.redeem(older.receipt, for: "carla", at: day(13))
        _ = try ledger.redeem(older.evidence, for: "berta", at: day(14))
        #expect(ledger.lineages[key]?.grants[key]?.quantity == 0)
        #expect(ledger.balances == ledger.balancesByEvents)
    }

    @Test func `what was signed without an app transaction goes to the member's group, and not the other way round`()
        throws
    {
        var first = SeatTransaction(id: "7", quantity: 8, member: "", signed: 1)
        let second = SeatTransaction(id: "8", days: 10..<40, quantity: 8, member: "701", signed: 11)
        let third = SeatTransaction(id: "9", days: 30..<60, quantity: 8, member: "701", signed: 31)
        do {
            let ledger = MemoryLedger()
            #expect(try ledger.redeem(first.evidence, for: "thief", at: day(2)) == [.granted])
            #expect(try ledger.redeem(second.evidence, for: "anna", at: day(12)) == [.granted])
            (first.member, first.signed) = ("701", 13)
            #expect(try ledger.redeem(first.evidence, for: "anna", at: day(13)) == [.belongsToAnother])
            #expect(try ledger.redeem(third.evidence, for: "anna", at: day(31)) == [.granted])
            #expect((has(ledger, "thief"), has(ledger, "anna")) == ([1], [1, 1]))
            #expect(ledger.balances == ledger.balancesByEvents)
        }
        // An unowned lineage becomes the first owner's.
        do {
            let ledger = MemoryLedger()
            (first.member, first.signed) = ("", 1)
            #expect(try ledger.redeem(first.evidence, for: "anna", at: day(2)) == [.granted])
            try ledger.record(.notification(second.notification(.didRenew, uuid: 1)), at: day(12))
            (first.member, first.signed) = ("701", 13)
            try ledger.record(.notification(first.notification(.didRenew, uuid: 2)), at: day(13))
            #expect(has(ledger, "anna") == [1, 1])
        }
    }

    @Test func `a value that is not known takes nothing back, not the number of seats either`() throws {
        let ledger = MemoryLedger()
        _ = try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(2))
        var unknown = SeatTransaction.eight
        (unknown.ownership, unknown.signed) = (OwnershipType(rawValue: "RENTED"), 3)
        try ledger.record(.notification(unknown.notification(.didRenew, uuid: 1)), at: day(3))
        #expect(posted(ledger, "buyer") == ["granted 1 0→1 8 redeem"])
        unknown.revoked = 4
        unknown.signed = 4
        try ledger.record(.notification(unknown.notification(.refund, uuid: 2)), at: day(4))
        #expect(has(ledger, "buyer") == [0])
    }

    @Test func `of a claim of 0.3.0 it is not known on what it rests: it stays, and an operator decides`() throws {
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        for isGranted in [true, false] {
            let ledger = MemoryLedger()
            ledger.redeem(try member.receipt, for: "anna", at: day(isGranted ? 2 : 40))
            ledger.removeBases()
            try ledger.record(
                .notification(member.notification(.didRenew, uuid: 1)), at: day(isGranted ? 12 : 41))
            #expect(ledger.uncertain.count == 1)
            let owners = ["1", "3"].map { id in
                ledger.lineages[
                    TransactionKey(environment: .production, bundleID: Minted.bundleID, transactionID: id)]?.owner?
                    .account
            }
            #expect(owners == ["anna", isGranted ? "anna" : nil])
            #expect(ledger.balances == ledger.balancesByEvents)
        }
    }
}
