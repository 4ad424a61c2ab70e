import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import ServerFuzzSupport
import PurchaseLedger

// Histories of a ledger: each pair of bytes is a step of a customer, of Apple, of time or of an operator. After each of
// them: nothing is granted twice, nothing to two accounts, nothing that was refunded, and a repeated request changes
// nothing.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        var history = FuzzedHistory()
        for step in stride(from: 0, to: min(input.count, 80) - 1, by: 2) {
            FuzzAuthority.made { try history.take(input[step], input[step + 1]) }
        }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput, orMint: seeds) }
}

private let seeds: [(name: String, bytes: [UInt8])] = [
    ("consumable", [0, 3, 4, 0, 4, 0, 4, 1, 2, 0, 6, 0, 4, 0, 3, 0, 6, 1, 4, 0]),
    ("subscription", [1, 0, 5, 0, 7, 30, 1, 1, 5, 1, 4, 1, 8, 0, 7, 31, 4, 0, 2, 1, 6, 3]),
    ("refund", [0, 3, 4, 0, 2, 0, 4, 128, 6, 0, 4, 128, 4, 129, 3, 0, 4, 0]),
    ("transfer", [0, 1, 4, 0, 9, 0, 4, 1, 4, 0, 10, 1, 4, 0, 4, 1]),
]
#endif

private let bundleID = "com.example.app"
private let authority = FuzzAuthority.made { try TestCertificateAuthority(.ellipticCurve) }
private let verifier = FuzzAuthority.made {
    try AppStoreVerifier(bundleID: bundleID, environments: [.production], trust: .roots([authority.trustAnchor]))
}

/// Each history has its own customer, and a ledger has as many as a `PurchaseHistory` allows.
private nonisolated(unsafe) var historyCount = 0
private nonisolated(unsafe) var currentLedger: PurchaseLedger?
private let customers = 1...499

private func nextCustomer() -> (ledger: PurchaseLedger, number: Int) {
    let number = unsafe historyCount % customers.count + customers.lowerBound
    if number == customers.lowerBound {
        let file = unsafe temporaryFolder + "/\(historyCount).db"
        unsafe currentLedger = FuzzAuthority.made { try PurchaseLedger(creating: file) }
    }
    unsafe historyCount += 1
    guard let ledger = unsafe currentLedger else { fatalError("no ledger") }
    return (ledger, number)
}

private struct FuzzedHistory {
    private let ledger: PurchaseLedger
    private var history: PurchaseHistory
    private let accounts: [String]
    private var now = Instant(millisecondsSince1970: 1_735_689_600_000)
    private var transactions: [PurchaseHistory.Transaction] = []
    private var subscriptions: [PurchaseHistory.Subscription] = []
    /// The account that was granted a transaction, since its last owner was changed by an operator.
    private var granted: [String: Int] = [:]
    /// The transactions that are refunded as a whole, and those whose refund the ledger knows.
    private var refunded: Set<String> = []
    private var notifiedRefunds: Set<String> = []
    /// Redeemed evidence, to be sent again after a refund.
    private var earlier: [VerifiedEvidence] = []

    init() {
        let customer: Int
        (ledger, customer) = nextCustomer()
        history = PurchaseHistory(bundleID: bundleID, customer: customer)
        accounts = ["anna-\(customer)", "ben-\(customer)"]
    }

    mutating func take(_ step: UInt8, _ value: UInt8) throws {
        let account = Int(value & 1)
        // Of two signatures in one millisecond, neither is the later one.
        now = now + .seconds(1)
        switch step % 11 {
        case 0: transactions.append(history.buyConsumable("coins", quantity: Int(value % 10) + 1, at: now))
        case 1:
            if let subscription = subscriptions.last, value & 1 == 1 {
                transactions.append(history.renew(subscription))
            } else {
                let subscription = history.subscribe(
                    to: "monthly", in: "group\(subscriptions.count)", for: .days(30), at: now)
                subscriptions.append(subscription)
                transactions.append(subscription.firstPeriod)
            }
        case 2:
            if let one = chosen(value), one.purchaseDate <= now {
                let isWhole = value & 64 == 0
                history.refund(one, at: now, percentage: isWhole ? 100_000 : 40_000)
                if isWhole { refunded.insert(one.transactionID) } else { refunded.remove(one.transactionID) }
            }
        case 3:
            if let one = chosen(value) {
                history.reverseRefund(of: one, at: now)
                refunded.remove(one.transactionID)
            }
        case 4:
            if value & 128 != 0, !earlier.isEmpty {
                try redeem(earlier[Int(value >> 1) % earlier.count], for: account)
            } else {
                try redeemNew(verifier.verify(history.receipt(signedAt: now).signed(by: authority)), for: account)
            }
        case 5:
            if let one = chosen(value >> 1), let builder = history.transaction(one, signedAt: now) {
                try redeemNew(verifier.verify(builder.signed(by: authority)), for: account)
            }
        case 6:
            // In any order, and again.
            let all = history.notifications(through: now)
            if !all.isEmpty {
                let notification = all[Int(value) % all.count]
                let builder = try history.builder(for: notification, partsSignedBy: authority)
                try ledger.record(verifier.verifyNotification(builder.signed(by: authority)), at: now)
                let last = all.last {
                    $0.transaction == notification.transaction && ($0.type == .refund || $0.type == .refundReversed)
                }
                let id = notification.transaction.transactionID
                if notification == last, refunded.contains(id) {
                    notifiedRefunds.insert(id)
                } else {
                    notifiedRefunds.remove(id)
                }
            }
        case 7: now = now + .seconds(Int64(value) * 86_400)
        case 8: while try ledger.settleDue(at: now) > 0 {}
        case 9:
            do throws(LedgerError) {
                try ledger.transfer(from: accounts[account], to: accounts[1 - account], reason: "fuzz", at: now)
                for (id, owner) in granted where owner == account { granted[id] = 1 - account }
            } catch {
                check(error.code == .notFound, "\(error)")
            }
        default:
            do throws(LedgerError) {
                _ = try ledger.deleteAccount(accounts[account])
                // What it had stays spent.
                for (id, owner) in granted where owner == account { granted[id] = -1 }
            } catch {
                check(error.code == .notFound, "\(error)")
            }
        }
    }

    private func chosen(_ value: UInt8) -> PurchaseHistory.Transaction? {
        transactions.isEmpty ? nil : transactions[Int(value % 64) % transactions.count]
    }

    /// Redeems what Apple signs now.
    private mutating func redeemNew(_ evidence: VerifiedEvidence, for account: Int) throws {
        for id in evidence.purchases.compactMap(\.transactionID) {
            if refunded.contains(id) { notifiedRefunds.insert(id) } else { notifiedRefunds.remove(id) }
        }
        earlier.append(evidence)
        try redeem(evidence, for: account)
    }

    private mutating func redeem(_ evidence: VerifiedEvidence, for account: Int) throws {
        let first = try ledger.redeem(evidence, for: accounts[account], at: now)
        for outcome in first.outcomes {
            let id = outcome.transactionID
            check(!notifiedRefunds.contains(id) || outcome.quantity == 0, "\(id) is refunded: \(outcome)")
            let quantity = transactions.first { $0.transactionID == id }?.quantity ?? 0
            switch outcome.outcome {
            case .granted:
                check(granted[id] == nil, "\(id) is granted twice")
                check(1...quantity ~= outcome.quantity, "\(outcome.quantity) of \(quantity) granted")
                granted[id] = account
            case .alreadyYours:
                let grant = outcome.grantedAs ?? id
                check(granted[grant] ?? account == account, "\(id) is another account's")
                check(0...quantity ~= outcome.quantity, "\(outcome.quantity) of \(quantity)")
            default: break
            }
        }
        let again = try ledger.redeem(evidence, for: accounts[account], at: now)
        check(again.sequence == first.sequence, "to ask again posts an event")
        check(again.outcomes.count == first.outcomes.count, "outcomes are lost")
        for (before, after) in zip(first.outcomes, again.outcomes) {
            check(
                after.outcome == (before.outcome == .granted ? .alreadyYours : before.outcome),
                "to ask again changes the outcome")
            check(after.quantity == before.quantity, "to ask again changes the quantity")
        }
    }
}
