import AppStoreReceipt
import StrictText

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
        try Sequences(run([SQLStatement.sequences(of: [account], dialect)])[0])[account]
    }
}

extension SQLStatement {
    /// The numbers of answers to accounts, which ``Sequences`` reads.
    static func sequences(of accounts: [String], _ dialect: SQLDialect) -> SQLStatement {
        let names = dialect.names(accounts)
        return SQLStatement(
            """
            SELECT value AS account, floor,
                (SELECT last_sequence FROM accounts WHERE account = names.value) AS last_sequence
            FROM \(names.table) CROSS JOIN sequence_floor
            """, [names.parameter])
    }
}

/// The numbers of answers to accounts.
struct Sequences {
    private var numbers: [UTF8Bytes: Int64] = [:]

    /// - Parameter rows: Those of ``SQLStatement/sequences(of:_:)``.
    init(_ rows: [SQLRow]) throws(LedgerError) {
        for row in rows {
            let (floor, last) = (try row.integer("floor"), try row.optionalInteger("last_sequence"))
            numbers[UTF8Bytes(try row.text("account"))] = max(floor, last ?? floor)
        }
    }

    subscript(account: String) -> Int64 {
        get throws(LedgerError) {
            guard let number = numbers[UTF8Bytes(account)] else {
                throw LedgerError(.storeFailed, "the table sequence_floor is empty")
            }
            return number
        }
    }
}
