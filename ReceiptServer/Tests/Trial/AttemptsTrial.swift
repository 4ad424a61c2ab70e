import AppStoreReceipt
import Foundation
import LedgerTestSupport
import PurchaseLedger
import TrialSupport

/// Measures a table with many attempts: the time to fill it, the limit of each account, and the time of a search.
@MainActor struct AttemptsTrial {
    private static let limit = 50.0
    private let evidence: MintedEvidence
    private let count: Int
    /// The number of accounts with room for `count` attempts.
    private let accountCount: Int

    init(_ evidence: MintedEvidence, count: Int) {
        (self.evidence, self.count) = (evidence, count)
        accountCount = max(count / PurchaseLedger.maximumAttemptCount, 1)
    }

    func run() throws {
        try run("SQLite", evidence.path("attempts-\(UUID().uuidString).db"))
        if PostgreSQLServer.binaries != nil { try run("PostgreSQL", PostgreSQLServer.shared.get().makeDatabase()) }
    }

    private func run(_ store: String, _ location: String) throws {
        let ledger = try PurchaseLedger(creating: location)
        let log = AttemptLog(ledger, keeping: .seconds(90 * 86_400), withEvidence: false)
        var number = 0
        func record(until end: Int) throws -> Double {
            let (first, begin) = (number, ContinuousClock.now)
            while number < end {
                for _ in 0..<10_000 where number < end {
                    log.add(attempt(number))
                    number += 1
                }
                try log.write()
            }
            return Double(number - first) / ((ContinuousClock.now - begin) / .seconds(1))
        }
        row("\(store): attempts recorded a second", format(try record(until: count), 0), log.lost == 0)
        // Each replaces an older one.
        let rate = try record(until: count + count / 10)
        row("\(store): the same where each account has all it may have", format(rate, 0), log.lost == 0)
        let kept = try (0..<20).map { try ledger.history(of: account($0), limit: 500)?.entries.count ?? 0 }
        row(
            "\(store): the attempts of an account", "\(kept.max() ?? 0) of \(number / accountCount)",
            kept.allSatisfy { count in
                let least = min(PurchaseLedger.maximumAttemptCount, number / accountCount)
                return (least...least + AttemptLog.boundingInterval).contains(count)
            })
        // Spread over all kept attempts.
        let step = max(count / 100 - 1, 1)
        let last = (0..<min(count, 100)).compactMap { attempt(number - 1 - $0 * step) }
        try search("\(store): an account's history, ms", last) { attempt in
            try ledger.history(of: attempt.account)?.entries.isEmpty == false
        }
        try search("\(store): a request, ms", last) { try ledger.find($0.requestID).count == 1 }
        try search("\(store): a digest, ms", last) { try ledger.attempts(withDigest: $0.digest).count == 1 }
        try search("\(store): a transaction, ms", last) { attempt in
            guard let name = attempt.outcomes.first?.name else { return false }
            return try ledger.story(of: name)?.attempts.contains { $0.account == attempt.account } == true
        }
    }

    private func search(_ name: String, _ attempts: [Attempt], _ body: (Attempt) throws -> Bool) throws {
        var times: [Double] = []
        for attempt in attempts {
            let begin = ContinuousClock.now
            guard try body(attempt) else { throw ChildProcess.Failure(description: "\(name): not found") }
            times.append((ContinuousClock.now - begin) / .milliseconds(1))
        }
        times.sort()
        let worst = times.last ?? 0
        row(name, "\(format(times[times.count / 2], 2)), at worst \(format(worst, 2))", worst < Self.limit)
    }

    private func account(_ number: Int) -> String { "account \(number % accountCount)" }

    /// Returns an attempt with its own evidence. One in ten is about one of 10 transactions of many accounts.
    private func attempt(_ number: Int) -> Attempt? {
        let transaction = number % 10 == 0 ? "1\(number % 100)" : "2\(number)"
        let name = TransactionName(
            environment: .production, bundleID: MintedEvidence.bundleID, transactionID: transaction)
        let outcome = Attempt.Outcome(name: name, transactionID: transaction, outcome: "belongs-to-another")
        let id = String(number, radix: 16)
        return Attempt(
            String(repeating: "0", count: 28 - id.count) + id, of: account(number), Array("evidence \(number)".utf8),
            code: "ok", [outcome], of: 1, at: .now)
    }
}
