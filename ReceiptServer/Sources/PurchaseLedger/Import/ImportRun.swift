public import AppStoreReceipt

/// An import of a file: its operator, date and reason, its progress, and the results of the lines.
public struct ImportRun: Sendable {
    /// The state of an import.
    @nonexhaustive
    public enum State: String, Sendable, CaseIterable {
        /// It is running, or was interrupted, in which case another import of the same file resumes it.
        case unfinished
        /// All lines were read.
        case complete
        /// It was interrupted, and the file was later imported again from its beginning (`--restart`).
        case restarted
    }

    /// The id, which is recorded in each grant that the import made.
    public let id: Int64
    /// The operator.
    public let by: String
    /// The reason, if one was given.
    public let reason: String?
    /// The path of the file.
    public let path: String
    /// The SHA-256 of the file, in hexadecimal.
    public let digest: String
    /// The date it began.
    public let startedAt: Instant
    /// The date of the latest lines.
    public let changedAt: Instant
    /// The state of the import.
    public let state: State
    /// The progress, and the results of the lines.
    public var progress: ImportProgress
    /// The SHA-256 of the part of the file that has been read.
    public var readDigest: String
    /// The unreported text about the last lines, in case the process ended before it was printed.
    public internal(set) var unreported: String
    /// A value known only to the importing process.
    let holder: String

    static let columns = """
        id, by_name, reason, path, digest, started_at, changed_at, state, bytes, lines, added, known, conflicts, faults,
            notes, trimmed, read_digest, untold, holder
        """

    init(_ row: SQLRow) throws(LedgerError) {
        guard let state = State(rawValue: try row.text("state")) else {
            throw LedgerError(.storeFailed, "an import has an unknown state")
        }
        self.state = state
        (id, by, reason) = (try row.integer("id"), try row.text("by_name"), try row.optionalText("reason"))
        (path, digest) = (try row.text("path"), try row.text("digest"))
        (startedAt, changedAt) = (try row.date("started_at"), try row.date("changed_at"))
        progress = ImportProgress()
        (progress.byteCount, progress.lineCount) = (try row.integer("bytes"), try row.integer("lines"))
        (progress.addedCount, progress.knownCount) = (try row.integer("added"), try row.integer("known"))
        (progress.conflictCount, progress.faultCount) = (try row.integer("conflicts"), try row.integer("faults"))
        (progress.noteCount, progress.trimmedCount) = (try row.integer("notes"), try row.integer("trimmed"))
        (readDigest, unreported, holder) = (try row.text("read_digest"), try row.text("untold"), try row.text("holder"))
    }
}

/// The progress of an import.
public struct ImportProgress: Sendable, Equatable {
    /// The number of bytes that were read.
    public var byteCount: Int64 = 0
    /// The number of lines that were read.
    public var lineCount: Int64 = 0
    /// The number of lines that granted something, or recorded something as spent.
    public var addedCount: Int64 = 0
    /// The number of lines that granted nothing new.
    public var knownCount: Int64 = 0
    /// The number of lines that contradict the ledger. If an account can't claim some purchases in evidence, the others
    /// are applied. Any other such line changes nothing.
    public var conflictCount: Int64 = 0
    /// The number of lines that can't be read, or contain evidence that isn't accepted.
    public var faultCount: Int64 = 0
    /// The number of lines that differ from the ledger without affecting a decision.
    public var noteCount: Int64 = 0
    /// The number of fields from which surrounding white space was removed.
    public var trimmedCount: Int64 = 0

    /// Creates the progress of an unread file.
    public init() {}

    package mutating func count(_ results: [ImportedLine.Result]) {
        for result in results {
            switch result.outcome {
            case .added: addedCount += 1
            case .known: knownCount += 1
            case .conflict: conflictCount += 1
            case .fault: faultCount += 1
            }
            if !result.notes.isEmpty { noteCount += 1 }
        }
    }
}

extension PurchaseLedger {
    /// Returns the lock that an import must hold.
    ///
    /// - Throws: `import-running` if another process has it.
    @available(*, noasync)
    public func lockImports() throws(LedgerError) -> ImportLock {
        guard let lock = try store.lockImports() else { throw ImportLock.isTaken }
        return lock
    }

    /// Returns the imports, latest first.
    @available(*, noasync)
    public func importRuns(limit: Int = 1000) throws(LedgerError) -> [ImportRun] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT \(ImportRun.columns) FROM imports ORDER BY id DESC LIMIT \(limit)")
                .map { (row) throws(LedgerError) in try ImportRun(row) }
        }
    }

    /// Returns the imports that are running or were interrupted, latest first.
    @available(*, noasync)
    public func unfinishedImports() throws(LedgerError) -> [ImportRun] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT \(ImportRun.columns) FROM imports WHERE state = 'unfinished' ORDER BY id DESC LIMIT 100"
            ).map { (row) throws(LedgerError) in try ImportRun(row) }
        }
    }

    /// Begins an import. Call `lockImports()` first.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - digest: The SHA-256 of the file.
    ///   - by: The operator, 1 to 255 bytes.
    ///   - reason: The reason, 1 to 255 bytes, or `nil` if none is given.
    ///   - restarted: The interrupted imports that this one replaces.
    ///   - now: The date it begins.
    @available(*, noasync)
    public func beginImport(
        of path: String, digest: String, by: String, reason: String? = nil, insteadOf restarted: [ImportRun] = [],
        at now: Instant = .now
    ) throws(LedgerError) -> ImportRun {
        try LedgerText.check(by, "by")
        if let reason { try LedgerText.check(reason, "reason") }
        let holder = policy.surroundings.makeID()
        return try store.write { (connection) throws(LedgerError) in
            for run in restarted {
                try connection.write("UPDATE imports SET state = 'restarted' WHERE id = $1", [.integer(run.id)])
            }
            let rows = try connection.run(
                """
                INSERT INTO imports (by_name, reason, path, digest, started_at, changed_at, state, bytes, lines, added,
                    known, conflicts, faults, notes, trimmed, read_digest, untold, holder)
                VALUES ($1, $2, $3, $4, $5, $5, 'unfinished', 0, 0, 0, 0, 0, 0, 0, 0, '', '', $6)
                RETURNING \(ImportRun.columns)
                """, [.text(by), SQLValue(reason), .text(path), .text(digest), SQLValue(now), .text(holder)])
            return try ImportRun(rows[0])
        }
    }

    /// Resumes an import that was interrupted. Call `lockImports()` first.
    ///
    /// - Parameters:
    ///   - run: The import.
    ///   - digest: The SHA-256 of the file, whose unread part can have changed.
    ///   - now: The date it resumes.
    @available(*, noasync)
    public func continueImport(
        _ run: ImportRun, digest: String, at now: Instant = .now
    ) throws(LedgerError) -> ImportRun {
        let holder = policy.surroundings.makeID()
        return try store.write { (connection) throws(LedgerError) in
            let rows = try connection.run(
                """
                UPDATE imports SET digest = $2, changed_at = $3, holder = $4 WHERE id = $1 AND state = 'unfinished'
                RETURNING \(ImportRun.columns)
                """, [.integer(run.id), .text(digest), SQLValue(now), .text(holder)])
            guard let row = rows.first else { throw LedgerError(.notFound, "import") }
            return try ImportRun(row)
        }
    }

    /// Records that all lines were read and reported.
    @available(*, noasync)
    public func endImport(_ run: ImportRun, at now: Instant = .now) throws(LedgerError) {
        var run = run
        run.unreported = ""
        try store.write { [run] (connection) throws(LedgerError) in
            try connection.record(run, .complete, at: now)
        }
    }
}

extension SQLConnection {
    /// - Throws: `import-running` if another process has resumed the import.
    func record(_ run: ImportRun, _ state: ImportRun.State, at now: Instant) throws(LedgerError) {
        let progress = run.progress
        let numbers = [
            progress.byteCount, progress.lineCount, progress.addedCount, progress.knownCount, progress.conflictCount,
            progress.faultCount, progress.noteCount, progress.trimmedCount,
        ]
        let rows = try self.run(
            """
            UPDATE imports SET state = $3, changed_at = $4, read_digest = $5, untold = $6, bytes = $7, lines = $8,
                added = $9, known = $10, conflicts = $11, faults = $12, notes = $13, trimmed = $14
            WHERE id = $1 AND holder = $2 AND state = 'unfinished' RETURNING 1
            """,
            [
                .integer(run.id), .text(run.holder), .text(state.rawValue), SQLValue(now), .text(run.readDigest),
                .text(run.unreported),
            ] + numbers.map(SQLValue.integer))
        guard !rows.isEmpty else {
            throw LedgerError(.importRunning, "another process goes on with this import")
        }
    }
}
