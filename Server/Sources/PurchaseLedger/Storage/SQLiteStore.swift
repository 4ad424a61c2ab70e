#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A ledger in one file, beside which SQLite keeps its log of what is not yet in it (`-wal`, `-shm`).
struct SQLiteStore: LedgerStore {
    private let writer: ConnectionPool<SQLiteConnection>
    private let readers: ConnectionPool<SQLiteConnection>

    init(path: String) throws(LedgerError) {
        // To close a file that is there would end the locks of other connections of this process.
        if FileIdentity(path: path) == nil {
            // SQLite would make the file readable for everyone, and gives the files beside it the same permissions.
            let file = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, mode_t(0o600))
            guard file >= 0 else {
                throw LedgerError(.storeUnavailable, "\(path): \(unsafe String(cString: strerror(errno)))")
            }
            close(file)
        }
        let identity = FileIdentity(path: path)
        let make = { @Sendable () throws(LedgerError) in try SQLiteConnection(path: path, identity) }
        writer = ConnectionPool(limit: 1, make: make)
        readers = ConnectionPool(limit: 4, make: make)
    }

    func write<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        // IMMEDIATE: another process that writes is waited for here, and not in the middle.
        try transaction(writer, "BEGIN IMMEDIATE", body) { connection throws(LedgerError) in try connection.checkFiles()
        }
    }

    func read<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try transaction(readers, "BEGIN", body)
    }

    func completeFile() throws(LedgerError) {
        try writer.withConnection(isUsable: \.isIdle) { connection throws(LedgerError) in
            _ = try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }

    private func transaction<Result>(
        _ pool: ConnectionPool<SQLiteConnection>, _ begin: String,
        _ body: (any SQLConnection) throws(LedgerError) -> Result,
        afterCommit check: (SQLiteConnection) throws(LedgerError) -> Void = { _ in }
    ) throws(LedgerError) -> Result {
        try pool.withConnection(isUsable: \.isIdle) { connection throws(LedgerError) in
            try connection.run(begin)
            do throws(LedgerError) {
                let result = try body(connection)
                try connection.run("COMMIT")
                try check(connection)
                return result
            } catch {
                // If this fails too, the connection is closed, which ends the transaction.
                if !connection.isIdle { _ = try? connection.run("ROLLBACK") }
                throw error
            }
        }
    }
}
