package import AppStoreReceipt
import LibcryptoHandles
import StrictText

extension PurchaseLedger {
    /// The number of an account's latest attempts that the tables keep. A server removes the others each time it has
    /// recorded ``AttemptLog/boundingInterval`` of them.
    package static let maximumAttemptCount = 100
    /// The size of an account's latest compressed evidence that the tables keep, in bytes.
    static let maximumKeptByteCount: Int64 = 8 << 20
    /// How long the digest of a deleted account's name is kept. No server delays recording an attempt as long.
    static let deletionTime = Duration.seconds(86_400)
    /// The digests of names of accounts that were deleted before `$1`, up to 1000 of them.
    static let oldDeletions = "SELECT account_digest FROM deletions WHERE deleted_at < $1 LIMIT 1000"

    /// Records attempts, except those from before their account was deleted.
    ///
    /// - Returns: The floor of event numbers. A later deletion has a greater number.
    @discardableResult
    func record(_ attempts: [Attempt]) throws(LedgerError) -> Int64 {
        let accounts = Set(attempts.map { UTF8Bytes($0.account) }).sorted().map(\.string)
        let keeps = attempts.contains { $0.evidence != nil }
        // Compress before the transaction, because it takes long, and redemptions wait for the transaction.
        let evidence = try keeps ? compressed(attempts) : []
        let rows = attempts.map(AttemptRow.init)
        // This shares a transaction with the current redemptions, if there is room.
        return try store.write(Self.share(ofRows: rows.reduce(0) { $0 + 1 + $1.transactions.count })) {
            (connection) throws(LedgerError) in
            try connection.lockAccounts(accounts)
            // Read the floor before the deletions, so that it is below any deletion that isn't seen.
            let floor = try connection.sequenceFloor()
            let deletions = try connection.deletions(of: accounts)
            let rows = rows.filter { row in
                guard let deletion = deletions[UTF8Bytes(row.attempt.account)], let order = row.attempt.order else {
                    return true
                }
                return order >= deletion
            }
            try connection.insert(rows)
            guard keeps else { return floor }
            let sent = Set(rows.filter { $0.attempt.evidence != nil }.map { UTF8Bytes($0.attempt.digest) })
            let owners = try connection.keep(evidence.filter { sent.contains(UTF8Bytes($0.digest)) })
                .union(accounts.map(UTF8Bytes.init))
            for owner in owners.sorted() { try connection.boundEvidence(of: owner.string) }
            return floor
        }
    }

    /// Returns the floor of event numbers. A later deletion has a greater number.
    func sequenceFloor() throws(LedgerError) -> Int64 {
        try store.read { (connection) throws(LedgerError) in try connection.sequenceFloor() }
    }

    /// Removes the oldest attempts of accounts that have more than the tables keep. Redemptions don't wait for the
    /// search.
    ///
    /// - Parameter accounts: The accounts, sorted by their bytes, so that two servers that remove rows don't deadlock.
    func boundAttempts(of accounts: [String]) throws(LedgerError) {
        guard !accounts.isEmpty else { return }
        let excess = try store.read { (connection) throws(LedgerError) in
            try connection.excessAttempts(of: accounts)
        }
        guard !excess.isEmpty else { return }
        try store.write(Self.share(ofRows: 2 * AttemptLog.boundingInterval * excess.count)) {
            (connection) throws(LedgerError) in try connection.removeAttempts(excess)
        }
    }

    /// A purchase takes as long as about 16 rows of attempts.
    private static func share(ofRows count: Int) -> WorkShare { WorkShare(weight: max(1, count / 16)) }

    /// Compresses the evidence that isn't already kept.
    private func compressed(_ attempts: [Attempt]) throws(LedgerError) -> [CompressedEvidence] {
        var seen: Set<UTF8Bytes> = []
        let sent = attempts.filter { $0.evidence != nil && seen.insert(UTF8Bytes($0.digest)).inserted }
        let rows = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                sent.map { SQLStatement("SELECT digest FROM kept_evidence WHERE digest = $1", [.text($0.digest)]) })
        }
        let kept = try Set(rows.joined().map { (row) throws(LedgerError) in UTF8Bytes(try row.text(0)) })
        return sent.compactMap { attempt in
            guard !kept.contains(UTF8Bytes(attempt.digest)), let evidence = attempt.evidence,
                let bytes = EvidenceCompression.compress(evidence)
            else { return nil }
            return CompressedEvidence(digest: attempt.digest, bytes: bytes, byteCount: evidence.count)
        }.sorted { $0.digest.utf8.lexicographicallyPrecedes($1.digest.utf8) }
    }

    /// Removes attempts from before a date, in small batches, so that other transactions don't wait.
    package func removeAttempts(before date: Instant) throws(LedgerError) {
        var count = 1000
        while count == 1000 {
            count = try store.write { (connection) throws(LedgerError) in
                // Select by name, because names follow time: no other rows are read.
                let removed = try connection.run(
                    """
                    DELETE FROM attempts WHERE request_id IN (
                        SELECT request_id FROM (
                            SELECT request_id, attempted_at FROM attempts ORDER BY request_id LIMIT 1000) AS oldest
                        WHERE attempted_at < $1) RETURNING request_id, digest
                    """, [SQLValue(date)])
                try connection.removeRest(of: removed)
                return removed.count
            }
        }
    }

    /// Removes the records of deleted accounts once no server can still have attempts of theirs.
    func removeDeletions(at now: Instant) throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in try connection.removeDeletions(at: now) }
    }

    /// Returns the attempts with an ``EvidenceDigest``.
    package func attempts(withDigest digest: String) throws(LedgerError) -> [AttemptFact] {
        try store.read { (connection) throws(LedgerError) in
            try connection.attempts(AttemptQuery.withDigest, [.text(digest)])
        }
    }

    /// Returns submitted bytes, or `nil` if they aren't kept.
    package func keptEvidence(_ digest: String) throws(LedgerError) -> [UInt8]? {
        try store.read { (connection) throws(LedgerError) in
            let rows = try connection.run(
                "SELECT evidence, bytes FROM kept_evidence WHERE digest = $1", [.text(digest)])
            guard let row = rows.first else { return nil }
            guard let evidence = EvidenceCompression.decompress(try row.bytes(0), byteCount: try row.integer(1)) else {
                throw LedgerError(.storeFailed, "kept evidence is damaged")
            }
            return evidence
        }
    }
}

/// An attempt in the form of the tables.
private struct AttemptRow {
    let attempt: Attempt
    let values: [SQLValue]
    /// The rows of its transactions.
    let transactions: [[SQLValue]]

    init(_ attempt: Attempt) {
        self.attempt = attempt
        values = [
            .text(attempt.requestID), .text(attempt.account), SQLValue(attempt.at), .integer(attempt.times),
            .text(attempt.digest), .text(attempt.code), .text(attempt.outcomesJSON),
            .integer(Int64(attempt.transactionCount)),
            attempt.evidenceDigest.hasSameBytes(as: attempt.digest) ? .null : .text(attempt.evidenceDigest),
        ]
        transactions = attempt.outcomes.compactMap { outcome in
            guard let name = outcome.name, LedgerText.isStorable(name.transactionID) else { return nil }
            return name.key.columns + [.text(attempt.requestID)]
        }
    }
}

/// Evidence in the form of the tables.
private struct CompressedEvidence {
    let digest: String
    let bytes: [UInt8]
    let byteCount: Int
}

extension SQLConnection {
    fileprivate func insert(_ rows: [AttemptRow]) throws(LedgerError) {
        // A row already exists if the answer to an earlier commit of the batch was lost.
        let tail = " ON CONFLICT DO NOTHING"
        let attempts = SQLInsertion("attempts", tail).statements(rows.map(\.values))
        let transactions = SQLInsertion("attempted_transactions", tail).statements(rows.flatMap(\.transactions))
        for statement in attempts + transactions { try write(statement.text, statement.parameters) }
    }

    /// Returns the accounts with more attempts than the tables keep, and for each the name of its newest excess
    /// attempt.
    fileprivate func excessAttempts(of accounts: [String]) throws(LedgerError) -> [SQLRow] {
        let names = dialect.names(accounts)
        let last = try run(
            """
            SELECT value, (SELECT request_id FROM attempts WHERE account = names.value
                ORDER BY request_id DESC LIMIT 1 OFFSET \(PurchaseLedger.maximumAttemptCount))
            FROM \(names.table)
            """, [names.parameter])
        return last.filter { if case .null = $0.values[1] { false } else { true } }
    }

    /// - Parameter excess: The rows from ``excessAttempts(of:)``.
    fileprivate func removeAttempts(_ excess: [SQLRow]) throws(LedgerError) {
        let removed = try run(
            excess.map { row in
                SQLStatement(
                    "DELETE FROM attempts WHERE account = $1 AND request_id <= $2 RETURNING request_id, digest",
                    row.values)
            })
        try removeRest(of: Array(removed.joined()))
    }

    /// Stores evidence, and returns the accounts it belongs to.
    fileprivate func keep(_ evidence: [CompressedEvidence]) throws(LedgerError) -> Set<UTF8Bytes> {
        var owners: Set<UTF8Bytes> = []
        for evidence in evidence {
            try write(
                "INSERT INTO kept_evidence VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                [
                    .text(evidence.digest), .bytes(evidence.bytes), .integer(Int64(evidence.byteCount)),
                    .integer(Int64(evidence.bytes.count)),
                ])
            let first = try run(
                "SELECT account FROM attempts WHERE digest = $1 ORDER BY \(AttemptQuery.order) LIMIT 1",
                [.text(evidence.digest)])
            if let row = first.first { owners.insert(UTF8Bytes(try row.text(0))) }
        }
        return owners
    }

    /// Removes the oldest evidence of an account that has more than the tables keep. Evidence belongs to the account
    /// that submitted it first, so that submitting another account's evidence can't remove it.
    fileprivate func boundEvidence(of account: String) throws(LedgerError) {
        let rows = try run(
            """
            SELECT attempts.digest, kept_evidence.stored_bytes FROM attempts
            JOIN kept_evidence ON kept_evidence.digest = attempts.digest
            WHERE attempts.account = $1 AND NOT EXISTS (
                SELECT 1 FROM attempts AS earlier WHERE earlier.digest = attempts.digest
                    AND earlier.request_id < attempts.request_id AND earlier.account <> $1)
            ORDER BY attempts.request_id DESC
            """, [.text(account)])
        var seen: Set<UTF8Bytes> = []
        var total: Int64 = 0
        for row in rows {
            guard seen.insert(UTF8Bytes(try row.text(0))).inserted else { continue }
            total += try row.integer(1)
            if total > PurchaseLedger.maximumKeptByteCount {
                try write("DELETE FROM kept_evidence WHERE digest = $1", [row.values[0]])
            }
        }
    }

    /// Removes what belonged only to attempts that were removed.
    ///
    /// - Parameter removed: The names and digests of those attempts.
    fileprivate func removeRest(of removed: [SQLRow]) throws(LedgerError) {
        let one = dialect.oneOf("$1", removed.count)
        let deletions = [
            SQLQuery(
                "DELETE FROM attempted_transactions WHERE request_id \(one)", oneOf: removed.map { $0.values[0] },
                dialect),
            SQLQuery(
                """
                DELETE FROM kept_evidence WHERE digest \(one)
                    AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.digest = kept_evidence.digest)
                """, oneOf: removed.map { $0.values[1] }, dialect),
        ]
        if !dialect.rowLock.isEmpty {
            // In PostgreSQL, of two transactions that remove the last attempts with one evidence, each still sees the
            // other's.
            let kept = "SELECT 1 FROM kept_evidence WHERE digest \(one) ORDER BY digest" + dialect.rowLock
            _ = try run([SQLQuery(kept, oneOf: removed.map { $0.values[1] }, dialect)])
        }
        for statement in deletions.flatMap(\.statements) { try write(statement.text, statement.parameters) }
    }

    /// Removes the attempts of an account whose name is locked, and has servers drop those that they haven't recorded
    /// yet. Returns whether there were any.
    ///
    /// - Parameter number: The floor of event numbers with this deletion.
    func eraseAttempts(of account: String, number: Int64, at now: Instant) throws(LedgerError) -> Bool {
        try removeDeletions(at: now)
        try write(
            """
            INSERT INTO deletions (account_digest, deleted_at, number) VALUES ($1, $2, $3)
            ON CONFLICT (account_digest) DO UPDATE SET deleted_at = excluded.deleted_at, number = excluded.number
            """, [.text(Self.digest(ofAccount: account)), SQLValue(now), .integer(number)])
        let removed = try run(
            "DELETE FROM attempts WHERE account = $1 RETURNING request_id, digest", [.text(account)])
        try removeRest(of: removed)
        return !removed.isEmpty
    }

    /// Returns the numbers of deletions of accounts whose attempts a server may still have.
    fileprivate func deletions(of accounts: [String]) throws(LedgerError) -> [UTF8Bytes: Int64] {
        // Few accounts are deleted, and computing digests takes time.
        if try run("SELECT 1 FROM deletions LIMIT 1").isEmpty { return [:] }
        var names: [UTF8Bytes: String] = [:]
        for account in accounts { names[UTF8Bytes(try Self.digest(ofAccount: account))] = account }
        let rows = try run([
            SQLQuery(
                """
                SELECT account_digest, number FROM deletions WHERE account_digest \(dialect.oneOf("$1", names.count))
                """, oneOf: names.keys.map { .text($0.string) }, dialect)
        ])[0]
        var deletions: [UTF8Bytes: Int64] = [:]
        for row in rows {
            if let name = names[UTF8Bytes(try row.text(0))] {
                // A row from 0.3.0 is of a deletion before this server started.
                deletions[UTF8Bytes(name)] = try row.optionalInteger(1) ?? 0
            }
        }
        return deletions
    }

    fileprivate func removeDeletions(at now: Instant) throws(LedgerError) {
        try write(
            "DELETE FROM deletions WHERE account_digest IN (\(PurchaseLedger.oldDeletions)\(dialect.skippingRowLock))",
            [SQLValue(now - PurchaseLedger.deletionTime)])
    }

    /// Returns the digest of a deleted account, whose name is stored nowhere.
    private static func digest(ofAccount name: String) throws(LedgerError) -> String {
        try LedgerError.onHost { () throws(LibcryptoError) in
            try DigestAlgorithm.sha256.digest(of: Array(name.utf8).span).hexadecimal
        }
    }

    /// Returns the latest attempts that meet a condition.
    func attempts(
        _ condition: String, _ parameters: [SQLValue], limit: Int = TransactionStory.maximumCount
    ) throws(LedgerError) -> [AttemptFact] {
        try run(AttemptQuery.facts(condition, limit: limit), parameters)
            .map { (row) throws(LedgerError) in try AttemptFact(row) }
    }
}

/// Queries for attempts.
enum AttemptQuery {
    /// Orders by time without using an index. Otherwise, PostgreSQL without statistics would read all attempts in order
    /// until it found the digest, instead of only those with the digest.
    static let order = "attempts.request_id || ''"

    /// The condition for a digest of submitted bytes, or of evidence within them (NULL if they are the same).
    static let withDigest = "WHERE attempts.digest = $1 OR evidence_digest = $1"

    /// Returns the query for the latest attempts that meet a condition.
    static func facts(_ condition: String, limit: Int) -> String {
        """
        SELECT attempts.request_id, account, attempted_at, times, attempts.digest, code, outcomes, transactions,
            (SELECT 1 FROM kept_evidence WHERE kept_evidence.digest = attempts.digest) AS kept, evidence_digest
        FROM attempts \(condition) ORDER BY \(order) DESC LIMIT \(limit)
        """
    }
}

extension AttemptFact {
    init(_ row: SQLRow) throws(LedgerError) {
        (requestID, account) = (try row.text("request_id"), try row.text("account"))
        (at, times) = (try row.date("attempted_at"), try row.integer("times"))
        (digest, code) = (try row.text("digest"), try row.text("code"))
        evidenceDigest = try row.optionalText("evidence_digest") ?? digest
        (outcomes, transactionCount) = (try Attempt.outcomes(row.text("outcomes")), try row.integer("transactions"))
        isEvidenceKept = try !row.isNull("kept")
    }
}
