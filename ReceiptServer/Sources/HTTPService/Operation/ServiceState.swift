import Synchronization

/// Whether a service is ready or stopping.
package final class ServiceState: Sendable {
    private let unready = Atomic<Bool>(false)
    private let stopping = Atomic<Bool>(false)

    package init() {}

    /// Whether load balancers should send requests.
    package var isReady: Bool { !unready.load(ordering: .relaxed) }
    /// Whether each connection closes after its next answer.
    package var isStopping: Bool { stopping.load(ordering: .relaxed) }

    package func becomeUnready() { unready.store(true, ordering: .relaxed) }

    package func stop() {
        becomeUnready()
        stopping.store(true, ordering: .relaxed)
    }
}
