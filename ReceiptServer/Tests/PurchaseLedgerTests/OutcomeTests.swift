import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// One purchase that an account submits, and the outcome.
struct OutcomeCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// Builds the purchase, and returns the transaction that is submitted.
    let purchase: @Sendable (inout PurchaseHistory) -> PurchaseHistory.Transaction
    var signed = 1.0
    var submitted = 1.0
    var token: String?
    let outcome: Outcome
    var quantity = 0

    static let token = "9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00"

    static let all: [OutcomeCase] = [
        OutcomeCase(
            testDescription: "a consumable", purchase: { $0.buyConsumable("coins", quantity: 3, at: day(0)) },
            outcome: .granted, quantity: 3),
        OutcomeCase(
            testDescription: "a non-consumable", purchase: { $0.buyNonConsumable("pro", at: day(0)) },
            outcome: .granted, quantity: 1),
        OutcomeCase(
            testDescription: "a period that is running",
            purchase: { $0.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod },
            outcome: .granted, quantity: 1),
        OutcomeCase(
            testDescription: "a subscription whose length only the app knows",
            purchase: { $0.buyNonRenewing("season", at: day(0)) }, outcome: .granted, quantity: 1),
        OutcomeCase(
            testDescription: "a period that has ended",
            purchase: { $0.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod },
            submitted: 31, outcome: .expired),
        OutcomeCase(
            testDescription: "a renewal that Apple charged a day early",
            purchase: {
                let subscription = $0.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
                return $0.renew(subscription, at: day(29))
            }, signed: 29, submitted: 29, outcome: .tooEarly),
        OutcomeCase(
            testDescription: "a refunded purchase",
            purchase: {
                let transaction = $0.buyNonConsumable("pro", at: day(0))
                $0.refund(transaction, at: day(0.5))
                return transaction
            }, outcome: .revoked),
        OutcomeCase(
            testDescription: "a consumable of which a third was refunded",
            purchase: {
                let transaction = $0.buyConsumable("coins", quantity: 3, at: day(0))
                $0.refund(transaction, at: day(0.5), percentage: 33_333)
                return transaction
            }, outcome: .granted, quantity: 2),
        OutcomeCase(
            testDescription: "a product that is not for sale",
            purchase: { $0.buyConsumable("other", at: day(0)) }, outcome: .notForSale),
        OutcomeCase(
            testDescription: "a purchase for the account's token",
            purchase: {
                $0.appAccountToken = token.lowercased()
                return $0.buyConsumable("coins", at: day(0))
            }, token: token, outcome: .granted, quantity: 1),
        OutcomeCase(
            testDescription: "a purchase for another token",
            purchase: {
                $0.appAccountToken = "00000000-1C5D-4B0E-8A57-3D0B8D1B6F00"
                return $0.buyConsumable("coins", at: day(0))
            }, token: token, outcome: .notYours),
        OutcomeCase(
            testDescription: "a purchase without a token",
            purchase: { $0.buyConsumable("coins", at: day(0)) }, token: token, outcome: .granted, quantity: 1),
    ]
}

/// A purchase that can be restored under another transaction id.
struct RestoredCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let purchase: @Sendable (inout PurchaseHistory) -> PurchaseHistory.Transaction

    static let all: [RestoredCase] = [
        RestoredCase(testDescription: "a non-consumable", purchase: { $0.buyNonConsumable("pro", at: day(0)) }),
        RestoredCase(
            testDescription: "a period, by its web order line item",
            purchase: { $0.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod }),
    ]
}

@Suite struct OutcomeTests {
    static let policy: LedgerPolicy = {
        var policy = LedgerPolicy()
        policy.productIDs = ["coins", "pro", "monthly", "yearly", "season"]
        return policy
    }()

    @Test(arguments: OutcomeCase.all, Place.available)
    func `each purchase has one outcome`(_ row: OutcomeCase, _ place: Place) throws {
        try place.withLedger(Self.policy) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = row.purchase(&history)
            let evidence = try history.evidence(transaction, signedAt: day(row.signed))
            let token = row.token.flatMap { AppAccountToken($0) }
            let first = try ledger.redeem(evidence, for: "anna", accountToken: token, at: day(row.submitted)).outcomes
            #expect(first.map(\.outcome) == [row.outcome])
            #expect(first.map(\.quantity) == [row.quantity])
            #expect(first.map(\.transactionID) == [transaction.transactionID])
            // Again: what was granted is not granted twice, and what was not has the same outcome.
            let again = try ledger.redeem(evidence, for: "anna", accountToken: token, at: day(row.submitted)).outcomes
            #expect(again.map(\.outcome) == [row.outcome == .granted ? .alreadyYours : row.outcome])
            #expect(again.map(\.quantity) == [row.quantity])
        }
    }

    @Test func `an app may not finish what can still become the account's`() {
        let open: [Outcome] = [.tooEarly, .notForSale, .notYours, .tokenMissing, .undetermined]
        #expect(Outcome.allCases.filter { !$0.mayFinish } == open)
    }

    @Test(arguments: Place.available)
    func `a purchase belongs to the account that submits it first`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(transaction, signedAt: day(0))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            let other = try ledger.redeem(evidence, for: "ben", at: day(1)).outcomes
            #expect(other.map(\.outcome) == [.belongsToAnother] && other.map(\.quantity) == [0])
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `renewals and restored transactions belong to the owner of the original`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            let restored = history.restore(renewal, at: day(32))
            let first = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            #expect(try ledger.outcomes(first, for: "anna", at: day(1)) == [.granted])
            let second = try history.evidence(renewal, signedAt: day(31))
            #expect(try ledger.outcomes(second, for: "anna", at: day(31)) == [.granted])
            #expect(try ledger.outcomes(second, for: "ben", at: day(31)) == [.belongsToAnother])
            // A restored transaction is the same period with a new id: it grants nothing new.
            let third = try history.evidence(restored, signedAt: day(32))
            #expect(try ledger.outcomes(third, for: "ben", at: day(32)) == [.belongsToAnother])
            #expect(try ledger.outcomes(third, for: "anna", at: day(32)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `an answer has the number by which it is older or newer than an event`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            func redeem(_ key: String?) throws -> Redemption {
                try ledger.redeem(evidence, for: "anna", idempotencyKey: key, at: day(1))
            }
            let first = try redeem("key")
            #expect(first.outcomes.map(\.quantity) == [3])
            history.refund(coins, at: day(0.5))
            for notification in try history.verifiedNotifications(through: day(1)) { try ledger.record(notification) }
            let sequences = try ledger.events().map(\.sequence)
            #expect(sequences.count == 2 && sequences[0] == first.sequence && sequences[1] > first.sequence)
            // The recorded answer has the old quantity, and says so.
            let repeated = try redeem("key")
            #expect(repeated.isRepeated && repeated.sequence == first.sequence)
            #expect(repeated.outcomes.map(\.quantity) == [3])
            let today = try redeem(nil)
            #expect(today.sequence == sequences[1] && today.outcomes.map(\.quantity) == [0])
        }
    }

    @Test func `when the program has ended, the file of SQLite is the whole ledger`() throws {
        let folder = try TemporaryFolder()
        let ledger = try PurchaseLedger(creating: folder.path + "/ledger.db")
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(0))
        #expect(try ledger.outcomes(evidence, for: "anna", at: day(0)) == [.granted])
        try ledger.completeFile()
        try FileManager.default.copyItem(atPath: folder.path + "/ledger.db", toPath: folder.path + "/copy.db")
        let copy = try PurchaseLedger(folder.path + "/copy.db")
        #expect(try copy.outcomes(evidence, for: "ben", at: day(0)) == [.belongsToAnother])
    }

    @Test(arguments: Place.available)
    func `a non-renewing subscription ends if its length is known`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.productTypes = ["season": .nonRenewing(days: 90)]
        try place.withLedger(policy) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyNonRenewing("season", at: day(0))
            let season = try history.evidence(transaction, signedAt: day(0))
            #expect(try ledger.outcomes(season, for: "anna", at: day(90)) == [.expired])
            #expect(try ledger.outcomes(season, for: "anna", at: day(89)) == [.granted])
            #expect(try ledger.entitlements(of: "anna", at: day(89)).items.map(\.access) == [.active(until: day(90))])
            #expect(try ledger.entitlements(of: "anna", at: day(90)).items.map(\.access) == [.expired(at: day(90))])
        }
    }

    @Test(arguments: Place.available)
    func `a restored non-consumable is granted once`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let original = history.buyNonConsumable("pro", at: day(0))
            let restored = (1...3).map { history.restore(original, at: day(Double($0))) }
            // The first that is submitted is a restored one.
            for (index, transaction) in (restored + [original]).enumerated() {
                let evidence = try history.evidence(transaction, signedAt: day(4))
                #expect(
                    try ledger.outcomes(evidence, for: "anna", at: day(4)) == [index == 0 ? .granted : .alreadyYours])
            }
        }
    }

    @Test(arguments: RestoredCase.all, Place.available)
    func `a restored copy is answered under the transaction that was granted`(
        _ row: RestoredCase, _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let original = row.purchase(&history)
            let id = original.transactionID
            let copy = history.restore(original, at: day(1))
            func redeem(_ transaction: PurchaseHistory.Transaction, _ account: String) throws -> TransactionOutcome {
                let evidence = try history.evidence(transaction, signedAt: day(2))
                return try #require(ledger.redeem(evidence, for: account, at: day(2)).outcomes.first)
            }
            #expect(try redeem(original, "anna").grantedAs == id)
            let restored = try redeem(copy, "anna")
            #expect(restored.transactionID == copy.transactionID && restored.grantedAs == id)
            #expect(restored.outcome == .alreadyYours && restored.quantity == 1)
            let other = try redeem(copy, "ben")
            #expect(other.outcome == .belongsToAnother && other.grantedAs == nil && other.quantity == 0)
            try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(2))
            #expect(try redeem(copy, "anna").grantedAs == nil)
            #expect(try redeem(copy, "ben").grantedAs == id)
            history.refund(original, at: day(1.5))
            for notification in try history.verifiedNotifications(through: day(2)) {
                try ledger.record(notification, at: day(2))
            }
            let refunded = try redeem(copy, "ben")
            #expect(refunded.outcome == .revoked && refunded.grantedAs == id && refunded.quantity == 0)
            // Every event names the transaction that the answers named.
            #expect(try ledger.events().map(\.transactionID) == [id, id, id, id])
        }
    }

    @Test(arguments: Place.available)
    func `of several grants of a purchase, an answer names that of its transaction`(_ place: Place) throws {
        func transaction(_ id: String, lineItem: String?) throws -> VerifiedEvidence {
            var builder = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "monthly", transactionID: id, signedDate: day(1))
            builder.productType = .autoRenewableSubscription
            builder.originalTransactionID = "1"
            builder.purchaseDate = day(0)
            builder.expiresDate = day(30)
            builder.webOrderLineItemID = lineItem
            return try Minted.evidence(builder)
        }
        try place.withLedger { ledger in
            // Without a line item, nothing says that the two are one period.
            for id in ["1", "2"] {
                let evidence = try transaction(id, lineItem: nil)
                #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            }
            for (id, grant) in [("1", "1"), ("2", "2"), ("3", "1")] {
                let evidence = try transaction(id, lineItem: "900")
                let outcome = try #require(ledger.redeem(evidence, for: "anna", at: day(1)).outcomes.first)
                #expect(outcome.outcome == .alreadyYours && outcome.grantedAs == grant && outcome.quantity == 1)
            }
        }
    }

    @Test(arguments: Place.available)
    func `a receipt has an outcome for each of its purchases`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            _ = history.renew(subscription)
            let first = try history.evidence(coins, signedAt: day(0))
            #expect(try ledger.outcomes(first, for: "ben", at: day(0)) == [.granted])
            let receipt = try Minted.evidence(history.receipt(signedAt: day(31)))
            #expect(
                try ledger.outcomes(receipt, for: "anna", at: day(31)) == [.belongsToAnother, .expired, .granted])
            #expect(
                try ledger.outcomes(receipt, for: "anna", at: day(31)) == [.belongsToAnother, .expired, .alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `the sandbox never meets production`(_ place: Place) throws {
        try place.withLedger { ledger in
            let environments: [(ReceiptBuilder.ReceiptType, AppStoreEnvironment)] = [
                (.production, .production), (.sandbox, .sandbox),
            ]
            for (index, (type, environment)) in environments.enumerated() {
                // The same ids in both.
                var builder = JWSBuilder.transaction(
                    bundleID: Minted.bundleID, productID: "pro", transactionID: "1000", environment: environment)
                builder.productType = .nonConsumable
                let evidence = try Minted.evidence(builder)
                let account = ["anna", "ben"][index]
                #expect(try ledger.outcomes(evidence, for: account, at: .now) == [.granted], "\(type)")
                #expect(try ledger.entitlements(of: account, in: environment).activeProductIDs == ["pro"])
                let other: AppStoreEnvironment = environment == .sandbox ? .production : .sandbox
                #expect(try ledger.entitlements(of: account, in: other).items.isEmpty)
            }
        }
    }

    /// The seconds by which the clock of the server of the first claim is ahead.
    @Test(arguments: Place.available, [-5, 0, 4] as [Int64])
    func `of two claims, the first one wins, whatever the clocks of their servers say; a stated date counts`(
        _ place: Place, _ seconds: Int64
    ) throws {
        func period(_ id: String, previous: String? = nil) throws -> VerifiedEvidence {
            var builder = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "monthly", transactionID: id)
            builder.productType = .autoRenewableSubscription
            (builder.originalTransactionID, builder.webOrderLineItemID) = (id, "9" + id)
            (builder.purchaseDate, builder.expiresDate) = (day(0), day(30))
            if let previous { builder.payload["previousOriginalTransactionId"] = .string(previous) }
            return try Minted.evidence(builder)
        }
        func owners(_ ledger: PurchaseLedger) throws -> [String?] {
            try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT account FROM families").map { (row) throws(LedgerError) in
                    try row.optionalText(0)
                }
            }
        }
        try place.withLedger { ledger in
            #expect(try ledger.outcomes(period("1"), for: "anna", at: day(1) + .seconds(seconds)) == [.granted])
            #expect(try ledger.outcomes(period("2"), for: "ben", at: day(1)) == [.granted])
            _ = try ledger.outcomes(period("2", previous: "1"), for: "ben", at: day(1))
            #expect(try owners(ledger) == ["anna"])
        }
        // Imported later, and granted by the backend before.
        for (date, owner) in [(day(0), "clara"), (day(2), "anna")] {
            try place.withLedger { ledger in
                #expect(try ledger.outcomes(period("1"), for: "anna", at: day(1) + .seconds(seconds)) == [.granted])
                let spent = try #require(
                    SpentTransaction(
                        account: "clara", environment: .production, bundleID: Minted.bundleID, transactionID: "2",
                        originalTransactionID: nil, productID: "monthly", quantity: 1, date: date))
                _ = try ledger.imported([.spent(spent)], at: day(3))
                _ = try ledger.outcomes(period("2", previous: "1"), for: "anna", at: day(3))
                #expect(try owners(ledger) == [owner])
            }
        }
    }

    @Test(arguments: Place.available)
    func `a migrated subscription stays with its owner`(_ place: Place) throws {
        func builder(_ id: String, previous: String?, start: Double) -> JWSBuilder {
            var builder = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "monthly", transactionID: id, signedDate: day(start))
            builder.productType = .autoRenewableSubscription
            builder.originalTransactionID = id
            builder.purchaseDate = day(start)
            builder.expiresDate = day(start + 30)
            builder.webOrderLineItemID = "9" + id
            if let previous { builder.payload["previousOriginalTransactionId"] = .string(previous) }
            return builder
        }
        let old = try Minted.evidence(builder("1", previous: nil, start: 0))
        let new = try Minted.evidence(builder("2", previous: "1", start: 30))
        let unlinked = try Minted.evidence(builder("2", previous: nil, start: 30))
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(old, for: "anna", at: day(1)) == [.granted])
            // The ledger grants it to its owner, whoever submits it.
            #expect(try ledger.outcomes(new, for: "ben", at: day(31)) == [.belongsToAnother])
            #expect(try ledger.outcomes(new, for: "anna", at: day(31)) == [.alreadyYours])
        }
        // Two accounts submitted the parts before it was known that they are one: the first owns what follows, and what
        // was granted stays granted.
        try place.withLedger { ledger throws in
            #expect(try ledger.outcomes(old, for: "anna", at: day(1)) == [.granted])
            #expect(try ledger.outcomes(unlinked, for: "ben", at: day(31)) == [.granted])
            #expect(try ledger.outcomes(new, for: "ben", at: day(32)) == [.alreadyYours])
            #expect(try ledger.outcomes(new, for: "anna", at: day(32)) == [.belongsToAnother])
            let next = try Minted.evidence(builder("3", previous: "2", start: 60))
            #expect(try ledger.outcomes(next, for: "ben", at: day(61)) == [.belongsToAnother])
            #expect(try ledger.outcomes(next, for: "anna", at: day(61)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `an idempotency key gets the same answer`(_ place: Place) throws {
        try place.withLedger { ledger throws in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            let first = try ledger.redeem(evidence, for: "anna", idempotencyKey: "k1", at: day(1))
            #expect(first.outcomes.map(\.outcome) == [.granted] && !first.isRepeated)
            // The client may have had the transaction signed anew.
            let signedAnew = try history.evidence(coins, signedAt: day(2))
            let second = try ledger.redeem(signedAnew, for: "anna", idempotencyKey: "k1", at: day(2))
            #expect(second.outcomes.map(\.outcome) == [.granted] && second.isRepeated)
            #expect(second.outcomes.map(\.access) == [.consumable(quantity: 1)])
            #expect(first.outcomes.map(\.access) == second.outcomes.map(\.access))
            #expect(try ledger.outcomes(evidence, for: "anna", key: "k2", at: day(2)) == [.alreadyYours])
            // Keys of another account are other keys.
            #expect(try ledger.outcomes(evidence, for: "ben", key: "k1", at: day(2)) == [.belongsToAnother])
            let another = history.buyConsumable("coins", at: day(1))
            let other = try history.evidence(another, signedAt: day(1))
            let error = #expect(throws: LedgerError.self) {
                try ledger.redeem(other, for: "anna", idempotencyKey: "k1", at: day(2))
            }
            #expect(error?.code == .idempotencyKeyReused)
        }
    }

    @Test(arguments: Place.available)
    func `an idempotency key gets the same answer for a receipt whose purchases are in another order`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let both = [history.buyNonConsumable("pro", at: day(0)), history.buyNonConsumable("max", at: day(0))]
            let first = try Minted.evidence(history.receipt(signedAt: day(1), of: both))
            // Apple orders a receipt by its bytes: a longer purchase comes later.
            var builder = history.receipt(signedAt: day(2), of: both)
            let index = builder.purchases.firstIndex { $0.productID == first.purchases.first?.purchase.productID }
            builder.purchases[try #require(index)].promotionalOfferID = "offer"
            let next = try Minted.evidence(builder)
            #expect(next.purchases.map(\.purchase.productID) == first.purchases.map(\.purchase.productID).reversed())
            #expect(try ledger.outcomes(first, for: "anna", key: "k", at: day(3)) == [.granted, .granted])
            #expect(try ledger.outcomes(next, for: "anna", key: "k", at: day(3)) == [.granted, .granted])
        }
    }

    @Test(arguments: Place.available)
    func `a request with a known idempotency key records its evidence all the same`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = (0..<3).map { _ in history.buyConsumable("coins", at: day(0)) }
            func redeem(_ index: Int, signedAt date: Instant, key: String?) throws -> Redemption {
                let evidence = try history.evidence(coins[index], signedAt: date)
                return try ledger.redeem(evidence, for: "anna", idempotencyKey: key, at: day(9))
            }
            #expect(try redeem(0, signedAt: day(1), key: "k").outcomes.map(\.outcome) == [.granted])
            #expect(try redeem(1, signedAt: day(1), key: nil).outcomes.map(\.outcome) == [.granted])
            for transaction in coins { history.refund(transaction, at: day(2)) }
            // The same transaction, signed anew after its refund.
            let repeated = try redeem(0, signedAt: day(3), key: "k")
            #expect(repeated.isRepeated && repeated.outcomes.map(\.quantity) == [1])
            #expect(try ledger.events().map(\.kind) == [.granted, .granted, .revoked])
            // Another transaction, of the account or of nobody: the key is refused, and a refund counts.
            for index in 1...2 {
                let error = #expect(throws: LedgerError.self) { try redeem(index, signedAt: day(3), key: "k") }
                #expect(error?.code == .idempotencyKeyReused)
            }
            #expect(try ledger.events().map(\.kind) == [.granted, .granted, .revoked, .revoked])
            // The last one has become nobody's.
            let evidence = try history.evidence(coins[2], signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "ben", at: day(9)) == [.revoked])
        }
    }

    @Test(arguments: Place.available)
    func `only an answer in which the account has everything is kept under an idempotency key`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            #expect(try ledger.outcomes(evidence, for: "ben", key: "k", at: day(1)) == [.belongsToAnother])
            try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(1))
            #expect(try ledger.outcomes(evidence, for: "ben", key: "k", at: day(1)) == [.alreadyYours])
            history.refund(coins, at: day(2))
            try ledger.record(#require(history.verifiedNotifications(through: day(2)).last), at: day(2))
            #expect(try ledger.redeem(evidence, for: "ben", idempotencyKey: "k", at: day(2)).isRepeated)
            #expect(try ledger.outcomes(evidence, for: "ben", key: "k2", at: day(2)) == [.revoked])
            history.reverseRefund(of: coins, at: day(3))
            try ledger.record(#require(history.verifiedNotifications(through: day(3)).last), at: day(3))
            #expect(try ledger.outcomes(evidence, for: "ben", key: "k2", at: day(3)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `an answer without outcomes takes no idempotency key`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let empty = try Minted.evidence(history.receipt(signedAt: day(0)))
            #expect(try ledger.outcomes(empty, for: "anna", key: "k", at: day(0)).isEmpty)
            _ = history.buyConsumable("coins", at: day(1))
            let receipt = try Minted.evidence(history.receipt(signedAt: day(1)))
            #expect(try ledger.outcomes(receipt, for: "anna", key: "k", at: day(1)) == [.granted])
        }
    }

    @Test(arguments: Place.available)
    func `evidence without a token claims no purchase of which another transaction has another token`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let old = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            history.appAccountToken = OutcomeCase.token.lowercased()
            let renewal = history.renew(subscription)
            let evidence = try history.evidence(renewal, signedAt: day(31))
            try ledger.record(#require(history.verifiedNotifications(through: day(31)).last), at: day(31))
            let anna = AppAccountToken(OutcomeCase.token)!
            let ben = AppAccountToken("00000000-1C5D-4B0E-8A57-3D0B8D1B6F00")!
            for (evidence, account, token, outcome) in [
                (old, "ben", ben, .notYours), (evidence, "ben", ben, .notYours), (evidence, "anna", anna, .granted),
                (old, "anna", anna, .expired),
            ] as [(VerifiedEvidence, String, AppAccountToken, Outcome)] {
                let answer = try ledger.redeem(evidence, for: account, accountToken: token, at: day(32))
                #expect(answer.outcomes.map(\.outcome) == [outcome])
            }
        }
    }

    @Test(arguments: Place.available)
    func `a purchase of another account with the submitter's own token is not to be finished`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            history.appAccountToken = OutcomeCase.token.lowercased()
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            let cases: [(account: String, token: String?, mayFinish: Bool)] = [
                ("ben", OutcomeCase.token, false), ("ben", nil, true),
                ("ben", "00000000-1C5D-4B0E-8A57-3D0B8D1B6F00", true), ("anna", OutcomeCase.token, true),
            ]
            for (account, token, mayFinish) in cases {
                let answer = try ledger.redeem(
                    evidence, for: account, accountToken: token.flatMap { AppAccountToken($0) }, at: day(1))
                let outcome = try #require(answer.outcomes.first)
                #expect(outcome.outcome == (account == "anna" ? .alreadyYours : .belongsToAnother))
                #expect(outcome.mayFinish == mayFinish && outcome.isOwnerConflict == !mayFinish)
            }
        }
    }

    @Test(arguments: Place.available)
    func `an outcome that can change for the better is not kept under an idempotency key`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let transaction = history.renew(subscription, at: day(29))
            let evidence = try history.evidence(transaction, signedAt: day(29))
            #expect(try ledger.outcomes(evidence, for: "anna", key: "k", at: day(29)) == [.tooEarly])
            #expect(try ledger.outcomes(evidence, for: "anna", key: "k", at: day(30)) == [.granted])
            #expect(try ledger.outcomes(evidence, for: "anna", key: "k", at: day(31)) == [.granted])
        }
    }

    @Test(arguments: Place.available)
    func `texts that the tables cannot hold are refused`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(transaction, signedAt: day(0))
            for text in ["", "a\0b", String(repeating: "a", count: 256)] {
                let account = #expect(throws: LedgerError.self) { try ledger.redeem(evidence, for: text) }
                #expect(account?.code == .invalidText)
                let key = #expect(throws: LedgerError.self) {
                    try ledger.redeem(evidence, for: "anna", idempotencyKey: text)
                }
                #expect(key?.code == .invalidText)
            }
            // Accounts are compared as bytes: these two are canonically equivalent.
            #expect(try ledger.outcomes(evidence, for: "e\u{301}", at: day(1)) == [.granted])
            #expect(try ledger.outcomes(evidence, for: "\u{E9}", at: day(1)) == [.belongsToAnother])
            #expect(try ledger.outcomes(evidence, for: "'; DROP TABLE grants; --", at: day(1)) == [.belongsToAnother])
        }
    }

    @Test(arguments: Place.available)
    func `a ledger keeps what it knows when it is opened again`(_ place: Place) throws {
        let location = try place.makeLocation()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let transaction = history.buyNonConsumable("pro", at: day(0))
        let evidence = try history.evidence(transaction, signedAt: day(0))
        let first = try PurchaseLedger(location.text)
        #expect(try first.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
        let ledger = try PurchaseLedger(location.text)
        #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.alreadyYours])
        #expect(try ledger.entitlements(of: "anna", at: day(1)).activeProductIDs == ["pro"])
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil), arguments: ["LATIN1", "EUC_JP"])
    func `a database whose encoding lacks characters is refused before anything is made in it`(_ encoding: String)
        throws
    {
        let server = try PostgreSQLServer.shared.get().makeDatabase().components(separatedBy: "&options").first ?? ""
        let name = "other_\(encoding.lowercased())"
        _ = try PostgreSQLServer.query(
            server, "CREATE DATABASE \(name) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
        let uri = server.replacing("/postgres?", with: "/\(name)?")
        let error = #expect(throws: LedgerError.self) { try PurchaseLedger(uri) }
        #expect(error?.code == .invalidLocation && error?.detail.contains(encoding) == true)
    }

    @Test func `a location is a file or a URI of PostgreSQL`() {
        for (location, code) in [
            ("", LedgerError.Code.invalidLocation), ("mysql://host/ledger", .invalidLocation),
            ("postgres:ledger", .invalidLocation), ("host=db dbname=ledger", .invalidLocation),
            (" user = anna", .invalidLocation),
            ("/nowhere/ledger.db", .noLedger),
            ("postgresql:///ledger?host=/nowhere&connect_timeout=2", .storeUnavailable),
        ] {
            let error = #expect(throws: LedgerError.self) { try PurchaseLedger(location) }
            #expect(error?.code == code, "\(location)")
        }
    }

    @Test(arguments: [
        "postgresql://ledger:Zq/Xv@db/ledger", "postgresql://ledger:Zq%Xv@db/ledger",
        "postgresql://ledger:Zq@Xv@db/ledger", "postgresql://ledger:1717/Xv@db/ledger",
        "postgresql://ledger:99999/Xv@db/ledger", "postgresql://ledger@db:Zq/ledger", "postgresql://db:0/ledger",
        "postgresql:///ledger?port=5432,Zq", "postgresql:///ledger?Zq",
    ])
    func `a malformed URI is refused, and no part of it is printed: it can be of a password`(uri: String) {
        let error = #expect(throws: LedgerError.self) { try PurchaseLedger(uri) }
        #expect(error?.code == .invalidLocation)
        let text = error?.description ?? ""
        for part in ["Zq", "Xv", "1717", "9999"] { #expect(!text.contains(part), "\(text)") }
    }

    @Test(arguments: [
        "postgresql://ledger:Zq%2FXv%40@db:5432/ledger", "postgres://ledger:a:b?c@db",
        "postgresql://ledger@[::1]/ledger", "postgresql://one,two:5433/ledger?application_name=a@b",
        "postgresql:///ledger?host=/tmp&user=ledger",
    ])
    func `a URI with a password that is encoded, or with several hosts, is well formed`(uri: String) {
        #expect(throws: Never.self) { try PostgreSQLConnection.check(uri) }
    }
}
