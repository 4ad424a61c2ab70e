import AppStoreReceipt

/// The numbers that show a backend what is older, in whatever order messages arrive.
///
/// An event's number is greater than the account's last one and the floor, and at least the milliseconds since 1970. An
/// answer has the number of the account's last event, or the floor if that is greater. The floor is raised when a
/// ledger is opened, so that events after a restored backup are newer than all events before, and when an account is
/// deleted, so that the account can return.
extension SQLConnection {
    /// Raises the floor, to at least a number.
    ///
    /// Waits for transactions that have taken a lower number. Otherwise, an answer without their events would have a
    /// greater number.
    func raiseSequenceFloor(to number: Int64) throws(LedgerError) {
        for lock in dialect.floorLock { try run(lock) }
        try run(
            "UPDATE sequence_floor SET floor = CASE WHEN floor >= $1 THEN floor + 1 ELSE $1 END", [.integer(number)])
    }

    func sequenceFloor() throws(LedgerError) -> Int64 {
        guard let row = try run("SELECT floor FROM sequence_floor").first else {
            throw LedgerError(.storeFailed, "the table sequence_floor is empty")
        }
        return try row.integer(0)
    }

    /// Returns the number of an answer to an account. Call it while the lineages of the answer are locked, so that an
    /// event that changes the answer has a greater number.
    func sequence(of account: String) throws(LedgerError) -> Int64 {
        try SQLStatement.sequence(run([SQLStatement.sequence(of: account)])[0])
    }
}

extension SQLStatement {
    /// The number of an answer to an account, which ``sequence(_:)`` reads.
    static func sequence(of account: String) -> SQLStatement {
        SQLStatement(
            "SELECT floor, (SELECT last_sequence FROM accounts WHERE account = $1) FROM sequence_floor",
            [.text(account)])
    }

    static func sequence(_ rows: [SQLRow]) throws(LedgerError) -> Int64 {
        guard let row = rows.first else { throw LedgerError(.storeFailed, "the table sequence_floor is empty") }
        let floor = try row.integer(0)
        if case .null = row.values[1] { return floor }
        return max(floor, try row.integer(1))
    }
}
