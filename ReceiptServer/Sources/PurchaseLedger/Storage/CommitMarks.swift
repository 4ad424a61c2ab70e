/// Marker rows that show whether a transaction committed when the reply to COMMIT was lost.
///
/// Each transaction inserts a row with a random number, and both are committed together. To find out whether it
/// committed, insert a row with the same number: only one of the two can exist. A transaction that hasn't committed by
/// then never will, however late its statements arrive. The server's own number, from `pg_current_xact_id()`, isn't
/// suitable, because it can be reused after a crash or a failover.
///
/// A connection removes its last row in its next transaction. Rows of lost connections are removed when a server starts
/// a week later, when they are no longer needed.
enum CommitMarks {
    /// Returns the statements that create the table. SQLite runs in the same process and needs none.
    static func tables(_ dialect: SQLDialect) -> [String] {
        guard dialect.isServer else { return [] }
        return [
            """
            CREATE TABLE commit_marks (mark BIGINT PRIMARY KEY, is_committed BOOLEAN NOT NULL,
                made_at TIMESTAMPTZ NOT NULL DEFAULT now())
            """
        ]
    }

    /// Removes rows that are a week old.
    static func clean(_ connection: any SQLConnection) throws(LedgerError) {
        guard connection.dialect.isServer else { return }
        try connection.run("DELETE FROM commit_marks WHERE made_at < now() - interval '7 days'")
    }

    /// Returns a random number. If two transactions have the same number, they conflict.
    static func make() -> Int64 { .random(in: .min ... .max) }

    /// Returns the statements that a transaction runs before its commit. The first returns a row if it left the mark: a
    /// transaction that wrote nothing leaves none.
    ///
    /// - Parameter last: The previous mark of the connection.
    static func leave(_ mark: Int64, removing last: Int64?) -> [SQLStatement] {
        let hasWritten = "pg_current_xact_id_if_assigned() IS NOT NULL"
        let leave = SQLStatement(
            "INSERT INTO commit_marks SELECT $1::bigint, TRUE WHERE \(hasWritten) RETURNING mark", [.integer(mark)])
        guard let last else { return [leave] }
        return [leave, SQLStatement("DELETE FROM commit_marks WHERE mark = $1 AND \(hasWritten)", [.integer(last)])]
    }

    #if PostgreSQL
    /// Returns whether a transaction was committed. If it wasn't, it never will be.
    ///
    /// It waits for a transaction whose commit is in progress. Because it writes a row itself, its commit waits for the
    /// same disks and standbys as the other commit.
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
