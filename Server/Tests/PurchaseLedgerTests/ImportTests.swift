import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import SpanASN1
import Testing

@Suite struct ImportTests {
    private static let token = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01")

    private func withLedger(_ place: Place, _ body: (PurchaseLedger) throws -> Void) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        try place.withLedger(policy, body)
    }

    private func spent(
        _ account: String, _ transaction: PurchaseHistory.Transaction, original: String? = nil
    ) throws -> ImportedLine {
        .spent(
            try #require(
                SpentTransaction(
                    account: account, environment: .production, bundleID: Minted.bundleID,
                    transactionID: transaction.transactionID, originalTransactionID: original,
                    productID: transaction.productID, quantity: Int64(transaction.quantity), date: day(0))))
    }

    private func words(_ ledger: PurchaseLedger, _ lines: [ImportedLine]) throws -> [String] {
        var progress = ImportProgress()
        let checked = try ledger.check(lines).map(word)
        let outcomes = try ledger.import(lines, of: "file", &progress, at: day(1)).map(word)
        // What is in the ledger is known beforehand, and what is in the lines is not.
        for (checked, outcome) in zip(checked, outcomes) { #expect(checked == outcome || checked == "added") }
        let after = try ledger.check(lines).map(word)
        #expect(after == outcomes.map { $0 == "added" ? "known" : $0 })
        return outcomes
    }

    private func word(_ outcome: ImportedLine.Outcome) -> String {
        switch outcome {
        case .added: "added"
        case .known: "known"
        case .conflict(let code): code
        }
    }

    @Test func `nobody was granted nothing, or less`() throws {
        for quantity in [Int64.min, -1, 0, 1] {
            let transaction = SpentTransaction(
                account: "anna", environment: .production, bundleID: Minted.bundleID, transactionID: "1",
                originalTransactionID: nil, productID: "coins", quantity: quantity, date: day(0))
            #expect((transaction != nil) == (quantity == 1))
        }
    }

    @Test(arguments: Place.available)
    func `what was spent before is spent, and evidence is added to it`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let pro = history.buyNonConsumable("pro", at: day(0))
            let copy = history.restore(pro, at: day(2))
            let lines = [
                try spent("anna", coins), try spent("anna", coins), try spent("ben", coins), try spent("anna", pro),
                .token(account: "anna", Self.token), .token(account: "ben", Self.token),
            ]
            #expect(
                try words(ledger, lines) == [
                    "added", "known", "belongs-to-another", "added", "added", "token-taken",
                ])
            #expect(
                try words(ledger, lines) == [
                    "known", "known", "belongs-to-another", "known", "known", "token-taken",
                ])
            #expect(try ledger.events().isEmpty && ledger.purchasesWithoutOrder().isEmpty)
            for transaction in [coins, copy] {
                let evidence = try history.evidence(transaction, signedAt: day(3))
                #expect(try ledger.outcomes(evidence, for: "ben", at: day(3)) == [.belongsToAnother])
                #expect(try ledger.outcomes(evidence, for: "anna", at: day(3)) == [.alreadyYours])
            }
            history.refund(coins, at: day(4))
            for notification in try history.verifiedNotifications(through: day(4)) {
                try ledger.record(notification, at: day(4))
            }
            #expect(try ledger.events().filter { $0.kind == .revoked }.map(\.transactionID) == [coins.transactionID])
        }
    }

    @Test(arguments: Place.available)
    func `a refund that is known is told when its transaction is imported`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            history.refund(coins, at: day(1))
            for notification in try history.verifiedNotifications(through: day(1)) {
                try ledger.record(notification, at: day(1))
            }
            #expect(try words(ledger, [spent("anna", coins)]) == ["added"])
            #expect(try ledger.events().map(\.kind) == [.revoked])
            #expect(try LedgerState(ledger).grants.isEmpty)
        }
    }

    @Test(arguments: Place.available, [false, true])
    func `a large subscription is whole while it has a transaction without evidence`(
        _ place: Place, isImportedFirst: Bool
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: day(0))
            let periods = [subscription.firstPeriod] + (1..<30).map { _ in history.renew(subscription) }
            let (first, refunded, last) = (periods[0], periods[5], periods[29])
            history.refund(refunded, at: day(40))
            let line = [
                try spent("anna", refunded, original: first.transactionID),
                try spent("anna", last, original: first.transactionID),
            ]
            if isImportedFirst { #expect(try words(ledger, line) == ["added", "added"]) }
            for period in periods.dropLast() where isImportedFirst ? period != refunded : true {
                _ = try ledger.outcomes(history.evidence(period, signedAt: day(200)), for: "anna", at: day(200))
            }
            if !isImportedFirst { #expect(try words(ledger, line) == ["added", "added"]) }
            // A renewal that was granted without evidence is not granted again.
            let evidence = try history.evidence(last, signedAt: day(204))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(204)) == [.alreadyYours])
            let refund = try history.evidence(refunded, signedAt: day(204))
            _ = try ledger.outcomes(refund, for: "anna", at: day(204))
            let revoked = try ledger.events().filter { $0.kind == .revoked }
            #expect(revoked.map(\.transactionID) == [refunded.transactionID])
        }
    }

    @Test(arguments: Place.available)
    func `an imported token claims what waits, which is told; imported evidence is not`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: Self.token.description)
            history.buyConsumable("coins", quantity: 3, at: day(0))
            for notification in try history.verifiedNotifications(through: day(0)) {
                try ledger.record(notification, at: day(0))
            }
            history.appAccountToken = nil
            let pro = history.buyNonConsumable("pro", at: day(0))
            let stored = try history.evidence(pro, signedAt: day(0))
            let lines: [ImportedLine] = [
                .token(account: "anna", Self.token), .evidence(account: "ben", stored),
                .evidence(account: "anna", stored),
            ]
            #expect(try words(ledger, lines) == ["added", "added", "belongs-to-another"])
            #expect(try ledger.events().map(\.cause) == [.token])
            #expect(try LedgerState(ledger).grants.values.map(\.account).sorted() == ["anna", "ben"])
            #expect(try ledger.purchasesWithoutOrder().count == 1)
        }
    }

    @Test(arguments: Place.available)
    func `a wrong original transaction does not make two purchases one`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let pro = history.buyNonConsumable("pro", at: day(0))
            #expect(try words(ledger, [spent("anna", coins), spent("anna", pro)]) == ["added", "added"])
            let wrong = try spent("anna", coins, original: pro.transactionID)
            #expect(try words(ledger, [wrong]) == ["two-purchases"])
        }
    }

    @Test(arguments: Place.available)
    func `a purchase of an earlier line, or with another's token, is not the account's that a line names`(
        _ place: Place
    ) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let pro = history.buyNonConsumable("pro", at: day(0))
            let copy = history.restore(pro, at: day(1))
            let lines = [try spent("anna", pro), try spent("ben", copy, original: pro.transactionID)]
            #expect(try words(ledger, lines) == ["added", "belongs-to-another"])
            #expect(try words(ledger, [.token(account: "anna", Self.token)]) == ["added"])
            history.appAccountToken = Self.token.description
            let coins = history.buyConsumable("coins", at: day(1))
            let stored = try history.evidence(coins, signedAt: day(1))
            #expect(try words(ledger, [.evidence(account: "ben", stored)]) == ["belongs-to-another"])
            // The token says whose it is.
            #expect(try LedgerState(ledger).grants.values.map(\.account) == ["anna", "anna"])
        }
    }
}
