import AppStoreReceipt
import ServerThreads
import StrictText

/// Records requests beside the redemptions that they are about, in batches: nobody waits for it, and a crash loses what
/// was added in the last second.
package final class AttemptLog: @unchecked Sendable {
    /// The time between two batches.
    static let interval = Duration.milliseconds(800)
    /// The maximum number of waiting attempts. Others are counted, and not recorded.
    static let maximumCount = 20_000
    /// The maximum number of bytes of waiting evidence. Other evidence is not kept.
    static let maximumByteCount = 32 << 20
    /// The rows of one transaction of the database, for which redemptions wait, and their evidence, unless one attempt
    /// alone has more.
    static let batchRowCount = 1000
    static let batchByteCount = 2 << 20
    /// The number of recorded attempts after which an account's excess rows are deleted. Deleting on every insert would
    /// cost more than the insert.
    package static let boundingInterval = 25
    /// The maximum number of accounts whose attempts this server counts.
    static let countedAccounts = 20_000
    /// The time between two looks for what is too old.
    private static let cleaningInterval = Duration.seconds(3600)

    private let ledger: PurchaseLedger
    private let keepTime: Duration
    private var surroundings: Surroundings { ledger.policy.surroundings }
    private let keepsEvidence: Bool
    private let monitor = Monitor()
    /// Within the monitor.
    private var waiting: [Attempt] = []
    /// With what is being written: of all accounts, and of each.
    private var waitingByteCount = 0
    private var waitingByteCounts: [UTF8Bytes: Int] = [:]
    private var lostCount: UInt64 = 0
    private var isStopping = false
    /// A floor of the numbers of events that is no greater than that of now: what is added is after each deletion that
    /// has no greater number.
    private var floor: Int64
    /// While a batch is written.
    private let writing = Monitor()
    /// Within `writing`: the attempts of accounts since theirs were bounded.
    private var unbounded: [UTF8Bytes: Int] = [:]

    /// - Parameters:
    ///   - keepTime: How long attempts are kept; zero to record none, and to remove what there is.
    ///   - keepsEvidence: Whether what was sent is kept, too.
    package init(_ ledger: PurchaseLedger, keeping keepTime: Duration, withEvidence keepsEvidence: Bool) {
        (self.ledger, self.keepTime, self.keepsEvidence) = (ledger, keepTime, keepsEvidence)
        floor = ledger.firstFloor
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

    /// Whether the evidence of an attempt can wait, within the monitor. One account leaves room to the others: no more
    /// of it is recorded at once.
    private func hasRoom(for attempt: Attempt) -> Bool {
        let count = attempt.evidenceByteCount
        return waitingByteCount + count <= Self.maximumByteCount
            && waitingByteCounts[UTF8Bytes(attempt.account), default: 0] + count <= PurchaseLedger.maximumKeptByteCount
    }

    /// Counts the evidence of an attempt that waits, within the monitor.
    private func countWaiting(_ attempt: Attempt) {
        guard attempt.evidenceByteCount > 0 else { return }
        waitingByteCount += attempt.evidenceByteCount
        waitingByteCounts[UTF8Bytes(attempt.account), default: 0] += attempt.evidenceByteCount
    }

    /// Records until ``stop()`` is called. Call it on a thread of its own.
    ///
    /// - Parameter onError: Is told each time the database fails.
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

    /// Records what waits, and makes ``run(onError:)`` return.
    package func stop() throws(LedgerError) {
        monitor.locked { isStopping = true }
        monitor.broadcast()
        try write()
    }

    /// What is under way now is after each deletion that has no greater number.
    package var lastFloor: Int64 { monitor.locked { floor } }

    /// Learns of a deletion that this server did: what is sent from now on is after it.
    package func noteDeletion() throws(LedgerError) { note(floor: try ledger.sequenceFloor()) }

    private func note(floor new: Int64) { monitor.locked { floor = max(floor, new) } }

    /// Records what waits.
    ///
    /// - Returns: Whether there was anything.
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

    /// Counts an attempt that is recorded. An account is due if it has an interval's attempts since it was bounded, or
    /// if its count is unknown.
    private func count(_ account: UTF8Bytes, _ due: inout Set<UTF8Bytes>) {
        if let count = unbounded[account], count < Self.boundingInterval {
            unbounded[account] = count + 1
        } else {
            unbounded[account] = nil
            due.insert(account)
        }
    }

    /// Has attempts wait for a database that answers, as far as there is room.
    private func keep(_ attempts: [Attempt], of count: Int) {
        monitor.locked {
            let kept = attempts.suffix(Self.maximumCount - waiting.count)
            waiting = kept + waiting
            lostCount += UInt64(count - kept.count)
        }
    }

    /// The first attempts, which one transaction records.
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

    /// Of each account, the last that the tables keep, with no more evidence than they keep. Repeats are one attempt.
    static func bounded(_ attempts: [Attempt]) -> [Attempt] {
        var kept: [UTF8Bytes: [Attempt]] = [:]
        var accounts: [UTF8Bytes] = []
        for attempt in attempts {
            let account = UTF8Bytes(attempt.account)
            if kept[account] == nil { accounts.append(account) }
            var own = kept.removeValue(forKey: account) ?? []
            var repeated = attempt
            // Between attempts of different orders, the account can have been deleted.
            if let index = own.lastIndex(where: { $0.order == attempt.order && attempt.isRepetition(of: $0) }) {
                let earlier = own.remove(at: index)
                repeated.times += earlier.times
                // There was no room for it when it was sent again.
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
