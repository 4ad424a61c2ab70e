/// Marker rows that show whether a transaction committed when the reply to COMMIT was lost.
///
/// A transaction leaves a row with a number of its own, which is committed with it. To find out, insert a row with the
/// same number: only one of the two can exist. So a transaction that was not committed by then never will be, however
/// late its statements arrive. A number of the server's own, such as that of `pg_current_xact_id()`, would not do:
/// after a crash or a failover, another transaction can have it.
///
/// A connection removes its last row with its next transaction. Rows of lost connections are removed when a server
/// starts a week later, when they are no longer needed.
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

    /// Removes what is a week old.
    static func clean(_ connection: any SQLConnection) throws(LedgerError) {
        guard connection.dialect.isServer else { return }
        try connection.run("DELETE FROM commit_marks WHERE made_at < now() - interval '7 days'")
    }

    /// A number that no other transaction has. If one has it all the same, that is a conflict of the two.
    static func make() -> Int64 { .random(in: .min ... .max) }

    /// What a transaction runs before its commit. The first statement has a row if the mark was left: a transaction
    /// that wrote nothing leaves none.
    ///
    /// - Parameter last: The mark that the connection has left before.
    static func leave(_ mark: Int64, removing last: Int64?) -> [SQLStatement] {
        let hasWritten = "pg_current_xact_id_if_assigned() IS NOT NULL"
        let leave = SQLStatement(
            "INSERT INTO commit_marks SELECT $1::bigint, TRUE WHERE \(hasWritten) RETURNING mark", [.integer(mark)])
        guard let last else { return [leave] }
        return [leave, SQLStatement("DELETE FROM commit_marks WHERE mark = $1 AND \(hasWritten)", [.integer(last)])]
    }

    #if PostgreSQL
    /// Whether a transaction was committed. If it was not, it never will be.
    ///
    /// Waits for a transaction that is being committed. Since it writes, its own commit waits for the disks, and the
    /// standbys, that the other one waited for.
    static func isCommitted(_ mark: Int64, _ connection: PostgreSQLConnection) throws(LedgerError) -> Bool {
        connection.begin("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        let rows = try connection.run(
            """
            INSERT INTO commit_marks VALUES ($1, FALSE) ON CONFLICT (mark) DO UPDATE
            SET is_committed = commit_marks.is_committed RETURNING is_committed::int
            """, [.integer(mark)])
        try connection.commit(nil)
        return try rows[0].integer(0) == 1
    }
    #endif
}
