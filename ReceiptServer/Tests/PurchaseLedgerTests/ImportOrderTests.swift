import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// Random files: what they do is what their lines do one by one.
@Suite struct ImportOrderTests {
    /// What happened before a file, the file, and what happens after it.
    private struct World {
        private static let accounts = ["anna", "ben", "carl"]
        private static let tokens = (1...4).map { AppAccountToken("00000000-0000-4000-8000-00000000000\($0)")! }

        private(set) var before: [(PurchaseLedger) throws -> Void] = []
        private(set) var lines: [ImportedLine] = []
        private(set) var after: [(PurchaseLedger) throws -> Void] = []

        /// - Parameter lineCount: The lines of the file. Many files have some lines twice.
        init(_ lineCount: Int, using generator: inout SeededGenerator) throws {
            let customerCount = lineCount > 24 ? 12 : 2
            var histories = (1...customerCount).map { PurchaseHistory(bundleID: Minted.bundleID, customer: $0) }
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
                let act = Self.act(evidence.map(\.1), at: day(40), using: &generator)
                before.append(act)
            }
            before.shuffle(using: &generator)
            // Hidden differences show in what comes next.
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                after.append(Self.act(evidence.map(\.1), at: day(42), using: &generator))
            }
            let transactions = histories.flatMap(\.transactions)
            for _ in 0..<lineCount {
                let account = Self.account(&generator)
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: lines.append(.token(account: account, Self.tokens.randomElement(using: &generator)!))
                case 1, 2:
                    lines.append(.evidence(account: account, evidence.randomElement(using: &generator)!.1))
                case 3: lines.append(.evidence(account: account, receipts.randomElement(using: &generator)!))
                default: lines.append(try Self.spent(account, transactions, using: &generator))
                }
            }
            lines += lines.filter { _ in Int.random(in: 0..<6, using: &generator) == 0 }
        }

        /// Most lines are one account's: others find what is taken.
        private static func account(_ generator: inout SeededGenerator) -> String {
            Bool.random(using: &generator) ? accounts[0] : accounts.randomElement(using: &generator)!
        }

        /// Stores a token, redeems evidence, or transfers purchases.
        private static func act(
            _ evidence: [VerifiedEvidence], at date: Instant, using generator: inout SeededGenerator
        ) -> (PurchaseLedger) throws -> Void {
            let (account, other) = (account(&generator), account(&generator))
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let token = tokens.randomElement(using: &generator)!
                return { _ = try? $0.token(for: account, storing: token, at: date) }
            case 2:
                let movesTokens = Bool.random(using: &generator)
                return { ledger in
                    _ = try? ledger.transfer(
                        from: account, to: other, movesTokens: movesTokens, reason: "ticket", at: date)
                }
            default:
                let evidence = evidence.randomElement(using: &generator)!
                return { _ = try $0.redeem(evidence, for: account, at: date) }
            }
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
            let quantities = [nil, transaction.quantity, transaction.quantity, 3]
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

        /// The file's results, and the ledger.
        ///
        /// - Parameter parts: The sizes of the batches, in order.
        func outcome(
            _ bench: Bench, _ parts: [Int], inSeveralFiles isSplit: Bool = false, triedFirst isTried: Bool = false
        ) throws -> (words: [String], ledger: [String]) {
            let ledger = try bench.emptyLedger()
            for act in before { try act(ledger) }
            let tried = isTried ? try bench.tried(lines, at: day(41)) : nil
            var results: [ImportedLine.Result] = []
            var run = try ledger.beginImport(of: "file", digest: "", by: "tests", at: day(41))
            var start = 0
            for count in parts {
                let batch = Array(lines[start..<start + count])
                start += count
                results +=
                    isSplit
                    ? try ledger.imported(batch, at: day(41)) : try ledger.importLines(batch, of: &run, at: day(41))
            }
            #expect(start == lines.count && tried ?? results == results)
            for act in after { try act(ledger) }
            return (results.map { "\($0.outcome) \($0.notes)" }, try ledger.dump())
        }

        /// Batches of this many lines.
        func parts(of count: Int) -> [Int] {
            stride(from: 0, to: lines.count, by: count).map { min(count, lines.count - $0) }
        }

        func randomParts(using generator: inout SeededGenerator) -> [Int] {
            var rest = lines.count
            var parts: [Int] = []
            while rest > 0 {
                parts.append(Int.random(in: 1...min(rest, 9), using: &generator))
                rest -= parts.last!
            }
            return parts
        }
    }

    /// A ledger, and one for trials, both emptied for each file: creating them takes longer than an import.
    private final class Bench {
        private let location, trialLocation: Place.Location
        private let ledger, trial: PurchaseLedger
        /// The tables that are empty in a new ledger, those last that others refer to.
        private let tables: [String]

        init(_ place: Place) throws {
            var policy = LedgerPolicy()
            policy.orders = OrderPolicy()
            location = try place.makeLocation()
            trialLocation = try Place.sqlite.makeLocation()
            ledger = try PurchaseLedger(LedgerLocation(location.text).open(), policy, at: day(0))
            trial = try PurchaseLedger(LedgerLocation(trialLocation.text).open(), policy, at: day(0))
            let names = "SELECT name FROM sqlite_schema WHERE type = 'table'"
            let all = try trial.store.read { (connection) throws(LedgerError) in
                try connection.run(names).map { (row) throws(LedgerError) in try row.text(0) }
            }
            let statements = all.map { SQLStatement("SELECT 1 FROM \($0) LIMIT 1") }
            let rows = try trial.store.read { (connection) throws(LedgerError) in try connection.run(statements) }
            let empty = zip(all, rows).filter(\.1.isEmpty).map(\.0)
            tables = empty.filter { $0 != "families" } + empty.filter { $0 == "families" }
        }

        private func empty(_ ledger: PurchaseLedger) throws {
            try ledger.store.write { [tables] (connection) throws(LedgerError) in
                for table in tables { try connection.write("DELETE FROM \(table)", []) }
                try connection.run("SELECT 1")
            }
        }

        func emptyLedger() throws -> PurchaseLedger {
            try empty(ledger)
            return ledger
        }

        /// Returns the results of a trial import.
        func tried(_ lines: [ImportedLine], at date: Instant) throws -> [ImportedLine.Result] {
            try empty(trial)
            try trial.prepareTrial()
            var copied = TrialCopies()
            try ledger.copy(about: lines, to: trial, without: &copied)
            return try trial.imported(lines, at: date)
        }
    }

    @Test(arguments: Place.available)
    func `a file does and says what its lines do one by one, with any batch, and in several files`(
        _ place: Place
    ) throws {
        var generator = SeededGenerator()
        let (model, bench) = (try Bench(.sqlite), try Bench(place))
        let count = Sampling.count(place == .sqlite ? "import-files-sqlite" : "import-files-postgresql")
        var differences: [String] = []
        for number in 0..<count {
            let lineCount: Int
            switch Int.random(in: 0..<2000, using: &generator) {
            case 0: lineCount = Int.random(in: 4090...4200, using: &generator)
            case 1...10: lineCount = Int.random(in: 250...600, using: &generator)
            default: lineCount = Int.random(in: 3...24, using: &generator)
            }
            let world = try World(lineCount, using: &generator)
            let expected = try world.outcome(model, world.parts(of: 1), inSeveralFiles: true, triedFirst: true)
            let random = world.randomParts(using: &generator)
            var variants = [
                (world.parts(of: 1), false), (random, true), (random, false), (world.parts(of: 4096), false),
            ]
            if world.lines.count > 256 { variants.append((world.parts(of: 256), false)) }
            for (index, (parts, isSplit)) in variants.enumerated() {
                let found = try world.outcome(bench, parts, inSeveralFiles: isSplit, triedFirst: index == 0)
                guard found != expected else { continue }
                differences.append(
                    """
                    file \(number), batches of \(parts.prefix(9)), in several files: \(isSplit)
                    \(zip(found.words, expected.words).filter { $0 != $1 }.map { "\($0) and not \($1)" })
                    \(found.ledger.difference(from: expected.ledger).map { "\($0)" }.joined(separator: "\n"))
                    """)
            }
            if number % 500 == 499 { print("\(place): \(number + 1) files, \(differences.count) differences") }
        }
        #expect(differences.isEmpty, "\(differences.count): \(differences.prefix(3).joined(separator: "\n"))")
    }
}
