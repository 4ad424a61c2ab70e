import StrictText
import ServerThreads

/// The account and the size of a work item, so that no account delays the others.
struct WorkShare {
    /// The account that asked; `nil` for Apple's notifications, operators and the ledger itself.
    var account: String?
    /// The number of purchases.
    var weight = 1
}

/// Work that many threads bring at the same time, and that one of them does for all: a thread that finds none at work
/// leads, and takes the waiting ones into its group.
///
/// It has no thread of its own. A lone thread leads at once, so that one client is never slower.
final class GroupQueue<Work>: @unchecked Sendable {
    struct Limits {
        /// How many groups there are at the same time.
        var leaders = 1
        /// The number of purchases of a group. A member with more is a group of its own.
        var weight = 256
        /// The number of turns of a round, in which no account has two: who had one does not wait for as long as others
        /// come.
        var turns = 64
        /// How long a group takes members.
        var time = Duration.milliseconds(20)
        /// How long a member waits until a leader takes it.
        var patience = Duration.seconds(5)
        /// How long a member waits until it is answered. Its work may be done all the same.
        var answerTime = Duration.seconds(15)
    }

    private let limits: Limits
    private let monitor = Monitor()
    /// Within the monitor.
    private var waiting: [GroupMember<Work>] = []
    private var leaders = 0
    /// The accounts that had their turn in this round. Work without an account delays no account, and keeps its place.
    private var served: Set<UTF8Bytes> = []
    /// Whether the last leader had more than a group may have: a smaller one is next.
    private var wasLarge = false

    init(_ limits: Limits = Limits()) { self.limits = limits }

    var waitingCount: Int { monitor.locked { waiting.count } }
    var isIdle: Bool { monitor.locked { leaders == 0 } }

    /// Returns when the work is done: by this thread, which then leads, or by another.
    ///
    /// - Parameter lead: Finishes all members of a group. The caller is the first.
    /// - Throws: What became of the work, or `store-unavailable` if it was not done in time.
    func perform(
        _ work: Work, _ share: WorkShare, _ lead: (Group<Work>) -> Void
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
        lead(Group(self, member, until: ContinuousClock.now + limits.time))
        passOn(after: member)
        try member.result()
    }

    /// Lets the next member lead.
    private func passOn(after member: GroupMember<Work>) {
        monitor.locked {
            wasLarge = member.weight > limits.weight
            while let next = (wasLarge ? take(limits.weight) : nil) ?? take(.max) {
                if next.promote() { return }
            }
            leaders -= 1
        }
    }

    /// Returns the next member with at most a weight, within the monitor.
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

    fileprivate func next(for group: Group<Work>) -> GroupMember<Work>? {
        guard group.weight < limits.weight, ContinuousClock.now < group.end else { return nil }
        return monitor.locked { take(limits.weight - group.weight) }
    }
}

/// The members whose work one thread does together.
final class Group<Work> {
    private let queue: GroupQueue<Work>
    private var first: GroupMember<Work>?
    fileprivate private(set) var weight = 0
    fileprivate let end: ContinuousClock.Instant

    fileprivate init(_ queue: GroupQueue<Work>, _ leader: GroupMember<Work>, until end: ContinuousClock.Instant) {
        self.queue = queue
        first = leader
        self.end = end
    }

    /// Takes a member, the leader first; `nil` if nobody waits, or the group has reached a limit.
    func next() -> GroupMember<Work>? {
        let member = first ?? queue.next(for: self)
        first = nil
        weight += member?.weight ?? 0
        return member
    }
}

/// A thread that waits for its work, which it or another thread does.
final class GroupMember<Work>: @unchecked Sendable {
    private enum State {
        case waiting
        case leading
        /// A leader does the work, or waits for its commit.
        case taken
        case done(LedgerError?)
        /// It did not wait longer.
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

    /// Returns the work, which may be asked for several times; `nil` if nobody waits for it any more.
    func take() -> Work? {
        monitor.locked {
            if case .gone = state { return nil }
            if case .waiting = state { state = .taken }
            return work
        }
    }

    /// Says what became of the work.
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
