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
        #expect(json.contains(#""quantity":1,"purchased_quantity":8,"seats":6,"period_seats":9,"#))
        #expect(json.contains(#""quantity":1,"purchased_quantity":3,"seats":3,"period_seats":9,"#))
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

    @Test func `a copy that comes before what it restores is not counted`() throws {
        var copy = Self.eight
        (copy.id, copy.reason, copy.seatInfo) = ("0", nil, nil)
        #expect(try seats(Self.eight, Self.three, copy) == [8, 8, 3, 11])
        var (eight, three) = (Self.eight, Self.three)
        (eight.revoked, three.revoked) = (15, 15)
        #expect(try entitlements([eight, three, copy]).items.map(\.quantity) == [0, 0, 0])
    }

    @Test func `a reason in what has no seats makes no copy a purchase`() throws {
        var first = Transaction.nonConsumable("1", 0)
        var copy = first
        (copy.id, copy.start, copy.original, copy.reason) = ("2", 5, "1", .seatAddition)
        first.revoked = 10
        #expect(try entitlements([first, copy]).codes == ["1": "revoked", "2": "revoked"])
    }

    @Test func `a receipt's dates in whole seconds make no renewal an addition`() throws {
        let half = 0.5 / 86_400
        let eight = Transaction.seats("1", half..<30 + half, 8, reason: .seatAddition)
        var renewal = try Transaction.period("2", 30..<60).purchase()
        (renewal.isUpgraded, renewal.ownershipType, renewal.quantity) = (nil, nil, 8)
        let entitlements = Entitlements(trustingStored: [try eight.purchase(), renewal], at: day(40))
        #expect(entitlements.codes == ["1": "expired", "2": "active"])
        #expect(entitlements.items.map(\.firstTransactionID) == ["1", "2"])
    }

    @Test func `what was bought again after an upgrade is another period`() throws {
        var (first, again) = (Transaction.seats("1", 0..<30, 8), Transaction.seats("3", 20..<50, 2))
        let gold = Transaction.period("2", 10..<40, "gold")
        again.reason = .seatAddition
        for isMarked in [true, false] {
            first.isUpgraded = isMarked
            let entitlements = try entitlements([first, gold, again], at: 25)
            #expect(entitlements.codes == ["1": "upgraded", "2": "upgraded", "3": "active"])
            #expect(entitlements.items.map(\.periodSeats) == [8, nil, 2])
        }
        // Without the transaction between them, the date of the signature says it.
        first.isUpgraded = true
        let purchases = try [first.purchase(signed: 11), again.purchase(signed: 21)]
        let decided = Entitlements(trustingStored: purchases, at: day(25))
        #expect(decided.codes == ["1": "upgraded", "3": "active"] && decided.items.map(\.periodSeats) == [8, 2])
    }

    @Test func `a renewal that an upgrade replaced before it began stands between no additions`() throws {
        var (basic, renewal) = (Transaction.period("1", 0..<30), Transaction.period("2", 30..<60))
        (basic.isUpgraded, renewal.isUpgraded) = (true, true)
        var gold = [Transaction.seats("3", 29..<59, 8), .seats("4", 40..<59, 3, reason: .seatAddition)]
        for index in gold.indices { gold[index].product = "gold" }
        let entitlements = try entitlements([basic, renewal] + gold, at: 45)
        #expect(entitlements.codes == ["1": "upgraded", "2": "upgraded", "3": "active", "4": "active"])
        #expect(entitlements.subscriptions.map(\.seats) == [11])
    }

    @Test func `what was bought after a refund before the start is of that period, whatever ended before`() throws {
        let again = [
            Transaction.seats("3", 30..<60, 8, revoked: 29), .seats("4", 31..<60, 8, reason: .seatAddition),
        ]
        let before: [[Transaction]] = [[], [.period("1", 0..<30)], [.period("1", 0..<30, "gold")]]
        for transactions in before {
            let items = try entitlements(transactions + again, at: 45).items.suffix(2)
            #expect(items.map(\.access) == [.active(until: day(60)), .active(until: day(60))])
            #expect(items.map(\.seats) == [0, 8] && items.map(\.firstTransactionID) == ["3", "3"])
        }
        let upgraded = try entitlements([again[0], .period("2", 30.5..<61, "gold"), again[1]], at: 45)
        #expect(upgraded.items.map(\.firstTransactionID) == ["3", "2", "4"])
    }

    @Test func `a renewal that never began takes nothing from what was bought after the upgrade`() throws {
        var (basic, renewal) = (Transaction.period("1", 0..<30), Transaction.period("3", 30..<60))
        (basic.isUpgraded, renewal.isUpgraded) = (true, true)
        let later = Transaction.seats("4", 59.5..<89.5, 8, reason: .seatAddition)
        let all = try entitlements([basic, .period("2", 29.5..<59.5, "gold"), renewal, later], at: 70)
        #expect(all.codes == ["1": "upgraded", "2": "expired", "3": "upgraded", "4": "active"])
        // Nothing proves the upgrade that cancelled the renewal.
        let cancelled = Transaction.period("3", 30..<60, revoked: 29, isUpgraded: true)
        let again = Transaction.seats("4", 35..<60, 8, reason: .seatAddition)
        for transactions in [[cancelled, again], [.period("1", 0..<30), cancelled, again]] {
            let items = try entitlements(transactions, at: 45).items
            #expect(items.last?.access == .active(until: day(60)) && items.last?.firstTransactionID == "4")
        }
        // Of a renewal with seats, one of two transactions was signed before the upgrade.
        for (stale, latest) in [("3", "4"), ("4", "3")] {
            var marked = Transaction.seats(latest, 30..<60, 8, revoked: 29, reason: .seatAddition)
            marked.isUpgraded = true
            let both = [Transaction.seats(stale, 30..<60, 3, reason: .seatAddition), marked]
            #expect(try entitlements(both, at: 45).codes == ["3": "upgraded", "4": "upgraded"])
        }
        // Whatever the customer bought after it, before it or beside it.
        for (stale, latest) in [("3", "4"), ("4", "3")] {
            var marked = Transaction.seats(latest, 30..<60, 8, revoked: 29.5, reason: .seatAddition)
            marked.isUpgraded = true
            let cancelled = [Transaction.seats(stale, 30..<60, 3, reason: .seatAddition), marked]
            let later = Transaction.seats("5", 35..<65, 8, reason: .seatAddition)
            let renewal = ["3": "upgraded", "4": "upgraded"]
            #expect(try entitlements(cancelled + [later], at: 45).codes == renewal.merging(["5": "active"]) { $1 })
            let earlier = Transaction.seats("5", 29.8..<59.8, 8, reason: .seatAddition)
            #expect(try entitlements([earlier] + cancelled, at: 45).codes == renewal.merging(["5": "active"]) { $1 })
            var upgrade = [
                Transaction.seats("2", 29.5..<59.5, 8, reason: .seatAddition),
                .seats("6", 40..<59.5, 3, reason: .seatAddition),
            ]
            for index in upgrade.indices { upgrade[index].product = "gold" }
            let decided = try entitlements(upgrade + cancelled, at: 45)
            #expect(decided.codes == renewal.merging(["2": "active", "6": "active"]) { $1 })
            #expect(decided.subscriptions.map(\.seats) == [11])
        }
        // The upgrade is known only by the mark, which was signed before the renewal would have begun.
        var undated = Transaction.seats("4", 30..<60, 8, reason: .seatAddition)
        undated.isUpgraded = true
        let stale = Transaction.seats("3", 30..<60, 3, reason: .seatAddition)
        for others in [[], [Transaction.period("2", 29.5..<59.5, "gold")]] {
            var purchases = try [stale.purchase(signed: 29), undated.purchase(signed: 29.6)]
            purchases += try others.map { try $0.purchase(signed: 29.6) }
            let codes = Entitlements(trustingStored: purchases, at: day(45)).codes
            #expect(codes["3"] == "upgraded" && codes["4"] == "upgraded" && codes["2"] ?? "active" == "active")
        }
        // A period that began is ended by the upgrade, also if Apple signs it again.
        let began = Transaction.period("1", 0..<30, revoked: 10, isUpgraded: true)
        let beside = Transaction.seats("3", 20..<50, 8, reason: .seatAddition)
        let late = try [began, beside].map { try $0.purchase(signed: 50) }
        #expect(Entitlements(trustingStored: late, at: day(25)).codes["3"] == "active")
        // A later purchase is no reason to call it refunded.
        var alone = Transaction.period("3", 30..<60, revoked: 29)
        alone.isUpgraded = true
        let after = try entitlements([alone, .period("5", 35..<65)], at: 45)
        #expect(after.codes == ["3": "upgraded", "5": "active"] && after.items.map(\.quantity) == [1, 1])
        // The customer returned from the upgrade.
        let gold = Transaction.period("2", 29.5..<59.5, "gold", revoked: 35, isUpgraded: true)
        let back = Transaction.seats("4", 35..<65, 8, reason: .seatAddition)
        let returned = try entitlements(
            [.period("1", 0..<30), gold, .period("3", 30..<60, revoked: 29.5), back], at: 45)
        #expect(returned.codes == ["1": "upgraded", "2": "upgraded", "3": "revoked", "4": "active"])
        #expect(returned.items.map(\.quantity) == [1, 1, 0, 1])
    }

    @Test func `an upgrade cancels all transactions of a renewal, also if Apple signed it after the renewal's start`()
        throws
    {
        let basic = Transaction.period("1", 0..<30, isUpgraded: true)
        var gold = Transaction.seats("2", 29.5..<59.5, 8, revoked: 33)
        var more = Transaction.seats("6", 40..<59.5, 3, reason: .seatAddition)
        (gold.product, more.product) = ("gold", "gold")
        let later = Transaction.seats("5", 35..<65, 8, reason: .seatAddition)
        for (stale, latest) in [("3", "4"), ("4", "3")] {
            // Receipts have no milliseconds.
            for start in [30, 30 + 0.4 / 86_400] {
                var marked = Transaction.seats(latest, start..<60, 8, reason: .seatAddition)
                marked.isUpgraded = true
                let early = try Transaction.seats(stale, 30..<60, 3, reason: .seatAddition).purchase(signed: 29.2)
                func decided(_ transactions: [Transaction]) throws -> Entitlements {
                    let purchases = try [early] + transactions.map { try $0.purchase(signed: 45) }
                    return Entitlements(trustingStored: purchases, at: day(45))
                }
                let refunded = try decided([basic, gold, marked, later]).codes
                #expect(
                    refunded == ["1": "upgraded", "2": "revoked", "3": "upgraded", "4": "upgraded", "5": "active"])
                var kept = gold
                kept.revoked = nil
                #expect(try decided([basic, kept, marked, more]).subscriptions.map(\.seats) == [11])
                // It replaces nothing that renews later.
                let renewed = Transaction.period("7", 59.5..<89.5, "gold", isUpgraded: true)
                let platinum = Transaction.period("8", 70..<100, "platinum")
                let later = try [early] + [basic, kept, marked, renewed, platinum].map { try $0.purchase(signed: 75) }
                #expect(Entitlements(trustingStored: later, at: day(65)).codes["7"] == "active")
            }
        }
    }

    @Test func `a renewal stays cancelled if the customer returned from the upgrade before it would have begun`()
        throws
    {
        let basic = Transaction.period("1", 0..<30, isUpgraded: true)
        let renewal = Transaction.period("4", 30..<60, isUpgraded: true)
        let back = Transaction.seats("5", 29.8..<59.8, 8, reason: .seatAddition)
        for gold in [
            Transaction.period("2", 29.5..<59.5, "gold", isUpgraded: true),
            .period("2", 29.5..<59.5, "gold", revoked: 29.8, isUpgraded: true),
        ] {
            let decided = try entitlements([basic, gold, back, renewal], at: 45)
            #expect(decided.codes == ["1": "upgraded", "2": "upgraded", "4": "upgraded", "5": "active"])
            #expect(decided.subscriptions.map(\.seats) == [8])
        }
    }

    @Test
    func `a renewal that an upgrade cancelled replaces no renewal of the upgrade, also if Apple marked only a part`()
        throws
    {
        let gold = [Transaction.period("2", 29.5..<59.5, "gold"), .period("5", 59.5..<89.5, "gold", isUpgraded: true)]
        let platinum = Transaction.period("6", 70..<100, "platinum")
        for (unmarked, marked) in [("3", "4"), ("4", "3")] {
            var cancelled = Transaction.seats(marked, 30..<60, 8, revoked: 29.5, reason: .seatAddition)
            cancelled.isUpgraded = true
            let renewal = [.seats(unmarked, 30..<60, 3, reason: .seatAddition), cancelled]
            let decided = try entitlements(gold + renewal + [platinum], at: 65)
            #expect(decided.codes["5"] == "active")
        }
    }

    @Test func `a renewal that began was upgraded at the upgrade, also if one transaction was signed before its start`()
        throws
    {
        let early = try Transaction.seats("3", 30..<60, 3, reason: .seatAddition).purchase(signed: 29.5)
        var marked = Transaction.seats("4", 30..<60, 8, revoked: 40, reason: .seatAddition)
        marked.isUpgraded = true
        let purchases = try [
            early, marked.purchase(signed: 41), Transaction.period("5", 40..<70, "gold").purchase(signed: 41),
        ]
        let decided = Entitlements(trustingStored: purchases, at: day(45))
        #expect(decided.codes == ["3": "upgraded", "4": "upgraded", "5": "active"])
        #expect(decided.items.prefix(2).allSatisfy { $0.access == .upgraded(at: day(40)) })
        #expect(Entitlements(trustingStored: purchases, at: day(35)).codes["3"] == "active")
    }

    @Test func `a renewal known only from before an upgrade does not divide the seats of the upgrade`() throws {
        var (gold, added) = (Transaction.seats("2", 29.5..<59.5, 8), Transaction.seats("5", 40..<59.5, 3))
        (gold.product, added.product, added.reason) = ("gold", "gold", .seatAddition)
        let purchases = try [
            Transaction.seats("1", 0..<30, 8).purchase(signed: 20), gold.purchase(signed: 41),
            Transaction.seats("3", 30..<60, 8).purchase(signed: 29.2), added.purchase(signed: 41),
        ]
        let decided = Entitlements(trustingStored: purchases, at: day(45))
        #expect(decided.codes == ["1": "upgraded", "2": "active", "3": "upgraded", "5": "active"])
        #expect(decided.subscriptions.map(\.seats) == [11])
    }

    @Test func `the end is that of what was not refunded`() throws {
        var (eight, three) = (Self.eight, Self.three)
        (eight.end, three.revoked) = (40, 15)
        let purchases = try [eight.purchase(signed: 12), three.purchase(signed: 16)]
        #expect(Entitlements(trustingStored: purchases, at: day(35)).codes == ["1": "active", "2": "active"])
    }

    @Test(arguments: ["700", nil]) func `members meet neither the buyer nor each other`(appTransaction: String?) throws
    {
        var member = Self.eight
        (member.id, member.ownership, member.appTransaction) = ("5", .assigned, appTransaction)
        var other = member
        (other.id, other.appTransaction) = ("6", appTransaction.map { _ in "701" })
        var later = member
        (later.id, later.item, later.start, later.end) = ("7", "97", 30, 60)
        let entitlements = try entitlements([Self.eight, Self.three, member, other, later])
        #expect(entitlements.items.map(\.periodSeats) == [11, nil, nil, 11, nil])
        #expect(Set(entitlements.items.map(\.firstTransactionID)) == ["1", "5", "6", "7"])
        // A store that has both must not take a grant of one for that of the other.
        let keys = Set(entitlements.items.compactMap(\.purchaseKey))
        #expect(entitlements.items.allSatisfy { keys.isDisjoint(with: $0.formerPurchaseKeys) })
        // Those of one member are one subscription if it is known that they are his.
        let count = try self.entitlements([Self.eight, Self.three, member, other, later], at: 40).subscriptions.count
        #expect(count == (appTransaction == nil ? 4 : 3))
        var revoked = Self.eight
        revoked.revoked = 15
        #expect(try self.entitlements([revoked, member]).codes == ["1": "revoked", "5": "active"])
    }

    @Test func `renewal information is the buyer's`() throws {
        var member = Self.eight
        (member.id, member.ownership) = ("5", .assigned)
        let purchases = try [Self.eight, member].map { try $0.purchase() }
        var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(29))
        (renewal.environment, renewal.gracePeriodExpiresDate) = (purchases[0].environment, day(46))
        let decided = Entitlements(trustingStored: purchases, renewals: [renewal], at: day(40))
        #expect(decided.codes == ["1": "active", "5": "expired"])
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

    @Test(arguments: [(Transaction.consumable("1", 0, quantity: 2), 3), (.seats("1", 0..<30, 2), 2)])
    func `the quantity in a later receipt counts, unless it is that of a subscription, which has seats`(
        transaction: Transaction, expected: Int
    ) throws {
        var record = transaction.record
        record.quantity = 3
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [record])
        builder.creationDate = day(15)
        let receipt = try Minted.verifier().verifyReceipt(builder.signed(by: Minted.authority))
        let purchases = try [transaction.purchase(signed: 10)] + receipt.purchases.map(\.purchase)
        for purchases in [purchases, purchases.reversed()] {
            let items = Entitlements(trustingStored: purchases, at: day(20)).items
            #expect(items.map(\.purchase.quantity) == [expected])
        }
    }

    @Test func `a later signature of seats counts`() throws {
        let refunded = Transaction.seats("1", 0..<30, 8, refunded: 2)
        let purchases = try [refunded.purchase(signed: 12), Self.eight.purchase(signed: 14)]
        #expect(Entitlements(trustingStored: purchases, at: day(20)).items.map(\.seats) == [8])
        let reversed = try [refunded.purchase(signed: 14), Self.eight.purchase(signed: 12)]
        #expect(Entitlements(trustingStored: reversed, at: day(20)).items.map(\.seats) == [6])
        // Of two that were signed together, the larger refund, and not the larger digit.
        let together = try [9, 10].map { try Transaction.seats("1", 0..<30, 12, refunded: $0).purchase() }
        #expect(Entitlements(trustingStored: together, at: day(20)).items.map(\.seats) == [2])
        // A transaction without information about seats has none that were refunded.
        var plain = Self.eight
        plain.seatInfo = nil
        let undone = try [refunded.purchase(signed: 12), plain.purchase(signed: 14)]
        #expect(Entitlements(trustingStored: undone, at: day(20)).items.map(\.seats) == [8])
    }

    @Test func `a renewal that begins later, and a refund that is dated ahead, say when to decide again`() throws {
        var renewal = Transaction.period("2", 30..<60)
        let early = try entitlements([.period("1", 0..<30), renewal], at: 29)
        #expect(early.nextChange == day(30) && early.items.map(\.nextChange) == [nil, day(30)])
        #expect(early.json.contains(#""next_change":"2025-01-31T00:00:00Z","items""#))
        renewal.revoked = 40
        #expect(try entitlements([renewal], at: 35).nextChange == day(40))
        #expect(try entitlements([renewal], at: 41).nextChange == nil)
        var three = Self.three
        three.revoked = 25
        #expect(try entitlements([Self.eight, three], at: 20).nextChange == day(25))
        // The seats of what was cancelled for an upgrade are gone, too.
        let cancelled = Transaction.seats("1", 0..<30, 8, revoked: 20)
        #expect(try entitlements([cancelled, .period("2", 20..<50, "gold")], at: 20 - 0.001).nextChange == day(20))
    }

    @Test func `an unknown type decides nothing after the end either, and no receipt brings one`() throws {
        var new = Self.eight
        new.type = ProductType(rawValue: "Streaming")
        for change in [{ _ in }, { $0.isUpgraded = true }] as [(inout Transaction) -> Void] {
            change(&new)
            let items = try entitlements([new], at: 40).items
            #expect(items.map(\.access) == [.undetermined] && items.map(\.ownedQuantity) == [nil])
        }
        var copy = Self.eight
        (copy.id, copy.start, copy.reason, copy.type) = ("7", 12, nil, new.type)
        #expect(try entitlements([Self.eight, copy]).codes == ["1": "undetermined", "7": "undetermined"])
        var purchases = try [Self.eight.purchase(signed: 12), Self.eight.purchase(signed: 14)]
        purchases[1].productType = ProductType(rawValue: "9")
        purchases[1].isUpgraded = nil
        #expect(Entitlements(trustingStored: purchases, at: day(20)).codes == ["1": "active"])
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
        #expect(try seats(eight, three) == [0, 0])
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
