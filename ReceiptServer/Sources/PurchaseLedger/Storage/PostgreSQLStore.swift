#if PostgreSQL
import CLibpq

/// A ledger in a PostgreSQL database, which several servers can use at the same time.
///
/// A transaction locks the lineages of its purchases, so its reads and writes are serializable (`READ COMMITTED` with
/// row locks). All locks are taken in one order.
struct PostgreSQLStore: LedgerStore {
    /// What a transaction of the database may do.
    private enum TransactionMode {
        case read, write
        /// It creates or changes the tables.
        case migrate

        var begin: String {
            switch self {
            case .read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            case .write, .migrate: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
            }
        }
    }

    /// The maximum number of times that a transaction is run if it conflicts with others.
    private static let maximumAttempts = 10

    private let uri: String
    private let writers: ConnectionPool<PostgreSQLConnection>
    /// Connections for reads, which never wait for locks, or for a connection whose transaction does.
    private let readers: ConnectionPool<PostgreSQLConnection>
    private let groups: GroupQueue<PendingRedemption>
    private let looks: GroupQueue<PendingRedemption>
    private let patience: Duration

    /// - Parameters:
    ///   - connections: The number of connections for writing, and of those for reading.
    ///   - patience: The time to keep asking the database whether a transaction committed if the answer was lost.
    init(uri: String, connections: Int = 8, patience: Duration = .seconds(5)) throws(LedgerError) {
        try PostgreSQLConnection.check(uri)
        // Treat a server that doesn't answer as an error after 5 seconds, unless the URI sets a different time.
        let uri = Self.withDefault("connect_timeout", "5", in: uri)
        self.uri = uri
        self.patience = patience
        // While groups wait for the disk, the next is decided. Half of the connections are left for other writers.
        groups = GroupQueue(GroupQueue.Limits(leaders: max(1, connections / 2)))
        // A request that looks doesn't wait long for what others read.
        looks = GroupQueue(
            GroupQueue.Limits(leaders: max(1, connections / 2), stall: .milliseconds(20), weight: 32))
        let make = { @Sendable () throws(LedgerError) in try PostgreSQLConnection(uri: uri) }
        writers = ConnectionPool(limit: connections, make: make)
        readers = ConnectionPool(limit: connections, make: make)
    }

    func write<Result>(
        _ share: WorkShare, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating(writers, .write, body)
    }

    /// Requests that wait while others look share a snapshot and a round trip.
    func look(_ request: RedemptionRequest) throws(LedgerError) -> RedemptionRequest.Look? {
        if request.share.isBrief {
            let pending = PendingRedemption(request)
            try looks.perform(pending, request.share, look)
            if pending.hasLooked { return pending.look }
        }
        return try read { (connection) throws(LedgerError) in try RedemptionRequest.look([request], connection)[0] }
    }

    private func look(_ group: CommitGroup<PendingRedemption>) {
        var members: [(member: GroupMember<PendingRedemption>, pending: PendingRedemption)] = []
        while let member = group.next() {
            if let pending = member.take() { members.append((member, pending)) }
        }
        do throws(LedgerError) {
            let looks = try read { (connection) throws(LedgerError) in
                try RedemptionRequest.look(members.map(\.pending.request), connection, whenLoaded: group.endWork)
            }
            for ((member, pending), look) in zip(members, looks) {
                (pending.look, pending.hasLooked) = (look, true)
                group.finish(member, nil)
            }
        } catch {
            // Each looks alone, because what one request reads can be the cause. But if the database is gone, each
            // would wait.
            let isGone = error.isLost && !error.isConflict
            for (member, _) in members { group.finish(member, isGone ? error : nil) }
        }
    }

    /// Requests that wait while others are answered share a load, a write and a commit.
    func redeem(
        _ request: RedemptionRequest, then: @escaping @Sendable (Result<Redemption?, LedgerError>) -> Void
    ) {
        let pending = PendingRedemption(request)
        groups.submit(pending, request.share, answer) { then(pending.result($0)) }
    }

    private func answer(_ group: CommitGroup<PendingRedemption>) {
        var together: [(member: GroupMember<PendingRedemption>, pending: PendingRedemption)] = []
        var alone: [GroupMember<PendingRedemption>] = []
        var keys: Set<PendingRedemption.Key> = []
        while let member = group.next() {
            guard let pending = member.take() else { continue }
            if pending.join(&keys) { together.append((member, pending)) } else { alone.append(member) }
        }
        if together.count > 1 {
            do throws(LedgerError) {
                let answers = try transaction(writers, .write) { (connection) throws(LedgerError) in
                    let answers = try RedemptionRequest.answer(together.map(\.pending.request), connection)
                    return written(answers, group)
                }
                GroupPoint.committed.pass()
                for ((member, pending), answer) in zip(together, answers) {
                    pending.answer = answer
                    member.finish(nil)
                }
            } catch {
                // One request or the combination can be the cause. But if the database is gone, each would wait.
                if error.isLost, !error.isConflict {
                    for (member, _) in together { member.finish(error) }
                } else {
                    alone = together.map(\.member) + alone
                }
            }
        } else {
            alone = together.map(\.member) + alone
        }
        for member in alone {
            guard let pending = member.take() else { continue }
            do throws(LedgerError) {
                pending.answer = try repeating(writers, .write) { (connection) throws(LedgerError) in
                    let answer = try RedemptionRequest.answer([pending.request], connection)[0]
                    return written(answer, group)
                }
                GroupPoint.committed.pass()
                member.finish(nil)
            } catch {
                member.finish(error)
            }
        }
    }

    private func written<Answer>(_ answer: Answer, _ group: CommitGroup<PendingRedemption>) -> Answer {
        GroupPoint.written.pass()
        group.endWork()
        return answer
    }

    func migrate<Result>(
        _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating(patient, .migrate, body)
    }

    func readLong<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating(patient, .read, body)
    }

    /// A connection whose statements have no time limit.
    private var patient: ConnectionPool<PostgreSQLConnection> {
        ConnectionPool(limit: 1) { [uri] () throws(LedgerError) in
            try PostgreSQLConnection(uri: uri, patience: nil)
        }
    }

    /// The database server maintains its own files.
    func completeFile() {}

    /// Takes a lock on a separate connection.
    func lockImports() throws(LedgerError) -> ImportLock? {
        let pool = ConnectionPool(limit: 1) { [uri] () throws(LedgerError) in try PostgreSQLConnection(uri: uri) }
        // Repeating this on the same connection takes the lock again. The lock depends on the table, because a database
        // can have several ledgers.
        @Sendable func take() throws(LedgerError) -> Bool {
            try pool.withConnection(isUsable: \.isUsable) { (connection) throws(LedgerError) in
                try connection.run(
                    """
                    SELECT pg_try_advisory_lock(1310579654, ('imports'::regclass::oid::bigint - 2147483648)::int)::int
                    """)[0].integer(0) == 1
            }
        }
        @Sendable func takeAgain() throws(LedgerError) -> Bool {
            do throws(LedgerError) {
                return try take()
            } catch {
                // The lock ended with its connection. The pool has dropped that connection, and makes a new one.
                guard error.code == .storeUnavailable else { throw error }
                return try take()
            }
        }
        guard try take() else { return nil }
        return ImportLock(again: takeAgain) {
            // Unlock, so that the next import can begin immediately. If that fails, the lock ends when the pool closes
            // the connection now.
            _ = try? pool.withConnection(isUsable: \.isUsable) { (connection) throws(LedgerError) in
                try connection.run("SELECT 1 FROM pg_advisory_unlock_all()")
            }
        }
    }

    func read<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating(readers, .read, body)
    }

    private func repeating<Result>(
        _ pool: ConnectionPool<PostgreSQLConnection>, _ mode: TransactionMode,
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        var attempt = 1
        var hasLostCommit = false
        while true {
            do throws(LedgerError) {
                return try transaction(pool, mode, body)
            } catch {
                // If the connection is lost a second time, the work itself may be the cause.
                guard error.isConflict, !(error.isLost && hasLostCommit) else { throw error }
                hasLostCommit = hasLostCommit || error.isLost
                // The client will send the request again, when the other transactions have ended.
                guard attempt < Self.maximumAttempts else {
                    throw LedgerError(.storeUnavailable, error.detail, isConflict: true)
                }
                attempt += 1
            }
        }
    }

    private func transaction<Result>(
        _ pool: ConnectionPool<PostgreSQLConnection>, _ mode: TransactionMode,
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try pool.withConnection(isUsable: \.isUsable) { connection throws(LedgerError) in
            let result: Result
            do throws(LedgerError) {
                connection.begin(mode.begin)
                result = try body(connection)
            } catch {
                throw connection.rollBack(error)
            }
            switch mode {
            case .read: connection.end()
            case .write: try commit(connection, CommitMarks.make())
            case .migrate: try commit(connection, nil)
            }
            return result
        }
    }

    /// Commits a transaction. If the answer is lost, checks over another connection. If that fails, throws an error
    /// with ``LedgerError/isLost``.
    private func commit(_ connection: PostgreSQLConnection, _ mark: Int64?) throws(LedgerError) {
        do throws(LedgerError) {
            try connection.commit(mark)
        } catch {
            let error = connection.rollBack(error)
            guard error.isLost, let mark else { throw error }
            // Make room for another connection.
            connection.close()
            guard let isCommitted = isCommitted(mark) else { throw error }
            // It never will be committed, so another connection can repeat the work.
            guard isCommitted else { throw LedgerError(error.code, error.detail, isConflict: true, isLost: true) }
        }
    }

    /// Returns whether a transaction was committed, or `nil` if the database doesn't answer within a restart's time.
    private func isCommitted(_ mark: Int64) -> Bool? {
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(LedgerError) {
                return try CommitMarks.isCommitted(mark, PostgreSQLConnection(uri: uri, patience: .seconds(5)))
            } catch {
                guard error.code == .storeUnavailable, .now < deadline else { return nil }
                _ = poll(nil, 0, 100)
            }
        }
    }

    /// Adds a parameter to a URI that lacks it.
    private static func withDefault(_ name: String, _ value: String, in uri: String) -> String {
        if uri.contains("\(name)=") { return uri }
        return uri + (uri.contains("?") ? "&" : "?") + "\(name)=\(value)"
    }
}
#endif
