import StrictText
import ServerThreads

/// The account and the size of a work item, so that no account delays the others.
struct WorkShare {
    /// The account of the request, or `nil` for Apple's notifications, operators and the ledger itself.
    var account: String?
    /// The number of purchases.
    var weight = 1
}

/// Combines the work of threads that arrive at the same time, so that one of them does it for all. A thread that finds
/// no leader becomes the leader, and takes the waiting threads into its group.
///
/// The queue has no thread of its own. A lone thread leads immediately, so a single client is never slower.
final class GroupQueue<Work>: @unchecked Sendable {
    struct Limits {
        /// The maximum number of groups at the same time.
        var leaders = 1
        /// The maximum number of purchases in a group. A larger member forms a group of its own.
        var weight = 256
        /// The number of turns in a round, in which each account gets at most one. The limit keeps an account from
        /// waiting as long as new accounts keep arriving.
        var turns = 64
        /// The time during which a group takes members.
        var time = Duration.milliseconds(20)
        /// The maximum time that a member waits for a leader to take it.
        var patience = Duration.seconds(5)
        /// The maximum time that a member waits for its answer. Its work may still be done afterwards.
        var answerTime = Duration.seconds(15)
    }

    private let limits: Limits
    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var waiting: [GroupMember<Work>] = []
    private var leaders = 0
    /// The accounts that had their turn in this round. Work without an account isn't limited, and keeps its position.
    private var served: Set<UTF8Bytes> = []
    /// Whether the last leader's work exceeded the size of a group. If so, a smaller one is next.
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
            guard leaders < limits.leaders else {
                waiting.append(member)
                return false
            }
            leaders += 1
            return true
        }
        if !isLeader {
            guard try member.waitToLead(limits) else { return }
        }
        lead(CommitGroup(self, member, until: ContinuousClock.now + limits.time))
        passOn(after: member)
        try member.result()
    }

    /// Makes the next member the leader.
    private func passOn(after member: GroupMember<Work>) {
        monitor.locked {
            wasLarge = member.weight > limits.weight
            while let next = (wasLarge ? take(limits.weight) : nil) ?? take(.max) {
                if next.promote() { return }
            }
            leaders -= 1
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
    private var first: GroupMember<Work>?
    fileprivate private(set) var weight = 0
    fileprivate let end: ContinuousClock.Instant

    fileprivate init(_ queue: GroupQueue<Work>, _ leader: GroupMember<Work>, until end: ContinuousClock.Instant) {
        self.queue = queue
        first = leader
        self.end = end
    }

    /// Returns the next member, the leader first, or `nil` if none is waiting or the group has reached a limit.
    func next() -> GroupMember<Work>? {
        let member = first ?? queue.next(for: self)
        first = nil
        weight += member?.weight ?? 0
        return member
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

    fileprivate func waitToLead(_ limits: GroupQueue<Work>.Limits) throws(LedgerError) -> Bool {
        let turn = Monitor.Deadline(after: limits.patience)
        let answer = Monitor.Deadline(after: limits.answerTime)
        return try monitor.locked { () throws(LedgerError) in
            while true {
                switch state {
                case .leading: return true
                case .done(let error?): throw error
                case .done: return false
                case .waiting, .gone:
                    if !monitor.wait(until: turn), case .waiting = state { throw leave("all connections are in use") }
                case .taken:
                    if !monitor.wait(until: answer), case .taken = state { throw leave("the database does not answer") }
                }
            }
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
