package import AppStoreReceipt
import StrictText

extension LeasedQueue {
    /// The inquiries of an app, by priority and kind.
    static let inquiries = LeasedQueue(
        table: "questions", key: ["environment", "bundle_id", "kind", "subject"],
        lane: ["environment", "bundle_id", "priority", "kind"], condition: "state = 'pending'")
}

/// The queue of inquiries, which several servers can share.
extension PurchaseLedger {
    /// The time that a server has for one request. After that, another server assumes a crash and takes over.
    package static let inquiryLease = Duration.seconds(60)
    /// The maximum number of an app's inquiries. Beyond it, the newest with the lowest priority are dropped.
    static let maximumInquiryCount = 100_000
    /// The maximum number of inquiries to count.
    private static let maximumCounted = 10_000
    /// The kinds of inquiries in the queue, by priority.
    private static let lanes: [(priority: Int64, kind: Inquiry.Kind)] = [
        (0, .history), (2, .statuses), (3, .history), (3, .transaction), (4, .transaction), (5, .transaction),
        (6, .refunds),
    ]

    private static func lane(_ app: AskedApp, _ priority: Int64, _ kind: Inquiry.Kind) -> [SQLValue] {
        app.columns + [.integer(priority), .text(kind.rawValue)]
    }

    /// The inquiries taken from the queue.
    package struct TakenInquiries: Sendable {
        package var inquiries: [Inquiry] = []
        /// Whether the budget doesn't allow something that is due.
        package var isBudgetSpent = false
    }

    // MARK: Taking

    /// Takes due inquiries, most urgent first, and one request from the budget for each. No other server gets them
    /// until ``inquiryLease`` has passed.
    ///
    /// - Parameters:
    ///   - kinds: The kinds that can be sent now.
    ///   - requestsPerHour: The budget that all servers share. Low priorities get at most half of it.
    package func takeInquiries(
        about app: AskedApp, of kinds: Set<Inquiry.Kind>, limit: Int, requestsPerHour: Int, at now: Instant
    ) throws(LedgerError) -> TakenInquiries {
        let lanes = Self.lanes.filter { kinds.contains($0.kind) }
        func firstDue(_ lanes: [(priority: Int64, kind: Inquiry.Kind)]) -> [SQLStatement] {
            lanes.map { LeasedQueue.inquiries.due("1", in: Self.lane(app, $0.priority, $0.kind), limit: 1, at: now) }
        }
        // Most checks find nothing, and need no lock.
        let found = try store.read { (connection) throws(LedgerError) in try connection.run(firstDue(lanes)) }
        guard !found.allSatisfy(\.isEmpty) else { return TakenInquiries() }
        return try store.write { (connection) throws(LedgerError) in
            var budget = try connection.lockBudget(of: app, requestsPerHour, at: now)
            var taken = TakenInquiries()
            for (priority, kind) in lanes where taken.inquiries.count < limit {
                let count = min(limit - taken.inquiries.count, budget.free(priority))
                guard count > 0 else {
                    if try !connection.run(firstDue([(priority, kind)]))[0].isEmpty { taken.isBudgetSpent = true }
                    continue
                }
                let end = now + Self.inquiryLease
                for row in try connection.take(
                    Inquiry.columns, from: .inquiries, in: Self.lane(app, priority, kind), limit: count, until: end,
                    at: now)
                {
                    var inquiry = try Inquiry(row)
                    inquiry.leasedUntil = end
                    taken.inquiries.append(inquiry)
                    budget.spend(priority)
                }
            }
            if !taken.inquiries.isEmpty { try connection.write(budget) }
            return taken
        }
    }

    /// Takes a request from the budget of an app.
    ///
    /// - Returns: Whether the budget allowed it.
    package func takeRequest(
        about app: AskedApp, priority: Int, requestsPerHour: Int, at now: Instant
    ) throws(LedgerError) -> Bool {
        try store.write { (connection) throws(LedgerError) in
            var budget = try connection.lockBudget(of: app, requestsPerHour, at: now)
            guard budget.free(Int64(priority)) > 0 else { return false }
            budget.spend(Int64(priority))
            try connection.write(budget)
            return true
        }
    }

    /// Returns the earliest date when an inquiry can be taken, or `nil` if there is none.
    ///
    /// - Parameter isUrgent: Whether to consider only inquiries that can use the whole budget.
    package func nextInquiryDate(
        about app: AskedApp, isUrgent: Bool = false, at now: Instant
    ) throws(LedgerError) -> Instant? {
        let lanes = Self.lanes.filter { !isUrgent || $0.priority < Inquiry.lowPriority }
        return try store.read { (connection) throws(LedgerError) in
            let answers = try connection.run(
                lanes.map { LeasedQueue.inquiries.dates(in: Self.lane(app, $0.priority, $0.kind)) })
            var dates: [Instant] = []
            for row in answers.joined() { dates.append(try LeasedQueue.inquiries.date(row, at: now)) }
            return dates.min()
        }
    }

    /// Returns the number of inquiries that are due, or failed and will soon be due again, counting up to 10,000.
    package func openInquiryCount(
        about app: AskedApp, at now: Instant
    ) throws(LedgerError) -> Int {
        try store.read { (connection) throws(LedgerError) in
            let rows = try connection.run(
                """
                SELECT COUNT(*) FROM (SELECT 1 FROM questions WHERE environment = $1 AND bundle_id = $2
                    AND state = 'pending' AND (due_at <= $3 OR (failure IS NOT NULL AND attempts > 0 AND due_at <= $4))
                    LIMIT 10000) AS found
                """, app.columns + [SQLValue(now), SQLValue(now + .seconds(21_600))])
            return Int(try rows.first?.integer(0) ?? 0)
        }
    }

    // MARK: Results

    /// The result of an inquiry.
    package enum InquiryResult: Sendable {
        /// It is finished.
        case ended
        /// It will be sent again.
        case again(at: Instant, attempts: Int64, failure: String?)
        /// It continues from the cursor, by default with the same priority. For refunds, `attempts` is 0 before a run,
        /// and then one more than the number of consecutive pages without new refunds.
        case goesOn(at: Instant, cursor: String?, attempts: Int64, failure: String? = nil, priority: Int? = nil)
        /// It is not sent again. Operators can see it.
        case failed(String)
        /// Apple doesn't know the transaction.
        case unknown
    }

    /// Records the result of an inquiry, unless its lease has expired and another server has it.
    ///
    /// - Parameters:
    ///   - isUnspent: Whether no request was made.
    ///   - change: What an inquiry that continues changes in the checkpoint of its app.
    package func finish(
        _ inquiry: Inquiry, _ result: InquiryResult, isUnspent: Bool = false, at now: Instant,
        changingCheckpoint change: ((inout HistoryCheckpoint) -> Void)? = nil
    ) throws(LedgerError) {
        let queue = LeasedQueue.inquiries
        func release(_ changes: String? = nil, _ values: [SQLValue] = []) -> SQLStatement {
            queue.release(inquiry.key, changes, if: queue.isHeld, [SQLValue(inquiry.leasedUntil)] + values)
        }
        try store.write { (connection) throws(LedgerError) in
            if isUnspent { try connection.giveBack(inquiry, at: now) }
            switch result {
            case .ended:
                // Keep it if it was rescheduled meanwhile.
                try connection.write(
                    queue.remove(
                        inquiry.key, if: queue.isHeld + " AND due_at <= $6",
                        [SQLValue(inquiry.leasedUntil), SQLValue(inquiry.dueAt)]))
                try connection.write(release())
            case .again(let date, let attempts, let failure):
                try connection.write(
                    release(
                        "attempts = $6, failure = $7, due_at = CASE WHEN due_at > $8 THEN due_at ELSE $9 END",
                        [.integer(attempts), SQLValue(failure), SQLValue(inquiry.dueAt), SQLValue(date)]))
            case .goesOn(let date, let cursor, let attempts, let failure, let priority):
                let released = try connection.run([
                    release(
                        "due_at = $6, cursor = $7, attempts = $8, failure = $9, priority = COALESCE($10, priority)",
                        [
                            SQLValue(date), SQLValue(cursor), .integer(attempts), SQLValue(failure),
                            priority.map { .integer(Int64($0)) } ?? .null,
                        ])
                ])
                if let change, !released[0].isEmpty { try connection.changeCheckpoint(of: inquiry.app, change) }
            case .failed(let failure):
                try connection.write(release("state = 'failed', failure = $6", [.text(failure)]))
            case .unknown:
                try connection.write(release("state = 'unknown'"))
            }
        }
    }

    /// Schedules the failed inquiries of an app again.
    package func askFailedAgain(about app: AskedApp, at now: Instant) throws(LedgerError) {
        // `state <> 'pending'` is the condition of the index.
        try store.write { (connection) throws(LedgerError) in
            try connection.write(
                """
                UPDATE questions SET state = 'pending', attempts = 0, due_at = $3, leased_until = 0
                WHERE environment = $1 AND bundle_id = $2 AND state <> 'pending' AND state = 'failed'
                """, app.columns + [SQLValue(now)])
        }
    }

    // MARK: Reading

    /// Returns the failed inquiries, oldest first.
    package func failedInquiries(limit: Int = 1000) throws(LedgerError) -> [Inquiry] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT \(Inquiry.columns) FROM questions WHERE state <> 'pending' AND state = 'failed'
                ORDER BY made_at, subject LIMIT $1
                """, [.integer(Int64(limit))]
            ).map { (row) throws(LedgerError) in try Inquiry(row) }
        }
    }

    /// The state of the queue of an app.
    package struct InquiryCounts: Sendable {
        package let app: AskedApp
        /// The number of inquiries to send, by priority, counting up to 10,000.
        package internal(set) var pending: [Int: Int] = [:]
        /// The date of the oldest inquiry, by priority.
        package internal(set) var oldest: [Int: Instant] = [:]
        package internal(set) var failed = 0
        package internal(set) var unknown = 0
        package internal(set) var spentThisHour = 0
        package internal(set) var completeUntil: Instant?
        package internal(set) var sweptUntil: Instant?
        package internal(set) var gap: HistoryCheckpoint.Gap?
    }

    /// Returns the state of the queues.
    package func inquiryCounts(at now: Instant = .now) throws(LedgerError) -> [InquiryCounts] {
        let apps = policy.inquiries?.apps ?? []
        return try store.read { (connection) throws(LedgerError) in
            try apps.map { (app) throws(LedgerError) in
                var counts = InquiryCounts(app: app)
                for (priority, kind) in Self.lanes {
                    let lane = Self.lane(app, priority, kind)
                    let rows = try connection.run([
                        LeasedQueue.inquiries.count(in: lane, limit: Self.maximumCounted),
                        LeasedQueue.inquiries.dates(in: lane),
                    ])
                    let number = Int(priority)
                    counts.pending[number, default: 0] += Int(try rows[0].first?.integer(0) ?? 0)
                    if let row = rows[1].first {
                        counts.oldest[number] = min(try row.date(0), counts.oldest[number] ?? .distantFuture)
                    }
                }
                let ended = try connection.run(
                    """
                    SELECT state, COUNT(*) FROM questions WHERE environment = $1 AND bundle_id = $2 AND state <> 'pending'
                    GROUP BY state
                    """, app.columns)
                for row in ended {
                    if try row.text(0).hasSameBytes(as: "failed") {
                        counts.failed = Int(try row.integer(1))
                    } else {
                        counts.unknown = Int(try row.integer(1))
                    }
                }
                counts.spentThisHour = try connection.spentRequests(about: app, at: now)
                let checkpoint = try connection.checkpoint(of: app)
                counts.completeUntil = checkpoint.completeUntil
                counts.sweptUntil = checkpoint.sweptUntil
                counts.gap = checkpoint.gap
                return counts
            }
        }
    }

    // MARK: Cleaning

    /// Drops the newest inquiries of each of the lowest priorities if there are too many, and past budgets.
    ///
    /// - Returns: The number of inquiries that were dropped.
    package func cleanInquiries(about app: AskedApp, at now: Instant) throws(LedgerError) -> Int {
        try mendDates(of: app, at: now)
        return try store.write { (connection) throws(LedgerError) in
            try connection.write(
                "DELETE FROM budgets WHERE environment = $1 AND bundle_id = $2 AND hour < $3",
                app.columns + [.integer(RequestBudget.hour(of: now) - 48)])
            var count = 0
            for (priority, kind) in Self.lanes where priority >= 5 {
                count += try connection.run(
                    """
                    DELETE FROM questions WHERE environment = $1 AND bundle_id = $2 AND kind = $4 AND subject IN (
                        SELECT subject FROM questions WHERE environment = $1 AND bundle_id = $2 AND state = 'pending'
                            AND priority = $5 AND kind = $4 ORDER BY due_at LIMIT 100000 OFFSET $3)
                        AND priority = $5 RETURNING 1
                    """,
                    app.columns + [
                        .integer(Int64(Self.maximumInquiryCount)), .text(kind.rawValue), .integer(priority),
                    ]
                ).count
            }
            return count
        }
    }
}
