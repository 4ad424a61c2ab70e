/// Rows of PostgreSQL that tell whether a transaction was committed of which the answer was lost.
///
/// A transaction leaves a row with a number of its own, which is committed with it. Who asks inserts a row with the same number: there can be one of them. So
/// a transaction that was not committed by then never will be, however late its statements arrive. A number of the server's own, such as that of
/// `pg_current_xact_id()`, would not do: after a crash or a failover, another transaction can have it.
///
/// A connection removes its last row with its next transaction, and with its first one what other connections left an hour ago.
enum CommitMarks {
    /// SQLite answers in the process that asks.
    static func tables(_ dialect: SQLDialect) -> [String] {
        guard dialect.isServer else { return [] }
        return [
            """
            CREATE TABLE commit_marks (mark BIGINT PRIMARY KEY, is_committed BOOLEAN NOT NULL,
                made_at TIMESTAMPTZ NOT NULL DEFAULT now())
            """
        ]
    }

    /// A number that no other transaction has. If one has it all the same, that is a conflict of the two.
    static func make() -> Int64 { .random(in: .min ... .max) }

    /// What a transaction runs before its commit. The first of them has a row if the mark was left: a transaction that wrote nothing leaves none.
    ///
    /// - Parameter last: The mark that the connection has left before.
    static func leave(_ mark: Int64, removing last: Int64?) -> [SQLStatement] {
        let hasWritten = "pg_current_xact_id_if_assigned() IS NOT NULL"
        let leave = SQLStatement(
            "INSERT INTO commit_marks SELECT $1::bigint, TRUE WHERE \(hasWritten) RETURNING mark", [.integer(mark)])
        guard let last else {
            let remove = """
                DELETE FROM commit_marks WHERE mark IN (
                    SELECT mark FROM commit_marks WHERE made_at < now() - interval '1 hour' FOR UPDATE SKIP LOCKED)
                """
            return [leave, SQLStatement(remove)]
        }
        return [leave, SQLStatement("DELETE FROM commit_marks WHERE mark = $1 AND \(hasWritten)", [.integer(last)])]
    }

    /// Whether a transaction was committed. If it was not, it never will be.
    ///
    /// Waits for a transaction that is being committed.
    static func isCommitted(_ mark: Int64, _ connection: PostgreSQLConnection) throws(LedgerError) -> Bool {
        let rows = try connection.run([
            SQLStatement("INSERT INTO commit_marks VALUES ($1, FALSE) ON CONFLICT DO NOTHING", [.integer(mark)]),
            SQLStatement("SELECT is_committed::int FROM commit_marks WHERE mark = $1", [.integer(mark)]),
        ])
        return try rows[1].first?.integer(0) == 1
    }
}
