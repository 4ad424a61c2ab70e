import AppStoreReceiptTesting
import Sampling
import SeededRandom
import SpanASN1
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// The keys under which purchases are granted once.
@Suite struct PurchaseKeyTests {
    private func item(_ purchases: Purchase..., id: String = "1") throws -> Entitlements.Item {
        try #require(Entitlements(trustingStored: purchases, at: day(15)).items.first { $0.transactionID == id })
    }

    /// As a receipt has it: in seconds, and without what receipts cannot say.
    private func receipt(_ transaction: Transaction) throws -> VerifiedEvidence {
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [transaction.record])
        builder.creationDate = day(14)
        return .receipt(try Self.verifier.get().verifyReceipt(builder.signed(by: Minted.authority)))
    }

    private func received(_ transaction: Transaction) throws -> Purchase {
        try #require(receipt(transaction).purchases.first).purchase
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

    @Test func `only what has no original transaction id has no key, until other evidence has it`() throws {
        var record = Transaction.period("1", 10..<40).record
        record.originalTransactionID = nil
        let builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [record])
        let bare = try #require(Minted.verified(builder).purchases.first).purchase
        let item = try item(bare)
        #expect(item.purchaseKey == nil && item.formerPurchaseKeys.isEmpty)
        #expect(Entitlements(trustingStored: [bare], at: day(15)).json.contains(#""purchase_key":null,"#))
        #expect(try Purchase(storedJSON: bare.storedJSON).lacksOriginalTransactionID == true)
        let known = try Transaction.period("1", 10..<40).purchase()
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
        #expect(items.map(\.formerPurchaseKeys) == Array(repeating: [alone[1], alone[2]], count: 3))
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

    // MARK: A store

    /// What an account bought or has as a member, and a piece of evidence of it.
    private struct Piece {
        let account: String
        let evidence: VerifiedEvidence
    }

    /// A history of a buyer and members, and how many purchases each has.
    private func history(
        _ generator: inout SeededGenerator
    ) throws -> (pieces: [Piece], counts: [String: Int], dates: [Instant]) {
        var pieces: [Piece] = []
        var counts: [String: Int] = [:]
        var next = 100
        func id() -> String {
            next += 1
            return "\(next)"
        }
        func add(_ transaction: Transaction, for account: String, fromReceipt: Bool) throws {
            var transactions = [transaction]
            if transaction.end != nil, Bool.random(using: &generator) {
                // An extension.
                transactions.append(transaction)
                transactions[1].end = transaction.end.map { $0 + 0.4 }
            }
            for transaction in transactions {
                if Bool.random(using: &generator) || !fromReceipt {
                    pieces.append(Piece(account: account, evidence: try transaction.verified()))
                }
                if fromReceipt, Bool.random(using: &generator) {
                    pieces.append(Piece(account: account, evidence: try receipt(transaction)))
                }
            }
        }
        let originalOfAll = id()
        let kinds: [(String, OwnershipType)] = [
            ("buyer", .purchased), ("group 1", .assigned), ("group 2", .assigned), ("family 1", .familyShared),
            ("family 2", .familyShared),
        ]
        let starts = (0..<3).map { Double($0) * 30 + Double.random(in: 0..<0.9, using: &generator) }
        for (index, (account, ownership)) in kinds.enumerated() {
            for start in starts {
                var period = Transaction.period(id(), start..<start + 28)
                (period.original, period.ownership) = (originalOfAll, ownership)
                period.item = Bool.random(using: &generator) ? nil : id()
                period.appTransaction = ownership == .purchased ? nil : "7\(index)"
                counts[account, default: 0] += 1
                // A copy of the same date needs no line item to be the same. Nothing tells what a receipt has from the
                // buyer's where another transaction alone says that the period is a member's.
                let before = pieces.count
                let hasCopy = Bool.random(using: &generator)
                try add(period, for: account, fromReceipt: ownership == .purchased || !hasCopy)
                if ownership != .purchased || pieces.count == before {
                    pieces.append(Piece(account: account, evidence: try period.verified()))
                }
                if hasCopy {
                    var copy = period
                    copy.id = id()
                    if period.item != nil { copy.start += 0.5 }
                    try add(copy, for: account, fromReceipt: ownership == .purchased)
                }
                if ownership == .purchased, Bool.random(using: &generator) {
                    var added = period
                    (added.id, added.item, added.start, added.reason) = (id(), id(), start + 8, .seatAddition)
                    try add(added, for: account, fromReceipt: false)
                }
            }
            guard ownership != .assigned else { continue }
            var pro = Transaction.nonConsumable(id(), Double(index))
            (pro.ownership, pro.appTransaction) = (ownership, ownership == .purchased ? nil : "7\(index)")
            var copy = pro
            (copy.id, copy.original, copy.start) = (id(), pro.id, 40)
            counts[account, default: 0] += 1
            pieces.append(Piece(account: account, evidence: try pro.verified()))
            try add(copy, for: account, fromReceipt: false)
            guard ownership == .purchased else { continue }
            for _ in 0..<2 {
                counts[account, default: 0] += 1
                let coins = Transaction.consumable(id(), 3, quantity: 2)
                pieces.append(Piece(account: account, evidence: try coins.verified()))
                pieces.append(Piece(account: account, evidence: try receipt(coins)))
            }
        }
        return (pieces, counts, starts.map { day($0 + 20) })
    }

    @Test(arguments: 0..<12)
    func `each purchase is granted once, to whom it belongs, in whatever order its evidence arrives`(number: Int) throws
    {
        var generator = SeededGenerator(seed: Sampling.seed &+ UInt64(number))
        let (pieces, counts, dates) = try history(&generator)
        for _ in 0..<3 {
            var ledger = Ledger(catalog: ["basic": .autoRenewable, "pro": .nonConsumable, "coins": .consumable])
            var granted: [String: Int] = [:]
            func redeem(_ piece: Piece) {
                ledger.record(piece.evidence)
                for date in dates {
                    for purchase in piece.evidence.purchases.map(\.purchase) {
                        let outcome = ledger.redeem(purchase, for: piece.account, at: date)
                        if case .granted = outcome { granted[piece.account, default: 0] += 1 }
                    }
                }
            }
            for piece in pieces.shuffled(using: &generator) { redeem(piece) }
            // What a member's receipt was taken for is the buyer's again once a JWS has named the member.
            for _ in 0..<2 { for piece in pieces { redeem(piece) } }
            #expect(granted == counts, "seed \(Sampling.seed) + \(number)")
        }
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
        #expect(items.allSatisfy { $0.formerPurchaseKeys.count == PurchaseKeys.maximumFormerCount })
    }
}
