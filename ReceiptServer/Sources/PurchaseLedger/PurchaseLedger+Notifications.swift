package import AppStoreReceipt
package import StrictText

// Queries for recorded notifications.

extension PurchaseLedger {
    /// Returns which of the notifications are recorded, by UUID.
    package func recordedNotifications(
        _ uuids: [String], in environment: AppStoreEnvironment
    ) throws(LedgerError) -> Set<UTF8Bytes> {
        let uuids = uuids.filter(LedgerText.isStorable)
        return try store.read { (connection) throws(LedgerError) in
            let dialect = connection.dialect
            let named = SQLQuery(
                "SELECT uuid FROM notifications WHERE environment = $1 AND uuid \(dialect.oneOf("$2", uuids.count))",
                [.text(environment.rawValue)], oneOf: uuids.map(SQLValue.text), dialect)
            let unnamed = SQLQuery(
                "SELECT uuid FROM unnamed_notifications WHERE uuid \(dialect.oneOf("$1", uuids.count))",
                oneOf: uuids.map(SQLValue.text), dialect)
            var found: Set<UTF8Bytes> = []
            for row in try connection.run([named, unnamed]).joined() { found.insert(UTF8Bytes(try row.text(0))) }
            return found
        }
    }

    /// The date of a type's last notification.
    package typealias LastNotification = (environment: String, type: String, date: Instant)

    /// Returns when the last notification of each type arrived. It reads one row of each: the table can have millions.
    package func lastNotifications() throws(LedgerError) -> [LastNotification] {
        try store.read { (connection) throws(LedgerError) in
            var last: [LastNotification] = []
            var (environment, type) = ("", "")
            // Apple has fewer types.
            while last.count < 200 {
                let next = try connection.run(
                    """
                    SELECT environment, type FROM notifications WHERE (environment, type) > ($1, $2)
                    ORDER BY environment, type LIMIT 1
                    """, [.text(environment), .text(type)])
                guard let row = next.first else { break }
                (environment, type) = (try row.text(0), try row.text(1))
                let dates = try connection.run(
                    "SELECT MAX(received_at) FROM notifications WHERE environment = $1 AND type = $2",
                    [.text(environment), .text(type)])
                if let date = try dates.first?.date(0) { last.append((environment, type, date)) }
            }
            return last
        }
    }
}
