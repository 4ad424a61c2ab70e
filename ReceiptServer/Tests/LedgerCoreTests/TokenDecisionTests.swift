import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerCore
import LedgerModels
import Sampling
import SeededRandom
import Testing

/// Random histories of accounts with tokens, decided in memory, beside R1 to R15 without orders.
@Suite struct TokenDecisionTests {
    /// Two parts, which run in parallel.
    @Test(arguments: 1...2)
    func `decisions about purchases with tokens are those that R1 to R15 say`(part: Int) throws {
        var generator = SeededGenerator("token decisions, part \(part)")
        var customers: [TokenCustomer] = []
        for number in stride(from: part, through: Sampling.count("token-decisions"), by: 2) {
            // Signatures take most of the time. Each history has a ledger of its own.
            if number % 400 < 2 || customers.isEmpty {
                customers = try (1...8).map { try TokenCustomer($0, using: &generator) }
            }
            var history = History(customers[number / 2 % customers.count], &generator)
            history.run()
            generator = history.generator
            if Sampling.extent == .long, number % 10_000 < 2 { print("token decisions: \(number)") }
        }
    }

    private struct History {
        let customer: TokenCustomer
        var generator: SeededGenerator
        private var both: ComparedLedger

        init(_ customer: TokenCustomer, _ generator: inout SeededGenerator) {
            let forSale = Bool.random(using: &generator) ? ["coins", "pro", "monthly"] : nil
            let since = Bool.random(using: &generator) ? day(8) : nil
            both = ComparedLedger(
                MemoryLedger(forSale: forSale, usesTokens: true, requiresTokenSince: since),
                "seed \(generator.seed), customer \(customer.number)")
            (self.customer, self.generator) = (customer, generator)
        }

        mutating func run() {
            var date = 0.0
            for _ in 0..<Int.random(in: 8...24, using: &generator) {
                date += Double.random(in: 0...4, using: &generator)
                step(at: day(date))
                both.compare(customer.originals)
            }
        }

        private mutating func step(at now: Instant) {
            let accounts = customer.accounts
            let (account, other) =
                Int.random(in: 0..<4, using: &generator) == 0 ? (accounts[1], accounts[0]) : (accounts[0], accounts[1])
            switch Int.random(in: 0..<40, using: &generator) {
            case 0..<12:
                let arrived = customer.notifications.filter { $0.signed <= now }.map(\.notification)
                guard let notification = arrived.randomElement(using: &generator) else { return }
                both.record(notification, at: now)
            case 12..<28:
                let arrived = customer.evidence.filter { $0.signed <= now }
                guard let evidence = arrived.randomElement(using: &generator)?.evidence else { return }
                let token = [nil, nil, customer.tokens[0], customer.tokens[1]].randomElement(using: &generator) ?? nil
                both.redeem(evidence, for: account, token: token, at: now)
            case 28..<34:
                let number = Int.random(in: 0...1, using: &generator)
                let holder = Int.random(in: 0..<8, using: &generator) == 0 ? other : accounts[number]
                both.register(customer.tokens[number], for: holder, at: now)
            case 34..<36:
                let original =
                    Bool.random(using: &generator) ? customer.originals.sorted().randomElement(using: &generator) : nil
                let movesTokens = original == nil && Bool.random(using: &generator)
                both.transfer(from: account, to: other, original, movesTokens: movesTokens, at: now)
            case 36: both.forget(account, at: now)
            default: both.settleDue(at: now)
            }
        }
    }
}
