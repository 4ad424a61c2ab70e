import Synchronization

/// The memory that all large bodies and answers share.
final class MemoryBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    var usedByteCount: Int { used.load(ordering: .relaxed) }

    /// Takes this many bytes, or returns `false` and takes none if that would exceed the limit.
    func take(_ count: Int) -> Bool {
        if used.add(count, ordering: .relaxed).newValue <= limit { return true }
        leave(count)
        return false
    }

    /// Takes this many bytes even if that exceeds the limit, for an answer that already exists.
    func takeAnyway(_ count: Int) { used.add(count, ordering: .relaxed) }

    func leave(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}
