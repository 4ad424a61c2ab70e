@_spi(Ledger) import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import Testing

/// The rules of a line of an import.
@Suite struct ImportLineTests {
    private func spent(
        _ account: String, _ id: String, original: String? = nil, product: String = "coins", quantity: Int? = nil,
        at date: Instant = day(0)
    ) throws -> SpentTransaction {
        try #require(
            SpentTransaction(
                account: account, environment: .production, bundleID: Minted.bundleID, transactionID: id,
                originalTransactionID: original, productID: product, quantity: quantity, date: date))
    }

    private func spent(
        _ account: String, _ transaction: PurchaseHistory.Transaction, original: String? = nil,
        product: String? = nil, quantity: Int? = nil, at date: Instant = day(0)
    ) throws -> SpentTransaction {
        try spent(
            account, transaction.transactionID, original: original, product: product ?? transaction.productID,
            quantity: quantity ?? transaction.quantity, at: date)
    }

    /// Imports lines one by one, and returns each outcome and note up to its first colon.
    private func words(_ ledger: MemoryLedger, _ lines: SpentTransaction...) -> [String] {
        lines.map { Self.word(ledger.importLine($0, at: day(1))) }
    }

    private static func word(_ result: ImportedLine.Result) -> String {
        let word =
            switch result.outcome {
            case .added: "added"
            case .known: "known"
            case .conflict(let text): text
            case .fault: "fault"
            }
        return ([word] + result.notes.map { "note \($0)" }).map { String($0.prefix { $0 != ":" }) }
            .joined(separator: ", ")
    }

    @Test(
        arguments: [
            ("1", 1, true), ("1", 0, false), ("1", -1, false), ("0", 1, false), ("01", 1, false), ("1e3", 1, false),
            ("support-1", 1, true), ("support-\0", 1, false), ("9999999999999999999", 1, true),
            ("10000000000000000000", 1, false),
        ] as [(String, Int, Bool)])
    func `a line has an id that Apple or support can have given, and a quantity`(
        id: String, quantity: Int, isValid: Bool
    ) {
        func line(original: String?) -> SpentTransaction? {
            SpentTransaction(
                account: "anna", environment: .production, bundleID: Minted.bundleID, transactionID: id,
                originalTransactionID: original, productID: "coins", quantity: quantity, date: day(0))
        }
        #expect((line(original: nil) != nil) == isValid)
        #expect(line(original: "01") == nil || id == "support-1")
    }

    @Test func `a line has only texts that the tables can hold, also about a grant of support`() {
        func isValid(
            _ id: String = "support-1", account: String = "anna", bundleID: String = Minted.bundleID,
            product: String = "coins"
        ) -> Bool {
            SpentTransaction(
                account: account, environment: .production, bundleID: bundleID, transactionID: id,
                originalTransactionID: nil, productID: product, quantity: 1, date: day(0)) != nil
        }
        #expect(isValid() && isValid("1"))
        for text in ["", "a\0", String(repeating: "a", count: 256)] {
            #expect(!isValid(account: text) && !isValid(bundleID: text) && !isValid(product: text))
            #expect(!isValid("1", account: text))
            let error = #expect(throws: LedgerError.self) { try LedgerText.check(text, "account") }
            #expect(error?.code == .invalidText)
        }
        for text in ["a", String(repeating: "a", count: 255)] {
            #expect(isValid(account: text))
            #expect(throws: Never.self) { try LedgerText.check(text, "account") }
        }
    }

    @Test func `the id 0 is one of Xcode's, and no id has another leading zero`() {
        for environment in AppStoreEnvironment.allCases {
            let isCounted = [.xcode, .localTesting].contains(environment)
            #expect(TransactionIDForm.isApples("0", in: environment) == isCounted)
            for id in ["00", "01", "0a"] { #expect(!TransactionIDForm.isApples(id, in: environment)) }
            #expect(TransactionIDForm.isApples("10", in: environment))
        }
    }

    @Test func `what was spent is granted once, on its day, and never again by evidence`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(0))
        let ledger = MemoryLedger()
        let line = try spent("anna", coins)
        #expect(words(ledger, line, line) == ["added", "known"])
        let grant = try #require(ledger.grants.first)
        #expect((grant.account, grant.quantity, grant.grantedAt) == ("anna", 3, day(0)))
        #expect(ledger.events.isEmpty)
        #expect(ledger.redeem(evidence, for: "anna", at: day(1)) == [.alreadyYours])
        #expect(ledger.redeem(evidence, for: "ben", at: day(1)) == [.belongsToAnother])
        #expect(words(ledger, line, try spent("ben", coins)) == ["known", "belongs-to-another"])
        #expect(ledger.grants.map(\.quantity) == [3])
    }

    @Test func `a quantity that a line leaves out is one, or what the ledger has`() throws {
        let ledger = MemoryLedger()
        #expect(words(ledger, try spent("anna", "1"), try spent("anna", "2", quantity: 5)) == ["added", "added"])
        #expect(Set(ledger.grants.map(\.quantity)) == [1, 5])
        #expect(words(ledger, try spent("anna", "2")) == ["known"])
    }

    @Test func `only a line about a grant of support that the ledger has names its id`() throws {
        let ledger = MemoryLedger()
        #expect(words(ledger, try spent("anna", "support-1")) == ["fault"])
        let key = TransactionKey(environment: .production, bundleID: Minted.bundleID, transactionID: "support-1")
        let gift = Grant(transaction: key, account: "anna", productID: "coins", quantity: 1)
        #expect(ledger.grant(gift, at: day(0)))
        #expect(words(ledger, try spent("anna", "support-1")) == ["known"])
    }

    // MARK: Contradictions

    @Test(arguments: ["product_id", "quantity", "original_transaction_id", "date"])
    func `a line that contradicts what is known changes nothing, unless nobody owns it`(_ column: String) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(0))
        let (imported, redeemed, unowned) = (MemoryLedger(), MemoryLedger(), MemoryLedger())
        _ = words(imported, try spent("anna", coins, original: coins.transactionID))
        _ = redeemed.redeem(evidence, for: "anna", at: day(0))
        unowned.record(evidence, at: day(0))
        let wrong = try spent(
            "anna", coins, original: column == "original_transaction_id" ? "340000000000999" : nil,
            product: column == "product_id" ? "gems" : nil, quantity: column == "quantity" ? 2 : nil,
            at: column == "date" ? day(0.5) : day(0))
        for ledger in [imported, redeemed] {
            #expect(words(ledger, wrong) == [column == "date" ? "known, note date" : column])
            #expect(ledger.grants.map(\.quantity) == [3])
        }
        #expect(words(unowned, wrong, wrong) == ["added, note \(column)", "known"])
        #expect(unowned.grants.map(\.account) == ["anna"])
        #expect(unowned.lineages.byID.count == 1)
    }

    @Test func `a date contradicts only from a second on`() throws {
        let ledger = MemoryLedger()
        let times = [0, 0.999, -0.999, 1, -1].map {
            Instant(millisecondsSince1970: 1_735_689_600_000 + Int64($0 * 1000))
        }
        let lines = try times.map { try spent("anna", "1", at: $0) }
        #expect(
            lines.flatMap { words(ledger, $0) } == ["added", "known", "known"]
                + Array(repeating: "known, note date", count: 2))
    }

    @Test func `a refund of a part, and the seats of a subscription, contradict no line`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 10, at: day(0))
        let period = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod
        let ledger = MemoryLedger()
        let lines = [try spent("anna", coins), try spent("anna", period, quantity: 5)]
        #expect(lines.flatMap { words(ledger, $0) } == ["added", "added"])
        history.refund(coins, at: day(0.5), percentage: 50_000)
        ledger.record(try history.evidence(coins, signedAt: day(1)), at: day(1))
        ledger.record(try history.evidence(period, signedAt: day(1)), at: day(1))
        #expect(ledger.state.grants[coins.transactionID]?.quantity == 5)
        #expect(lines.flatMap { words(ledger, $0) } == ["known", "known"])
        // The evidence of the first period says that both are a subscription's.
        func renewal(_ quantity: Int) throws -> SpentTransaction {
            try spent(
                "anna", "340000000000999", original: period.transactionID, product: "monthly", quantity: quantity)
        }
        #expect(
            words(ledger, try spent("anna", period, quantity: 7), try renewal(5), try renewal(7))
                == ["known", "added", "known"])
    }

    @Test(
        arguments: [
            (.autoRenewableSubscription, true, true), (.nonRenewingSubscription, true, false),
            (.consumable, false, false),
            // An old receipt does not say the type.
            (nil, true, true), (nil, false, false),
        ] as [(ProductType?, Bool, Bool)])
    func `the quantity of what renews is its seats, which contradict no line, and other quantities do`(
        type: ProductType?, ends: Bool, isOfSeats: Bool
    ) throws {
        let purchase = Purchase(
            productID: "coins", productType: type, transactionID: "1", quantity: 3, purchaseDate: day(0),
            expiresDate: ends ? day(30) : nil, signedDate: day(0))
        let line = try spent("anna", "1", quantity: 5)
        #expect(line.contradictions(of: known(purchase), nil).all.isEmpty == isOfSeats)
        #expect(purchase.contradictions(of: known(grantedTo: "anna")).isEmpty == isOfSeats)
    }

    /// A transaction that is known in a lineage of anna's.
    private func known(
        _ evidence: Purchase..., owner: String? = "anna", lineage: Int64 = 1, grantedTo account: String? = nil
    ) -> KnownTransaction {
        var known = KnownTransaction()
        (known.lineage, known.owner, known.evidence) = (lineage, owner, evidence)
        known.granted = account.map {
            KnownTransaction.Granted(
                account: $0, productID: "coins", quantity: 5, date: day(0), originalTransactionID: nil)
        }
        return known
    }

    /// What a line of anna's about transaction 2, a copy of 1, does, with its notes; or the keys that it grants.
    private func decision(
        _ known: KnownTransaction, _ original: KnownTransaction
    ) throws -> (words: String, ids: [String]) {
        switch try spent("anna", "2", original: "1").decision(known, original, isOfAnother: { _ in true }) {
        case .ends(let result): return (Self.word(result), [])
        case .grants(let keys, let notes):
            let result = ImportedLine.Result(.added, notes: notes)
            return (Self.word(result), keys.all.map(\.transactionID.string))
        }
    }

    @Test
    func `what is known of a line's first transaction counts, unless the line is a member's or names a wrong one`()
        throws
    {
        var purchase = Purchase(
            productID: "coins", transactionID: "2", originalTransactionID: "1", purchaseDate: day(0),
            signedDate: day(0), appAccountToken: AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01"))
        // Of two lineages that turned out to be one, each account has what it was granted.
        #expect(try decision(known(purchase), known(grantedTo: "ben")).words == "belongs-to-another")
        // A token is of interest where there is no owner.
        #expect(try decision(known(purchase), known()) == ("added", ["2", "1"]))
        #expect(try decision(known(purchase, owner: nil), known(owner: nil)) == ("added, note token", ["2", "1"]))
        purchase.ownershipType = .assigned
        #expect(try decision(known(purchase), known(owner: "ben", lineage: 2)) == ("added", ["2"]))
        purchase.ownershipType = .purchased
        #expect(try decision(known(purchase), known(owner: "ben", lineage: 2)).words == "original_transaction_id")
        // The text says what the evidence has, also if the wrong one is another purchase.
        purchase.originalTransactionID = "7"
        let contradictions = try spent("anna", "2", original: "1").contradictions(
            of: known(purchase), known(lineage: 2))
        #expect(contradictions.original == "original_transaction_id: the line has '1', the ledger '7'")
    }

    @Test func `a wrong first transaction joins no purchases, and gives nobody what another owns`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        let gems = history.buyConsumable("gems", at: day(0))
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let period = subscription.firstPeriod
        let renewal = history.renew(subscription)
        let ledger = MemoryLedger()
        _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
        try ledger.record(history.evidence(renewal, signedAt: day(31)), at: day(31))
        try ledger.record(history.evidence(gems, signedAt: day(31)), at: day(31))
        #expect(
            words(
                ledger,
                // Coins have no renewals, and a renewal has none of its own.
                try spent("anna", "1", original: coins.transactionID),
                try spent("ben", "2", original: coins.transactionID),
                try spent("carl", "3", original: renewal.transactionID, product: "monthly"),
                try spent("carl", "4", original: period.transactionID, product: "monthly"),
                try spent("ben", "5", original: period.transactionID, product: "monthly"),
                // Its evidence names another first transaction than the line, whose owner is carl.
                try spent("ben", gems, original: period.transactionID)
            ) == [
                "original_transaction_id", "belongs-to-another", "added, note original_transaction_id", "added",
                "belongs-to-another", "added, note original_transaction_id",
            ])
        let owners = ledger.lineages.byID.values.compactMap(\.owner?.account).sorted()
        #expect(owners == ["anna", "ben", "carl", "carl"])
    }

    @Test func `a purchase of which only copies are known is the first of them`() throws {
        let ledger = MemoryLedger()
        let lines = [try spent("anna", "2", original: "1"), try spent("anna", "1", original: "9")]
        #expect(lines.flatMap { words(ledger, $0) } == ["added", "original_transaction_id"])
        #expect(words(ledger, try spent("anna", "1", original: "1")) == ["added"])
    }

    @Test func `two known purchases are not joined by a line`() throws {
        let ledger = MemoryLedger()
        #expect(words(ledger, try spent("anna", "1"), try spent("anna", "2")) == ["added", "added"])
        #expect(words(ledger, try spent("anna", "2", original: "1")) == ["original_transaction_id"])
        #expect(ledger.lineages.byID.count == 2)
        // Anna's copy has the first of the two, and its own line agrees with it.
        #expect(
            words(ledger, try spent("anna", "3", original: "1"), try spent("anna", "3", original: "1")) == [
                "added", "known",
            ])
        #expect(ledger.lineages.byID.count == 2)
    }

    @Test func `a member's transaction is the member's alone, whatever first transaction a line names`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let period = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod
        let bought = try history.evidence(period, signedAt: day(0)).purchases[0].purchase
        var assigned = bought
        (assigned.transactionID, assigned.ownershipType) = ("340000000000777", .assigned)
        assigned.appTransactionID = "700000000000000001"
        let ledger = MemoryLedger()
        _ = ledger.redeem(Submission([SubmittedPurchase(bought)]), for: "anna", at: day(0))
        ledger.record(Submission([SubmittedPurchase(assigned)]), at: day(0))
        let line = try spent("ben", assigned.transactionID, original: period.transactionID, product: "monthly")
        #expect(words(ledger, line) == ["added"])
        #expect(Set(ledger.lineages.byID.values.compactMap(\.owner?.account)) == ["anna", "ben"])
    }

    @Test func `the token of another account is a note on what nobody owns`() throws {
        let tokens = (1...2).map { AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a0\($0)")! }
        let ledger = MemoryLedger(usesTokens: true)
        var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: tokens[0].description)
        let coins = history.buyConsumable("coins", at: day(0))
        history.appAccountToken = tokens[1].description
        let gems = history.buyConsumable("gems", at: day(0))
        for transaction in [coins, gems] {
            try ledger.record(history.evidence(transaction, signedAt: day(0)), at: day(0))
        }
        let taken: [AppAccountToken: String] = [tokens[0]: "ben"]
        let results = [try spent("anna", coins), try spent("anna", gems)].map {
            Self.word(ledger.importLine($0, at: day(1), takenTokens: taken))
        }
        #expect(results == ["added, note token", "added"])
    }

    @Test func `a refund that is known is notified with the line`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        history.refund(coins, at: day(0.5), percentage: 100_000)
        let ledger = MemoryLedger()
        ledger.record(try history.evidence(coins, signedAt: day(1)), at: day(1))
        #expect(words(ledger, try spent("anna", coins)) == ["added"])
        #expect(ledger.events.map(\.kind) == [.revoked])
        #expect(ledger.grants.map(\.quantity) == [0])
    }

    // MARK: Evidence

    @Test func `evidence is added to what it agrees with, and contradicts what an account was granted without it`()
        throws
    {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let evidence = Submission(try history.evidence(coins, signedAt: day(0)))
        for (line, word) in [
            (try spent("anna", coins), "known"), (try spent("anna", coins, at: day(0.5)), "known, note date"),
            (try spent("anna", coins, product: "gems"), "product_id"),
            (try spent("anna", coins, quantity: 2), "quantity"),
            (try spent("anna", coins, original: "340000000000999"), "original_transaction_id"),
            (try spent("ben", coins, product: "gems"), "belongs-to-another"),
        ] {
            let ledger = MemoryLedger()
            #expect(words(ledger, line) == ["added"])
            #expect(Self.word(ledger.importLine(evidence, for: "anna", at: day(1))) == word)
            let isRecorded = ledger.lineages.byID.values.contains { !$0.evidence.isEmpty }
            #expect(isRecorded == (word.hasPrefix("known") || word == "belongs-to-another"))
        }
        let ledger = MemoryLedger()
        for word in ["added", "known"] {
            #expect(Self.word(ledger.importLine(evidence, for: "anna", at: day(1))) == word)
        }
        // What contradicts evidence that is known was reported when the two met.
        let noted = MemoryLedger()
        noted.record(evidence, at: day(0))
        #expect(words(noted, try spent("anna", coins, product: "gems")) == ["added, note product_id"])
        #expect(Self.word(noted.importLine(evidence, for: "anna", at: day(1))) == "known")
        // Evidence is compared with what was imported, not with other evidence.
        var product = history
        product.refund(coins, at: day(0.5), percentage: 100_000)
        let refunded = Submission(try product.evidence(coins, signedAt: day(1)))
        #expect(Self.word(ledger.importLine(refunded, for: "anna", at: day(1))) == "known")
    }

    @Test func `evidence that stands twice has one note, and one that Apple moved has two first transactions`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let pro = history.buyNonConsumable("pro", at: day(0))
        var purchase = try history.evidence(pro, signedAt: day(0)).purchases[0].purchase
        (purchase.originalTransactionID, purchase.previousOriginalTransactionID) = (
            "340000000000888", "340000000000999"
        )
        for original in ["340000000000888", "340000000000999"] {
            let ledger = MemoryLedger()
            #expect(words(ledger, try spent("anna", pro, original: original, at: day(0.5))) == ["added"])
            let twice = Submission([SubmittedPurchase(purchase), SubmittedPurchase(purchase)])
            #expect(Self.word(ledger.importLine(twice, for: "anna", at: day(1))) == "known, note date")
        }
    }

    @Test(
        arguments: [
            ([], "known"), ([.alreadyYours, .revoked], "known"), ([.alreadyYours, .granted], "added"),
            ([.granted, .belongsToAnother], "belongs-to-another"), ([.notYours, .granted], "not-yours"),
            ([.tokenMissing], "token-missing"),
        ] as [([Outcome], String)])
    func `a line of evidence conflicts if one of its purchases does`(_ outcomes: [Outcome], word: String) {
        #expect(Self.word(ImportedLine.Result(ImportedLine.Outcome(outcomes))) == word)
    }

    @Test func `a line's purchase was granted as bought, and what became of it since changes the grant`() throws {
        func line(
            _ change: (inout JWSBuilder) -> Void, forSale: [String]? = nil
        ) throws -> MemoryLedger {
            var builder = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "coins", transactionID: "1", signedDate: day(5))
            (builder.productType, builder.purchaseDate, builder.quantity) = (.consumable, day(0), 5)
            change(&builder)
            let ledger = MemoryLedger(forSale: forSale)
            _ = ledger.importLine(Submission(try Minted.evidence(builder)), for: "anna", at: day(6))
            return ledger
        }
        let whole = try line { _ in }
        #expect(whole.grants.map(\.quantity) == [5] && whole.grants.map(\.importRun) == [1] && whole.events.isEmpty)
        // What Apple took back since is an event.
        let refunded = try line { ($0.revocationDate, $0.revocationReason) = (day(3), .other) }
        #expect(refunded.grants.map(\.quantity) == [0] && refunded.grants.map(\.grantedQuantity) == [5])
        #expect(refunded.events.map(\.kind) == [.revoked] && refunded.events.map(\.previousQuantity) == [5])
        #expect(try line({ _ in }, forSale: ["pro"]).grants.isEmpty)
        for (end, isGranted) in [(30.0, true), (4, false)] {
            let period = try line { builder in
                (builder.productType, builder.quantity) = (.autoRenewableSubscription, 3)
                builder.expiresDate = day(end)
                builder.payload["multiSeatInfo"] = ["invitationManagement": "APPLE"]
            }
            #expect(period.grants.map(\.quantity) == (isGranted ? [1] : []), "\(end)")
            #expect(period.grants.map(\.seats) == (isGranted ? [3] : []), "\(end)")
            #expect(period.effects.periodEnds.map(\.end) == (isGranted ? [day(30)] : []), "\(end)")
        }
    }
}
