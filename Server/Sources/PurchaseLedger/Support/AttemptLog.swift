package import SpanASN1
import AppStoreReceipt
import ServerThreads
import StrictText

/// Records requests beside the redemptions that they are about, in batches: nobody waits for it, and a crash loses what was added in the last second.
package final class AttemptLog: @unchecked Sendable {
    /// The time between two batches.
    static let interval = Duration.milliseconds(500)
    /// The attempts that wait are at most so many. What is more is not recorded, but counted.
    static let maximumCount = 20_000
    /// The bytes of evidence that wait are at most so many. What is more is not kept.
    static let maximumByteCount = 32 << 20
    /// The attempts of one transaction of the database, for which redemptions wait.
    static let batchCount = 200
    /// When an account was deleted, another server can write what it added in this time before.
    static let erasureDelay = Duration.seconds(5)
    /// The time between two looks for what is too old.
    private static let cleaningInterval = Duration.seconds(3600)

    private let ledger: PurchaseLedger
    private let keepTime: Duration
    private let keepsEvidence: Bool
    private let monitor = Monitor()
    /// Within the monitor.
    private var waiting: [Attempt] = []
    private var waitingByteCount = 0
    private var erasures: [Erasure] = []
    private var lostCount: UInt64 = 0
    private var isStopping = false
    /// While a batch is written.
    private let writing = Monitor()

    private struct Erasure {
        let account: String
        let date: Instant
        let due: ContinuousClock.Instant
    }

    /// - Parameters:
    ///   - keepTime: How long attempts are kept; zero to record none, and to remove what there is.
    ///   - keepsEvidence: Whether what was sent is kept, too.
    package init(_ ledger: PurchaseLedger, keeping keepTime: Duration, withEvidence keepsEvidence: Bool) {
        (self.ledger, self.keepTime, self.keepsEvidence) = (ledger, keepTime, keepsEvidence)
    }

    /// The attempts that were not recorded, because too many waited or the database did not answer.
    package var lost: UInt64 { monitor.locked { lostCount } }

    /// Records an attempt soon.
    package func add(_ attempt: @autoclosure () -> Attempt?) {
        guard keepTime > .zero, var attempt = attempt() else { return }
        if !keepsEvidence || attempt.evidence.map({ $0.count > EvidenceCompression.maximumByteCount }) ?? false {
            attempt.evidence = nil
        }
        let isFull = monitor.locked {
            guard waiting.count < Self.maximumCount else {
                lostCount += 1
                return false
            }
            let count = attempt.evidence?.count ?? 0
            if waitingByteCount + count > Self.maximumByteCount { attempt.evidence = nil }
            waitingByteCount += attempt.evidence?.count ?? 0
            waiting.append(attempt)
            return waiting.count == Self.maximumCount / 4
        }
        if isFull { monitor.broadcast() }
    }

    /// Records until ``stop()`` is called. Call it on a thread of its own.
    ///
    /// - Parameter onError: Is told each time the database fails.
    package func run(onError: (LedgerError) -> Void) {
        var nextCleaning = ContinuousClock.now
        while true {
            let deadline = Monitor.Deadline(after: Self.interval)
            let isOver = monitor.locked {
                while !isStopping, waiting.count < Self.maximumCount / 4, monitor.wait(until: deadline) {}
                return isStopping
            }
            if isOver { return }
            do throws(LedgerError) {
                try write()
                try erase()
                if ContinuousClock.now >= nextCleaning {
                    nextCleaning = ContinuousClock.now + Self.cleaningInterval
                    try ledger.removeAttempts(before: .now - keepTime)
                }
            } catch {
                onError(error)
            }
        }
    }

    /// Records what waits, and makes ``run(onError:)`` return.
    package func stop() throws(LedgerError) {
        monitor.locked { isStopping = true }
        monitor.broadcast()
        try write()
        try erase(atEnd: true)
    }

    /// Drops what waits about an account that is being deleted, and removes soon what another server still writes about it. Call it before the account is deleted.
    package func forget(_ account: String, at now: Instant) {
        monitor.locked {
            waiting.removeAll { $0.account.hasSameBytes(as: account) }
            waitingByteCount = waiting.reduce(0) { $0 + ($1.evidence?.count ?? 0) }
            erasures.append(
                Erasure(account: account, date: now, due: ContinuousClock.now + Self.erasureDelay))
        }
        // What is being written is deleted with the account.
        writing.locked {}
    }

    /// Records what waits.
    package func write() throws(LedgerError) {
        try writing.locked { () throws(LedgerError) in
            let taken = monitor.locked {
                defer { (waiting, waitingByteCount) = ([], 0) }
                return waiting
            }
            var rest = Self.bounded(taken)[...]
            while !rest.isEmpty {
                let batch = Array(rest.prefix(Self.batchCount))
                do throws(LedgerError) {
                    try ledger.record(batch)
                } catch {
                    keep(error.code == .storeUnavailable ? Array(rest) : [], of: rest.count)
                    throw error
                }
                rest = rest.dropFirst(Self.batchCount)
            }
        }
    }

    /// Has attempts wait for a database that answers, as far as there is room.
    private func keep(_ attempts: [Attempt], of count: Int) {
        monitor.locked {
            let kept = attempts.suffix(Self.maximumCount - waiting.count)
            waiting = kept + waiting
            waitingByteCount += kept.reduce(0) { $0 + ($1.evidence?.count ?? 0) }
            lostCount += UInt64(count - kept.count)
        }
    }

    /// Of each account, the last that the tables keep. What was repeated is one attempt.
    static func bounded(_ attempts: [Attempt]) -> [Attempt] {
        var kept: [UTF8Bytes: [(attempt: Attempt, outcomes: String)]] = [:]
        var accounts: [UTF8Bytes] = []
        for attempt in attempts {
            let (account, outcomes) = (UTF8Bytes(attempt.account), attempt.outcomesJSON)
            if kept[account] == nil { accounts.append(account) }
            var own = kept.removeValue(forKey: account) ?? []
            if let index = own.lastIndex(where: { attempt.isRepetition(of: $0.attempt, outcomes, $0.outcomes) }) {
                var repeated = attempt
                repeated.times += own.remove(at: index).attempt.times
                own.append((repeated, outcomes))
            } else {
                own.append((attempt, outcomes))
            }
            if own.count > PurchaseLedger.maximumAttemptCount { own.removeFirst() }
            kept[account] = own
        }
        return accounts.flatMap { kept[$0, default: []].map(\.attempt) }
    }

    private func erase(atEnd: Bool = false) throws(LedgerError) {
        let now = ContinuousClock.now
        let due = monitor.locked {
            let due = erasures.filter { atEnd || $0.due <= now }
            erasures.removeAll { atEnd || $0.due <= now }
            return due
        }
        for erasure in due { try ledger.eraseAttempts(of: erasure.account, through: erasure.date) }
    }
}
