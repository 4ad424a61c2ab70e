import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// The numbers that show a backend what is older.
@Suite struct SequenceTests {
    private func open(_ location: Place.Location, at date: Instant) throws -> PurchaseLedger {
        try PurchaseLedger(LedgerLocation(location.text).open(), LedgerPolicy(), at: date)
    }

    @Test(arguments: Place.available)
    func `a number is that of the clock, or one more than the last`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledger = try open(location, at: day(0))
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        var expected = day(0).millisecondsSince1970
        // The clock stands still, goes on, and goes back.
        for (date, step) in [(day(0), 1), (day(0), 1), (day(1), 86_399_998), (day(0.5), 1)] as [(Instant, Int64)] {
            expected += step
            let coins = history.buyConsumable("coins", at: day(0))
            let answer = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: date)
            #expect(answer.sequence == expected && answer.outcomes.map(\.outcome) == [.granted])
        }
        #expect(try ledger.events().last?.sequence == expected)
        // The answer to an account without events has the number with which the ledger was opened.
        let evidence = try Minted.evidence(history.receipt(signedAt: day(1)))
        #expect(try ledger.redeem(evidence, for: "ben", at: day(2)).sequence == day(0).millisecondsSince1970)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available, [day(9), day(1)])
    func `what is notified after a restored back-up is newer than all before`(_ place: Place, restart: Instant) throws {
        let location = try place.makeLocation()
        let ledger = try open(location, at: day(0))
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = (0..<2).map { _ in history.buyConsumable("coins", at: day(0)) }
        let evidence = try coins.map { try history.evidence($0, signedAt: day(0)) }
        let before = try ledger.redeem(evidence[0], for: "anna", at: day(1)).sequence
        // The account of the second purchase, and all that came with it, is not in the back-up.
        let after = try ledger.redeem(evidence[1], for: "ben", at: day(1)).sequence
        try ledger.store.write { (connection) throws(LedgerError) in
            for statement in [
                "DELETE FROM outbox WHERE account = 'ben'", "DELETE FROM accounts WHERE account = 'ben'",
                "DELETE FROM grants WHERE account = 'ben'", "UPDATE families SET account = NULL WHERE account = 'ben'",
            ] { try connection.run(statement) }
        }
        let restored = try open(location, at: restart)
        // The first purchase is unchanged, but its answer is newer.
        #expect(try restored.redeem(evidence[0], for: "anna", at: restart).sequence >= max(before, after))
        let again = try restored.redeem(evidence[1], for: "ben", at: restart)
        #expect(again.outcomes.map(\.outcome) == [.granted] && again.sequence > max(before, after))
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `an account that was forgotten and returns is notified of newer things`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledger = try open(location, at: day(0))
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(0))
        // The clock was ahead for a while.
        let before = try ledger.redeem(evidence, for: "anna", at: day(5)).sequence
        let name = try ledger.deleteAccount("anna")
        try ledger.transfer(from: name, to: "anna", reason: "support", at: day(1))
        let answer = try ledger.redeem(evidence, for: "anna", at: day(1))
        #expect(answer.outcomes.map(\.outcome) == [.alreadyYours] && answer.sequence > before)
        #expect(try ledger.events().filter { $0.account == "anna" }.map(\.sequence) == [answer.sequence])
        withExtendedLifetime(location) {}
    }
}
