import AppStoreReceipt
import StrictText

/// Numbers events and writes them to the outbox, in the transaction that they are about.
struct Posting {
    /// The events, those of one account after another. ``number(_:_:)`` gives them their ids and numbers.
    var events: [LedgerEvent]
    /// The statements that take the numbers, whose answers ``number(_:_:)`` reads.
    let statements: [SQLStatement]
    /// The accounts with events, and how many they have.
    private let notified: [(account: UTF8Bytes, count: Int)]
    /// The accounts that get an answer, and those of them without events.
    private let answered: [String]
    private let others: [String]
    /// The number of statements before those that return numbers.
    private let lockCount: Int

    init(
        _ events: [LedgerEvent], answering accounts: [String], at now: Instant, due: Instant, _ dialect: SQLDialect
    ) {
        // Accounts are locked in one order, after all lineages.
        let notified = Dictionary(grouping: events) { UTF8Bytes($0.account) }.sorted { $0.key < $1.key }
        // One statement for adjacent accounts with equal numbers of events.
        var runs: [(count: Int, accounts: [String])] = []
        for (account, events) in notified {
            if runs.last?.count != events.count { runs.append((events.count, [])) }
            runs[runs.count - 1].accounts.append(account.string)
        }
        let notifiedAccounts = Set(notified.map(\.key))
        let others = accounts.filter { !notifiedAccounts.contains(UTF8Bytes($0)) }
        let locks = runs.isEmpty ? [] : dialect.sharedFloorLock.map { SQLStatement($0, []) }
        statements =
            locks + runs.map { SQLStatement.takingSequences($0.count, of: $0.accounts, at: now, due: due, dialect) }
            + (others.isEmpty ? [] : [.sequences(of: others, dialect)])
        self.events = notified.flatMap(\.value)
        self.notified = notified.map { ($0.key, $0.value.count) }
        (answered, self.others, lockCount) = (accounts, others, locks.count)
    }

    /// Numbers the events.
    ///
    /// - Parameter rows: The answers to ``statements``.
    /// - Returns: The numbers of the answers to accounts.
    mutating func number(
        _ rows: some Collection<[SQLRow]>, _ surroundings: Surroundings
    ) throws(LedgerError) -> [Int64] {
        let numbered = rows.dropFirst(lockCount)
        // The last event of an answered account has the number of its answer.
        var numbers: [UTF8Bytes: Int64] = [:]
        let readCount = others.isEmpty ? 0 : 1
        for row in numbered.dropLast(readCount).joined() { numbers[UTF8Bytes(try row.text(0))] = try row.integer(1) }
        var index = 0
        for (account, count) in notified {
            guard let last = numbers[account] else { throw LedgerError(.storeFailed, "no number for an event") }
            for offset in 0..<count {
                events[index].id = surroundings.makeID()
                events[index].sequence = last - Int64(count - 1 - offset)
                index += 1
            }
        }
        let sequences = try Sequences(Array(numbered.suffix(readCount).joined()))
        for account in others { numbers[UTF8Bytes(account)] = try sequences[account] }
        return answered.map { numbers[UTF8Bytes($0)] ?? 0 }
    }

    /// Returns the statements that write the numbered events to the outbox.
    func insertions(at now: Instant, due: Instant) -> [SQLStatement] {
        let rows = events.map { event -> [SQLValue] in
            // A request for a refund waits for no other event: Apple asks for an answer within hours.
            let isUrgent = event.kind == .refundRequested
            let values: [SQLValue] = [
                .text(event.id), .text(event.account), .integer(event.sequence), .text(event.kind.rawValue),
                .text(event.json), SQLValue(now), .text(isUrgent ? "urgent" : "pending"), .integer(0),
                isUrgent ? SQLValue(due) : .null,
            ]
            let key = TransactionKey(
                environment: event.environment, bundleID: event.bundleID, transactionID: event.transactionID)
            return key.columns + values
        }
        return SQLInsertion(
            "outbox (identifier_id, id, account, sequence, kind, event, made_at, state, attempts, due_at)",
            ofTransactions: true
        ).statements(rows)
    }
}

extension SQLStatement {
    /// Takes this many consecutive numbers for each account, and schedules the events after the pending ones. Returns
    /// the accounts and their last numbers. Locks the accounts, in order, until the end of the transaction.
    static func takingSequences(
        _ count: Int, of accounts: [String], at now: Instant, due: Instant, _ dialect: SQLDialect
    ) -> SQLStatement {
        let names = dialect.names(accounts)
        // Without WHERE, SQLite takes ON for that of a join.
        return SQLStatement(
            """
            INSERT INTO accounts (account, last_sequence, due_at)
            SELECT value, (SELECT CASE WHEN floor >= $2 THEN floor + 1 ELSE $2 END FROM sequence_floor) + $3 - 1, $4
            FROM \(names.table) WHERE TRUE
            ON CONFLICT (account) DO UPDATE SET last_sequence =
                CASE WHEN accounts.last_sequence + $3 > excluded.last_sequence
                THEN accounts.last_sequence + $3 ELSE excluded.last_sequence END,
                due_at = COALESCE(accounts.due_at, excluded.due_at)
            RETURNING account, last_sequence
            """, [names.parameter, SQLValue(now), .integer(Int64(count)), SQLValue(due)])
    }
}
