import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerCore
import LedgerModels
import Sampling
import SeededRandom
import Testing

/// Years of a customer, decided in memory beside R1 to R15. `SimulatedYearTests` has servers and a database, too.
@Suite struct YearDecisionTests {
    /// Two parts, which run in parallel.
    @Test(arguments: 1...2)
    func `in a year of lost notifications, wrong clocks and back-ups, decisions are those of R1 to R15`(part: Int)
        throws
    {
        var generator = SeededGenerator("year decisions, part \(part)")
        var totals = Totals()
        for number in stride(from: part, through: Sampling.count("year-decisions"), by: 2) {
            var year = Year(seed: generator.next())
            try year.run()
            totals.add(year.totals)
            if Sampling.extent == .long, number % 100 < 2 { print("year decisions: \(number)") }
        }
        // Otherwise, nothing went wrong in these years.
        #expect(totals.lost > 0 && totals.restores > 0 && totals.renewals > 0, "\(totals)")
    }

    private struct Totals {
        var lost = 0, restores = 0, renewals = 0

        mutating func add(_ other: Totals) {
            lost += other.lost
            restores += other.restores
            renewals += other.renewals
        }
    }

    private struct Year {
        /// What only an operator or the backend can repeat after a back-up was restored.
        private enum Act {
            case token(AppAccountToken, account: String)
            case transfer(from: String, to: String, original: String?, movesTokens: Bool)
            case deletion(String)
        }

        private static let accounts = ["anna", "ben"]
        /// Two of accounts, and one that nobody has.
        private static let tokens = (1...3).map { AppAccountToken("00000000-0000-4000-8000-00000000000\($0)")! }

        private(set) var totals = Totals()
        private var generator: SeededGenerator
        private var history = PurchaseHistory(bundleID: Minted.bundleID)
        private var both: ComparedLedger
        private var backUp: ComparedLedger?
        private var actsSinceBackUp: [Act] = []
        private var charges: [PurchaseHistory.Subscription: Instant] = [:]
        private var now = day(0)
        private var clockError = Duration.zero
        /// Apple sent all notifications up to this date. Some did not arrive.
        private var sentThrough = day(-1)
        private var sent: [VerifiedNotification] = []

        init(seed: UInt64) {
            generator = SeededGenerator(seed: seed)
            let forSale = Bool.random(using: &generator) ? ["coins", "pro 0", "pro 1", "every 30", "gold 0"] : nil
            let since = Bool.random(using: &generator) ? day(120) : nil
            both = ComparedLedger(
                MemoryLedger(forSale: forSale, usesTokens: true, requiresTokenSince: since), "seed \(seed)")
        }

        private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

        private mutating func random(_ days: ClosedRange<Double>) -> Duration {
            .milliseconds(Int64(Double.random(in: days, using: &generator) * 86_400_000))
        }

        private var serverDate: Instant { now + clockError }

        private var originals: Set<String> { Set(history.transactions.map(\.originalTransactionID)) }

        mutating func run() throws {
            while now < day(365) {
                pass(random(0...2))
                if chance(60) { try live() }
                try notify(losing: 25)
                if chance(10) { sweep() }
                both.settleDue(at: serverDate)
                both.compare(originals)
                operate()
            }
            try finish()
        }

        /// Everything that happened arrives, and both accounts submit everything.
        private mutating func finish() throws {
            clockError = .zero
            try notify(losing: 0)
            sweep()
            both.settleDue(at: now)
            let everything = try Minted.evidence(history.receipt(signedAt: now, of: history.transactions))
            for account in Self.accounts { both.redeem(everything, for: account, token: nil, at: now) }
            both.compare(originals)
        }

        // MARK: The App Store

        private mutating func pass(_ duration: Duration) {
            let end = now + duration
            while let (subscription, date) = charges.min(by: {
                ($0.value, $0.key.originalTransactionID) < ($1.value, $1.key.originalTransactionID)
            }),
                date <= end
            {
                now = max(now, date)
                charges[subscription] = nil
                charge(subscription)
            }
            now = end
        }

        private mutating func charge(_ subscription: PurchaseHistory.Subscription) {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: history.turnOffRenewal(of: subscription, at: now)
            case 1:
                let end = max(now, history.latestPeriod(of: subscription).expiresDate ?? now)
                history.failToRenew(subscription, at: end, gracePeriod: chance(50) ? .seconds(6 * 86_400) : nil)
                // Apple tries again.
                if chance(70) { charges[subscription] = end + random(0.5...20) }
            default:
                totals.renewals += 1
                expectCharge(subscription, history.renew(subscription, at: now))
            }
        }

        private mutating func expectCharge(
            _ subscription: PurchaseHistory.Subscription, _ period: PurchaseHistory.Transaction
        ) {
            charges[subscription] = period.expiresDate.map { $0 - random(0...0.8) }
        }

        /// Apple sends the notifications of what happened.
        private mutating func notify(losing percent: Int) throws {
            for notification in history.notifications(through: now) where notification.signedDate > sentThrough {
                let builder = try history.builder(for: notification, partsSignedBy: Minted.authority.get())
                let signed = try Minted.notification(builder)
                sent.append(signed)
                if chance(percent) {
                    totals.lost += 1
                } else {
                    both.record(signed, at: serverDate)
                }
            }
            sentThrough = now
        }

        /// The server asks Apple for the history of notifications.
        private mutating func sweep() {
            for notification in sent { both.record(notification, at: serverDate) }
        }

        // MARK: The customer

        private mutating func live() throws {
            let account = Self.accounts[chance(10) ? 1 : 0]
            let recent = history.transactions.filter { $0.purchaseDate > now - .seconds(60 * 86_400) }
            let any = recent.randomElement(using: &generator)
            let choice = Int.random(in: 0..<3, using: &generator)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<20:
                let coins = history.buyConsumable("coins", quantity: 1 + choice, at: now)
                if chance(80) { try redeem(coins, account) }
            case 20..<25: history.buyNonConsumable("pro \(choice)", at: now)
            case 25..<31:
                guard history.subscriptions.count < 3 else { return }
                let days = [7, 14, 30][choice]
                let group = "group \(history.subscriptions.count)"
                let subscription = history.subscribe(to: "every \(days)", in: group, for: .days(days), at: now)
                expectCharge(subscription, subscription.firstPeriod)
                if chance(80) { try redeem(subscription.firstPeriod, account) }
            case 31..<38: if let any { history.refund(any, at: now, percentage: chance(60) ? 100_000 : 40_000) }
            case 38..<40: if let any { history.reverseRefund(of: any, at: now) }
            case 40..<43:
                guard let subscription = history.subscriptions.randomElement(using: &generator),
                    case let last = history.latestPeriod(of: subscription), let end = last.expiresDate,
                    last.purchaseDate < now, now < end
                else { return }
                expectCharge(subscription, history.upgrade(subscription, to: "gold \(choice)", for: .days(30), at: now))
            case 43..<46: if let any { history.restore(any, at: now) }
            case 46..<54:
                let tokens = Self.tokens + [Self.tokens[0]]
                history.appAccountToken = chance(20) ? nil : tokens.randomElement(using: &generator)?.description
            case 54..<58:
                let number = choice % 2
                act(.token(Self.tokens[number], account: Self.accounts[chance(12) ? 1 - number : number]))
            case 58..<60:
                let original = chance(50) ? any?.originalTransactionID : nil
                let (from, to) = choice == 0 ? ("anna", "ben") : ("ben", "anna")
                act(.transfer(from: from, to: to, original: original, movesTokens: original == nil && chance(50)))
            case 60: if chance(20) { act(.deletion(account)) }
            // The server asks Apple about a transaction.
            case 61..<70: if let any { both.record(try history.evidence(any, signedAt: now), at: serverDate) }
            default: if let any { try redeem(any, account) }
            }
        }

        private mutating func redeem(_ transaction: PurchaseHistory.Transaction, _ account: String) throws {
            let evidence =
                chance(15)
                ? try Minted.evidence(history.receipt(signedAt: now))
                : try history.evidence(transaction, signedAt: now)
            let token = chance(50) ? nil : Self.tokens.prefix(2).randomElement(using: &generator)
            both.redeem(evidence, for: account, token: token, at: serverDate)
        }

        // MARK: The operator

        private mutating func act(_ act: Act) {
            actsSinceBackUp.append(act)
            switch act {
            case .token(let token, let account): both.register(token, for: account, at: serverDate)
            case .transfer(let from, let to, let original, let movesTokens):
                both.transfer(from: from, to: to, original, movesTokens: movesTokens, at: serverDate)
            case .deletion(let account): both.forget(account, at: serverDate)
            }
        }

        private mutating func operate() {
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<10:
                let errors: [Duration] = [.zero, .seconds(-900), .seconds(900), .seconds(-86_400)]
                clockError = errors.randomElement(using: &generator) ?? .zero
            case 10..<13:
                backUp = both.copy()
                actsSinceBackUp = []
            case 13..<16:
                guard let saved = backUp else { return }
                totals.restores += 1
                both = saved.copy()
                // The server asks Apple for what is missing, and the operator repeats what only an operator knows.
                let acts = actsSinceBackUp
                actsSinceBackUp = []
                for act in acts { self.act(act) }
                sweep()
            default: break
            }
        }
    }
}
