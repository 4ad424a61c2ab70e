import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// Seats are no quantity, and what the buyer adds is no other period.
@Suite struct SeatTests {
    private static let eight = Transaction.seats("1", 0..<30, 8, reason: .seatAddition)
    private static let three = Transaction.seats("2", 10..<30, 3, reason: .seatAddition)

    /// Decides about purchases in every order of two, and stored.
    private func entitlements(_ transactions: [Transaction], at asked: Double = 20) throws -> Entitlements {
        let purchases = try transactions.map { try $0.purchase() }
        let decided = Entitlements(trustingStored: purchases, at: day(asked))
        let reversed = Entitlements(trustingStored: purchases.reversed(), at: day(asked))
        #expect(decided.items == reversed.items && decided.subscriptions == reversed.subscriptions)
        return decided
    }

    private func seats(_ transactions: Transaction..., at asked: Double = 20) throws -> [Int?] {
        let entitlements = try entitlements(transactions, at: asked)
        return entitlements.items.map(\.seats) + entitlements.subscriptions.map(\.seats)
    }

    @Test(arguments: EvidenceSource.allCases.filter { $0 != .receipt && $0 != .mixed })
    func `eight seats, three added and two refunded are a period of nine`(source: EvidenceSource) throws {
        var eight = Self.eight
        eight.seatInfo?.revokedSeatQuantity = 2
        let entitlements = try source.entitlements(of: [eight, Self.three], at: day(20))
        #expect(entitlements.items.map(\.seats) == [6, 3] && entitlements.items.map(\.periodSeats) == [9, 9])
        #expect(entitlements.items.map(\.quantity) == [1, 1] && entitlements.items.map(\.purchase.quantity) == [8, 3])
        #expect(entitlements.items.map(\.ownedQuantity) == [1, 1])
        #expect(entitlements.items.map(\.firstTransactionID) == ["1", "1"])
        let subscription = try #require(entitlements.subscriptions.first)
        #expect(subscription.seats == 9 && subscription.periods.map(\.transactionID) == ["1"])
        #expect(subscription.isActive && subscription.expiresDate == day(30))
        let json = entitlements.json
        #expect(json.contains(#""quantity":1,"seats":6,"period_seats":9,"#))
        #expect(json.contains(#""quantity":1,"seats":3,"period_seats":9,"#))
    }

    @Test func `a refund ends access only if all that was bought is refunded, at the latest date`() throws {
        var (eight, three) = (Self.eight, Self.three)
        eight.revoked = 15
        let one = try entitlements([eight, three])
        #expect(one.codes == ["1": "active", "2": "active"] && one.items.map(\.seats) == [0, 3])
        #expect(one.items.map(\.quantity) == [1, 1] && one.subscriptions.map(\.seats) == [3])
        three.revoked = 18
        let before = try entitlements([eight, three], at: 17)
        #expect(before.codes == ["1": "active", "2": "active"] && before.items.map(\.periodSeats) == [3, 3])
        let all = try entitlements([eight, three])
        #expect(all.items.map(\.access) == [.revoked(at: day(18)), .revoked(at: day(18))])
        #expect(all.items.map(\.quantity) == [0, 0] && all.items.map(\.ownedQuantity) == [0, 0])
        #expect(all.subscriptions.map(\.seats) == [0])
    }

    @Test(arguments: [1, 8, 9, Int.max])
    func `the refund of seats never ends access, whatever is left`(refunded: Int) throws {
        let entitlements = try entitlements([.seats("1", 0..<30, 8, refunded: refunded)])
        #expect(entitlements.codes == ["1": "active"] && entitlements.items.map(\.quantity) == [1])
        #expect(entitlements.items.map(\.seats) == [max(0, 8 - refunded)])
    }

    @Test func `one reason is enough, and the ends need not be equal`() throws {
        var first = Self.eight
        first.reason = nil
        #expect(try seats(first, Self.three) == [8, 3, 11])
        first.end = 20
        #expect(try seats(first, Self.three, at: 25) == [8, 3, 11])
        var later = Self.three
        (later.id, later.item, later.start, later.reason) = (
            "3", "93", 12, AdditionalTransactionReason(rawValue: "NEW")
        )
        #expect(try seats(first, Self.three, later, at: 25) == [8, 3, 3, 14])
    }

    @Test func `what does not overlap, or is another product's or another subscription's, is a period of its own`()
        throws
    {
        var renewal = Transaction.seats("2", 30..<60, 11)
        #expect(try seats(Self.eight, renewal, at: 40) == [8, 11, 11])
        renewal.reason = .seatAddition
        #expect(try seats(Self.eight, renewal, at: 40) == [8, 11, 11])
        #expect(try seats(.seats("1", 0..<30, 8), .seats("2", 10..<30, 3)) == [8, 3, 3])
        for change in [{ $0.product = "gold" }, { $0.original = "2" }] as [(inout Transaction) -> Void] {
            var other = Self.three
            change(&other)
            let items = try entitlements([Self.eight, other]).items
            #expect(items.map(\.periodSeats) == [8, 3] && items.map(\.firstTransactionID) == ["1", "2"])
        }
    }

    @Test func `a restored copy is not counted, and is refunded with what it restores`() throws {
        var copy = Self.eight
        (copy.id, copy.start, copy.reason, copy.seatInfo) = ("7", 12, nil, nil)
        #expect(try seats(Self.eight, Self.three, copy) == [8, 3, 8, 11])
        var refunded = Self.eight
        refunded.seatInfo?.revokedSeatQuantity = 2
        #expect(try seats(refunded, Self.three, copy) == [6, 3, 6, 9])
        copy.revoked = 15
        #expect(try seats(Self.eight, Self.three, copy) == [0, 3, 0, 3])
        // Of one line item, too, a transaction with a reason is no copy.
        var added = Self.three
        added.item = Self.eight.item
        #expect(try seats(Self.eight, added) == [8, 3, 11])
    }

    @Test func `a receipt does not undo what a JWS says of seats`() throws {
        var purchases = try [Self.eight, Self.three].map { try $0.purchase(signed: 11) }
        for transaction in [Self.eight, Self.three] {
            var record = transaction.record
            record.quantity = 1
            var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [record])
            for signed in [5.0, 1000] {
                builder.creationDate = day(signed)
                let receipt = try Minted.verifier().verifyReceipt(builder.signed(by: Minted.authority))
                purchases += receipt.purchases.map(\.purchase)
            }
        }
        let entitlements = Entitlements(trustingStored: purchases, at: day(20))
        #expect(entitlements.items.map(\.seats) == [8, 3] && entitlements.subscriptions.map(\.seats) == [11])
        // A receipt alone has the quantity that Apple signed.
        let receipt = try EvidenceSource.receipt.entitlements(of: [Self.eight], at: day(20))
        #expect(receipt.items.map(\.seats) == [8] && receipt.items.map(\.quantity) == [1])
    }

    @Test func `a later signature of seats counts`() throws {
        let refunded = Transaction.seats("1", 0..<30, 8, refunded: 2)
        let purchases = try [refunded.purchase(signed: 12), Self.eight.purchase(signed: 14)]
        #expect(Entitlements(trustingStored: purchases, at: day(20)).items.map(\.seats) == [8])
        let reversed = try [refunded.purchase(signed: 14), Self.eight.purchase(signed: 12)]
        #expect(Entitlements(trustingStored: reversed, at: day(20)).items.map(\.seats) == [6])
    }

    @Test func `one seat without information about seats is none`() throws {
        #expect(try seats(.period("1", 0..<30)) == [nil, nil])
        #expect(try seats(.seats("1", 0..<30, 1)) == [1, 1])
        var eight = Transaction.period("1", 0..<30)
        eight.quantity = 8
        #expect(try seats(eight) == [8, 8])
        #expect(try entitlements([.consumable("1", 0, quantity: 3)]).items.map(\.seats) == [nil])
    }

    @Test(arguments: [OwnershipType.assigned, .familyShared, OwnershipType(rawValue: "NEW")])
    func `members have no seats, whatever their transactions repeat`(ownership: OwnershipType) throws {
        var transactions = [Self.eight, Self.three]
        for index in transactions.indices { transactions[index].ownership = ownership }
        let entitlements = try entitlements(transactions)
        #expect(entitlements.items.map(\.seats) == [nil, nil] && entitlements.items.map(\.quantity) == [1, 1])
        #expect(entitlements.items.map(\.firstTransactionID) == ["1", "2"])
        #expect(entitlements.subscriptions.allSatisfy { $0.seats == nil })
    }

    @Test func `an upgrade ends the period with its additions`() throws {
        var (eight, three) = (Self.eight, Self.three)
        var gold = Transaction.seats("3", 15..<45, 11)
        gold.product = "gold"
        for marked in [(true, true), (true, false), (false, false)] {
            (eight.isUpgraded, three.isUpgraded) = marked
            let entitlements = try entitlements([eight, three, gold])
            let upgraded = Entitlements.Access.upgraded(at: day(15))
            #expect(entitlements.items.map(\.access) == [upgraded, upgraded, .active(until: day(45))])
            #expect(entitlements.subscriptions.map(\.seats) == [11])
        }
    }

    @Test func `numbers that nobody buys are no numbers that overflow`() throws {
        var (eight, three) = (Self.eight, Self.three)
        (eight.quantity, three.quantity) = (.max, .max)
        #expect(try seats(eight, three) == [.max, .max, .max])
        (eight.quantity, three.quantity) = (.min, -1)
        eight.seatInfo?.revokedSeatQuantity = .min
        three.seatInfo?.revokedSeatQuantity = .max
        #expect(try seats(eight, three) == [0, 0, 0])
    }

    @Test func `transactions are of one period as a comparison of all with all says`() {
        var generator = SeededGenerator(seed: 54)
        for _ in 0..<2_000 {
            let count = Int.random(in: 1...9, using: &generator)
            var bought: [(dates: Range<Instant>, hasReason: Bool)] = (0..<count).map { _ in
                let start = Double(Int.random(in: 0..<20, using: &generator))
                let length = Double(Int.random(in: 1..<8, using: &generator))
                return (day(start)..<day(start + length), Int.random(in: 0..<3, using: &generator) == 0)
            }
            bought.sort { ($0.dates.lowerBound, $0.dates.upperBound) < ($1.dates.lowerBound, $1.dates.upperBound) }
            var additions = SeatAdditions()
            for (index, each) in bought.enumerated() {
                additions.add(index, each.dates, isOneOfSeveral: each.hasReason)
            }
            var sets = Array(0..<count)
            for left in 0..<count {
                for right in 0..<left
                where bought[left].dates.overlaps(bought[right].dates)
                    && (bought[left].hasReason || bought[right].hasReason)
                {
                    let (old, new) = (sets[left], sets[right])
                    sets = sets.map { $0 == old ? new : $0 }
                }
            }
            let expected = Dictionary(grouping: 0..<count) { sets[$0] }.values.filter { $0.count > 1 }
            #expect(Set(additions.periods) == Set(expected))
        }
    }
}
