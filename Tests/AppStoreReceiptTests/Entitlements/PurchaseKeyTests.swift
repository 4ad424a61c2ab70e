import AppStoreReceiptTesting
import Sampling
import SeededRandom
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// The keys under which purchases are granted once.
@Suite struct PurchaseKeyTests {
    private func item(_ purchases: Purchase..., id: String = "1") throws -> Entitlements.Item {
        try #require(Entitlements(trustingStored: purchases, at: day(15)).items.first { $0.transactionID == id })
    }

    private static func receipt(_ records: [ReceiptBuilder.Purchase]) throws -> VerifiedEvidence {
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: records)
        builder.creationDate = day(14)
        return .receipt(try verifier.get().verifyReceipt(builder.signed(by: Minted.authority)))
    }

    /// As a receipt has it: in seconds, and without what receipts cannot say.
    private func received(_ transaction: Transaction) throws -> Purchase {
        try #require(Self.receipt([transaction.record]).purchases.first).purchase
    }

    private static let verifier = Result { try Minted.verifier() }

    @Test func `a key tells environments, apps, products, originals, periods and owners apart, and nothing else`()
        throws
    {
        var transaction = Transaction.period("1", 10..<40)
        transaction.start += 0.123 / 86_400
        let purchase = try transaction.purchase()
        let key = try #require(item(purchase).purchaseKey)
        #expect(key.hasPrefix("production:com.example.app:") && key.utf8.count <= 255)
        #expect(try item(received(transaction)).purchaseKey == key)
        let same: [(inout Purchase) -> Void] = [
            { $0.webOrderLineItemID = nil }, { $0.expiresDate = day(50) }, { $0.quantity = 3 }, { $0.quantity = nil },
            { $0.signedDate = day(900) }, { $0.productType = nil }, { $0.ownershipType = nil },
            { $0.appTransactionID = "7" }, { $0.purchaseDate = transaction.record.purchaseDate ?? day(0) },
        ]
        for (index, change) in same.enumerated() {
            var other = purchase
            change(&other)
            #expect(try item(other).purchaseKey == key, "\(index)")
        }
        let others: [(inout Purchase) -> Void] = [
            { $0.environment = .sandbox }, { $0.environment = nil }, { $0.bundleID = "com.example.App" },
            { $0.bundleID = nil }, { $0.productID = "Basic" }, { $0.originalTransactionID = "2" },
            { $0.purchaseDate = $0.purchaseDate + .seconds(1) }, { $0.ownershipType = .familyShared },
            { ($0.ownershipType, $0.appTransactionID) = (.familyShared, "7") }, { $0.ownershipType = .assigned },
            { ($0.ownershipType, $0.appTransactionID) = (.assigned, "7") },
            { ($0.ownershipType, $0.appTransactionID) = (.assigned, "8") },
            // Of no period.
            { $0.expiresDate = nil }, { ($0.productType, $0.expiresDate) = (.nonConsumable, nil) },
        ]
        let keys = try others.map { change in
            var other = purchase
            change(&other)
            return try item(other).purchaseKey
        }
        // What has no period has one key, whatever its type is.
        #expect(Set(keys).count == others.count - 1 && !keys.contains(key) && !keys.contains(nil))
    }

    @Test func `the parts of a key cannot be taken for each other`() throws {
        var purchase = try Transaction.nonConsumable("1", 10).purchase()
        (purchase.productID, purchase.originalTransactionID) = ("a1:", "b")
        let one = try item(purchase).purchaseKey
        (purchase.productID, purchase.originalTransactionID) = ("a", "1:b")
        #expect(try item(purchase).purchaseKey != one)
    }

    @Test(arguments: ["com.example.caf\u{E9}\n", String(repeating: "b", count: 300), "\u{1F600}", ""])
    func `a key is short and ASCII, whatever the ids are`(bundleID: String) throws {
        var purchase = try Transaction.nonConsumable("1", 10).purchase()
        (purchase.bundleID, purchase.productID) = (bundleID, String(repeating: "\u{E9}", count: 10_000))
        purchase.environment = .localTesting
        let key = try #require(item(purchase).purchaseKey)
        #expect(key.utf8.count <= 255 && key.utf8.allSatisfy { 0x21...0x7E ~= $0 })
    }

    @Test(arguments: [nil, ""])
    func `only what has no original transaction id has no key, until other evidence has it`(original: String?) throws {
        var record = Transaction.period("1", 10..<40).record
        record.originalTransactionID = original
        let builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [record])
        let bare = try #require(Minted.verified(builder).purchases.first).purchase
        let item = try item(bare)
        #expect(item.purchaseKey == nil && item.formerPurchaseKeys.isEmpty)
        #expect(Entitlements(trustingStored: [bare], at: day(15)).json.contains(#""purchase_key":null,"#))
        #expect(try Purchase(storedJSON: bare.storedJSON).lacksOriginalTransactionID == true)
        let known = try Transaction.period("1", 10..<40).purchase(signed: 1)
        for purchases in [[bare, known], [known, bare]] {
            let items = Entitlements(trustingStored: purchases, at: day(15)).items
            #expect(try items.map(\.purchaseKey) == [self.item(known).purchaseKey])
        }
    }

    @Test func `restored copies and added seats have the key of the earliest known transaction`() throws {
        let first = Transaction.seats("1", 0..<30, 8)
        var (copy, added) = (first, Transaction.seats("3", 10..<30, 3, reason: .seatAddition))
        (copy.id, copy.start) = ("2", 5)
        let purchases = try [first, copy, added].map { try $0.purchase() }
        let alone = try zip(purchases, ["1", "2", "3"]).map { try #require(item($0, id: $1).purchaseKey) }
        #expect(Set(alone).count == 3)
        let items = Entitlements(trustingStored: purchases, at: day(15)).items
        #expect(items.map(\.purchaseKey) == [alone[0], alone[0], alone[0]])
        // Those of the transaction itself are the first.
        let former = [[alone[1], alone[2]], [alone[1], alone[2]], [alone[2], alone[1]]]
        #expect(items.map(\.formerPurchaseKeys) == former)
        let later = Entitlements(trustingStored: purchases.dropFirst(), at: day(15)).items
        #expect(later.map(\.purchaseKey) == [alone[1], alone[1]])
        let json = Entitlements(trustingStored: purchases, at: day(15)).json
        #expect(
            json.contains(#""purchase_key":"\#(alone[0])","former_purchase_keys":["\#(alone[1])","\#(alone[2])"],"#))
    }

    @Test(arguments: [OwnershipType.familyShared, .assigned])
    func `what a receipt has is the buyer's until a JWS says that it is a member's`(ownership: OwnershipType) throws {
        var transaction = Transaction.period("1", 10..<40)
        let buyers = try item(received(transaction)).purchaseKey
        (transaction.ownership, transaction.appTransaction) = (ownership, "70")
        let members = try transaction.purchase()
        for purchases in try [[members], [members, received(transaction)], [received(transaction), members]] {
            let item = try #require(Entitlements(trustingStored: purchases, at: day(15)).items.first)
            #expect(item.purchaseKey != buyers && item.formerPurchaseKeys.contains { $0 == buyers })
        }
        // Before 2025, Apple signed no app transaction.
        var old = members
        old.appTransactionID = nil
        let (before, now) = try (item(old), item(members))
        #expect(before.purchaseKey != now.purchaseKey && before.purchaseKey != buyers)
        if ownership == .familyShared { #expect(now.formerPurchaseKeys.contains { $0 == before.purchaseKey }) }
    }

    @Test func `a migration renames the original transaction, and the old key is known`() throws {
        let old = try Transaction.period("1", 10..<40).purchase()
        var new = old
        (new.originalTransactionID, new.previousOriginalTransactionID) = ("new", old.originalTransactionID)
        let key = try item(old).purchaseKey
        #expect(try item(new).purchaseKey != key && item(new).formerPurchaseKeys == [key])
    }

    @Test func `what was restored together has the date of the restoration, and its periods stay apart`() throws {
        let periods = [Transaction.period("1", 0..<30), .period("2", 30..<60), .period("3", 60..<90)]
        let restored = periods.map { period in
            var period = period
            period.start = 70
            return period
        }
        let own = try periods.map { try item($0.purchase(), id: $0.id).purchaseKey }
        let all = try restored.map { try item(received($0), id: $0.id).purchaseKey }
        #expect(Set(own + all).count == 6 && !all.contains(nil))
        // The earliest date that is known is that of the period, whatever was signed last.
        for signed in [1.0, 1000] {
            for (index, period) in zip(periods, restored).enumerated() {
                let purchases = try [period.0.purchase(signed: signed), received(period.1)]
                for purchases in [purchases, purchases.reversed()] {
                    let items = Entitlements(trustingStored: purchases, at: day(75)).items
                    #expect(items.map(\.purchaseKey) == [own[index]])
                    #expect(items.map(\.formerPurchaseKeys) == [[all[index]].compactMap(\.self)])
                }
            }
        }
    }

    @Test func `no former key of a purchase is the key of another`() throws {
        // Two periods whose copies were restored together, before either ended.
        var (copy, other) = (Transaction.period("2", 10..<30), Transaction.period("3", 10..<60))
        (copy.item, other.item) = ("91", "93")
        let purchases = try [Transaction.period("1", 0..<30), copy, other].map { try $0.purchase() }
        let items = Entitlements(trustingStored: purchases, at: day(15)).items
        #expect(Set(items.map(\.purchaseKey)).count == 2)
        #expect(items.allSatisfy { $0.formerPurchaseKeys.isEmpty })
        #expect(try item(copy.purchase(), id: "2").purchaseKey == items[2].purchaseKey)
        // Its key before a migration.
        var migrated = try Transaction.period("4", 10..<60).purchase()
        (migrated.originalTransactionID, migrated.previousOriginalTransactionID) = ("new", "1")
        #expect(try item(migrated, id: "4").formerPurchaseKeys == [items[2].purchaseKey])
        let both = Entitlements(trustingStored: [purchases[2], migrated], at: day(15)).items
        #expect(Set(both.map(\.purchaseKey)).count == 2 && both.allSatisfy { $0.formerPurchaseKeys.isEmpty })
    }

    @Test func `an app transaction of a member is not another's transaction`() throws {
        var (one, other) = (Transaction.period("70", 10..<40), Transaction.period("2", 10..<40))
        (one.ownership, other.ownership, other.appTransaction) = (.assigned, .assigned, "70")
        #expect(try item(one.purchase(), id: "70").purchaseKey != item(other.purchase(), id: "2").purchaseKey)
    }

    // MARK: A store

    /// What an account bought or has as a member, and a piece of evidence of it.
    private struct Piece {
        let account: String
        let evidence: VerifiedEvidence
    }

    /// A random history of a buyer and members. One group shares the buyer's original transaction.
    private struct History {
        private(set) var pieces: [Piece] = []
        /// How many purchases each account has.
        private(set) var counts: [String: Int] = [:]
        private(set) var dates: [Instant] = []
        private var generator: SeededGenerator
        private var lastID = 100
        /// All that the buyer has, which each of their receipts can have.
        private var records: [ReceiptBuilder.Purchase] = []

        init(seed: UInt64) throws {
            generator = SeededGenerator(seed: seed)
            let original = id()
            let starts = (0..<3).map { Double($0) * 30 + Double.random(in: 0..<0.9, using: &generator) }
            dates = starts.map { day($0 + 20) }
            let owners: [(String, OwnershipType)] = [
                ("buyer", .purchased), ("group 1", .assigned), ("group 2", .assigned), ("family 1", .familyShared),
                ("family 2", .familyShared),
            ]
            for (index, (account, ownership)) in owners.enumerated() {
                let app = ownership == .purchased ? nil : "7\(index)"
                for start in starts { try addPeriod(start, original, account, ownership, app) }
                // An invited member has a seat, and nothing else.
                guard ownership != .assigned else { continue }
                try addNonConsumable(Double(index), account, ownership, app)
                if ownership == .purchased { for _ in 0..<2 { try addConsumable(account) } }
            }
            for _ in 0..<3 where !records.isEmpty {
                let kept = records.shuffled(using: &generator).prefix(.random(in: 1...records.count, using: &generator))
                pieces.append(Piece(account: "buyer", evidence: try PurchaseKeyTests.receipt(Array(kept))))
            }
        }

        private mutating func id() -> String {
            lastID += 1
            return "\(lastID)"
        }

        private mutating func isSo() -> Bool { Bool.random(using: &generator) }

        private mutating func addPeriod(
            _ start: Double, _ original: String, _ account: String, _ ownership: OwnershipType, _ app: String?
        ) throws {
            counts[account, default: 0] += 1
            var period = Transaction.period(id(), start..<start + 28)
            (period.original, period.ownership, period.appTransaction) = (original, ownership, app)
            let isBuyers = ownership == .purchased
            let hasCopy = isSo()
            // A copy with another date is known by the line item alone.
            let isMoved = hasCopy && isSo()
            // Nothing tells what a receipt has from the buyer's where another transaction alone says that the period
            // is a member's.
            let form = Form(hasItem: isMoved, canBeRestored: isMoved || !hasCopy)
            try add(period, form, for: account, isNeeded: true, inReceipts: isBuyers || !hasCopy)
            if hasCopy {
                var copy = period
                copy.id = id()
                if isMoved { copy.start += 0.5 }
                try add(copy, form, for: account, inReceipts: isBuyers)
            }
            if isBuyers, isSo() {
                var added = period
                (added.id, added.item, added.start, added.reason) = (id(), id(), start + 8, .seatAddition)
                try add(added, Form(), for: account, inReceipts: false)
            }
        }

        private mutating func addNonConsumable(
            _ start: Double, _ account: String, _ ownership: OwnershipType, _ app: String?
        ) throws {
            counts[account, default: 0] += 1
            var level = Transaction.nonConsumable(id(), start)
            (level.ownership, level.appTransaction) = (ownership, app)
            var copy = level
            (copy.id, copy.original, copy.start) = (id(), level.id, 40)
            try add(level, Form(), for: account, isNeeded: true, inReceipts: ownership == .purchased)
            try add(copy, Form(), for: account, inReceipts: ownership == .purchased)
        }

        private mutating func addConsumable(_ account: String) throws {
            counts[account, default: 0] += 1
            let coins = Transaction.consumable(id(), 3, quantity: 2)
            try add(coins, Form(), for: account, isNeeded: true, inReceipts: true)
        }

        /// What evidence of a transaction can look like.
        private struct Form {
            /// Whether all evidence has the line item.
            var hasItem = false
            /// Whether receipts can have the date of a restoration.
            var canBeRestored = false
        }

        /// Adds evidence of a transaction: alone, in a notification and in receipts, before and after an extension and
        /// a restoration, with and without line item.
        ///
        /// - Parameters:
        ///   - isNeeded: Whether there is a JWS at least.
        ///   - inReceipts: Whether receipts can have it.
        private mutating func add(
            _ transaction: Transaction, _ form: Form, for account: String, isNeeded: Bool = false, inReceipts: Bool
        ) throws {
            var versions = [transaction]
            if let end = transaction.end, isSo() {
                versions.append(transaction)
                versions[1].end = end + 0.4
            }
            for (index, version) in versions.enumerated() {
                var version = version
                if !form.hasItem, isSo() { version.item = nil }
                if isNeeded && index == 0 || isSo() {
                    let evidence = isSo() ? try version.verified() : try PurchaseKeyTests.notification(version)
                    pieces.append(Piece(account: account, evidence: evidence))
                }
                guard inReceipts, isSo() else { continue }
                if form.canBeRestored, isSo() { version.start += 10 }
                if account == "buyer" { records.append(version.record) }
                pieces.append(Piece(account: account, evidence: try PurchaseKeyTests.receipt([version.record])))
            }
        }
    }

    private static func notification(_ transaction: Transaction) throws -> VerifiedEvidence {
        let jws = try Minted.jws(transaction.jws(signed: Transaction.signedDay))
        return try verifier.get().verify(
            Minted.jws(.notification(.offerRedeemed, bundleID: Minted.bundleID, transaction: jws)))
    }

    /// Parts that run at the same time.
    private static let partCount = 4

    @Test(arguments: 0..<partCount)
    func `each purchase is granted once, to whom it belongs, in whatever order its evidence arrives`(part: Int) throws {
        let count = Sampling.count("key-histories")
        if part == 0 { print("purchase keys: seed \(Sampling.seed), \(count) histories") }
        for number in stride(from: part, to: count, by: Self.partCount) {
            let history = try History(seed: Sampling.seed &+ UInt64(number))
            var generator = SeededGenerator(seed: Sampling.seed &+ UInt64(number))
            for _ in 0..<3 {
                var ledger = Ledger(catalog: ["basic": .autoRenewable, "pro": .nonConsumable, "coins": .consumable])
                var granted: [String: Int] = [:]
                func redeem(_ piece: Piece) {
                    ledger.record(piece.evidence)
                    for date in history.dates {
                        for purchase in piece.evidence.purchases.map(\.purchase) {
                            let outcome = ledger.redeem(purchase, for: piece.account, at: date)
                            if case .granted = outcome { granted[piece.account, default: 0] += 1 }
                        }
                    }
                }
                for piece in history.pieces.shuffled(using: &generator) { redeem(piece) }
                // What a member's receipt was taken for is the buyer's again once a JWS has named the member.
                for _ in 0..<2 { for piece in history.pieces { redeem(piece) } }
                #expect(granted == history.counts, "seed \(Sampling.seed) + \(number)")
            }
        }
    }

    /// A ledger, and what is granted and taken back.
    private struct Shop {
        private var ledger = Ledger(catalog: ["basic": .autoRenewable])

        mutating func redeem(_ evidence: VerifiedEvidence, for account: String) -> [Outcome] {
            ledger.record(evidence)
            return evidence.purchases.map { ledger.redeem($0.purchase, for: account, at: day(16)) }
        }

        mutating func record(_ evidence: VerifiedEvidence) { ledger.record(evidence) }

        /// Returns what changes for each account.
        mutating func changes(_ notification: VerifiedEvidence) -> [String: [Entitlements.Access]] {
            var changes: [String: [Entitlements.Access]] = [:]
            for account in ledger.record(notification) { changes[account] = update(account) }
            return changes
        }

        mutating func update(_ account: String) -> [Entitlements.Access] {
            Array(ledger.update(account, at: day(20)).changes.values)
        }
    }

    private static let granted = Entitlements.Access.active(until: day(40))

    /// A member's period, as a receipt has it, and as Apple notifies of it.
    private static func shared(
        _ id: String, item: String? = nil, start: Double = 10
    ) throws -> (receipt: VerifiedEvidence, notification: VerifiedEvidence) {
        var transaction = Transaction.period(id, start..<40)
        transaction.item = item
        let receipt = try receipt([transaction.record])
        (transaction.ownership, transaction.appTransaction) = (.familyShared, "70")
        return (receipt, try notification(transaction))
    }

    @Test func `a buyer keeps a purchase while a member has the key that a receipt gave them`() throws {
        let bought = Transaction.period("1", 10..<40)
        var (restored, refunded) = (bought, bought)
        (restored.start, refunded.revoked) = (15, 18)
        let member = try Self.shared("2")
        var shop = Shop()
        #expect(shop.redeem(member.receipt, for: "member") == [.granted(Self.granted)])
        shop.record(member.notification)
        #expect(try shop.redeem(Self.receipt([restored.record]), for: "buyer") == [.granted(Self.granted)])
        #expect(try shop.redeem(bought.verified(), for: "buyer") == [.alreadyYours(Self.granted)])
        #expect(try shop.changes(Self.notification(refunded))["buyer"] == [.revoked(at: day(18))])
        #expect(shop.redeem(member.receipt, for: "member") == [.alreadyYours(Self.granted)])
    }

    @Test func `a receipt of another account grants the owner nothing`() throws {
        var shop = Shop()
        #expect(try shop.redeem(Transaction.period("1", 10..<40).verified(), for: "buyer") == [.granted(Self.granted)])
        let member = try Self.shared("2", item: "92", start: 12)
        #expect(shop.redeem(member.receipt, for: "member") == [.belongsToAnother])
        #expect(shop.update("buyer").isEmpty)
    }

    @Test func `an update grants nothing again whose earlier transaction became known`() throws {
        var (first, second) = (Transaction.period("1", 10..<40), Transaction.period("2", 10..<40))
        var restored = second
        (first.item, second.original, restored.original, restored.start) = (nil, "1", "1", 15)
        var shop = Shop()
        #expect(try shop.redeem(Self.receipt([restored.record]), for: "buyer") == [.granted(Self.granted)])
        try shop.record(Self.notification(second))
        #expect(try shop.changes(Self.notification(first)) == ["buyer": []])
        #expect(try shop.redeem(first.verified(), for: "buyer") == [.alreadyYours(Self.granted)])
    }

    @Test func `former keys are bounded, so that the answer grows with the evidence and no faster`() throws {
        let first = Transaction.period("1", 10..<40)
        let copies = try (0..<2_000).map { index in
            var copy = try first.purchase()
            (copy.transactionID, copy.purchaseDate) = ("\(index)", copy.purchaseDate + .seconds(index))
            return copy
        }
        let items = Entitlements(trustingStored: copies, at: day(15)).items
        #expect(Set(items.map(\.purchaseKey)).count == 1)
        #expect(items.allSatisfy { $0.formerPurchaseKeys.count == 64 })
        // Together, they have the key under which any of them was granted alone.
        let all = Set(items.map(\.purchaseKey) + items.flatMap(\.formerPurchaseKeys))
        #expect(all.count == copies.count)
    }

    @Test func `a purchase of many transactions is granted once, whichever is known first`() throws {
        let copies = (0..<100).map { index in
            var copy = Transaction.period("\(index)", 10..<40)
            (copy.item, copy.start) = ("91", 10 + Double(index) / 86_400)
            return copy
        }
        for first in [0, 1, 64, 65, 66, 99] {
            var ledger = Ledger(catalog: ["basic": .autoRenewable])
            var outcomes: [Outcome] = []
            for evidence in try [Self.receipt([copies[first].record]), Self.receipt(copies.map(\.record))] {
                ledger.record(evidence)
                for purchase in evidence.purchases.map(\.purchase) {
                    outcomes.append(ledger.redeem(purchase, for: "anna", at: day(15)))
                }
            }
            let access = Entitlements.Access.active(until: day(40))
            #expect(outcomes[0] == .granted(access))
            #expect(outcomes.dropFirst().allSatisfy { $0 == .alreadyYours(access) }, "\(first)")
        }
    }
}
