import Synchronization

/// The memory that all large bodies and answers share.
final class MemoryBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    var usedByteCount: Int { used.load(ordering: .relaxed) }

    /// Takes so many bytes; `false` if that would exceed the limit, and nothing is taken.
    func take(_ count: Int) -> Bool {
        if used.add(count, ordering: .relaxed).newValue <= limit { return true }
        leave(count)
        return false
    }

    /// Takes so many bytes, also beyond the limit: for an answer, which is made already.
    func takeAnyway(_ count: Int) { used.add(count, ordering: .relaxed) }

    func leave(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}
