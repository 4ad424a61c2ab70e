import ServerThreads

/// A point in the work of a group at which a test can end the process. Only this package's programs can watch it.
package enum GroupPoint: String, CaseIterable, Sendable {
    /// A member's request was decided, and its changes are known.
    case member
    /// All changes were written, but not committed.
    case written
    /// The changes were committed, but no member was answered.
    case committed

    /// Observes the points that are passed.
    package final class Watcher: @unchecked Sendable {
        private let monitor = Monitor()
        /// Guarded by the monitor.
        private var body: (@Sendable (GroupPoint) -> Void)?

        package func set(_ body: (@Sendable (GroupPoint) -> Void)?) { monitor.locked { self.body = body } }
        fileprivate var current: (@Sendable (GroupPoint) -> Void)? { monitor.locked { body } }
    }

    package static let watcher = Watcher()

    func pass() { Self.watcher.current?(self) }
}
