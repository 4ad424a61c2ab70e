import CSQLite

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A ledger in one file, beside which SQLite keeps the log of changes that aren't in it yet (`-wal`, `-shm`).
struct SQLiteStore: LedgerStore {
    /// Work for a transaction that can write.
    private enum Work {
        case redemption(PendingRedemption)
        case other((any SQLConnection) throws(LedgerError) -> Void)

        func run(_ connection: any SQLConnection) throws(LedgerError) {
            switch self {
            case .redemption(let pending):
                pending.answer = try RedemptionRequest.answer([pending.request], connection)[0]
            case .other(let body): try body(connection)
            }
        }
    }

    private typealias Member = (member: GroupMember<Work>, work: Work)

    private let path: String
    private let groups = GroupQueue<Work>()
    private let writer: ConnectionPool<SQLiteConnection>
    private let readers: ConnectionPool<SQLiteConnection>

    /// Configures SQLite in this process, before its first use.
    private static let configuration: Void = ledger_configure()

    /// - Parameters:
    ///   - vfs: The name of SQLite's VFS, or `nil` for the default one.
    init(path: String, vfs: String? = nil, _ opening: LedgerOpening = .existing) throws(LedgerError) {
        _ = Self.configuration
        // SQLite would treat an empty file as a new database, and delete the log of the old one.
        if FileIdentity.byteCount(path) == 0 {
            guard opening == .creating else { throw Schema.missing(in: path) }
            let log = FileIdentity.resolved(path) + "-wal"
            guard FileIdentity.byteCount(log) == 0 else {
                throw LedgerError(.ledgerExists, "\(log) is the log of a ledger whose file was deleted")
            }
        }
        // Don't open an existing file: closing it would release the locks of this process's other connections.
        if FileIdentity(path: path) == nil {
            // SQLite would make the file readable for everyone. It gives the files beside it the same permissions.
            let file = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, mode_t(0o600))
            guard file >= 0 else {
                throw LedgerError(.storeUnavailable, "\(path): \(unsafe String(cString: strerror(errno)))")
            }
            close(file)
        }
        self.path = path
        let identity = FileIdentity(path: path)
        writer = ConnectionPool(limit: 1) { () throws(LedgerError) in
            try SQLiteConnection(path: path, identity, vfs: vfs, opening)
        }
        // Reading computes, and a thread that waits for another one computes twice.
        readers = ConnectionPool(limit: max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 16)) { () throws(LedgerError) in
            try SQLiteConnection(path: path, identity, vfs: vfs, isReader: true, opening)
        }
    }

    /// The number of requests that wait for the one writer.
    var waitingCount: Int { groups.waitingCount }

    /// Requests that wait for the one writer share a commit.
    func write<Result>(
        _ share: WorkShare, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        var result: Result?
        try groups.perform(.other { (connection) throws(LedgerError) in result = try body(connection) }, share, write)
        guard let result else { throw LedgerError(.storeUnavailable, "the work was not done") }
        return result
    }

    func redeem(
        _ request: RedemptionRequest, then: @escaping @Sendable (Result<Redemption?, LedgerError>) -> Void
    ) {
        let pending = PendingRedemption(request)
        groups.submit(.redemption(pending), request.share, write) { then(pending.result($0)) }
    }

    private func write(_ group: CommitGroup<Work>) {
        do throws(LedgerError) {
            try writer.withConnection(isUsable: \.isIdle) { connection throws(LedgerError) in
                Self.write(group, connection)
            }
        } catch {
            group.next()?.finish(error)
        }
    }

    /// Writes a group in one transaction. A failing member doesn't affect the others. If a shared transaction fails,
    /// each member gets its own in a second attempt.
    private static func write(_ group: CommitGroup<Work>, _ connection: SQLiteConnection) {
        guard let leader = group.next() else { return }
        var members: [Member] = []
        var failed: [GroupMember<Work>] = []
        do throws(LedgerError) {
            try begin(connection)
            var next: GroupMember<Work>? = leader
            while let member = next {
                if let work = member.take() { members.append((member, work)) }
                next = group.next()
            }
            failed = try write(members, connection)
            try commit(connection)
        } catch {
            rollBack(connection)
            // The only member must be the cause.
            if members.count <= 1 {
                (members.first?.member ?? leader).finish(error)
                return
            }
            failed = members.map(\.member)
        }
        let failure = failure(of: connection)
        for (member, _) in members where !failed.contains(where: { $0 === member }) { group.finish(member, failure) }
        guard !failed.isEmpty else { return }
        group.report()
        for member in failed { write(member, connection) }
    }

    /// Does the work of members in a transaction: first the requests that can be answered together, then the others,
    /// each in a savepoint.
    ///
    /// - Returns: The members whose work failed and was undone.
    private static func write(
        _ members: [Member], _ connection: SQLiteConnection
    ) throws(LedgerError) -> [GroupMember<Work>] {
        if members.count == 1 {
            try members[0].work.run(connection)
            return []
        }
        var keys: Set<PendingRedemption.Key> = []
        var together: [PendingRedemption] = []
        var others = members.filter { _, work in
            guard case .redemption(let pending) = work, pending.join(&keys) else { return true }
            together.append(pending)
            return false
        }
        do throws(LedgerError) {
            let answers = try RedemptionRequest.answer(together.map(\.request), connection)
            for (pending, answer) in zip(together, answers) { pending.answer = answer }
        } catch {
            // Either one request or the combination can be the cause. Nothing else has been written yet.
            rollBack(connection)
            try begin(connection)
            others = members
        }
        var failed: [GroupMember<Work>] = []
        for (member, work) in others {
            try connection.run("SAVEPOINT member")
            do throws(LedgerError) {
                try work.run(connection)
            } catch {
                // Some errors, such as a full disk, end the transaction for all members.
                guard !connection.isIdle else { throw error }
                try connection.run("ROLLBACK TO member")
                failed.append(member)
            }
            try connection.run("RELEASE member")
        }
        return failed
    }

    /// Does the work of one member in its own transaction.
    private static func write(_ member: GroupMember<Work>, _ connection: SQLiteConnection) {
        guard let work = member.take() else { return }
        do throws(LedgerError) {
            try begin(connection)
            try work.run(connection)
            try commit(connection)
            member.finish(failure(of: connection))
        } catch {
            rollBack(connection)
            member.finish(error)
        }
    }

    /// IMMEDIATE makes the transaction wait for another process that writes here, and not later.
    private static func begin(_ connection: SQLiteConnection) throws(LedgerError) {
        try connection.run("BEGIN IMMEDIATE")
    }

    private static func commit(_ connection: SQLiteConnection) throws(LedgerError) {
        GroupPoint.written.pass()
        try connection.run("COMMIT")
        GroupPoint.committed.pass()
    }

    /// If this fails, the connection is closed, which ends the transaction.
    private static func rollBack(_ connection: SQLiteConnection) {
        if !connection.isIdle { _ = try? connection.run("ROLLBACK") }
    }

    /// Returns the error if the files that a commit was written to were deleted or replaced.
    private static func failure(of connection: SQLiteConnection) -> LedgerError? {
        do throws(LedgerError) { try connection.checkFiles() } catch { return error }
        return nil
    }

    func read<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try readers.withConnection(isUsable: \.isIdle) { connection throws(LedgerError) in
            try Self.read(connection, body)
        }
    }

    func read<Result>(
        _ share: WorkShare, _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        // The writer has its own changes cached. After each commit, another connection drops its cache and reads the
        // pages again. Other writes wait meanwhile.
        if share.isBrief, groups.isIdle {
            let result = try writer.withIdleConnection(isUsable: \.isIdle) { connection throws(LedgerError) in
                try Self.read(connection, body)
            }
            if let result { return result }
        }
        return try read(body)
    }

    private static func read<Result>(
        _ connection: SQLiteConnection, _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try connection.run("BEGIN")
        do throws(LedgerError) {
            let result = try body(connection)
            try connection.run("COMMIT")
            try connection.checkFiles()
            return result
        } catch {
            rollBack(connection)
            throw error
        }
    }

    func migrate<Result>(
        _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result { try write(body) }

    /// Locks a file beside the ledger, which is removed with the lock. Closing the ledger's own file would release
    /// SQLite's locks.
    func lockImports() throws(LedgerError) -> ImportLock? {
        let path = FileIdentity.resolved(path) + "-import"
        while true {
            let file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode_t(0o600))
            guard file >= 0 else {
                throw LedgerError(.storeUnavailable, "\(path): \(unsafe String(cString: strerror(errno)))")
            }
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                close(file)
                return nil
            }
            // The previous holder may have removed the file after it was opened here.
            if let locked = FileIdentity(descriptor: file), locked == FileIdentity(path: path) {
                return ImportLock {
                    _ = unsafe unlink(path)
                    close(file)
                }
            }
            close(file)
        }
    }

    func completeFile() throws(LedgerError) {
        try writer.withConnection(isUsable: \.isIdle) { connection throws(LedgerError) in
            // The first column is 1 if another user blocked the checkpoint for as long as SQLite waits.
            let rows = try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            guard try rows.first?.integer(0) == 0 else {
                throw LedgerError(.storeUnavailable, "somebody else uses the file")
            }
        }
    }
}
