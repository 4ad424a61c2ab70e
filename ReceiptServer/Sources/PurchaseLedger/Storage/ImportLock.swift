import ServerThreads

/// A lock that keeps other processes from importing into the same ledger until it is released or the process ends in
/// any way.
public final class ImportLock: Sendable {
    private let take: @Sendable () throws(LedgerError) -> Bool
    private let release: @Sendable () -> Void

    /// - Parameters:
    ///   - take: Takes the lock again if it was lost, and returns whether this process has it.
    init(
        again take: @escaping @Sendable () throws(LedgerError) -> Bool = { true },
        _ release: @escaping @Sendable () -> Void
    ) { (self.take, self.release) = (take, release) }

    deinit { release() }

    static let isTaken = LedgerError(.importRunning, "another import into this ledger is running")

    /// Takes the lock again if the database has lost it, for example in a restart. Call it before each batch of lines.
    ///
    /// - Throws: `import-running` if another process now has it.
    @available(*, noasync)
    public func hold() throws(LedgerError) {
        guard try take() else { throw Self.isTaken }
    }
}

extension ImportLock {
    /// The same as the call without `await`.
    public func hold() async throws(LedgerError) {
        try await CallThreads.shared.result { [self] in Result { () throws(LedgerError) in try hold() } }.get()
    }
}
