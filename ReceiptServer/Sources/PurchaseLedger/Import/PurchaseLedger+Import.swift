public import AppStoreReceipt

/// What existed before the ledger. Every line may be imported any number of times.
extension PurchaseLedger {
    /// The most lines in one transaction: as many as share a sync of SQLite's file well, and few enough for
    /// PostgreSQL's table of locks, which has a few thousand places.
    public var importBatchSize: Int { store is SQLiteStore ? 4096 : 256 }

    /// Imports lines, one after the other, and records how far the import is, in one transaction.
    ///
    /// Posts no event for the purchases that a line names: the backend granted them long ago. Posts events for other
    /// purchases that the account gets by it, and for known refunds.
    ///
    /// - Parameters:
    ///   - lines: At most ``importBatchSize`` lines.
    ///   - run: The import, with the bytes, lines and faults of the file up to the last of these lines. Counts the
    ///     results of these lines.
    ///   - now: The date of the lines.
    ///   - words: Returns the text to report about the lines, from their results. It is recorded with them, as
    ///     ``ImportRun/untold``: tell it when this returns, and when an interrupted import goes on.
    /// - Returns: What became of each line.
    /// - Throws: `import-running` if another process goes on with the import.
    @available(*, noasync)
    public func importLines(
        _ lines: [ImportedLine], of run: inout ImportRun, at now: Instant = .now,
        words: @escaping ([ImportedLine.Result]) -> String = { _ in "" }
    ) throws(LedgerError) -> [ImportedLine.Result] {
        let before = run
        let (results, after, notices) = try store.write {
            [policy] (connection) throws(LedgerError) -> ([ImportedLine.Result], ImportRun, LedgerNotices) in
            var batch = ImportBatch(connection, policy, run: before.id, at: now)
            try batch.lock(lines)
            var results: [ImportedLine.Result] = []
            for line in lines { results.append(try batch.add(line)) }
            var run = before
            run.progress.count(results)
            run.untold = words(results)
            try connection.record(run, .unfinished, at: now)
            return (results, run, batch.notices)
        }
        run = after
        report(notices)
        return results
    }
}
