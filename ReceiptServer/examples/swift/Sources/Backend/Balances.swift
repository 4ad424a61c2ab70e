import AppStoreReceipt
import CShopSQLite
import Foundation
import PurchaseLedger

/// What each account has, in the shop's own database.
final class Balances: @unchecked Sendable {
    struct Failure: Error { let message: String }

    /// What the app is shown of a product.
    struct Shown: Encodable {
        let environment: String
        let product_id: String
        let quantity: Int
        let until: String?

        /// A product without an end has `null`.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(environment, forKey: .environment)
            try container.encode(product_id, forKey: .product_id)
            try container.encode(quantity, forKey: .quantity)
            try container.encode(until, forKey: .until)
        }

        private enum CodingKeys: String, CodingKey { case environment, product_id, quantity, until }
    }

    private enum Value {
        case text(String?)
        case number(Int64)
    }

    private let lock = NSLock()
    /// Within the lock.
    private let database: OpaquePointer

    init(_ path: String) throws {
        var database: OpaquePointer?
        guard sqlite3_open(path, &database) == SQLITE_OK, let database else { throw Failure(message: "no database") }
        self.database = database
        sqlite3_busy_timeout(database, 1000)
        try run("PRAGMA journal_mode = WAL")
        try run(
            """
            CREATE TABLE IF NOT EXISTS balances (
                account TEXT NOT NULL, environment TEXT NOT NULL, bundle_id TEXT NOT NULL, granted_as TEXT NOT NULL,
                product_id TEXT NOT NULL, quantity INTEGER NOT NULL, until TEXT, sequence INTEGER NOT NULL,
                purchase_date TEXT, length TEXT, PRIMARY KEY (account, environment, bundle_id, granted_as))
            """)
    }

    deinit { sqlite3_close(database) }

    /// Records an event. If this throws, the ledger delivers it again.
    func apply(_ event: LedgerEvent) throws {
        // A later version reports others, too.
        guard [.granted, .revoked, .restored, .adjusted, .changed, .conflict].contains(event.kind) else { return }
        try lock.withLock {
            try set(
                event.account, event.environment, event.bundleID, event.transactionID, event.productID, event.quantity,
                event.until, event.sequence, event.purchaseDate, event.length)
        }
    }

    /// Records an answer, all of it or nothing.
    func apply(_ redemption: Redemption, for account: String) throws {
        try lock.withLock {
            try run("BEGIN IMMEDIATE")
            do {
                for outcome in redemption.outcomes {
                    guard let environment = outcome.environment, let bundleID = outcome.bundleID else { continue }
                    func set(_ id: String, _ quantity: Int) throws {
                        try self.set(
                            account, environment, bundleID, id, outcome.productID, quantity, outcome.until,
                            redemption.sequence, outcome.purchaseDate, outcome.length)
                    }
                    if outcome.grantedAs != outcome.transactionID { try set(outcome.transactionID, 0) }
                    if let grantedAs = outcome.grantedAs { try set(grantedAs, outcome.quantity) }
                }
                try run("COMMIT")
            } catch {
                // The first error says what went wrong. SQLite may have ended the transaction itself.
                _ = try? run("ROLLBACK")
                throw error
            }
        }
    }

    /// Sets the quantity, and never adds to it. Older events and answers change nothing.
    private func set(
        _ account: String, _ environment: AppStoreEnvironment, _ bundleID: String, _ grantedAs: String,
        _ productID: String, _ quantity: Int, _ until: Instant?, _ sequence: Int64, _ purchaseDate: Instant?,
        _ length: String?
    ) throws {
        try run(
            """
            INSERT INTO balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (account, environment, bundle_id, granted_as) DO UPDATE
            SET product_id = excluded.product_id, quantity = excluded.quantity, until = excluded.until,
                sequence = excluded.sequence, purchase_date = excluded.purchase_date, length = excluded.length
            WHERE excluded.sequence >= balances.sequence
            """,
            [
                .text(account), .text(environment.rawValue), .text(bundleID), .text(grantedAs), .text(productID),
                .number(Int64(quantity)), .text(until?.description), .number(sequence),
                .text(purchaseDate?.description), .text(length),
            ])
    }

    /// What has ended keeps its quantity and counts no more. A sum over the environments would give away the products
    /// of the sandbox.
    ///
    /// Month cards follow each other: one that is bought while another runs begins when that ends, so each ends at its
    /// purchase date and the length of all since.
    func shown(to account: String) throws -> [Shown] {
        let rows = try lock.withLock {
            try run(
                """
                WITH cards AS (
                    SELECT *, CAST(substr(nullif(length, 'unknown'), 2) AS INTEGER) * (quantity > 0) AS days
                    FROM balances WHERE account = ?),
                ends AS (
                    SELECT *, julianday(CASE WHEN days > 0 THEN purchase_date END)
                        + sum(days) OVER (PARTITION BY environment, product_id
                            ORDER BY julianday(purchase_date) DESC ROWS UNBOUNDED PRECEDING) AS stacked FROM cards)
                SELECT environment, product_id, CASE WHEN max(stacked) IS NULL
                        THEN sum(quantity * (until IS NULL OR julianday(until) > julianday('now')))
                        ELSE max(stacked) > julianday('now') END,
                    strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(max(stacked),
                        max(CASE WHEN quantity > 0 THEN julianday(until) END)))
                FROM ends GROUP BY 1, 2
                """, [.text(account)])
        }
        return rows.map { row in
            Shown(
                environment: row[0] ?? "", product_id: row[1] ?? "", quantity: row[2].flatMap { Int($0) } ?? 0,
                until: row[3])
        }
    }

    @discardableResult
    private func run(_ sql: String, _ values: [Value] = []) throws -> [[String?]] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else { throw failure }
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (index, value) in zip(Int32(1)..., values) {
            switch value {
            case .text(let text?): sqlite3_bind_text(statement, index, text, -1, transient)
            case .text(nil): sqlite3_bind_null(statement, index)
            case .number(let number): sqlite3_bind_int64(statement, index, number)
            }
        }
        var rows: [[String?]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append(
                    (0..<sqlite3_column_count(statement)).map { column in
                        sqlite3_column_text(statement, column).map { String(cString: $0) }
                    })
            case SQLITE_DONE: return rows
            default: throw failure
            }
        }
    }

    private var failure: Failure { Failure(message: String(cString: sqlite3_errmsg(database))) }
}
