/// A ledger in a PostgreSQL database, which several servers can use at the same time.
///
/// A transaction locks the families of its purchases, so that its reads and writes are as if it ran alone (`READ COMMITTED` with row locks). The
/// ledger takes all locks in one order.
struct PostgreSQLStore: LedgerStore {
    private static let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    /// How often a transaction is run when others are in its way.
    private static let maximumAttempts = 10

    private let uri: String
    private let writers: ConnectionPool<PostgreSQLConnection>
    /// Who reads waits for no lock, and not for a connection of those who do.
    private let readers: ConnectionPool<PostgreSQLConnection>
    private let groups: GroupQueue<PendingRedemption>

    /// - Parameter connections: The number of connections that write, and of those that only read.
    init(uri: String, connections: Int = 8) throws(LedgerError) {
        try PostgreSQLConnection.check(uri)
        // A server that does not answer is an error after 5 seconds, unless the URI says otherwise.
        let uri = Self.withDefault("connect_timeout", "5", in: uri)
        self.uri = uri
        // While one group is written, another waits for the disk. With more of them, each is smaller and costs as much. Whoever writes without one has connections left.
        groups = GroupQueue(GroupQueue.Limits(leaders: max(1, connections / 4)))
        let make = { @Sendable () throws(LedgerError) in try PostgreSQLConnection(uri: uri) }
        writers = ConnectionPool(limit: connections, make: make)
        readers = ConnectionPool(limit: connections, make: make)
    }

    func write<Result>(
        _ share: WorkShare, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating(writers, Self.begin, body)
    }

    /// Those who wait while others are answered share a load, a write and a commit.
    func redeem(_ request: RedemptionRequest) throws(LedgerError) -> Redemption? {
        let pending = PendingRedemption(request)
        try groups.perform(pending, request.share, answer)
        return pending.answer
    }

    private func answer(_ group: Group<PendingRedemption>) {
        var together: [(member: GroupMember<PendingRedemption>, pending: PendingRedemption)] = []
        var alone: [GroupMember<PendingRedemption>] = []
        var keys: Set<PendingRedemption.Key> = []
        while let member = group.next() {
            guard let pending = member.take() else { continue }
            if pending.join(&keys) { together.append((member, pending)) } else { alone.append(member) }
        }
        if together.count > 1 {
            do throws(LedgerError) {
                let answers = try transaction(writers, Self.begin) { (connection) throws(LedgerError) in
                    try written(RedemptionRequest.answer(together.map(\.pending.request), connection))
                }
                GroupPoint.committed.pass()
                for ((member, pending), answer) in zip(together, answers) {
                    pending.answer = answer
                    member.finish(nil)
                }
            } catch {
                // One of them can be the reason, or all together; but if the database is gone, each would wait for it.
                if error.isLost {
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
                pending.answer = try repeating(writers, Self.begin) { (connection) throws(LedgerError) in
                    try written(RedemptionRequest.answer([pending.request], connection)[0])
                }
                GroupPoint.committed.pass()
                member.finish(nil)
            } catch {
                member.finish(error)
            }
        }
    }

    private func written<Answer>(_ answer: Answer) -> Answer {
        GroupPoint.written.pass()
        return answer
    }

    func migrate<Result>(
        _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        let patient = ConnectionPool(limit: 1) { [uri] () throws(LedgerError) in
            try PostgreSQLConnection(uri: uri, isPatient: true)
        }
        return try repeating(patient, Self.begin, body)
    }

    /// Its server keeps its files.
    func completeFile() {}

    func read<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating(readers, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isReader: true, body)
    }

    private func repeating<Result>(
        _ pool: ConnectionPool<PostgreSQLConnection>, _ begin: String, isReader: Bool = false,
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        var attempt = 1
        while true {
            do throws(LedgerError) {
                return try transaction(pool, begin, isReader: isReader, body)
            } catch {
                guard error.isConflict else { throw error }
                // The client sends it again: the others will have ended then.
                guard attempt < Self.maximumAttempts else {
                    throw LedgerError(.storeUnavailable, error.detail, isConflict: true)
                }
                attempt += 1
            }
        }
    }

    private func transaction<Result>(
        _ pool: ConnectionPool<PostgreSQLConnection>, _ begin: String, isReader: Bool = false,
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try pool.withConnection(isUsable: \.isUsable) { connection throws(LedgerError) in
            do throws(LedgerError) {
                connection.begin(begin)
                let result = try body(connection)
                if isReader { connection.end() } else { try connection.commit() }
                return result
            } catch {
                guard isReader, error.isWrite else { throw connection.rollBack(error) }
                connection.end()
                throw error
            }
        }
    }

    /// Adds a parameter to a URI that does not have it.
    private static func withDefault(_ name: String, _ value: String, in uri: String) -> String {
        if uri.contains("\(name)=") { return uri }
        return uri + (uri.contains("?") ? "&" : "?") + "\(name)=\(value)"
    }
}
