import StrictText
import ServerThreads

/// The account and the size of a work item, so that no account delays the others.
struct WorkShare {
    /// The account of the request, or `nil` for Apple's notifications, operators and the ledger itself.
    var account: String?
    /// The number of purchases.
    var weight = 1

    /// Whether it is usually read so quickly that it may delay others.
    var isBrief: Bool { weight <= 10 }
}

/// Combines the work of threads that arrive at the same time, so that one of them does it for all. A thread that finds
/// no group at work becomes the leader of one, and takes the waiting threads into it.
///
/// The queue has no thread of its own. A lone thread leads immediately, so a single client is never slower.
final class GroupQueue<Work>: @unchecked Sendable {
    struct Limits {
        /// The maximum number of groups at the same time.
        var leaders = 1
        /// A group begins when the work of the one before it ends. If that one waits for a lock, a group also begins
        /// for a member that has waited for this time.
        var stall = Duration.milliseconds(100)
        /// The maximum number of purchases in a group. A larger member forms a group of its own.
        var weight = 256
        /// The number of turns in a round, in which each account gets at most one. The limit keeps an account from
        /// waiting as long as new accounts keep arriving.
        var turns = 64
        /// The time during which a group takes members.
        var time = Duration.milliseconds(20)
        /// The time that a member waits for a leader to take it, or up to a `stall` longer.
        var patience = Duration.seconds(5)
        /// The maximum time that a member waits for its answer. Its work may still be done afterwards.
        var answerTime = Duration.seconds(15)
    }

    private let limits: Limits
    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var waiting: [GroupMember<Work>] = []
    private var leaders = 0
    /// The leader of the last group, and when it began; `nil` if its work has ended.
    private var worker: (leader: GroupMember<Work>, since: ContinuousClock.Instant)?
    /// The accounts that had their turn in this round. Work without an account isn't limited, and keeps its position.
    private var served: Set<UTF8Bytes> = []
    /// Whether the work of the last leader exceeds the size of a group. If so, a smaller one is next.
    private var wasLarge = false

    init(_ limits: Limits = Limits()) { self.limits = limits }

    var waitingCount: Int { monitor.locked { waiting.count } }
    var isIdle: Bool { monitor.locked { leaders == 0 } }

    /// Returns when the work is done, either by this thread as the leader or by another.
    ///
    /// - Parameter lead: Does and finishes the work of all members of a group. The caller is the first member.
    /// - Throws: The error from the work, or `store-unavailable` if it wasn't done in time.
    func perform(
        _ work: Work, _ share: WorkShare, _ lead: (CommitGroup<Work>) -> Void
    ) throws(LedgerError) {
        let member = GroupMember(work, share)
        let isLeader = monitor.locked {
            guard canLead else {
                waiting.append(member)
                return false
            }
            begin(member)
            return true
        }
        if !isLeader {
            guard try member.waitToLead(limits, stalled: { monitor.locked { promoteNext() } }) else { return }
        }
        let group = CommitGroup(self, member, until: ContinuousClock.now + limits.time)
        lead(group)
        group.endWork()
        monitor.locked {
            leaders -= 1
            promoteNext()
        }
        group.report()
        try member.result()
    }

    private var canLead: Bool {
        leaders < limits.leaders && worker.map { ContinuousClock.now - $0.since >= limits.stall } ?? true
    }

    private func begin(_ leader: GroupMember<Work>) {
        leaders += 1
        worker = (leader, .now)
        wasLarge = leader.weight > limits.weight
    }

    /// Lets the next group begin.
    fileprivate func endWork(ledBy member: GroupMember<Work>) {
        monitor.locked {
            if worker?.leader === member { worker = nil }
            promoteNext()
        }
    }

    /// Makes the next member a leader. Call it within the monitor.
    private func promoteNext() {
        while canLead, let next = (wasLarge ? take(limits.weight) : nil) ?? take(.max) {
            if next.promote() { begin(next) }
        }
    }

    /// Returns the next member whose weight is at most `weight`. Call it within the monitor.
    private func take(_ weight: Int) -> GroupMember<Work>? {
        if served.count >= limits.turns { served = [] }
        var index = waiting.firstIndex { $0.weight <= weight && !($0.account.map(served.contains) ?? false) }
        if index == nil {
            index = waiting.firstIndex { $0.weight <= weight }
            if index != nil { served = [] }
        }
        guard let index else { return nil }
        if let account = waiting[index].account { served.insert(account) }
        return waiting.remove(at: index)
    }

    fileprivate func next(for group: CommitGroup<Work>) -> GroupMember<Work>? {
        guard group.weight < limits.weight, ContinuousClock.now < group.end else { return nil }
        return monitor.locked { take(limits.weight - group.weight) }
    }
}

/// The members whose work one thread does together, usually with one commit.
final class CommitGroup<Work> {
    private let queue: GroupQueue<Work>
    private let leader: GroupMember<Work>
    private var first: GroupMember<Work>?
    private var isAtWork = true
    /// What hasn't been reported yet.
    private var results: [(member: GroupMember<Work>, error: LedgerError?)] = []
    fileprivate private(set) var weight = 0
    fileprivate let end: ContinuousClock.Instant

    fileprivate init(_ queue: GroupQueue<Work>, _ leader: GroupMember<Work>, until end: ContinuousClock.Instant) {
        (self.queue, self.leader, self.end) = (queue, leader, end)
        first = leader
    }

    /// Returns the next member, the leader first, or `nil` if none is waiting or the group has reached a limit.
    func next() -> GroupMember<Work>? {
        let member = first ?? queue.next(for: self)
        first = nil
        weight += member?.weight ?? 0
        return member
    }

    /// Notes the result of a member's work. Waking all members takes longer than waking the next leader, so they learn
    /// it when the next group has begun, or at ``report()``.
    func finish(_ member: GroupMember<Work>, _ error: LedgerError?) { results.append((member, error)) }

    /// Reports the results so far.
    func report() {
        for (member, error) in results { member.finish(error) }
        results = []
    }

    /// Lets another group begin. The leader can call it when it has taken all members and waits for its first commit,
    /// or has read what it needs; otherwise it is called when all is done.
    func endWork() {
        guard isAtWork else { return }
        isAtWork = false
        queue.endWork(ledBy: leader)
    }
}

/// A thread that waits for its work, which it does itself or leaves to another.
final class GroupMember<Work>: @unchecked Sendable {
    private enum State {
        case waiting
        case leading
        /// A leader is doing the work or waiting for its commit.
        case taken
        case done(LedgerError?)
        /// The thread has stopped waiting.
        case gone
    }

    fileprivate let account: UTF8Bytes?
    fileprivate let weight: Int
    private let work: Work
    private let monitor = Monitor()
    private var state = State.waiting

    fileprivate init(_ work: Work, _ share: WorkShare) {
        self.work = work
        account = share.account.map(UTF8Bytes.init)
        weight = share.weight
    }

    /// Returns the work, also if called again, or `nil` if the thread has stopped waiting.
    func take() -> Work? {
        monitor.locked {
            if case .gone = state { return nil }
            if case .waiting = state { state = .taken }
            return work
        }
    }

    /// Reports the result of the work.
    func finish(_ error: LedgerError?) {
        monitor.locked {
            if case .gone = state { return }
            state = .done(error)
        }
        monitor.signal()
    }

    fileprivate func promote() -> Bool {
        let isThere = monitor.locked {
            guard case .waiting = state else { return false }
            state = .leading
            return true
        }
        monitor.signal()
        return isThere
    }

    /// - Parameter stalled: Called each time that it has waited for a stall.
    /// - Returns: Whether it leads.
    fileprivate func waitToLead(
        _ limits: GroupQueue<Work>.Limits, stalled: () -> Void
    ) throws(LedgerError) -> Bool {
        let end = ContinuousClock.now + limits.patience
        let answer = Monitor.Deadline(after: limits.answerTime)
        while true {
            let turn = Monitor.Deadline(after: min(limits.stall, limits.patience))
            let isLeader = try monitor.locked { () throws(LedgerError) -> Bool? in
                while true {
                    switch state {
                    case .leading: return true
                    case .done(let error?): throw error
                    case .done: return false
                    case .waiting, .gone:
                        if monitor.wait(until: turn) { continue }
                        guard case .waiting = state, ContinuousClock.now >= end else { return nil }
                        throw leave("all connections are in use")
                    case .taken:
                        if !monitor.wait(until: answer), case .taken = state {
                            throw leave("the database does not answer")
                        }
                    }
                }
            }
            if let isLeader { return isLeader }
            stalled()
        }
    }

    private func leave(_ reason: String) -> LedgerError {
        state = .gone
        return LedgerError(.storeUnavailable, reason)
    }

    fileprivate func result() throws(LedgerError) {
        try monitor.locked { () throws(LedgerError) in
            if case .done(let error?) = state { throw error }
        }
    }
}
