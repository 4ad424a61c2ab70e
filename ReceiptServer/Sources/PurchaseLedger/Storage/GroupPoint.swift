import ServerThreads

/// A point in the work of a group at which a test can end the process. Only the programs of this package can watch it.
package enum GroupPoint: String, CaseIterable, Sendable {
    /// A member was decided, and what is to be written for it is known.
    case member
    /// All was written, and nothing committed.
    case written
    /// It was committed, and nobody answered.
    case committed

    /// Observes the points that are passed.
    package final class Watcher: @unchecked Sendable {
        private let monitor = Monitor()
        /// Within the monitor.
        private var body: (@Sendable (GroupPoint) -> Void)?

        package func set(_ body: (@Sendable (GroupPoint) -> Void)?) { monitor.locked { self.body = body } }
        fileprivate var current: (@Sendable (GroupPoint) -> Void)? { monitor.locked { body } }
    }

    package static let watcher = Watcher()

    func pass() { Self.watcher.current?(self) }
}
