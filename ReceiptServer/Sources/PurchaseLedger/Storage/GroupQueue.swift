import ServerThreads
import StrictText
import Synchronization

/// The account and the size of a work item, so that no account delays the others.
struct WorkShare {
    /// The account of the request, or `nil` for Apple's notifications, operators and the ledger itself.
    var account: String?
    /// The number of purchases.
    var weight = 1

    /// Whether it is usually read so quickly that it may delay others.
    var isBrief: Bool { weight <= 10 }
}

/// Combines the work of requests that arrive at the same time, so that one thread does it for all. A request that finds
/// no group at work leads one on its own thread, so a single client is never slower. The leader takes the waiting ones
/// into its group.
///
/// A request needs no thread while it waits: the leader passes on the result. Meanwhile, the queue has threads of its
/// own, which lead the next groups and refuse what waits too long.
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
        /// The time that a member waits for its answer, or up to a `stall` longer, unless it is the first of its group.
        /// Its work may still be done afterwards.
        var answerTime = Duration.seconds(15)
    }

    private let limits: Limits
    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var waiting: [GroupMember<Work>] = []
    private var groups: [CommitGroup<Work>] = []
    /// Those of the groups that wait for a thread of the queue.
    private var promoted: [CommitGroup<Work>] = []
    /// The last group, and when it began; `nil` if its work has ended.
    private var worker: (group: CommitGroup<Work>, since: ContinuousClock.Instant)?
    /// The accounts that had their turn in this round. Work without an account isn't limited, and keeps its position.
    private var served: Set<UTF8Bytes> = []
    /// Whether the work of the last leader exceeds the size of a group. If so, a smaller one is next.
    private var wasLarge = false
    /// The number of the queue's threads that lead no group.
    private var idleCount = 0
    private var nextCheck = ContinuousClock.now

    init(_ limits: Limits = Limits()) { self.limits = limits }

    var waitingCount: Int { monitor.locked { waiting.count } }
    var isIdle: Bool { monitor.locked { groups.isEmpty } }

    /// Returns when the work is done, by this thread as the leader or by another.
    ///
    /// - Parameter lead: Does and finishes the work of all members of a group. This work is the first member's.
    /// - Throws: The error from the work, or `store-unavailable` if it wasn't done in time.
    func perform(
        _ work: Work, _ share: WorkShare, _ lead: @escaping (CommitGroup<Work>) -> Void
    ) throws(LedgerError) {
        let result = Eventual<LedgerError?>()
        submit(work, share, lead) { result.set($0) }
        if let error = result.wait() { throw error }
    }

    /// Does the work like ``perform(_:_:_:)``, but doesn't wait for another leader.
    ///
    /// - Parameter then: Called once with the error or `nil`: before this method returns, or later on another thread.
    ///   It must not wait or use the queue.
    func submit(
        _ work: Work, _ share: WorkShare, _ lead: @escaping (CommitGroup<Work>) -> Void,
        then: @escaping @Sendable (LedgerError?) -> Void
    ) {
        let member = GroupMember(work, share, lead, then)
        let group = monitor.locked { () -> CommitGroup<Work>? in
            if canLead { return begin(member) }
            waiting.append(member)
            provideThread()
            return nil
        }
        if let group { run(group, onQueueThread: false) }
    }

    // MARK: Groups

    private var canLead: Bool {
        groups.count < limits.leaders && worker.map { ContinuousClock.now - $0.since >= limits.stall } ?? true
    }

    private func begin(_ leader: GroupMember<Work>) -> CommitGroup<Work> {
        let group = CommitGroup(self, leader)
        groups.append(group)
        worker = (group, .now)
        wasLarge = leader.weight > limits.weight
        return group
    }

    /// Leads a group. A request's thread lets the next one begin before it answers the members. A thread of the queue
    /// answers them first: it leads the next group itself, for which more work arrives meanwhile.
    private func run(_ first: CommitGroup<Work>, onQueueThread isQueueThread: Bool) {
        var group = first
        while true {
            group.end = .now + limits.time
            group.leader.lead(group)
            if isQueueThread { group.report() }
            let next = monitor.locked { () -> CommitGroup<Work>? in
                groups.removeAll { $0 === group }
                if worker?.group === group { worker = nil }
                if isQueueThread {
                    idleCount += 1
                    promoteNext()
                    return nil
                }
                wakeNext()
                // If the system has no more threads to give, this one must do.
                return idleCount < promoted.count ? promoted.removeFirst() : nil
            }
            group.reportAll()
            guard let next else { return }
            group = next
        }
    }

    /// Lets the next group begin, while this one waits for its commit.
    fileprivate func endWork(of group: CommitGroup<Work>) {
        monitor.locked {
            if worker?.group === group { worker = nil }
            wakeNext()
        }
    }

    /// Wakes a thread for the next group. Call it within the monitor.
    private func wakeNext() {
        promoteNext()
        if !promoted.isEmpty { monitor.signal() }
    }

    /// Begins the next group. Call it within the monitor.
    private func promoteNext() {
        while canLead, let next = (wasLarge ? take(limits.weight) : nil) ?? take(.max) {
            promoted.append(begin(next))
            provideThread()
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
        return monitor.locked {
            let member = take(limits.weight - group.weight)
            if let member { group.followers.append(member) }
            return member
        }
    }

    // MARK: Threads

    private enum Turn { case lead(CommitGroup<Work>), again, end }

    /// Starts a thread unless enough are idle: one for each promoted group, and one to watch. Call it within the
    /// monitor.
    private func provideThread() {
        guard idleCount <= promoted.count else { return }
        let isStarted = Thread.detached { [self] in
            while let group = nextGroup() { run(group, onQueueThread: true) }
        }
        if isStarted { idleCount += 1 }
    }

    /// Waits for a group to lead, and meanwhile ends what waits too long.
    ///
    /// - Returns: The group, or `nil` to end the thread.
    private func nextGroup() -> CommitGroup<Work>? {
        while true {
            var late: [(member: GroupMember<Work>, reason: String)] = []
            let turn = monitor.locked { () -> Turn in
                if nextCheck <= .now {
                    nextCheck = .now + limits.stall
                    late = takeLate()
                    if !late.isEmpty { return .again }
                }
                promoteNext()
                if !promoted.isEmpty {
                    idleCount -= 1
                    let group = promoted.removeFirst()
                    if !promoted.isEmpty { monitor.signal() }
                    return .lead(group)
                }
                let isSignalled = monitor.wait(until: Monitor.Deadline(after: limits.stall))
                if isSignalled || !waiting.isEmpty || !groups.isEmpty { return .again }
                idleCount -= 1
                return .end
            }
            for (member, reason) in late { member.finish(LedgerError(.storeUnavailable, reason)) }
            switch turn {
            case .lead(let group): return group
            case .again: continue
            case .end: return nil
            }
        }
    }

    /// Returns what has waited too long. Call it within the monitor.
    private func takeLate() -> [(GroupMember<Work>, String)] {
        let now = ContinuousClock.now
        var late = groups.flatMap(\.followers).filter { now - $0.start >= limits.answerTime && !$0.isFinished }.map {
            ($0, "the database does not answer")
        }
        waiting.removeAll { member in
            guard now - member.start >= limits.patience else { return false }
            late.append((member, "all connections are in use"))
            return true
        }
        return late
    }
}

/// The members whose work one thread does together, usually with one commit.
final class CommitGroup<Work> {
    private let queue: GroupQueue<Work>
    fileprivate let leader: GroupMember<Work>
    private var first: GroupMember<Work>?
    private var isAtWork = true
    /// What hasn't been reported yet.
    private var results: [(member: GroupMember<Work>, error: LedgerError?)] = []
    fileprivate private(set) var weight = 0
    /// When the group stops taking members. Only the thread that leads uses it.
    fileprivate var end = ContinuousClock.now
    /// The members after the leader. Guarded by the queue's monitor.
    fileprivate var followers: [GroupMember<Work>] = []

    fileprivate init(_ queue: GroupQueue<Work>, _ leader: GroupMember<Work>) {
        (self.queue, self.leader) = (queue, leader)
        first = leader
    }

    /// Returns the next member, the leader first, or `nil` if none is waiting or the group has reached a limit.
    func next() -> GroupMember<Work>? {
        let member = first ?? queue.next(for: self)
        first = nil
        weight += member?.weight ?? 0
        return member
    }

    /// Notes the result of a member's work, which is passed on by ``report()`` or after the group has ended.
    func finish(_ member: GroupMember<Work>, _ error: LedgerError?) { results.append((member, error)) }

    /// Reports the results so far.
    func report() {
        for (member, error) in results { member.finish(error) }
        results = []
    }

    /// Reports the results. No member goes without one.
    fileprivate func reportAll() {
        report()
        for member in [leader] + followers {
            member.finish(LedgerError(.storeUnavailable, "the work was not done"))
        }
    }

    /// Lets another group begin. The leader can call it when it has taken all members and waits for its first commit,
    /// or has read what it needs; otherwise it is called when all is done.
    func endWork() {
        guard isAtWork else { return }
        isAtWork = false
        queue.endWork(of: self)
    }
}

/// Work that waits for a group.
final class GroupMember<Work>: @unchecked Sendable {
    fileprivate let account: UTF8Bytes?
    fileprivate let weight: Int
    fileprivate let start = ContinuousClock.now
    fileprivate let lead: (CommitGroup<Work>) -> Void
    private let work: Work
    /// Only the thread that finishes the work uses it, and releases what it holds.
    private var then: (@Sendable (LedgerError?) -> Void)?
    private let finished = Atomic(false)

    fileprivate init(
        _ work: Work, _ share: WorkShare, _ lead: @escaping (CommitGroup<Work>) -> Void,
        _ then: @escaping @Sendable (LedgerError?) -> Void
    ) {
        (self.work, self.lead, self.then) = (work, lead, then)
        account = share.account.map(UTF8Bytes.init)
        weight = share.weight
    }

    fileprivate var isFinished: Bool { finished.load(ordering: .acquiring) }

    /// Returns the work, also if called again, or `nil` if it has waited too long.
    func take() -> Work? { isFinished ? nil : work }

    /// Reports the result of the work, unless it has waited too long.
    func finish(_ error: LedgerError?) {
        guard !finished.exchange(true, ordering: .acquiringAndReleasing) else { return }
        then?(error)
        then = nil
    }
}
