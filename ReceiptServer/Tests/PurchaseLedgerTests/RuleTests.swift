import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// Rules that cost money when they break, each in the smallest case that fails without it.
@Suite struct RuleTests {
    private func coins(
        _ id: String, signed: Double = 0, _ change: (inout JWSBuilder) -> Void = { _ in }
    ) throws -> VerifiedEvidence {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: id, signedDate: day(signed))
        builder.productType = .consumable
        builder.purchaseDate = day(0)
        change(&builder)
        return try Minted.evidence(builder)
    }

    private func refund(_ id: String, signed: Double = 2) throws -> VerifiedEvidence {
        try coins(id, signed: signed) { $0.revocationDate = day(1) }
    }

    private func policy(_ products: String...) -> LedgerPolicy {
        var policy = LedgerPolicy()
        policy.productIDs = products
        return policy
    }

    private func count(_ statement: String, _ ledger: PurchaseLedger) throws -> Int {
        try ledger.store.read { (connection) throws(LedgerError) in try connection.run(statement).count }
    }

    // MARK: What is for sale

    @Test(arguments: Place.available)
    func `whoever submits what is not for sale does not own it later`(_ place: Place) throws {
        let location = try place.makeLocation()
        let evidence = try Minted.evidence(period("1", of: "1", from: 0))
        let before = try PurchaseLedger(location.text, policy: policy("coins"))
        #expect(try before.outcomes(evidence, for: "ben", at: day(1)) == [.notForSale])
        let after = try PurchaseLedger(location.text, policy: policy("coins", "monthly"))
        #expect(try after.outcomes(evidence, for: "anna", at: day(2)) == [.granted])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a product that is not for sale is not granted to the owner of its lineage`(_ place: Place) throws {
        try place.withLedger(policy("monthly")) { ledger throws in
            #expect(
                try ledger.outcomes(Minted.evidence(period("1", of: "1", from: 0)), for: "anna", at: day(1)) == [
                    .granted
                ])
            #expect(
                try ledger.outcomes(Minted.evidence(period("2", of: "1", "gold", from: 5)), for: "anna", at: day(6))
                    == [.notForSale])
            #expect(try LedgerState(ledger).grants.keys.sorted() == ["1"])
        }
    }

    @Test(arguments: Place.available)
    func `a product that is no longer for sale is not among the entitlements`(_ place: Place) throws {
        let location = try place.makeLocation()
        let before = try PurchaseLedger(location.text)
        #expect(
            try before.outcomes(Minted.evidence(period("1", of: "1", from: 0)), for: "anna", at: day(1)) == [.granted])
        #expect(try before.entitlements(of: "anna", at: day(1)).items.count == 1)
        let after = try PurchaseLedger(location.text, policy: policy("coins"))
        #expect(try after.entitlements(of: "anna", at: day(1)).items.isEmpty)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a subscription whose first product is not for sale is the account's whose token it has`(
        _ place: Place
    ) throws {
        var policy = policy("gold")
        policy.orders = OrderPolicy()
        try place.withLedger(policy) { ledger throws in
            var first = period("1", of: "1", from: 0)
            first.appAccountToken = try ledger.token(for: "anna").token.description
            #expect(try ledger.outcomes(Minted.evidence(first), for: "anna", at: day(1)) == [.notForSale])
            let gold = try Minted.evidence(period("2", of: "1", "gold", from: 5))
            #expect(try ledger.outcomes(gold, for: "ben", at: day(6)) == [.notYours])
            #expect(try ledger.outcomes(gold, for: "anna", at: day(6)) == [.granted])
        }
    }

    // MARK: Evidence

    @Test(arguments: Place.available)
    func `a purchase that evidence has twice has one outcome`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            let purchase = ReceiptBuilder.Purchase.consumable("coins", transactionID: "1", quantity: 3)
            let receipt = try Minted.evidence(
                ReceiptBuilder(bundleID: Minted.bundleID, environment: .production, purchases: [purchase, purchase]))
            #expect(receipt.purchases.count == 2)
            #expect(try ledger.outcomes(receipt, for: "anna", at: day(200)) == [.granted])
            #expect(try ledger.outcomes(receipt, for: "anna", at: day(200)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `of one transaction, the 64 contents that were signed last are kept`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            func submit(_ price: Int64, signed: Double) throws {
                let evidence = try coins("1", signed: signed) { $0.payload["price"] = .integer(price) }
                _ = try ledger.redeem(evidence, for: "anna", at: day(200))
            }
            func dates() throws -> [Int64] {
                let rows = try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run("SELECT signed_date FROM evidence ORDER BY signed_date")
                }
                return try rows.map { try $0.integer(0) }
            }
            for number in 1...65 { try submit(Int64(number), signed: Double(number)) }
            let expected = (2...65).map { day(Double($0)).millisecondsSince1970 }
            #expect(try dates() == expected)
            try submit(1000, signed: 1.5)
            #expect(try dates() == expected)
        }
    }

    @Test(arguments: Place.available)
    func `one UUID in both environments is two notifications`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(coins("1"), for: "anna", at: day(1)) == [.granted])
            for environment in [AppStoreEnvironment.sandbox, .production] {
                var refund = JWSBuilder.transaction(
                    bundleID: Minted.bundleID, productID: "coins", transactionID: "1", environment: environment,
                    signedDate: day(2))
                refund.productType = .consumable
                refund.purchaseDate = day(0)
                refund.revocationDate = day(1)
                let notification = try JWSBuilder.notification(
                    .refund, bundleID: Minted.bundleID, environment: environment,
                    transaction: refund.signed(by: Minted.authority.get()), signedDate: day(2))
                try ledger.record(Minted.notification(notification), at: day(2))
            }
            #expect(try LedgerState(ledger).grants.isEmpty)
            #expect(try count("SELECT 1 FROM notifications", ledger) == 2)
            let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: "1")
            #expect(try ledger.story(of: name, at: day(3))?.notifications.count == 1)
        }
    }

    @Test(arguments: Place.available)
    func `one id in both environments, or in two apps, is a purchase in each`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            let otherApp = "com.example.other"
            let authority = try Minted.authority.get()
            let otherVerifier = try AppStoreVerifier(
                bundleID: otherApp, environments: [.production], trust: .roots([authority.trustAnchor]))
            func submit(for account: String, isRefunded: Bool = false) throws -> [Outcome] {
                let isOther = account == "carl"
                var builder = JWSBuilder.transaction(
                    bundleID: isOther ? otherApp : Minted.bundleID, productID: "coins", transactionID: "1",
                    environment: account == "ben" ? .sandbox : .production, signedDate: day(isRefunded ? 2 : 0))
                builder.productType = .consumable
                builder.purchaseDate = day(0)
                if isRefunded { builder.revocationDate = day(1) }
                let verifier = try isOther ? otherVerifier : Minted.verifier.get()
                return try ledger.outcomes(verifier.verify(builder.signed(by: authority)), for: account, at: day(3))
            }
            let accounts = ["anna", "ben", "carl"]
            for account in accounts { #expect(try submit(for: account) == [.granted], "\(account)") }
            for account in accounts { #expect(try submit(for: account) == [.alreadyYours], "\(account)") }
            #expect(try submit(for: "anna", isRefunded: true) == [.revoked])
            for account in accounts.dropFirst() { #expect(try submit(for: account) == [.alreadyYours], "\(account)") }
        }
    }

    @Test func `a transaction is another in another environment, in another app, and with another id`() {
        let key = TransactionKey(environment: .production, bundleID: "com.example.app", transactionID: "1")
        let others = [
            TransactionKey(environment: .sandbox, bundleID: "com.example.app", transactionID: "1"),
            TransactionKey(environment: .production, bundleID: "com.example.other", transactionID: "1"),
            TransactionKey(environment: .production, bundleID: "com.example.app", transactionID: "2"),
        ]
        for other in others { #expect(key != other && Set([key, other, key]).count == 2) }
    }

    @Test(arguments: Place.available)
    func `of a receipt that was signed again, the later expiration date counts, and none is the latest`(
        _ place: Place
    ) throws {
        for (dates, isOwned) in [([100, 50], true), ([50, 100], true), ([50, nil], true), ([40, 50], false)]
            as [([Double?], Bool)]
        {
            try place.withLedger { ledger throws in
                var purchase = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "1")
                purchase.purchaseDate = day(0)
                var receipt = ReceiptBuilder(
                    bundleID: Minted.bundleID, environment: .production, purchases: [purchase])
                for date in dates {
                    receipt.expirationDate = date.map(day)
                    _ = try ledger.redeem(Minted.evidence(receipt), for: "anna", at: day(1))
                }
                #expect(try ledger.entitlements(of: "anna", at: day(60)).activeProductIDs == (isOwned ? ["pro"] : []))
            }
        }
    }

    // MARK: Owners

    @Test(arguments: Place.available)
    func `a grace period lasts when its lineage and another turn out to be one`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            func submit(_ builder: JWSBuilder, at date: Double) throws -> [Outcome] {
                try ledger.outcomes(Minted.evidence(builder), for: "anna", at: day(date))
            }
            #expect(try submit(period("1", of: "1", from: 0), at: 1) == [.granted])
            #expect(try submit(period("2", of: "2", from: 30), at: 31) == [.granted])
            var renewal = JWSBuilder.renewalInfo(
                productID: "monthly", originalTransactionID: "2", signedDate: day(61))
            renewal.isInBillingRetryPeriod = true
            renewal.gracePeriodExpiresDate = day(66)
            #expect(try submit(renewal, at: 61).isEmpty)
            #expect(try ledger.events().map(\.until) == [day(30), day(60), day(66)])
            var joined = period("3", of: "2", from: -30)
            joined.payload["previousOriginalTransactionId"] = "1"
            #expect(try submit(joined, at: 62) == [.expired])
            #expect(try count("SELECT 1 FROM families", ledger) == 1)
            #expect(try count("SELECT 1 FROM transfers", ledger) == 0)
            #expect(try ledger.events().count == 3)
        }
    }

    @Test(arguments: Place.available)
    func `an owner who was notified of another's token is not notified again when two lineages turn out to be one`(
        _ place: Place
    ) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        try place.withLedger(policy) { ledger throws in
            let token = try ledger.token(for: "ben").token.description
            func submit(_ builder: JWSBuilder, at date: Double) throws {
                _ = try ledger.redeem(Minted.evidence(builder), for: "anna", at: day(date))
            }
            func conflicts() throws -> Int { try ledger.events().count { $0.kind == .conflict } }
            try submit(period("1", of: "1", from: 0), at: 1)
            try submit(period("2", of: "2", from: 30), at: 31)
            var bens = period("4", of: "2", from: 60)
            bens.appAccountToken = token
            try submit(bens, at: 61)
            #expect(try conflicts() == 1)
            var joined = period("3", of: "2", from: -30)
            joined.payload["previousOriginalTransactionId"] = "1"
            try submit(joined, at: 62)
            #expect(try count("SELECT 1 FROM families", ledger) == 1)
            #expect(try conflicts() == 1)
        }
    }

    @Test(arguments: Place.available)
    func `of two lineages that are one purchase, whoever claimed first is the owner`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            // The lineage with the smaller number is claimed later.
            let first = period("1", of: "1", from: 0)
            let notification = try JWSBuilder.notification(
                .subscribed, bundleID: Minted.bundleID,
                transaction: first.signed(by: Minted.authority.get()),
                signedDate: day(0))
            try ledger.record(Minted.notification(notification), at: day(0))
            #expect(
                try ledger.outcomes(Minted.evidence(period("2", of: "2", from: 0)), for: "ben", at: day(1)) == [
                    .granted
                ])
            #expect(try ledger.outcomes(Minted.evidence(first), for: "anna", at: day(2)) == [.granted])
            var joined = period("3", of: "2", from: 30)
            joined.payload["previousOriginalTransactionId"] = "1"
            let renewal = try Minted.evidence(joined)
            #expect(try ledger.outcomes(renewal, for: "anna", at: day(31)) == [.belongsToAnother])
            #expect(try ledger.outcomes(renewal, for: "ben", at: day(31)) == [.alreadyYours])
            // Both keep what they were granted; a transfer of the owner's purchases moves the owner's only.
            #expect(try ledger.transfer(from: "ben", to: "carl", reason: "support", at: day(32)) == 1)
            #expect(
                try LedgerState(ledger).grants.mapValues(\.account) == ["1": "anna", "2": "carl", "3": "carl"])
            #expect(try ledger.events().filter { $0.account == "anna" }.map(\.kind) == [.granted])
            func entitlements(_ account: String) throws -> [String] {
                try ledger.entitlements(of: account, at: day(32)).items.map(\.transactionID)
            }
            #expect(try entitlements("anna") == ["1"] && entitlements("carl") == ["2", "3"])
            // An ungranted purchase is its owner's.
            let ended = try Minted.evidence(period("5", of: "2", from: -60))
            #expect(try ledger.outcomes(ended, for: "carl", at: day(32)) == [.expired])
            #expect(try entitlements("anna") == ["1"] && entitlements("carl") == ["5", "2", "3"])
            // What anna was granted is hers to give, and the purchase is still carl's.
            for id in ["1", nil] {
                let (from, to) = id == nil ? ("dora", "anna") : ("anna", "dora")
                #expect(try ledger.transfer(from: from, to: to, transactionID: id, reason: "support", at: day(33)) == 1)
                #expect(try entitlements(from) == [] && entitlements(to) == ["1"])
            }
            #expect(try entitlements("carl") == ["5", "2", "3"])
            #expect(try ledger.events().filter { $0.account == "dora" }.map(\.kind) == [.granted, .revoked])
            // A grant of one isn't imported for the other, although the purchase is carl's.
            let spent = try #require(
                SpentTransaction(
                    account: "carl", environment: .production, bundleID: Minted.bundleID, transactionID: "1",
                    originalTransactionID: nil, productID: "monthly", quantity: 1, date: day(0)))
            let outcome = try ledger.imported([.spent(spent)], at: day(33))[0].outcome
            #expect(outcome == .conflict("belongs-to-another"))
        }
    }

    @Test(arguments: Place.available)
    func `the transfers of two lineages that are one purchase are that purchase's, and no other's`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger throws in
            _ = try ledger.redeem(Minted.evidence(period("1", of: "1", from: 0)), for: "anna", at: day(1))
            _ = try ledger.redeem(Minted.evidence(period("2", of: "2", from: 0)), for: "ben", at: day(2))
            #expect(try ledger.transfer(from: "ben", to: "carl", reason: "support", at: day(3)) == 1)
            var joined = period("3", of: "2", from: 30)
            joined.payload["previousOriginalTransactionId"] = "1"
            _ = try ledger.redeem(Minted.evidence(joined), for: "anna", at: day(31))
            // SQLite reuses the number of the joined lineage.
            _ = try ledger.redeem(coins("4"), for: "dora", at: day(32))
            func transfers(_ id: String) throws -> [String] {
                let name = TransactionName(
                    environment: .production, bundleID: Minted.bundleID, transactionID: id)
                return try #require(try ledger.story(of: name, at: day(33))).transfers.map { "\($0.from) \($0.to)" }
            }
            #expect(try transfers("4") == [])
            #expect(try transfers("2") == ["carl anna", "ben carl"])
        }
    }

    @Test(arguments: Place.available)
    func `the story of a restored copy has the refund of what was bought`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            func level(_ id: String, signed: Double, _ change: (inout JWSBuilder) -> Void = { _ in }) throws
                -> VerifiedEvidence
            {
                try coins(id, signed: signed) {
                    ($0.productID, $0.productType) = ("level", .nonConsumable)
                    ($0.originalTransactionID, $0.originalPurchaseDate) = ("1", day(0))
                    change(&$0)
                }
            }
            _ = try ledger.redeem(level("1", signed: 0), for: "anna", at: day(1))
            _ = try ledger.redeem(level("2", signed: 1), for: "anna", at: day(2))
            _ = try ledger.redeem(level("1", signed: 3) { $0.revocationDate = day(3) }, for: "anna", at: day(4))
            for id in ["1", "2"] {
                let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: id)
                let story = try #require(try ledger.story(of: name, at: day(5)))
                #expect(story.refunds.map(\.date) == [day(3)], "\(id)")
                #expect(story.evidence.allSatisfy { $0.purchase.transactionID == id })
            }
        }
    }

    @Test(arguments: Place.available)
    func `the story of a period has neither the grant nor the refund of another one`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            var refunded = period("2", of: "1", from: 30)
            (refunded.signedDate, refunded.revocationDate) = (day(33), day(32))
            let (first, second) = (period("1", of: "1", from: 0), period("2", of: "1", from: 30))
            for (builder, date) in [(first, 1), (second, 31), (refunded, 34)] as [(JWSBuilder, Double)] {
                _ = try ledger.redeem(Minted.evidence(builder), for: "anna", at: day(date))
            }
            for (id, refunds) in [("1", []), ("2", [day(32)])] as [(String, [Instant?])] {
                let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: id)
                let story = try #require(try ledger.story(of: name, at: day(35)))
                #expect(story.grants.map(\.name.transactionID) == [id] && story.refunds.map(\.date) == refunds, "\(id)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `a transfer to the account itself is an error, and changes nothing`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(coins("1"), for: "anna", at: day(1)) == [.granted])
            let error = #expect(throws: LedgerError.self) {
                try ledger.transfer(from: "anna", to: "anna", reason: "support", at: day(2))
            }
            #expect(error?.code == .invalidText)
            #expect(try ledger.events().map(\.kind) == [.granted])
            #expect(try count("SELECT 1 FROM transfers", ledger) == 0)
        }
    }

    @Test(arguments: Place.available)
    func `a transfer of what was refunded notifies the new owner alone`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(coins("1"), for: "anna", at: day(1)) == [.granted])
            #expect(try ledger.outcomes(refund("1"), for: "anna", at: day(2)) == [.revoked])
            #expect(try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(3)) == 1)
            let events = try ledger.events()
            #expect(events.map(\.account) == ["anna", "anna", "ben"])
            #expect(events.map(\.kind) == [.granted, .revoked, .revoked])
            #expect(events.last.map { [$0.previousQuantity, $0.quantity] } == [0, 0])
        }
    }

    @Test(arguments: Place.available)
    func `a deleted account is in no table, also if it was the receiver of a transfer`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(coins("1"), for: "anna", at: day(1)) == [.granted])
            try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(2))
            let name = try ledger.deleteAccount("ben")
            #expect(try count("SELECT 1 FROM transfers WHERE to_account = '\(name)'", ledger) == 1)
            for (table, column) in [
                ("families", "account"), ("grants", "account"), ("answers", "account"), ("outbox", "account"),
                ("accounts", "account"), ("transfers", "from_account"), ("transfers", "to_account"),
            ] {
                #expect(try count("SELECT 1 FROM \(table) WHERE \(column) = 'ben'", ledger) == 0, "\(table) \(column)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `no signature and no support gives back what an operator took back`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(coins("1"), for: "anna", at: day(1)) == [.granted])
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("UPDATE grants SET quantity = 0, voided_at = 1")
            }
            #expect(try ledger.outcomes(coins("1", signed: 3), for: "anna", at: day(3)) == [.revoked])
            let grant = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: "1")
            for change in [Adjustment.Change.quantity(grant, 1), .asSigned(grant)] {
                let error = #expect(throws: LedgerError.self) {
                    try ledger.adjust(Adjustment(change, reason: "ticket 7"), of: "anna", at: day(4))
                }
                #expect(error?.code == .notAdjustable)
            }
            #expect(try LedgerState(ledger).grants.isEmpty)
            #expect(try ledger.events().map(\.kind) == [.granted])
        }
    }

    // MARK: Requests and events

    @Test(arguments: Place.available)
    func `an idempotency key belongs to a token, an app and an environment`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            let token = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"
            let evidence = try coins("1") { $0.appAccountToken = token }
            #expect(try ledger.outcomes(evidence, for: "anna", token: token, key: "k", at: day(1)) == [.granted])
            let sandbox = try coins("1") {
                $0.appAccountToken = token
                $0.environment = .sandbox
            }
            let authority = try Minted.authority.get()
            var other = JWSBuilder.transaction(
                bundleID: "com.example.other", productID: "coins", transactionID: "1", signedDate: day(0))
            (other.productType, other.appAccountToken) = (.consumable, token)
            let otherApp = try AppStoreVerifier(
                bundleID: "com.example.other", environments: [.production], trust: .roots([authority.trustAnchor])
            ).verify(other.signed(by: authority))
            let requests: [(VerifiedEvidence, String?)] = [
                (evidence, nil), (evidence, "00000000-1c5d-4b0e-8a57-3d0b8d1b6f00"), (sandbox, token),
                (otherApp, token),
            ]
            for (evidence, token) in requests {
                let error = #expect(throws: LedgerError.self) {
                    try ledger.outcomes(evidence, for: "anna", token: token, key: "k", at: day(1))
                }
                #expect(error?.code == .idempotencyKeyReused)
            }
            #expect(try ledger.outcomes(evidence, for: "anna", token: token, key: "k", at: day(1)) == [.granted])
        }
    }

    @Test(arguments: Place.available, [1, 80])
    func `a failure that is recorded late does not reopen a delivered event`(_ place: Place, maximum: Int64) throws {
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(coins("1"), for: "anna", at: day(1)) == [.granted])
            let taken = try ledger.takeEvents(limit: 8, lease: .seconds(1), at: day(1))
            #expect(taken.count == 1)
            try ledger.record(taken.map { ($0, nil) }, maximumAttempts: 80, at: day(1))
            // The server that had the event before was slow, and saw a timeout.
            try ledger.record(taken.map { ($0, "timeout") }, maximumAttempts: maximum, at: day(1))
            let counts = try ledger.outboxCounts()
            #expect(counts.pending == 0 && counts.dead == 0)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(1), at: day(9)).isEmpty)
        }
    }

    @Test(arguments: Place.available)
    func `the failure of an attempt whose lease was over does not count for a later one`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(coins("1"), for: "anna", at: day(1)) == [.granted])
            func take(at date: Double) throws -> EventSenders.Result {
                let taken = try ledger.takeEvents(limit: 8, lease: .seconds(1), at: day(date))
                return (try #require(taken.first), "timeout")
            }
            func fail(_ result: EventSenders.Result, _ maximum: Int64, at date: Double) throws {
                try ledger.record([result], maximumAttempts: maximum, at: day(date))
            }
            let first = try take(at: 1)
            try fail(first, 80, at: 1)
            let second = try take(at: 2)
            try fail(first, 1, at: 2)
            #expect(try ledger.outboxCounts().dead == 0)
            // An operator sends the event again, so that it has as many attempts as at first, and it is delivered.
            try ledger.sendAgain(eventID: first.event.id, at: day(3))
            let third = try take(at: 4)
            try ledger.record([(third.event, nil)], maximumAttempts: 80, at: day(4))
            try fail(second, 80, at: 5)
            #expect(try ledger.outboxCounts().pending == 0)
        }
    }
}
