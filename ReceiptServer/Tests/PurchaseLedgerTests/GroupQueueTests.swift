import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

@Suite(.timeLimit(.minutes(1))) struct GroupQueueTests {
    /// The groups of a queue, and the errors of its work.
    private final class Trial: Sendable {
        let queue: GroupQueue<String>
        let groups = Guarded<[[String]]>([])
        let errors = Guarded<[String: String]>([:])
        private let threads = Guarded<[Thread]>([])

        init(_ limits: GroupQueue<String>.Limits) { queue = GroupQueue(limits) }

        /// Starts a thread with work, and waits until it waits, or leads.
        ///
        /// - Parameters:
        ///   - isOpen: What a leader waits for before it takes others.
        ///   - isCommitted: What a leader waits for after its work.
        func start(
            _ name: String, _ account: String?, weight: Int = 1, until isOpen: DispatchSemaphore? = nil,
            committing isCommitted: DispatchSemaphore? = nil
        ) {
            let count = queue.waitingCount
            let leads = DispatchSemaphore(value: 0)
            let thread = Thread { [self] in
                do throws(LedgerError) {
                    try queue.perform(name, WorkShare(account: account, weight: weight)) { [self] group in
                        leads.signal()
                        isOpen?.wait()
                        var members: [GroupMember<String>] = []
                        while let member = group.next() { members.append(member) }
                        let names = members.compactMap { $0.take() }
                        groups.withLock { $0.append(names) }
                        if let isCommitted {
                            group.endWork()
                            isCommitted.wait()
                        }
                        for member in members { member.finish(nil) }
                    }
                } catch {
                    errors.withLock { $0[name] = error.detail }
                    leads.signal()
                }
            }
            threads.withLock { $0.append(thread) }
            thread.start()
            if isOpen != nil {
                leads.wait()
            } else {
                while queue.waitingCount == count, !thread.isFinished { usleep(100) }
            }
        }

        /// Waits until this number of groups has taken its members, or a thread failed.
        func wait(for count: Int) {
            while groups.withLock(\.count) < count, errors.withLock(\.isEmpty) { usleep(100) }
        }

        func finish() { while !threads.withLock({ $0.allSatisfy(\.isFinished) }) { usleep(100) } }
    }

    @Test func `who waits is in the group, each account once before any is twice`() {
        let trial = Trial(.init(weight: 5, time: .seconds(60)))
        let isOpen = DispatchSemaphore(value: 0)
        trial.start("leader", "anna", until: isOpen)
        for number in 1...5 { trial.start("mallory \(number)", "mallory") }
        for name in ["ben", "carl", "dora"] { trial.start(name, name) }
        isOpen.signal()
        trial.finish()
        #expect(
            trial.groups.withLock { $0 } == [
                ["leader", "mallory 1", "ben", "carl", "dora"],
                ["mallory 2", "mallory 3", "mallory 4", "mallory 5"],
            ])
    }

    @Test func `a round has so many turns: who had one does not wait for all that come`() {
        let trial = Trial(.init(turns: 3, time: .seconds(60)))
        let isOpen = DispatchSemaphore(value: 0)
        trial.start("leader", "anna", until: isOpen)
        for number in 1...2 { trial.start("mallory \(number)", "mallory") }
        for name in ["ben", "carl", "dora", "emil"] { trial.start(name, name) }
        isOpen.signal()
        trial.finish()
        #expect(
            trial.groups.withLock { $0 } == [["leader", "mallory 1", "ben", "carl", "mallory 2", "dora", "emil"]])
    }

    @Test func `what is no account's keeps its place, however often it had a turn`() {
        let trial = Trial(.init(time: .seconds(60)))
        let isOpen = DispatchSemaphore(value: 0)
        trial.start("leader", nil, until: isOpen)
        for number in 1...3 { trial.start("notification \(number)", nil) }
        for name in ["ben", "carl"] { trial.start(name, name) }
        isOpen.signal()
        trial.finish()
        #expect(
            trial.groups.withLock { $0 } == [
                ["leader", "notification 1", "notification 2", "notification 3", "ben", "carl"]
            ])
    }

    @Test func `a large member has a group of its own, and small ones come between two of them`() {
        let trial = Trial(.init(weight: 4, time: .seconds(60)))
        let isOpen = DispatchSemaphore(value: 0)
        trial.start("leader", "a", until: isOpen)
        for number in 1...3 { trial.start("large \(number)", "large \(number)", weight: 2500) }
        for number in 1...5 { trial.start("small \(number)", "small \(number)", weight: 2) }
        isOpen.signal()
        trial.finish()
        #expect(
            trial.groups.withLock { $0 } == [
                ["leader", "small 1"], ["large 1"], ["small 2", "small 3"], ["large 2"], ["small 4", "small 5"],
                ["large 3"],
            ])
    }

    @Test func `one group is at work, others wait for their commits, and all are no more than the limit`() {
        let trial = Trial(.init(leaders: 2, stall: .seconds(60), time: .seconds(60), patience: .seconds(60)))
        let (isOpen, first, second) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        trial.start("anna", "anna", until: isOpen, committing: first)
        trial.start("ben", "ben")
        trial.start("carl", "carl")
        // Anna's group takes them: they waited while it was at work.
        isOpen.signal()
        trial.wait(for: 1)
        trial.start("dora", "dora", until: isOpen, committing: second)
        trial.start("emil", "emil")
        isOpen.signal()
        trial.wait(for: 2)
        trial.start("fritz", "fritz")
        #expect(trial.groups.withLock { $0 } == [["anna", "ben", "carl"], ["dora", "emil"]])
        first.signal()
        trial.wait(for: 3)
        second.signal()
        trial.finish()
        #expect(trial.groups.withLock { $0.last } == ["fritz"])
    }

    @Test func `who waits for a group that is at work too long begins another`() {
        let trial = Trial(.init(leaders: 2, stall: .milliseconds(50), time: .seconds(60)))
        let (isOpen, isOpenAtOnce) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 1))
        trial.start("leader", "anna", until: isOpen)
        trial.start("follower", "ben", until: isOpenAtOnce)
        trial.wait(for: 1)
        isOpen.signal()
        trial.finish()
        #expect(trial.groups.withLock { $0 } == [["follower"], ["leader"]])
        #expect(trial.errors.withLock { $0.isEmpty })
    }

    @Test func `a member does not wait longer than it has patience, and its work is not done then`() {
        let trial = Trial(.init(patience: .milliseconds(50)))
        let isOpen = DispatchSemaphore(value: 0)
        trial.start("leader", "anna", until: isOpen)
        trial.start("follower", "ben")
        while trial.errors.withLock(\.isEmpty) { usleep(1000) }
        isOpen.signal()
        trial.finish()
        #expect(trial.errors.withLock { $0 } == ["follower": "all connections are in use"])
        #expect(trial.groups.withLock { $0 } == [["leader"]])
    }

    @Test(arguments: [false, true])
    func `members learn their results when the next group has begun, or when the leader reports them`(
        _ reports: Bool
    ) {
        let queue = GroupQueue<String>(.init(weight: 2, time: .seconds(60)))
        let (leads, isAnswered, isOpen) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        @Sendable func perform(_ name: String, _ lead: @escaping (CommitGroup<String>) -> Void) {
            #expect(throws: Never.self) { try queue.perform(name, WorkShare(), lead) }
        }
        func start(_ body: @escaping @Sendable () -> Void) -> Thread {
            let thread = Thread(block: body)
            thread.start()
            return thread
        }
        var threads = [
            start {
                perform("leader") { group in
                    leads.signal()
                    while queue.waitingCount < 2 { usleep(100) }
                    while let member = group.next() {
                        _ = member.take()
                        group.finish(member, nil)
                    }
                    guard reports else { return }
                    group.report()
                    isAnswered.wait()
                    #expect(queue.waitingCount == 1)
                }
            }
        ]
        leads.wait()
        threads.append(
            start {
                perform("follower") { _ in Issue.record("it does not lead") }
                if !reports { #expect(queue.waitingCount == 0) }
                isAnswered.signal()
                isOpen.signal()
            })
        while queue.waitingCount == 0 { usleep(100) }
        threads.append(
            start {
                perform("next") { group in
                    isOpen.wait()
                    while let member = group.next() { group.finish(member, nil) }
                }
            })
        while !threads.allSatisfy(\.isFinished) { usleep(100) }
    }

    @Test func `work waits without a thread, is answered once, and the queue's threads end`() {
        var queue: GroupQueue<Int>? = GroupQueue(.init(stall: .milliseconds(10)))
        weak let released = queue
        let (isOpen, leads) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let answers = Guarded<[Int]>([])
        @Sendable func submit(_ number: Int, to queue: GroupQueue<Int>?) {
            queue?.submit(number, WorkShare()) { group in
                if number == 0 {
                    leads.signal()
                    isOpen.wait()
                }
                while let member = group.next() { group.finish(member, nil) }
                group.report()
            } then: { error in
                answers.withLock { $0.append(error == nil ? number : -1) }
            }
        }
        Thread.detachNewThread { [queue] in submit(0, to: queue) }
        leads.wait()
        // This thread submits all of them.
        for number in 1...1000 { submit(number, to: queue) }
        #expect(queue?.waitingCount == 1000 && answers.withLock(\.isEmpty))
        isOpen.signal()
        while answers.withLock(\.count) < 1001 { usleep(100) }
        #expect(answers.withLock { $0.sorted() } == Array(0...1000))
        queue = nil
        while released != nil { usleep(1000) }
    }

    @Test func `the first of a group has its result however long its work takes`() {
        let queue = GroupQueue<String>(.init(leaders: 2, stall: .milliseconds(10), answerTime: .milliseconds(200)))
        let (isOpen, leads) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let errors = Guarded<[String: [String]]>([:])
        @Sendable func submit(_ name: String) {
            queue.submit(name, WorkShare()) { group in
                leads.signal()
                isOpen.wait()
                while let member = group.next() { member.finish(nil) }
            } then: { error in
                errors.withLock { $0[name, default: []].append(error?.detail ?? "") }
            }
        }
        let leader = Thread { submit("leader") }
        leader.start()
        leads.wait()
        submit("follower")
        leads.wait()
        usleep(400_000)
        #expect(errors.withLock { $0.isEmpty })
        isOpen.signal()
        isOpen.signal()
        while !queue.isIdle || !leader.isFinished { usleep(100) }
        #expect(errors.withLock { $0 } == ["leader": [""], "follower": [""]])
    }

    @Test func `a member does not wait for ever for the end of a group`() {
        let queue = GroupQueue<String>(.init(time: .seconds(60), answerTime: .milliseconds(300)))
        let (isOpen, isTaken, leads) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let leader = Thread {
            try? queue.perform("leader", WorkShare()) { group in
                leads.signal()
                while queue.waitingCount == 0 { usleep(100) }
                var members: [GroupMember<String>] = []
                while let member = group.next() { if member.take() != nil { members.append(member) } }
                isTaken.signal()
                isOpen.wait()
                // A thread that is gone has nothing to do, and gets no result.
                #expect(members.compactMap { $0.take() } == ["leader"])
                for member in members { member.finish(nil) }
            }
        }
        leader.start()
        leads.wait()
        let error = #expect(throws: LedgerError.self) {
            try queue.perform("follower", WorkShare()) { _ in Issue.record("it does not lead") }
        }
        #expect(error?.detail == "the database does not answer")
        isTaken.wait()
        isOpen.signal()
        while !leader.isFinished { usleep(100) }
    }
}
