public import AppStoreReceipt

/// Imports of purchases from before the ledger. Every line can be imported any number of times.
extension PurchaseLedger {
    /// The maximum number of lines in one transaction: enough to share a sync of SQLite's file, and few enough for
    /// PostgreSQL's lock table, which has a few thousand entries.
    public var importBatchSize: Int { store is SQLiteStore ? 4096 : 256 }

    /// Imports lines in order, and records the import's progress, in one transaction.
    ///
    /// Posts no events for the purchases in a line, because the backend granted them long ago. Posts events for other
    /// purchases that the account gets through the line, and for known refunds.
    ///
    /// - Parameters:
    ///   - lines: The lines, at most ``importBatchSize`` of them.
    ///   - run: The import, with the number of bytes, lines and invalid lines up to the last of these lines. The
    ///     results of these lines are added.
    ///   - now: The date of the lines.
    ///   - words: Returns the text to report about the lines, given their results. It is recorded with them as
    ///     ``ImportRun/unreported``: print it when this method returns, and when an interrupted import is resumed.
    /// - Returns: The result of each line.
    /// - Throws: `import-running` if another process has resumed the import.
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
            run.unreported = words(results)
            try connection.record(run, .unfinished, at: now)
            return (results, run, batch.notices)
        }
        run = after
        report(notices)
        return results
    }
}
