@_spi(Ledger) import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import StrictText
import Testing

/// What belongs together, and what an account keeps of it.
@Suite struct LineageTests {
    private func coins(_ id: String, _ change: (inout Purchase) -> Void = { _ in }) throws -> Submission {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: id, signedDate: day(0))
        builder.productType = .consumable
        var purchase = try #require(Minted.evidence(builder).purchases.first?.purchase)
        change(&purchase)
        return Submission([SubmittedPurchase(purchase)])
    }

    private func key(_ id: String, _ bundleID: String = "a", _ environment: AppStoreEnvironment = .production)
        -> TransactionKey
    {
        TransactionKey(environment: environment, bundleID: bundleID, transactionID: id)
    }

    @Test func `R6: two purchases that turn out to be one are the first owner's, and each account keeps its grants`()
        throws
    {
        let ledger = MemoryLedger()
        #expect(try ledger.redeem(coins("1"), for: "anna", at: day(1)) == [.granted])
        #expect(try ledger.redeem(coins("2"), for: "ben", at: day(2)) == [.granted])
        let joining = try coins("3") { ($0.originalTransactionID, $0.previousOriginalTransactionID) = ("2", "1") }
        #expect(ledger.redeem(joining, for: "carl", at: day(3)) == [.belongsToAnother])
        func accounts() -> [String] {
            ledger.grants.sorted { $0.transaction < $1.transaction }.map(\.account)
        }
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["anna"])
        #expect(accounts() == ["anna", "ben", "anna"])
        // The account that does not own it gives away its own grant alone.
        ledger.transfer(from: "ben", to: "dora", at: day(4))
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["anna"])
        #expect(accounts() == ["anna", "dora", "anna"])
        ledger.transfer(from: "anna", to: "ben", at: day(5))
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["ben"])
        #expect(accounts() == ["ben", "dora", "ben"])
        // So does its deletion.
        ledger.forget("dora", as: "gone", at: day(6))
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["ben"])
        #expect(accounts() == ["ben", "gone", "ben"])
        ledger.forget("ben", as: "nobody", at: day(7))
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["nobody"])
        #expect(accounts() == ["nobody", "gone", "nobody"])
    }

    @Test func `a transaction is another in another environment, in another app, and with another id`() {
        let keys = [key("1"), key("2"), key("1", "b"), key("1", "a", .sandbox)]
        #expect(Set(keys).count == 4 && key("1") == keys[0])
        // Otherwise, each search compares them all.
        #expect(Set((1...100).map { key("\($0)").hashValue }).count > 90)
    }

    @Test(arguments: ["support-1", "assigned-1-2", "bought-1", "", "1\0", String(repeating: "1", count: 256)])
    func `a purchase with an id that is reserved or cannot be stored has no keys, and is undetermined`(id: String)
        throws
    {
        let ledger = MemoryLedger()
        for change in [{ $0.transactionID = id }, { $0.originalTransactionID = id }] as [(inout Purchase) -> Void] {
            #expect(try ledger.redeem(coins("1", change), for: "anna", at: day(1)) == [.undetermined])
        }
        #expect(ledger.lineages.byID.isEmpty)
    }

    @Test func `an id of 255 bytes is stored`() throws {
        let id = String(repeating: "1", count: 255)
        #expect(try MemoryLedger().redeem(coins(id), for: "anna", at: day(1)) == [.granted])
    }

    @Test func `what an operator took back in the database stays taken back`() throws {
        let ledger = MemoryLedger()
        let evidence = try coins("1")
        let key = try #require(evidence.keys.first)
        let voided = Grant(transaction: key, account: "anna", productID: "coins", quantity: 0, isVoided: true)
        #expect(ledger.grant(voided, at: day(0)))
        #expect(ledger.redeem(evidence, for: "anna", at: day(1)) == [.revoked])
        let error = #expect(throws: LedgerError.self) { try ledger.adjust(key, to: 1, at: day(2)) }
        #expect(error?.code == .notAdjustable && ledger.events.isEmpty)
    }

    /// What support set when Apple's evidence said a quantity, and what is left when it says another.
    @Test(
        arguments: [
            (0, 5, 5, 0), (0, 5, 9, 0), (2, 5, 5, 2), (2, 5, 0, 0), (2, 5, 4, 1), (2, 5, 1, 0), (6, 5, 3, 4),
        ] as [(Int64, Int64, Int64, Int64)])
    func `a refund takes from what support set, never below nothing`(
        _ set: Int64, _ then: Int64, _ signed: Int64, _ left: Int64
    ) {
        let adjusted = AdjustedQuantity(quantity: set, signedThen: then)
        #expect(adjusted.quantity(signed: signed) == left)
        var grant = Grant(transaction: key("1"), account: "anna", productID: "coins", quantity: left)
        grant.adjusted = adjusted
        #expect(grant.isTakenBack == (set == 0))
    }

    @Test func `a non-renewing subscription of unknown length is granted once, without an end`() throws {
        let ledger = MemoryLedger()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let bought = history.buyNonRenewing("card", at: day(0))
        let card = try history.evidence(bought, signedAt: day(1))
        #expect(ledger.redeem(card, for: "anna", at: day(1)) == [.granted])
        #expect(ledger.redeem(card, for: "anna", at: day(400)) == [.alreadyYours])
        #expect(ledger.grants.map(\.until) == [nil] && ledger.effects.notices.unknownLengths == ["card"])
    }

    @Test func `a subscription is one new purchase, and each period that lasts has an end`() throws {
        let ledger = MemoryLedger(forSale: ["monthly"])
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        _ = try ledger.redeem(history.evidence(subscription.firstPeriod, signedAt: day(1)), for: "anna", at: day(1))
        let renewal = history.renew(subscription, at: day(30))
        try ledger.record(history.evidence(renewal, signedAt: day(31)), at: day(31))
        #expect(ledger.effects.newPurchases.count == 1 && ledger.effects.periodEnds.count == 2)
        history.refund(renewal, at: day(32))
        try ledger.record(history.evidence(renewal, signedAt: day(33)), at: day(33))
        #expect(ledger.effects.periodEnds.count == 2)
        // Its owner gets nothing that is not for sale.
        let gold = history.resubscribe(subscription, to: "gold", at: day(70))
        try ledger.record(history.evidence(gold, signedAt: day(71)), at: day(71))
        #expect(ledger.events.map(\.kind) == [.granted, .granted, .revoked])
    }

    @Test func `R6: nothing is transferred between two purchases of one account that turn out to be one`() throws {
        for (second, transfers) in [("anna", 0), ("ben", 1)] {
            let ledger = MemoryLedger()
            #expect(try ledger.redeem(coins("1"), for: "anna", at: day(1)) == [.granted])
            #expect(try ledger.redeem(coins("2"), for: second, at: day(2)) == [.granted])
            let joining = try coins("3") { ($0.originalTransactionID, $0.previousOriginalTransactionID) = ("2", "1") }
            ledger.record(joining, at: day(3))
            #expect(ledger.transfers.count == transfers)
        }
    }

    @Test func `R6: joined lineages are loaded whole, and a claim rests on what both of an account did`() throws {
        let joining = try coins("3") { ($0.originalTransactionID, $0.previousOriginalTransactionID) = ("2", "1") }
        for (second, basis) in [("anna", ["1", "2"]), ("ben", ["1"])] {
            var lineages = Lineages()
            for (id, account) in [(1, "anna"), (2, second)] as [(Int64, String)] {
                var lineage = Lineage(id: id)
                // The second transaction was not looked up.
                for name in ["\(id)", "\(id)0"] {
                    let purchase = try #require(coins(name).purchases.first)
                    lineage.record(purchase.signed, try #require(purchase.keys?.transaction))
                }
                lineage.owner = Lineage.Ownership(
                    account: account, claimedAt: day(Double(id)), order: .number(id),
                    basis: ClaimBasis(isLasting: false, [UTF8Bytes("\(id)")]))
                lineage.division = Division(original: UTF8Bytes("\(id)"), areTokensNoted: true, nil)
                // What was granted without evidence was not looked up, either.
                let granted = key("\(id)9", Minted.bundleID)
                lineage.grants[granted] = Grant(
                    transaction: granted, account: account, productID: "coins", quantity: 1)
                lineages.byID[id] = lineage
                let first = try #require(joining.keys.first { $0.transactionID.string == "\(id)" })
                lineages.identifiers[first] = id
            }
            lineages.gather(Gathering([joining], joining.keys, lineages.identifiers, members: []))
            #expect(
                lineages.byID.keys.sorted() == [1] && lineages.structure.merged.map { [$0.from, $0.into] } == [[2, 1]])
            #expect(lineages.structure.undivided.sorted() == [1, 2] && lineages.byID[1]?.division == nil)
            #expect(lineages.structure.inserted.map(\.transactionID.string) == ["3"])
            #expect(
                lineages.identifiers.keys.map(\.transactionID.string).sorted() == [
                    "1", "10", "19", "2", "20", "29", "3",
                ])
            #expect(lineages.identifiers.values.allSatisfy { $0 == 1 })
            #expect(lineages.byID[1]?.owner?.basis?.transactions.map(\.string).sorted() == basis)
            #expect(lineages.structure.transfers.count == (second == "anna" ? 0 : 1))
        }
    }

    @Test(
        arguments: [
            (.number(1), 5, .number(2), 1), (.number(2), 5, .last, 1), (.last, 1, .last, 5),
            (.stated, 3, .number(1), 5),
            (.number(1), 5, .stated, 6), (.stated, 3, .stated, 4), (.number(0), 1, .number(0), 5),
        ] as [(ClaimOrder, Double, ClaimOrder, Double)])
    func `R6: the claim with the lower number is first, and one with a stated date by its date`(
        _ first: ClaimOrder, _ date: Double, _ second: ClaimOrder, _ later: Double
    ) {
        func lineage(_ id: Int64, _ order: ClaimOrder, _ date: Double) -> Lineage {
            var lineage = Lineage(id: id)
            lineage.owner = Lineage.Ownership(account: "anna", claimedAt: day(date), order: order, basis: nil)
            return lineage
        }
        for (one, other) in [(1, 2), (2, 1)] as [(Int64, Int64)] {
            let lineages = [lineage(one, first, date), lineage(other, second, later), Lineage(id: 0)]
            for lineages in [lineages, lineages.reversed()] { #expect(ClaimOrder.first(lineages)?.id == one) }
        }
        // Nobody claimed any of them.
        for ids in [[5, 9], [9, 5]] as [[Int64]] { #expect(ClaimOrder.first(ids.map { Lineage(id: $0) })?.id == 5) }
    }

    @Test func `what is revoked is not notified again when its end changes`() throws {
        let ledger = MemoryLedger()
        for (signed, end, isRevoked) in [(0.0, 30.0, false), (4, 30, true), (5, 35, true)] {
            var builder = period("1", of: "1", from: 0, signed: signed)
            builder.expiresDate = day(end)
            if isRevoked { (builder.revocationDate, builder.revocationReason) = (day(4), .other) }
            ledger.redeem(try Minted.evidence(builder), for: "anna", at: day(signed))
        }
        #expect(ledger.events.map(\.kind) == [.granted, .revoked])
    }

    // MARK: Evidence

    private func record(_ lineage: inout Lineage, _ change: (inout Purchase) -> Void) throws {
        lineage.record(try coins("1", change).purchases[0].signed, key("1"))
    }

    @Test func `of more than 64 contents of a transaction, the one that was signed first is displaced`() throws {
        var lineage = Lineage(id: 1)
        // Two were signed first, and neither arrived first.
        let dates = (1...64).map { Double($0 == 30 ? 2 : $0 == 1 ? 30 : $0) }
        for (index, date) in dates.enumerated() {
            try record(&lineage) { ($0.quantity, $0.signedDate) = (index + 1, day(date)) }
        }
        func quantities() -> Set<Int> { Set(lineage.evidence[key("1")]?.compactMap(\.purchase.quantity) ?? []) }
        try record(&lineage) { ($0.quantity, $0.signedDate) = (900, day(1.5)) }
        #expect(quantities() == Set(1...64))
        // Of those signed at once, the one recorded last stays.
        try record(&lineage) { ($0.quantity, $0.signedDate) = (901, day(2)) }
        #expect(quantities() == Set(1...64).subtracting([2]).union([901]))
        try record(&lineage) { ($0.quantity, $0.signedDate) = (902, day(900)) }
        #expect(quantities() == Set(1...64).subtracting([2, 30]).union([901, 902]))
    }

    @Test func `only another content, or the newer of several, can have a token that is not noted`() throws {
        var lineage = Lineage(id: 1)
        lineage.division = Division(original: UTF8Bytes("1"), areTokensNoted: true, nil)
        /// Whether the tokens are still noted after a content of a date is recorded.
        func areTokensNoted(_ quantity: Int, _ date: Double) throws -> Bool? {
            lineage.division?.areTokensNoted = true
            try record(&lineage) { ($0.quantity, $0.signedDate) = (quantity, day(date)) }
            return lineage.division?.areTokensNoted
        }
        let steps = [(1, 1.0), (1, 2), (2, 3), (2, 3), (2, 2), (1, 4)]
        #expect(try steps.map(areTokensNoted) == [false, true, false, true, true, false])
        #expect(lineage.evidence[key("1")]?.map(\.purchase.signedDate) == [day(4), day(3)])
    }

    @Test func `what is signed again keeps the type that was stated, and is no other content`() throws {
        var lineage = Lineage(id: 1)
        try record(&lineage) { _ in }
        lineage.keep(.nonRenewing(days: 30), of: key("1"))
        try record(&lineage) { $0.signedDate = day(1) }
        try record(&lineage) { $0.quantity = 2 }
        #expect(
            lineage.evidence[key("1")]?.map(\.purchase.statedType) == [.nonRenewing(days: 30), .nonRenewing(days: 30)])
        lineage.keep(.nonRenewing(days: 60), of: key("1"))
        #expect(
            lineage.evidence[key("1")]?.map(\.purchase.statedType) == [.nonRenewing(days: 60), .nonRenewing(days: 60)])
    }

    @Test func `what is signed again is one content, with the price signed last, and the later expiration`() throws {
        var lineage = Lineage(id: 1)
        lineage.division = Division(original: UTF8Bytes("1"), areTokensNoted: true, nil)
        // Versions before 0.4.0 stored no price.
        try record(&lineage) { ($0.price, $0.currency, $0.evidenceExpirationDate) = (nil, nil, day(20)) }
        #expect(lineage.division?.areTokensNoted == false)
        try record(&lineage) { ($0.price, $0.currency, $0.evidenceExpirationDate) = (990, "EUR", day(10)) }
        try record(&lineage) {
            ($0.price, $0.currency, $0.signedDate) = (1990, "USD", day(1)); $0.evidenceExpirationDate = day(10)
        }
        let known = try #require(lineage.evidence[key("1")])
        #expect(known.count == 1 && known[0].purchase.price == 1990 && known[0].purchase.currency == "USD")
        #expect(known[0].purchase.evidenceExpirationDate == day(20))
    }

    @Test func `of renewal information of one moment, the order of arrival decides nothing`() throws {
        let pieces = try [AutoRenewStatus.on, .off].map { status in
            var builder = JWSBuilder.renewalInfo(
                productID: "monthly", originalTransactionID: "1", signedDate: day(1))
            builder.autoRenewStatus = status
            return try #require(Minted.evidence(builder).renewals.first?.renewal)
        }
        let known = [pieces, pieces.reversed()].map { pieces in
            var lineages = Lineages()
            for piece in pieces { lineages.record(piece) }
            return lineages.renewals.values.map(\.autoRenewStatus)
        }
        #expect(known[0] == known[1] && known[0].count == 1)
        // The tables hold no longer id.
        for (count, isStored) in [(255, true), (256, false)] {
            var renewal = SubscriptionRenewal(
                originalTransactionID: String(repeating: "1", count: count), signedDate: day(1))
            renewal.environment = .production
            #expect((RenewalKey(renewal) != nil) == isStored)
        }
        // A lineage keeps what is known of another that turns out to be the same.
        var (one, other) = (Lineage(id: 1), Lineage(id: 2))
        other.renewals = pieces
        one.formUnion(other)
        #expect(one.renewals.count == 2)
    }

    // MARK: Large subscriptions

    @Test func `a grant without evidence ends a division, and a transfer compares all tokens anew`() throws {
        func decision() throws -> LedgerDecision {
            var lineage = Lineage(id: 1)
            lineage.division = Division(original: UTF8Bytes("1"), areTokensNoted: true, nil)
            lineage.owner = Lineage.Ownership(account: "anna", claimedAt: day(0), order: .number(1), basis: .lasting)
            var lineages = Lineages()
            (lineages.byID, lineages.identifiers) = ([1: lineage], [key("1"): 1])
            return LedgerDecision(Submission(), about: [1], in: lineages, MemoryLedger().rules, .transfer, at: day(1))
        }
        var granting = try decision()
        let grant = Grant(transaction: key("1"), account: "anna", productID: "monthly", quantity: 1)
        let isGranted = granting.grantWithoutEvidence(grant, in: .stated, at: day(0))
        #expect(isGranted && granting.lineages.structure.undivided == [1])
        var transferring = try decision()
        transferring.transfer(from: "anna", to: "ben", reason: "test", moving: [])
        #expect(transferring.lineages.byID[1]?.division?.areTokensNoted == false)
    }

    @Test func `a part waits for a sale, tokens for a deleted account, and contradicting evidence ends a division`()
        throws
    {
        let token = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01")!
        func decided(_ original: String = "1", forSale: [String]? = nil) throws -> Lineages {
            var builder = period("1", of: "1", from: 0)
            builder.appAccountToken = token.description
            let submission = Submission(try Minted.evidence(builder))
            var lineage = Lineage(id: 1)
            lineage.division = Division(original: UTF8Bytes(original), areTokensNoted: true, [:])
            lineage.owner = Lineage.Ownership(account: "anna", claimedAt: day(0), order: .number(1), basis: .lasting)
            var lineages = Lineages()
            lineages.byID[1] = lineage
            for key in submission.keys { lineages.identifiers[key] = 1 }
            lineages.holders = [token: TokenHolder(account: "deleted", isRetired: true)]
            var decision = LedgerDecision(
                submission, about: [1], in: lineages, MemoryLedger(forSale: forSale).rules, .redeem, at: day(1))
            decision.settle()
            return decision.lineages
        }
        for (forSale, isWaiting) in [(nil, false), (["other"], true)] as [([String]?, Bool)] {
            let division = try #require(decided(forSale: forSale).byID[1]?.division)
            #expect(!division.areTokensNoted)
            let changes = division.periods?.values.map(\.changesAt)
            #expect((changes == [Instant.distantPast.millisecondsSince1970]) == isWaiting)
        }
        let contradicted = try decided("9")
        #expect(contradicted.structure.undivided == [1] && contradicted.byID[1]?.division == nil)
    }

    @Test func `a period with a date that no calendar has divides nothing`() throws {
        let begin = try #require(Minted.evidence(period("1", of: "1", from: 0)).purchases.first?.purchase)
        #expect(SubscriptionPeriod([begin]) != nil)
        for milliseconds in [Int64.min, -(1 << 53), 1 << 53, .max] {
            var purchase = begin
            purchase.expiresDate = Instant(millisecondsSince1970: milliseconds)
            #expect(SubscriptionPeriod([purchase]) == nil)
            (purchase.purchaseDate, purchase.expiresDate) = (Instant(millisecondsSince1970: milliseconds), day(1))
            #expect(SubscriptionPeriod([purchase]) == nil)
        }
    }

    // MARK: Values

    @Test func `owners and errors are the same only if every part is, and text is compared by its bytes`() {
        let owner = Lineage.Ownership(account: "é", claimedAt: day(1), order: .last, basis: .lasting)
        var others = [Lineage.Ownership](repeating: owner, count: 4)
        others[0].account = "e\u{301}"
        others[1].claimedAt = day(2)
        others[2].order = .stated
        others[3].basis = nil
        #expect(owner == owner && others.allSatisfy { $0 != owner })
        let error = LedgerError(.notFound, "é")
        #expect(error == LedgerError(.notFound, "é") && Set([error, LedgerError(.notFound, "é")]).count == 1)
        #expect(error != LedgerError(.notFound, "e\u{301}") && error != LedgerError(.invalidText, "é"))
        #expect("\(error)".hasSuffix("é") && !"\(LedgerError(.notFound, ""))".hasSuffix(" "))
    }

    @Test func `keys are ordered by environment, app and id`() {
        let keys = [
            key("2", "a", .production), key("1", "b", .production), key("2", "b", .production), key("1", "a", .sandbox),
        ]
        #expect(keys.reversed().sorted() == keys && [keys[2], keys[0], keys[3], keys[1]].sorted() == keys)
        let renewals = [(.production, "1"), (.production, "2"), (.sandbox, "1")].map {
            (environment: AppStoreEnvironment, id) in
            RenewalKey(environment: environment, originalTransactionID: UTF8Bytes(id))
        }
        #expect(
            renewals.reversed().sorted() == renewals && [renewals[1], renewals[2], renewals[0]].sorted() == renewals)
        for (left, first) in renewals.enumerated() {
            for (right, second) in renewals.enumerated() { #expect((first < second) == (left < right)) }
        }
    }

    @Test func `a lineage gives no access if Apple signed all of it as consumables, or nothing`() throws {
        var lineage = Lineage(id: 1)
        #expect(lineage.givesNoAccess)
        for (id, type, givesNone) in [("1", ProductType.consumable, true), ("2", .nonConsumable, false)] {
            let purchase = try #require(coins(id) { $0.productType = type }.purchases.first)
            lineage.record(purchase.signed, try #require(purchase.keys?.transaction))
            #expect(lineage.givesNoAccess == givesNone)
        }
        lineage = Lineage(id: 1)
        lineage.division = Division(original: UTF8Bytes("1"), areTokensNoted: true, nil)
        #expect(!lineage.givesNoAccess)
    }

    @Test func `each purchase of a receipt has its signer`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = (0..<2).map { _ in history.buyConsumable("coins", at: day(0)) }
        let receipt = try Minted.evidence(history.receipt(signedAt: day(1), of: coins))
        let signer = try #require(receipt.signedPurchases.first).verification.signer
        #expect(Submission(receipt).purchases.map(\.signed.signer) == ["\(signer)", "\(signer)"])
    }

    @Test func `a purchase whose app, product or member the tables cannot hold has no keys`() throws {
        let long = String(repeating: "x", count: 256)
        func keys(_ change: (inout Purchase) -> Void) throws -> PurchaseKeys? {
            try coins("1", change).purchases[0].keys
        }
        #expect(try keys { _ in } != nil)
        #expect(try keys { $0.productID = long } == nil && keys { $0.bundleID = long } == nil)
        #expect(try keys { ($0.ownershipType, $0.appTransactionID) = (.assigned, "7") } != nil)
        #expect(try keys { ($0.ownershipType, $0.appTransactionID) = (.assigned, long) } == nil)
        #expect(try keys { $0.originalTransactionID = "bought-1" } == nil)
    }

    @Test func `evidence and grants of joined lineages are those of both, and the first one's notes stay`() throws {
        let token = try #require(AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01"))
        let another = try #require(AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a02"))
        var (one, other) = (Lineage(id: 1), Lineage(id: 2))
        for (id, quantity) in [("1", 1), ("2", 2)] {
            let purchase = try #require(coins(id) { $0.quantity = quantity }.purchases.first)
            other.record(purchase.signed, try #require(purchase.keys?.transaction))
        }
        let first = try #require(coins("1").purchases.first)
        one.record(first.signed, try #require(first.keys?.transaction))
        (one.storedTransactionCount, other.storedTransactionCount) = (1, 2)
        (one.tokenNotes[token], other.tokenNotes[token]) = (.waiting, .reported)
        other.tokenNotes[another] = .reported
        one.formUnion(other)
        #expect(one.evidence.values.map(\.count).sorted() == [1, 2] && one.storedTransactionCount == 3)
        #expect(one.tokenNotes == [token: .waiting, another: .reported])
        var member = Lineage(id: 3)
        let moved = try #require(first.keys?.transaction)
        one.grants[moved] = Grant(transaction: moved, account: "anna", productID: "coins", quantity: 1)
        one.move(moved, to: &member)
        #expect(member.evidence[moved]?.count == 2 && member.grants[moved] != nil && member.storedTransactionCount == 1)
        #expect(one.evidence[moved] == nil && one.grants.isEmpty && one.storedTransactionCount == 2)
    }
}
