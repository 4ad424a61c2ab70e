import AppStoreReceipt

/// The requests about an app in one hour, a budget that all servers of the ledger share.
struct RequestBudget {
    let app: AskedApp
    let hour: Int64
    let limit: Int
    private(set) var spent: Int
    /// The number of requests with low priority, which is limited to half of the budget.
    private(set) var spentLow: Int

    static func hour(of date: Instant) -> Int64 { date.secondsSince1970 / 3600 }

    init(of app: AskedApp, hour: Int64, limit: Int, _ row: SQLRow) throws(LedgerError) {
        (self.app, self.hour, self.limit) = (app, hour, limit)
        spent = Int(try row.integer(0))
        spentLow = Int(try row.integer(1))
    }

    func free(_ priority: Int64) -> Int {
        let free = limit - spent
        return priority < Inquiry.lowPriority ? free : min(free, limit / 2 - spentLow)
    }

    mutating func spend(_ priority: Int64) {
        spent += 1
        if priority >= Inquiry.lowPriority { spentLow += 1 }
    }
}

extension SQLConnection {
    /// Locks the budget of an app until the end of the transaction.
    func lockBudget(
        of app: AskedApp, _ limit: Int, at now: Instant
    ) throws(LedgerError) -> RequestBudget {
        let hour = RequestBudget.hour(of: now)
        let key = app.columns + [.integer(hour)]
        let rows = try run([
            SQLStatement("INSERT INTO budgets VALUES ($1, $2, $3, 0, 0, 0) ON CONFLICT DO NOTHING", key),
            SQLStatement(
                "SELECT spent, spent_low FROM budgets WHERE environment = $1 AND bundle_id = $2 AND hour = $3"
                    + dialect.rowLock, key),
        ])[1]
        guard let row = rows.first else { throw .conflict }
        return try RequestBudget(of: app, hour: hour, limit: limit, row)
    }

    func write(_ budget: RequestBudget) throws(LedgerError) {
        try write(
            "UPDATE budgets SET spent = $4, spent_low = $5 WHERE environment = $1 AND bundle_id = $2 AND hour = $3",
            budget.app.columns + [
                .integer(budget.hour), .integer(Int64(budget.spent)), .integer(Int64(budget.spentLow)),
            ])
    }

    /// Gives back the request of an inquiry that was never sent. If the hour has changed, the request is lost.
    func giveBack(_ inquiry: Inquiry, at now: Instant) throws(LedgerError) {
        let taken = RequestBudget.hour(of: inquiry.leasedUntil - PurchaseLedger.inquiryLease)
        guard taken == RequestBudget.hour(of: now) else { return }
        let low: Int64 = inquiry.priority >= Inquiry.lowPriority ? 1 : 0
        try write(
            """
            UPDATE budgets SET spent = spent - 1, spent_low = spent_low - $4
            WHERE environment = $1 AND bundle_id = $2 AND hour = $3
            """, inquiry.app.columns + [.integer(taken), .integer(low)])
    }

    func spentRequests(about app: AskedApp, at now: Instant) throws(LedgerError) -> Int {
        let rows = try run(
            "SELECT spent FROM budgets WHERE environment = $1 AND bundle_id = $2 AND hour = $3",
            app.columns + [.integer(RequestBudget.hour(of: now))])
        return Int(try rows.first?.integer(0) ?? 0)
    }

    /// Records that Apple knew a transaction in this hour, which shows that the key, app and host are right.
    func countAnswer(about app: AskedApp, at now: Instant) throws(LedgerError) {
        try write(
            """
            INSERT INTO budgets VALUES ($1, $2, $3, 0, 0, 1)
            ON CONFLICT (environment, bundle_id, hour) DO UPDATE SET answered = budgets.answered + 1
            """, app.columns + [.integer(RequestBudget.hour(of: now))])
    }

    func hasAnswer(about app: AskedApp, at now: Instant) throws(LedgerError) -> Bool {
        try !run(
            "SELECT 1 FROM budgets WHERE environment = $1 AND bundle_id = $2 AND hour = $3 AND answered > 0",
            app.columns + [.integer(RequestBudget.hour(of: now))]
        ).isEmpty
    }
}
