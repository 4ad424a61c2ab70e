package import Synchronization

/// A point in the work of a group at which a test can end the process. Only the programs of this package can watch it.
package enum GroupPoint: String, CaseIterable, Sendable {
    /// A member was decided, and what is to be written for it is known.
    case member
    /// All was written, and nothing committed.
    case written
    /// It was committed, and nobody answered.
    case committed

    package static let watcher = Mutex<(@Sendable (GroupPoint) -> Void)?>(nil)

    func pass() { Self.watcher.withLock { $0 }?(self) }
}
