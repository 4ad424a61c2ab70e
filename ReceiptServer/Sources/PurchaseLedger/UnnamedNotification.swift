package import AppStoreReceipt
import StrictText

/// A notification from Apple's server that names neither an app nor an environment, such as `UNCLAIM_SEATS`. It grants
/// and revokes nothing: only the server that made the claims knows whose they are.
package struct UnnamedNotification: Sendable {
    package let uuid: String
    package let type: String
    package let signedDate: Instant?
    package let receivedAt: Instant
    /// The first of the claims that ended, at most ``maximumClaimCount``.
    package let claims: [String]
    /// The total number.
    package let claimCount: Int64

    /// Limits, because Apple signs such a notification for any developer, to any URL.
    package static let maximumCount = 1000
    package static let maximumClaimCount = 100
    package static let age = Duration.seconds(30 * 86400)

    static func tables(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            """
            CREATE TABLE unnamed_notifications (uuid \(text) PRIMARY KEY, type \(text) NOT NULL, signed_date BIGINT,
                received_at BIGINT NOT NULL, claims \(text) NOT NULL, claim_count BIGINT NOT NULL)
            """
        ]
    }
}

extension VerifiedNotification {
    /// Whether it names neither an app nor an environment where Apple documents them.
    var isUnnamed: Bool {
        let payload = notification.payload
        return payload.environment == nil && payload.data?.bundleID == nil && payload.appData?.bundleID == nil
            && payload.summary?.bundleID == nil && payload.externalPurchaseToken?.bundleID == nil
    }
}

extension SQLConnection {
    /// Keeps a notification that names neither an app nor an environment, while there is room.
    ///
    /// - Returns: Whether it is new and was kept.
    func keepUnnamed(_ notification: VerifiedNotification, at now: Instant) throws(LedgerError) -> Bool {
        guard let uuid = notification.notificationUUID, LedgerText.isStorable(uuid),
            let type = notification.type?.rawValue, LedgerText.isStorable(type)
        else { return false }
        try write("DELETE FROM unnamed_notifications WHERE received_at < $1", [SQLValue(now - UnnamedNotification.age)])
        func isFull() throws(LedgerError) -> Bool {
            let rows = try run("SELECT COUNT(*) FROM unnamed_notifications")
            return try rows.first.map { (row) throws(LedgerError) in try row.integer(0) } ?? 0
                >= UnnamedNotification.maximumCount
        }
        if try isFull() { return false }
        // Lock, so that the limit is never exceeded.
        _ = try run("SELECT floor FROM sequence_floor\(dialect.rowLock)")
        if try isFull() { return false }
        let claims = notification.unclaimInfo?.unclaimSeatIDs ?? []
        let kept = claims.filter(LedgerText.isStorable).prefix(UnnamedNotification.maximumClaimCount)
        let rows = try run(
            """
            INSERT INTO unnamed_notifications VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING uuid
            """,
            [
                .text(uuid), .text(type), notification.signedDate.map(SQLValue.init) ?? .null, SQLValue(now),
                .text(StoredJSON.encode(Array(kept))), .integer(Int64(claims.count)),
            ])
        return !rows.isEmpty
    }
}

extension PurchaseLedger {
    /// The notifications of the last 30 days that name neither an app nor an environment, the newest first.
    package func unnamedNotifications(at now: Instant = .now) throws(LedgerError) -> [UnnamedNotification] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT uuid, type, signed_date, received_at, claims, claim_count FROM unnamed_notifications
                WHERE received_at >= $1 ORDER BY received_at DESC, uuid
                """, [SQLValue(now - UnnamedNotification.age)]
            ).map { (row) throws(LedgerError) in
                UnnamedNotification(
                    uuid: try row.text("uuid"), type: try row.text("type"),
                    signedDate: try row.optionalDate("signed_date"),
                    receivedAt: try row.date("received_at"), claims: try StoredJSON.decode(row.text("claims")),
                    claimCount: try row.integer("claim_count"))
            }
        }
    }
}
