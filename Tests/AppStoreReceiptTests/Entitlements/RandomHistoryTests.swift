import AppStoreReceiptTesting
import Foundation
import Sampling
import TestSupport
import Testing

@testable import AppStoreReceipt

/// Histories of one customer, simulated event by event, and what each transaction is at any time.
///
/// The model knows nothing of the engine's rules: it notes the end of each transaction when the event that ends it
/// happens.
private struct Model {
    struct Entry {
        var transaction: Transaction
        /// When and why it ended.
        var end: (day: Double, code: String)?
    }

    var entries: [Entry] = []
    private static let products = ["basic", "premium", "ultra"]
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        for subscription in 0..<Int.random(in: 1...2, using: &generator) { subscribe(subscription) }
        for _ in 0..<Int.random(in: 0...3, using: &generator) { buyOnce() }
    }

    private mutating func chance(_ part: Double) -> Bool { Double.random(in: 0..<1, using: &generator) < part }

    /// A day with a time of whole minutes, so that no two events are within the tolerances of the engine by accident.
    private mutating func day(in range: Range<Double>) -> Double {
        let minutes =
            Int(range.lowerBound * 1440)
            + 10..<max(Int(range.upperBound * 1440) - 10, Int(range.lowerBound * 1440) + 11)
        return Double(Int.random(in: minutes, using: &generator)) / 1440
    }

    private mutating func add(_ transaction: Transaction) { entries.append(Entry(transaction: transaction)) }

    private mutating func nextID() -> String { "\(70_000 + entries.count)" }

    /// One subscription: renewals, upgrades, crossgrades, downgrades, refunds, gaps and restores.
    private mutating func subscribe(_ number: Int) {
        let original = "\(100 + number)"
        var now = day(in: 0..<20)
        var product = Self.products.randomElement(using: &generator)!
        var running: Int?
        let count = Int.random(in: 1...7, using: &generator)
        for event in 0..<count {
            let id = event == 0 ? original : nextID()
            let length = [7.0, 30, 365].randomElement(using: &generator)!
            var period = Transaction(
                id: id, product: "\(product)\(number)", original: original, start: now, end: now + length,
                item: "9\(number)\(entries.count)")
            if event == 0, chance(0.3) { period.offer = PurchaseOffer(type: .introductory, discountType: .freeTrial) }
            add(period)
            let index = entries.count - 1
            running = index
            if chance(0.15) { restore(index) }
            let end = now + length
            // An upgrade is followed by the period it is to.
            switch Int.random(in: event == count - 1 ? 1..<6 : 0..<6, using: &generator) {
            case 0:
                // An upgrade, or a crossgrade of the same length, to another product at once.
                now = day(in: now..<end)
                product = Self.products.filter { $0 != product }.randomElement(using: &generator)!
                finish(running!, now, "upgraded")
                entries[running!].transaction.isUpgraded = true
                // Apple dates the cancellation in some records.
                if chance(0.5) { entries[running!].transaction.revoked = now }
            case 1:
                refund(index, day(in: now..<end))
                now = end + Double(Int.random(in: 1...20, using: &generator))
            case 2:
                // A downgrade at the renewal.
                product = Self.products.randomElement(using: &generator)!
                now = end
            case 3: now = end + Double(Int.random(in: 1...20, using: &generator))
            case 4:
                refund(index, end + 3)
                now = end
            default: now = end
            }
        }
    }

    private mutating func restore(_ index: Int) {
        var copy = entries[index].transaction
        copy.start += 0.5
        copy.id = nextID()
        entries.append(Entry(transaction: copy))
        restored[entries.count - 1] = index
    }

    /// The transactions that restore another.
    private var restored: [Int: Int] = [:]

    private mutating func buyOnce() {
        let id = nextID()
        let start = day(in: 0..<200)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: add(Transaction(id: id, product: "pro\(id)", type: .nonConsumable, start: start))
        case 1:
            add(.consumable(id, start, quantity: Int.random(in: 1...5, using: &generator)))
        default: add(Transaction(id: id, product: "season", type: .nonRenewingSubscription, start: start))
        }
        if chance(0.3) { refund(entries.count - 1, day(in: start..<start + 50)) }
    }

    private mutating func refund(_ index: Int, _ day: Double) {
        entries[index].transaction.revoked = day
        finish(index, day, "revoked")
    }

    /// Ends a transaction that has not expired by then.
    private mutating func finish(_ index: Int, _ day: Double, _ code: String) {
        if let end = entries[index].transaction.end, end <= day { return }
        entries[index].end = (day, code)
    }

    func code(of index: Int, at day: Double) -> String {
        let entry = entries[restored[index] ?? index]
        let date = TestSupport.day(day)
        if let end = entry.end, TestSupport.day(end.day) <= date { return end.code }
        if let end = entry.transaction.end, TestSupport.day(end) <= date { return "expired" }
        if date.advanced(by: .seconds(300)) < TestSupport.day(entry.transaction.start) { return "not-yet" }
        switch entry.transaction.type {
        case .consumable?: return "consumable"
        case .nonConsumable?: return "owned"
        case .nonRenewingSubscription?: return "length-unknown"
        default: return "active"
        }
    }

    mutating func dates(_ count: Int) -> [Double] { (0..<count).map { _ in day(in: -1..<1500) } }
}

@Suite struct RandomHistoryTests {
    static let count = Sampling.count("purchase-histories")
    /// Parts that run at the same time.
    static let partCount = 8
    static let seed = Sampling.seed % (1 << 32)

    @Test(arguments: 0..<partCount)
    func `every query from every source agrees with a simple model of random histories`(part: Int) throws {
        if part == 0 { print("random histories: seed \(Self.seed), \(Self.count) histories") }
        for offset in stride(from: part, to: Self.count, by: Self.partCount) {
            let seed = Self.seed + UInt64(offset)
            var model = Model(seed: seed)
            let transactions = model.entries.map(\.transaction)
            let dates = model.dates(4)
            let verified = Dictionary(uniqueKeysWithValues: try transactions.map { ($0.id, try $0.verified()) })
            for source in EvidenceSource.allCases {
                let decide = try source.decisions(of: transactions) { try #require(verified[$0.id]) }
                for asked in dates {
                    let entitlements = decide(day(asked))
                    let expected = Dictionary(
                        uniqueKeysWithValues: transactions.indices.map {
                            (transactions[$0].id, model.code(of: $0, at: asked))
                        })
                    try #require(entitlements.codes == expected, "seed \(seed), \(source), day \(asked)")
                    expectAgreement(in: entitlements)
                }
            }
        }
    }
}
