import AppStoreReceipt
import ServerThreads
import StrictText

/// Records requests in the background and in batches, so that no redemption waits for it. A crash loses the attempts
/// added in the last second.
package final class AttemptLog: @unchecked Sendable {
    /// The time between two batches.
    static let interval = Duration.milliseconds(800)
    /// The maximum number of waiting attempts. Further ones are counted but not recorded.
    static let maximumCount = 20_000
    /// The maximum size of waiting evidence, in bytes. Further evidence isn't kept.
    static let maximumByteCount = 32 << 20
    /// The maximum number of rows, and of bytes of evidence, in one database transaction, for which redemptions wait. A
    /// single attempt can exceed them.
    static let batchRowCount = 1000
    static let batchByteCount = 2 << 20
    /// The number of recorded attempts after which an account's excess rows are deleted. Deleting on every insert would
    /// cost more than the insert.
    package static let boundingInterval = 25
    /// The maximum number of accounts whose attempts this server counts.
    static let countedAccounts = 20_000
    /// The time between two removals of old attempts.
    private static let cleaningInterval = Duration.seconds(3600)

    private let ledger: PurchaseLedger
    private let keepTime: Duration
    private var surroundings: Surroundings { ledger.policy.surroundings }
    private let keepsEvidence: Bool
    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var waiting: [Attempt] = []
    /// The size of waiting evidence, including the batch being written: in total, and by account.
    private var waitingByteCount = 0
    private var waitingByteCounts: [UTF8Bytes: Int] = [:]
    private var lostCount: UInt64 = 0
    private var isStopping = false
    /// A lower bound of the current floor of event numbers. An attempt added now is later than all deletions with a
    /// number up to it.
    private var floor: Int64
    /// Held while a batch is written.
    private let writing = Monitor()
    /// Guarded by `writing`: the number of an account's attempts since its excess ones were removed.
    private var unbounded: [UTF8Bytes: Int] = [:]

    /// - Parameters:
    ///   - keepTime: The time to keep attempts. Zero records none, and removes the existing ones.
    ///   - keepsEvidence: Whether to also keep the submitted bytes.
    package init(_ ledger: PurchaseLedger, keeping keepTime: Duration, withEvidence keepsEvidence: Bool) {
        (self.ledger, self.keepTime, self.keepsEvidence) = (ledger, keepTime, keepsEvidence)
        floor = ledger.firstFloor
    }

    /// The number of attempts that weren't recorded, because too many were waiting or the database didn't answer.
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
            if attempt.evidence != nil {
                if !hasRoom(for: attempt) { attempt.evidence = nil }
                countWaiting(attempt)
            }
            attempt.order = attempt.order ?? floor
            waiting.append(attempt)
            return waiting.count == Self.maximumCount / 4
        }
        if isFull { monitor.broadcast() }
    }

    /// Returns whether the evidence of an attempt can wait. One account leaves room for the others: no more of its
    /// evidence is recorded at once. Call it within the monitor.
    private func hasRoom(for attempt: Attempt) -> Bool {
        let count = attempt.evidenceByteCount
        return waitingByteCount + count <= Self.maximumByteCount
            && waitingByteCounts[UTF8Bytes(attempt.account), default: 0] + count <= PurchaseLedger.maximumKeptByteCount
    }

    /// Counts the evidence of a waiting attempt. Call it within the monitor.
    private func countWaiting(_ attempt: Attempt) {
        guard attempt.evidenceByteCount > 0 else { return }
        waitingByteCount += attempt.evidenceByteCount
        waitingByteCounts[UTF8Bytes(attempt.account), default: 0] += attempt.evidenceByteCount
    }

    /// Records attempts until ``stop()`` is called. Call it on a separate thread.
    ///
    /// - Parameter onError: Called each time the database fails.
    package func run(onError: (LedgerError) -> Void) {
        var nextCleaning = surroundings.uptime()
        while true {
            let deadline = Monitor.Deadline(after: Self.interval)
            let isOver = monitor.locked {
                while !isStopping, waiting.count < Self.maximumCount / 4, monitor.wait(until: deadline) {}
                return isStopping
            }
            if isOver { return }
            do throws(LedgerError) {
                if try !write() { note(floor: try ledger.sequenceFloor()) }
                if surroundings.uptime() >= nextCleaning {
                    nextCleaning = surroundings.uptime() + Self.cleaningInterval
                    try ledger.removeAttempts(before: surroundings.date() - keepTime)
                    try ledger.removeDeletions(at: surroundings.date())
                }
            } catch {
                onError(error)
            }
        }
    }

    /// Records the waiting attempts, and makes ``run(onError:)`` return.
    package func stop() throws(LedgerError) {
        monitor.locked { isStopping = true }
        monitor.broadcast()
        try write()
    }

    /// A lower bound for requests under way: they are later than all deletions with a number up to it.
    package var lastFloor: Int64 { monitor.locked { floor } }

    /// Raises the floor after this server deleted an account: later requests are later than the deletion.
    package func noteDeletion() throws(LedgerError) { note(floor: try ledger.sequenceFloor()) }

    private func note(floor new: Int64) { monitor.locked { floor = max(floor, new) } }

    /// Records the waiting attempts.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    package func write() throws(LedgerError) -> Bool {
        try writing.locked { () throws(LedgerError) in
            let taken = monitor.locked {
                defer { waiting = [] }
                return waiting
            }
            defer {
                monitor.locked {
                    waitingByteCount = 0
                    waitingByteCounts = [:]
                    for attempt in waiting { countWaiting(attempt) }
                }
            }
            var rest = Self.bounded(taken)[...]
            var due: Set<UTF8Bytes> = []
            while !rest.isEmpty {
                let batch = Self.batch(rest)
                do throws(LedgerError) {
                    note(floor: try ledger.record(Array(batch)))
                } catch {
                    keep(error.code == .storeUnavailable ? Array(rest) : [], of: rest.count)
                    throw error
                }
                rest = rest[batch.endIndex...]
                for attempt in batch { count(UTF8Bytes(attempt.account), &due) }
            }
            try ledger.boundAttempts(of: due.sorted().map(\.string))
            if unbounded.count + due.count > Self.countedAccounts { unbounded = [:] }
            for account in due { unbounded[account] = 0 }
            return !taken.isEmpty
        }
    }

    /// Counts a recorded attempt. An account is due if it has enough attempts since its excess ones were removed, or if
    /// its count is unknown.
    private func count(_ account: UTF8Bytes, _ due: inout Set<UTF8Bytes>) {
        if let count = unbounded[account], count < Self.boundingInterval {
            unbounded[account] = count + 1
        } else {
            unbounded[account] = nil
            due.insert(account)
        }
    }

    /// Puts attempts back, as far as there is room, until the database answers.
    private func keep(_ attempts: [Attempt], of count: Int) {
        monitor.locked {
            let kept = attempts.suffix(Self.maximumCount - waiting.count)
            waiting = kept + waiting
            lostCount += UInt64(count - kept.count)
        }
    }

    /// Returns the first attempts, as many as one transaction records.
    static func batch(_ attempts: ArraySlice<Attempt>) -> ArraySlice<Attempt> {
        var (count, rowCount, byteCount) = (0, 0, 0)
        for attempt in attempts {
            rowCount += 1 + attempt.outcomes.count
            byteCount += attempt.evidenceByteCount
            if count > 0, rowCount > batchRowCount || byteCount > batchByteCount { break }
            count += 1
        }
        return attempts.prefix(count)
    }

    /// Merges repeated attempts, and returns as many of each account's last ones as the tables keep.
    static func bounded(_ attempts: [Attempt]) -> [Attempt] {
        var kept: [UTF8Bytes: [Attempt]] = [:]
        var accounts: [UTF8Bytes] = []
        for attempt in attempts {
            let account = UTF8Bytes(attempt.account)
            if kept[account] == nil { accounts.append(account) }
            var own = kept.removeValue(forKey: account) ?? []
            var repeated = attempt
            // If the orders differ, the account may have been deleted in between.
            if let index = own.lastIndex(where: { $0.order == attempt.order && attempt.isRepetition(of: $0) }) {
                let earlier = own.remove(at: index)
                repeated.times += earlier.times
                // There may have been no room for the evidence when it was submitted again.
                repeated.evidence = repeated.evidence ?? earlier.evidence
            }
            own.append(repeated)
            if own.count > PurchaseLedger.maximumAttemptCount { own.removeFirst() }
            kept[account] = own
        }
        return accounts.flatMap { account in
            var own = kept[account, default: []]
            var byteCount: Int64 = 0
            for index in own.indices.reversed() {
                byteCount += Int64(own[index].evidenceByteCount)
                if byteCount > PurchaseLedger.maximumKeptByteCount { own[index].evidence = nil }
            }
            return own
        }
    }
}

extension Attempt {
    fileprivate var evidenceByteCount: Int { evidence?.count ?? 0 }
}
