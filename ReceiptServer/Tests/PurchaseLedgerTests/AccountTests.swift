import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

@Suite struct AccountTests {
    @Test(arguments: Place.available)
    func `an operator gives purchases to another account, and both are notified`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            let receipt = try Minted.evidence(history.receipt(signedAt: day(1)))
            #expect(try ledger.outcomes(receipt, for: "anna", at: day(1)) == [.granted, .granted])
            let id = subscription.firstPeriod.transactionID
            let reason = "support: bought while signed in as anna"
            #expect(
                try ledger.transfer(from: "anna", to: "ben", transactionID: id, reason: reason, at: day(2)) == 1)
            #expect(try ledger.outcomes(receipt, for: "anna", at: day(3)) == [.alreadyYours, .belongsToAnother])
            #expect(try ledger.outcomes(receipt, for: "ben", at: day(3)) == [.belongsToAnother, .alreadyYours])
            let second = try history.evidence(renewal, signedAt: day(31))
            #expect(try ledger.outcomes(second, for: "ben", at: day(31)) == [.granted])
            #expect(try ledger.transfer(from: "anna", to: "ben", reason: reason, at: day(32)) == 1)
            #expect(try ledger.entitlements(of: "anna", at: day(32)).items.isEmpty)
            #expect(
                try ledger.events().filter { $0.account == "anna" }.map(\.kind) == [
                    .granted, .granted, .revoked, .revoked,
                ])
            #expect(try ledger.events().filter { $0.account == "ben" }.map(\.kind) == [.granted, .granted, .granted])
            let state = try LedgerState(ledger)
            #expect(state.grants[coins.transactionID] == .init(account: "ben", quantity: 3))
            #expect(try ledger.stateByEvents().grants.count == 3)
            for (from, to) in [("anna", "ben"), ("nobody", "ben")] {
                let error = #expect(throws: LedgerError.self) {
                    try ledger.transfer(from: from, to: to, reason: reason)
                }
                #expect(error?.code == .notFound)
            }
        }
    }

    @Test(arguments: Place.available)
    func `consumables are left out without reading them, whoever owns them`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let pro = history.buyNonConsumable("pro", at: day(0))
            let coins = (0..<5).map { _ in history.buyConsumable("coins", at: day(0)) }
            for transaction in [pro] + coins {
                _ = try ledger.redeem(history.evidence(transaction, signedAt: day(1)), for: "anna", at: day(1))
            }
            _ = try ledger.transfer(
                from: "anna", to: "ben", transactionID: coins[0].transactionID, reason: "support", at: day(2))
            func lineages(_ account: String) throws -> (all: Int, lasting: Int) {
                try ledger.store.read { (connection) throws(LedgerError) in
                    let (all, lasting) = (PurchaseLedger.lineagesOfAccount, PurchaseLedger.lastingLineagesOfAccount)
                    return (
                        try connection.run(all, [.text(account)]).count,
                        try connection.run(lasting, [.text(account)]).count
                    )
                }
            }
            // Without evidence, nothing is known of its access either.
            let spent = try #require(
                SpentTransaction(
                    account: "anna", environment: .production, bundleID: Minted.bundleID, transactionID: "99",
                    originalTransactionID: nil, productID: "coins", quantity: 1, date: day(0)))
            _ = try ledger.imported([.spent(spent)], at: day(2))
            #expect(try lineages("anna") == (6, 1) && lineages("ben") == (1, 0))
            func items(_ account: String, includingConsumables: Bool) throws -> [String] {
                try ledger.entitlements(of: account, at: day(3), includingConsumables: includingConsumables).items
                    .map(\.productID)
            }
            #expect(try items("anna", includingConsumables: true).count == 5)
            #expect(try items("anna", includingConsumables: false) == ["pro"])
            #expect(try items("ben", includingConsumables: true) == ["coins"])
            #expect(try items("ben", includingConsumables: false) == [])
        }
    }

    @Test(arguments: Place.available)
    func `what Apple signs as a consumable and later as another type is not left out`(_ place: Place) throws {
        try place.withLedger { ledger in
            for (date, type) in [(1, .consumable), (2, .nonConsumable)] as [(Double, ProductType)] {
                var builder = JWSBuilder.transaction(
                    bundleID: Minted.bundleID, productID: "pro", transactionID: "1000")
                (builder.productType, builder.signedDate) = (type, day(date))
                _ = try ledger.redeem(Minted.evidence(builder), for: "anna", at: .now)
                let rows = try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run(
                        """
                        SELECT families.gives_no_access, grants.gives_no_access FROM families, grants
                        WHERE families.gives_no_access IS NOT NULL AND grants.gives_no_access IS NOT NULL
                        """)
                }
                #expect(rows.count == (type == .consumable ? 1 : 0))
            }
        }
    }

    @Test(arguments: Place.available)
    func `a transfer is of one environment, if one is named`(_ place: Place) throws {
        try place.withLedger { ledger in
            // The same id in both.
            for environment in [AppStoreEnvironment.production, .sandbox] {
                var builder = JWSBuilder.transaction(
                    bundleID: Minted.bundleID, productID: "pro", transactionID: "1000", environment: environment)
                builder.productType = .nonConsumable
                let evidence = try Minted.evidence(builder)
                #expect(try ledger.outcomes(evidence, for: "anna", at: .now) == [.granted])
            }
            func owners() throws -> [String] {
                try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run(
                        "SELECT account FROM grants JOIN identifiers ON id = identifier_id ORDER BY environment")
                }.map { try $0.text(0) }
            }
            func transfer(_ to: String, _ id: String?, _ environment: AppStoreEnvironment?) throws -> Int {
                try ledger.transfer(from: "anna", to: to, transactionID: id, in: environment, reason: "support")
            }
            #expect(try transfer("ben", "1000", .sandbox) == 1)
            #expect(try owners() == ["anna", "ben"])
            for (id, environment) in [("1000", .sandbox), (nil, .sandbox), ("1", .production)]
                as [(String?, AppStoreEnvironment)]
            {
                let error = #expect(throws: LedgerError.self) { try transfer("ben", id, environment) }
                #expect(error?.code == .notFound)
            }
            #expect(try transfer("ben", nil, nil) == 1)
            #expect(try owners() == ["ben", "ben"])
            let error = #expect(throws: LedgerError.self) {
                try ledger.transfer(from: "ben", to: "ben", reason: "support")
            }
            #expect(error?.code == .invalidText)
        }
    }

    @Test(arguments: Place.available, ["a\"b", "a\\", "\\\"", "{a,\"b\"}", "NULL", "'", "%"])
    func `an account may have any characters in its name`(_ place: Place, _ account: String) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: account, at: day(1)) == [.granted])
            #expect(try ledger.outcomes(evidence, for: account, at: day(1)) == [.alreadyYours])
            #expect(try ledger.events().map(\.account) == [account])
            #expect(try LedgerState(ledger).grants.values.map(\.account) == [account])
        }
    }

    @Test(arguments: Place.available)
    func `a forgotten account leaves its transactions spent`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", key: "k", at: day(1)) == [.granted])
            func changes() throws -> [Instant] {
                try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run("SELECT changed_at FROM grants").map { (row) throws(LedgerError) in
                        try row.date(0)
                    }
                }
            }
            let changed = try changes()
            let name = try ledger.deleteAccount("anna")
            #expect(try changes() == changed)
            for table in ["families", "grants", "answers", "outbox", "accounts"] {
                let rows = try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run("SELECT 1 FROM \(table) WHERE account = 'anna'")
                }
                #expect(rows.isEmpty, "\(table)")
            }
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(2)) == [.belongsToAnother])
            #expect(try ledger.outcomes(evidence, for: "ben", at: day(2)) == [.belongsToAnother])
            // The customer comes back.
            try ledger.transfer(from: name, to: "anna", reason: "support", at: day(3))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(3)) == [.alreadyYours])
            let error = #expect(throws: LedgerError.self) { try ledger.deleteAccount("nobody") }
            #expect(error?.code == .notFound)
        }
    }

    @Test(arguments: Place.available)
    func `a forgotten account keeps what its purchases give, and evidence that cannot be read keeps no name`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let monthly = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod
            for transaction in [coins, monthly] {
                let evidence = try history.evidence(transaction, signedAt: day(1))
                #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            }
            func rows() throws -> [String] {
                try ledger.store.read { (connection) throws(LedgerError) in
                    let rows = try connection.run("SELECT * FROM families") + connection.run("SELECT * FROM grants")
                    return rows.map { "\($0.values)" }
                }
            }
            let before = try rows()
            _ = try ledger.store.write { (connection) throws(LedgerError) in
                try connection.run("UPDATE evidence SET purchase = 'damaged'")
            }
            let name = try ledger.deleteAccount("anna", at: .now - .seconds(86_500))
            #expect(try rows().map { $0.replacing(name, with: "anna") }.sorted() == before.sorted())
            // For a day, servers that have not heard of a deletion need the digest of the name.
            #expect(throws: LedgerError.self) { try ledger.deleteAccount("ben", at: .now - .seconds(86_300)) }
            try ledger.removeHistory(before: .now + .seconds(1))
            let digests = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT account_digest FROM deletions")
            }
            #expect(digests.count == 1)
        }
    }
}
