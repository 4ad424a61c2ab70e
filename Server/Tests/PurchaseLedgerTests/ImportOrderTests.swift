import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Sampling
import SeededRandom
import SpanASN1
import Testing

/// Random files: what they do is what their lines do one by one.
@Suite struct ImportOrderTests {
    /// What happened before a file, the file, and what happens after it.
    private struct World {
        private static let accounts = ["anna", "ben", "carl"]
        private static let tokens = (1...4).map { AppAccountToken("00000000-0000-4000-8000-00000000000\($0)") }

        private(set) var before: [(PurchaseLedger) throws -> Void] = []
        private(set) var lines: [ImportedLine] = []
        private(set) var after: [(PurchaseLedger) throws -> Void] = []

        init(using generator: inout SeededGenerator) throws {
            var histories = (1...2).map { PurchaseHistory(bundleID: Minted.bundleID, customer: $0) }
            for index in histories.indices { try Self.buy(&histories[index], using: &generator) }
            let evidence = try histories.flatMap { history in
                try history.transactions.flatMap { transaction in
                    try [day(0.5), day(40)].compactMap { date in
                        try history.transaction(transaction, signedAt: date).map {
                            (transaction, try Minted.evidence($0))
                        }
                    }
                }
            }
            let receipts = try histories.map { history in
                try Minted.evidence(
                    history.receipt(
                        signedAt: day(40), of: history.transactions.filter { _ in Bool.random(using: &generator) }))
            }
            for notification in try histories.flatMap({ try $0.verifiedNotifications(through: day(40)) }) {
                let act: (PurchaseLedger) throws -> Void = { try $0.record(notification, at: day(40)) }
                if Bool.random(using: &generator) { before.append(act) } else { after.append(act) }
            }
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let account = Self.account(&generator)
                if Bool.random(using: &generator) {
                    let token = Self.tokens.randomElement(using: &generator)!
                    before.append { _ = try? $0.token(for: account, storing: token, at: day(40)) }
                } else {
                    let evidence = evidence.randomElement(using: &generator)!.1
                    before.append { _ = try $0.redeem(evidence, for: account, at: day(40)) }
                }
            }
            before.shuffle(using: &generator)
            let transactions = histories.flatMap(\.transactions)
            for _ in 0..<Int.random(in: 3...24, using: &generator) {
                let account = Self.account(&generator)
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: lines.append(.token(account: account, Self.tokens.randomElement(using: &generator)!))
                case 1, 2:
                    lines.append(.evidence(account: account, evidence.randomElement(using: &generator)!.1))
                case 3: lines.append(.evidence(account: account, receipts.randomElement(using: &generator)!))
                default: lines.append(try Self.spent(account, transactions, using: &generator))
                }
            }
            // Many files have lines twice.
            lines += lines.filter { _ in Int.random(in: 0..<6, using: &generator) == 0 }
        }

        /// Most lines are of one account: others find what is taken.
        private static func account(_ generator: inout SeededGenerator) -> String {
            Bool.random(using: &generator) ? accounts[0] : accounts.randomElement(using: &generator)!
        }

        private static func buy(_ history: inout PurchaseHistory, using generator: inout SeededGenerator) throws {
            func setToken(_ generator: inout SeededGenerator) {
                history.appAccountToken =
                    Bool.random(using: &generator) ? tokens.randomElement(using: &generator)!.description : nil
            }
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                setToken(&generator)
                let quantity = Int.random(in: 1...10, using: &generator)
                let coins = history.buyConsumable("coins", quantity: quantity, at: day(0))
                if Int.random(in: 0..<3, using: &generator) == 0 {
                    history.refund(
                        coins, at: day(10), percentage: Bool.random(using: &generator) ? 100_000 : 50_000)
                }
            }
            setToken(&generator)
            if Bool.random(using: &generator) {
                let pro = history.buyNonConsumable("pro", at: day(0))
                if Bool.random(using: &generator) { _ = history.restore(pro, at: day(3)) }
            }
            let days = [20.0, 30, 60].randomElement(using: &generator)!
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(Int(days)), at: day(0))
            for _ in 0..<Int.random(in: 0...2, using: &generator) { history.renew(subscription) }
            if Int.random(in: 0..<4, using: &generator) == 0 { history.refund(subscription.firstPeriod, at: day(10)) }
        }

        private static func spent(
            _ account: String, _ transactions: [PurchaseHistory.Transaction], using generator: inout SeededGenerator
        ) throws -> ImportedLine {
            let transaction = transactions.randomElement(using: &generator)!
            let other = transactions.randomElement(using: &generator)!
            let originals = [nil, nil, transaction.originalTransactionID, other.transactionID, "340000000999999"]
            let quantities = [nil, Int64(transaction.quantity), Int64(transaction.quantity), 3]
            let isWrong = Int.random(in: 0..<6, using: &generator) == 0
            return .spent(
                try #require(
                    SpentTransaction(
                        account: account, environment: .production, bundleID: Minted.bundleID,
                        transactionID: transaction.transactionID,
                        originalTransactionID: originals.randomElement(using: &generator)!,
                        productID: isWrong ? other.productID : transaction.productID,
                        quantity: quantities.randomElement(using: &generator)!,
                        date: [transaction.purchaseDate, day(1)].randomElement(using: &generator)!)))
        }

        /// What the file did, and what it said.
        ///
        /// - Parameters:
        ///   - count: The most lines of a batch.
        ///   - isSplit: Whether each batch is a file of its own.
        func outcome(_ place: Place, count: Int, isSplit: Bool) throws -> (words: [String], ledger: [String]) {
            var policy = LedgerPolicy()
            policy.orders = OrderPolicy()
            let location = try place.makeLocation()
            defer { withExtendedLifetime(location) {} }
            let ledger = try PurchaseLedger(LedgerLocation(location.text).open(), policy, at: day(0))
            for act in before { try act(ledger) }
            let tried = try ledger.tried(lines, at: day(41))
            var results: [ImportedLine.Result] = []
            var run = try ledger.beginImport(of: "file", digest: "", by: "tests", at: day(41))
            for start in stride(from: 0, to: lines.count, by: count) {
                let batch = Array(lines[start..<min(start + count, lines.count)])
                results +=
                    isSplit ? try ledger.imported(batch, at: day(41)) : try ledger.import(batch, &run, at: day(41))
            }
            #expect(tried == results)
            for act in after { try act(ledger) }
            let words = results.map { "\($0.outcome) \($0.notes)" }
            return (words, try ledger.dump())
        }
    }

    @Test(arguments: Place.available)
    func `a file does and says what its lines do one by one, with any batch, and in several files`(
        _ place: Place
    ) throws {
        var generator = SeededGenerator()
        for number in 0..<Sampling.count("import-files") {
            let world = try World(using: &generator)
            let expected = try world.outcome(.sqlite, count: 1, isSplit: true)
            var variants = [(256, false), (4096, false)]
            if number % 4 == 0 { variants += [(1, false), (5, true)] }
            for (count, isSplit) in variants {
                let found = try world.outcome(place, count: count, isSplit: isSplit)
                guard found == expected else {
                    Issue.record(
                        """
                        file \(number), \(count) lines together, in several files: \(isSplit)
                        \(zip(found.words, expected.words).filter { $0 != $1 }.map { "\($0) and not \($1)" })
                        \(found.ledger.difference(from: expected.ledger).map { "\($0)" }.joined(separator: "\n"))
                        """)
                    return
                }
            }
        }
    }
}
