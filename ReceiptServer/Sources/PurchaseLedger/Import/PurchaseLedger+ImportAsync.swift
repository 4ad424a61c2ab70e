public import AppStoreReceipt

extension PurchaseLedger {
    /// The same as the call without `await`.
    public func lockImports() async throws(LedgerError) -> ImportLock {
        try await onThread { (ledger) throws(LedgerError) in try ledger.lockImports() }
    }

    /// The same as the call without `await`.
    public func importRuns(limit: Int = 1000) async throws(LedgerError) -> [ImportRun] {
        try await onThread { (ledger) throws(LedgerError) in try ledger.importRuns(limit: limit) }
    }

    /// The same as the call without `await`.
    public func unfinishedImports() async throws(LedgerError) -> [ImportRun] {
        try await onThread { (ledger) throws(LedgerError) in try ledger.unfinishedImports() }
    }

    /// The same as the call without `await`.
    public func beginImport(
        of path: String, digest: String, by: String, reason: String? = nil, insteadOf restarted: [ImportRun] = [],
        at now: Instant = .now
    ) async throws(LedgerError) -> ImportRun {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.beginImport(
                of: path, digest: digest, by: by, reason: reason, insteadOf: restarted, at: now)
        }
    }

    /// The same as the call without `await`.
    public func continueImport(
        _ run: ImportRun, digest: String, at now: Instant = .now
    ) async throws(LedgerError) -> ImportRun {
        try await onThread { (ledger) throws(LedgerError) in try ledger.continueImport(run, digest: digest, at: now) }
    }

    /// The same as the call without `await`.
    public func importLines(
        _ lines: [ImportedLine], of run: inout ImportRun, at now: Instant = .now,
        words: @escaping @Sendable ([ImportedLine.Result]) -> String = { _ in "" }
    ) async throws(LedgerError) -> [ImportedLine.Result] {
        let before = run
        let (results, after) = try await onThread {
            (ledger) throws(LedgerError) -> ([ImportedLine.Result], ImportRun) in
            var run = before
            return (try ledger.importLines(lines, of: &run, at: now, words: words), run)
        }
        run = after
        return results
    }

    /// The same as the call without `await`.
    public func endImport(_ run: ImportRun, at now: Instant = .now) async throws(LedgerError) {
        try await onThread { (ledger) throws(LedgerError) in try ledger.endImport(run, at: now) }
    }
}
