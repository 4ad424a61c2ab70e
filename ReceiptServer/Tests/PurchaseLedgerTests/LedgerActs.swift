import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import StrictText
import Testing

/// Acts of a customer, Apple and an operator on a new ledger, in order, and the results of each without faults.
struct LedgerActs: Sendable {
    typealias Run = @Sendable (PurchaseLedger) throws(LedgerError) -> String

    struct Act: Sendable {
        let run: Run
        /// The answer to the request.
        let answer: String
        /// The contents afterwards.
        let contents: [String]
        /// A delivery takes several transactions, and the last can fail.
        var isOneTransaction: Bool { answer != "delivered" }
    }

    private(set) var acts: [Act] = []
    /// The contents before.
    let beginning: [String]

    init() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let renewal = history.renew(subscription, at: day(29.5))
        history.refund(coins, at: day(32))
        let bought = try history.evidence(coins, signedAt: day(1))
        let period = try history.evidence(subscription.firstPeriod, signedAt: day(1))
        let renewed = try history.evidence(renewal, signedAt: day(29.6))
        let refund = try #require(history.verifiedNotifications(through: day(32)).last)
        let gift = Adjustment(
            .product(environment: .production, bundleID: Minted.bundleID, productID: "gift", quantity: 5),
            reason: "support", idempotencyKey: "k")
        var runs: [Run] = []
        // A literal of such closures crashes the compiler.
        func then(_ run: @escaping Run) { runs.append(run) }
        then { (ledger) throws(LedgerError) in try Self.redeem(bought, ledger, key: "k", 1) }
        then { (ledger) throws(LedgerError) in try Self.redeem(period, ledger, 1) }
        // It begins later.
        then { (ledger) throws(LedgerError) in try Self.redeem(renewed, ledger, 29.6) }
        then { (ledger) throws(LedgerError) in "\(try ledger.settleDue(at: day(31)))" }
        then { (ledger) throws(LedgerError) in
            try ledger.record(refund, at: day(32))
            return "recorded"
        }
        then { (ledger) throws(LedgerError) in "\(try ledger.adjust(gift, of: "anna", at: day(32)).quantity)" }
        then { (ledger) throws(LedgerError) in
            try ledger.entitlements(of: "anna", at: day(33)).codes.sorted { $0.key < $1.key }.description
        }
        then { (ledger) throws(LedgerError) in
            "\(try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(34)))"
        }
        // The answer of the first one, although the purchase was refunded and transferred.
        then { (ledger) throws(LedgerError) in try Self.redeem(bought, ledger, key: "k", 35) }
        then { (ledger) throws(LedgerError) in
            // One event of each account. Events held by an ending connection are taken later.
            while case let notified = try ledger.notifiedAccounts(), notified.count < 2 {
                let events = try ledger.takeEvents(limit: 8, lease: .zero, at: day(36))
                try ledger.record(
                    events.filter { !notified.contains($0.account) }.map { ($0, nil) }, maximumAttempts: 80,
                    at: day(36))
            }
            return "delivered"
        }
        then { (ledger) throws(LedgerError) in "\(try ledger.deleteAccount("ben").hasPrefix("forgotten-"))" }
        then { (ledger) throws(LedgerError) in
            try ledger.completeFile()
            return "complete"
        }
        let place = try Place.sqlite.makeLocation()
        let ledger = try PurchaseLedger(place.text)
        beginning = try ledger.contents()
        for run in runs {
            let answer = try run(ledger)
            acts.append(Act(run: run, answer: answer, contents: try ledger.contents()))
        }
        withExtendedLifetime(place) {}
    }

    private static func redeem(
        _ evidence: VerifiedEvidence, _ ledger: PurchaseLedger, key: String? = nil, _ date: Double
    ) throws(LedgerError) -> String {
        try ledger.redeem(evidence, for: "anna", idempotencyKey: key, at: day(date)).outcomes.map {
            "\($0.transactionID) \($0.outcome.rawValue) \($0.quantity)"
        }.joined(separator: ", ")
    }
}

extension PurchaseLedger {
    fileprivate func notifiedAccounts() throws(LedgerError) -> Set<String> {
        try store.read { (connection) throws(LedgerError) in
            var accounts: Set<String> = []
            for row in try connection.run("SELECT account FROM outbox WHERE state = 'delivered'") {
                accounts.insert(try row.text(0))
            }
            return accounts
        }
    }

    /// The contents of the tables, except random and time-dependent values.
    func contents() throws -> [String] {
        let queries = [
            """
            SELECT 'grant', account, transaction_id, product_id, quantity, granted_quantity
            FROM grants JOIN identifiers ON id = identifier_id
            """,
            "SELECT 'family', account FROM families", "SELECT 'identifier', transaction_id FROM identifiers",
            "SELECT 'evidence', transaction_id, variant FROM evidence JOIN identifiers ON id = identifier_id",
            "SELECT 'notification', uuid FROM notifications",
            "SELECT 'due', transaction_id FROM due_moments JOIN identifiers ON id = identifier_id",
            "SELECT 'answer', account, idempotency_key FROM answers",
            "SELECT 'transfer', from_account, to_account FROM transfers",
            "SELECT 'act', account, kind, quantity FROM acts",
        ]
        let (rows, events) = try store.read { (connection) throws(LedgerError) in
            var rows: [SQLRow] = []
            for query in queries { rows += try connection.run(query) }
            return (rows, try connection.run("SELECT event, state FROM outbox"))
        }
        let lines = rows.map { row in
            row.values.map {
                switch $0 {
                case .integer(let number): "\(number)"
                case .text(let text): text.hasPrefix("forgotten-") ? "forgotten" : text
                default: "-"
                }
            }.joined(separator: " ")
        }
        let posted = try events.map { row in
            let event: LedgerEvent = try StoredJSON.decode(row.text(0))
            return "event \(event.account) \(event.kind) \(event.cause) \(event.transactionID) \(event.quantity) "
                + (try row.text(1))
        }
        return (lines + posted).sorted()
    }
}
