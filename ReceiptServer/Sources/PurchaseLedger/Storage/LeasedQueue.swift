import Instants

/// The rows of a table that wait to be sent, to the backend or to Apple. Several servers can share them.
///
/// A row is due at `due_at`. A server that takes it has it until `leased_until`; after that, another server assumes a
/// crash. Leases count from the database's clock.
struct LeasedQueue {
    /// The table, with the columns `due_at` and `leased_until`.
    let table: String
    /// The columns of the primary key.
    let key: [String]
    /// The columns before `due_at` in the index of the queue. Each query names their values.
    var lane: [String] = []
    /// The condition of the rows that wait.
    let condition: String

    /// No lease is this long, and no event waits this long for its next attempt: if a date says so, a clock was ahead.
    static let longestDelay = Duration.seconds(3900)

    /// Selects rows that are due and that no server has, oldest first.
    func due(
        _ columns: String, in lane: [SQLValue] = [], isNewestFirst: Bool = false, limit: Int, at now: Instant,
        lock: String = ""
    ) -> SQLStatement {
        let date = lane.count + 1
        return SQLStatement(
            """
            SELECT \(columns) FROM \(table) WHERE \(isWaiting) AND due_at <= $\(date)
                AND (leased_until <= $\(date) OR leased_until > $\(date + 1))
            ORDER BY due_at\(isNewestFirst ? " DESC" : "") LIMIT $\(date + 2)\(lock)
            """, lane + [SQLValue(now), SQLValue(now + Self.longestDelay), .integer(Int64(limit))])
    }

    /// Selects rows of a queue without lanes that are due later than `date`, the latest first.
    func due(after date: Instant, limit: Int, lock: String = "") -> SQLStatement {
        SQLStatement(
            """
            SELECT \(key.joined(separator: ", ")) FROM \(table) WHERE \(isWaiting) AND due_at > $1
            ORDER BY due_at DESC LIMIT $2\(lock)
            """, [SQLValue(date), .integer(Int64(limit))])
    }

    /// Selects the dates of the rows that are due first, and of their leases.
    func dates(in lane: [SQLValue]) -> SQLStatement {
        SQLStatement("SELECT due_at, leased_until FROM \(table) WHERE \(isWaiting) ORDER BY due_at LIMIT 16", lane)
    }

    /// Returns when a row can be taken, given its dates.
    func date(_ row: SQLRow, at now: Instant) throws(LedgerError) -> Instant {
        let (due, lease) = (try row.date("due_at"), try row.date("leased_until"))
        return lease > now + Self.longestDelay ? due : max(due, lease)
    }

    /// Counts the rows, up to a limit.
    func count(in lane: [SQLValue], limit: Int) -> SQLStatement {
        SQLStatement(
            "SELECT COUNT(*) FROM (SELECT 1 FROM \(table) WHERE \(isWaiting) LIMIT $\(lane.count + 1)) AS found",
            lane + [.integer(Int64(limit))])
    }

    /// Takes a row, or keeps it longer. The parameters of `values` follow the date.
    ///
    /// - Parameter condition: What must be true of the row.
    func lease(
        _ row: [SQLValue], until date: Instant, if condition: String? = nil, _ values: [SQLValue] = []
    ) -> SQLStatement {
        update(row, "leased_until = $\(key.count + 1)", if: condition, [SQLValue(date)] + values)
    }

    /// Ends the lease of a row, and makes other changes: see ``update(_:_:if:_:)``.
    func release(
        _ row: [SQLValue], _ changes: String? = nil, if condition: String? = nil, _ values: [SQLValue] = []
    ) -> SQLStatement {
        update(row, "leased_until = 0" + (changes.map { ", " + $0 } ?? ""), if: condition, values)
    }

    /// Changes a row, and returns one if it did. The parameters of `values` follow those of the key.
    ///
    /// - Parameter condition: What must be true of the row.
    func update(
        _ row: [SQLValue], _ changes: String, if condition: String? = nil, _ values: [SQLValue] = []
    ) -> SQLStatement {
        SQLStatement(
            "UPDATE \(table) SET \(changes) WHERE \(isRow)\(condition.map { " AND " + $0 } ?? "") RETURNING 1",
            row + values)
    }

    /// Removes a row. The parameters of `values` follow those of the key.
    ///
    /// - Parameter condition: What must be true of the row.
    func remove(_ row: [SQLValue], if condition: String, _ values: [SQLValue]) -> SQLStatement {
        SQLStatement("DELETE FROM \(table) WHERE \(isRow) AND \(condition)", row + values)
    }

    /// The condition that a server still has the row. The parameter after the key is the end of its lease, which
    /// identifies the holder.
    var isHeld: String { "leased_until = $\(key.count + 1)" }

    private var isRow: String { Self.equal(key) }
    private var isWaiting: String { (lane.isEmpty ? "" : Self.equal(lane) + " AND ") + condition }

    private static func equal(_ columns: [String]) -> String {
        columns.enumerated().map { "\($1) = $\($0 + 1)" }.joined(separator: " AND ")
    }
}

extension SQLConnection {
    /// Takes rows that are due. No other server gets them before the lease ends.
    func take(
        _ columns: String, from queue: LeasedQueue, in lane: [SQLValue] = [], isNewestFirst: Bool = false, limit: Int,
        until end: Instant, at now: Instant
    ) throws(LedgerError) -> [SQLRow] {
        let due = queue.due(
            columns, in: lane, isNewestFirst: isNewestFirst, limit: limit, at: now, lock: dialect.skippingRowLock)
        let rows = try run([due])[0]
        for row in rows {
            let key = try queue.key.map { (column) throws(LedgerError) in SQLValue.text(try row.text(column)) }
            try write(queue.lease(key, until: end))
        }
        return rows
    }
}
