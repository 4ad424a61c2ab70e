import AppStoreReceipt
import SpanASN1
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Does what a ledger has to do without a request: it delivers events to a webhook, grants renewals that begin, and removes what is no longer needed.
///
/// Each event is delivered at least once, and those of one account in their order. Each has an id, by which the receiver ignores what it has seen. Several servers
/// may deliver the events of one ledger.
public final class EventDelivery: Sendable {
    /// How long delivered events and the answers to idempotency keys are kept.
    static let retention = Duration.seconds(30 * 86_400)

    private let ledger: PurchaseLedger
    private let webhook: Webhook?
    private let maximumAttempts: Int64
    private let lease: Duration
    private let isStopped = Atomic(false)

    /// Creates a delivery, which ``run(onError:)`` begins.
    ///
    /// - Parameters:
    ///   - ledger: The ledger.
    ///   - webhook: Where to deliver; `nil` for nowhere. Events then wait in the outbox.
    ///   - maximumAttempts: The number of failures after which an event is a dead letter; by default 80, which takes three days.
    public convenience init(_ ledger: PurchaseLedger, to webhook: Webhook?, maximumAttempts: Int = 80) {
        // The time for a whole batch.
        self.init(
            ledger, to: webhook, maximumAttempts: maximumAttempts,
            lease: .seconds(Self.batchSize * WebhookClient.timeLimit + 5))
    }

    private static let batchSize = 4

    /// - Parameter lease: after which the events of a server that has crashed are delivered by another.
    init(_ ledger: PurchaseLedger, to webhook: Webhook?, maximumAttempts: Int, lease: Duration) {
        self.ledger = ledger
        self.webhook = webhook
        self.maximumAttempts = Int64(maximumAttempts)
        self.lease = lease
    }

    /// Delivers events until ``stop()`` is called. Call it on a thread of its own.
    ///
    /// - Parameter onError: Is told each time the database or a delivery fails, and of each event that is dead.
    public func run(onError: (LedgerError) -> Void) {
        let client = webhook.map(WebhookClient.init)
        var nextCleaning = ContinuousClock.now
        while !isStopped.load(ordering: .relaxed) {
            // A fault in one of them does not stop the others.
            do throws(LedgerError) {
                if ContinuousClock.now >= nextCleaning {
                    nextCleaning = ContinuousClock.now + .seconds(3600)
                    try ledger.removeHistory(before: .now - Self.retention)
                }
            } catch {
                onError(error)
            }
            do throws(LedgerError) { try ledger.settleDue() } catch { onError(error) }
            do throws(LedgerError) {
                if let client, try deliver(with: client, onError) > 0 { continue }
            } catch {
                onError(error)
            }
            // Nothing is due, or the database must recover.
            for _ in 0..<5 where !isStopped.load(ordering: .relaxed) { usleep(100_000) }
        }
    }

    /// Makes ``run(onError:)`` return after the delivery that it is at.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Delivers what is due, and returns the number of attempts.
    private func deliver(
        with client: WebhookClient, _ onError: (LedgerError) -> Void
    ) throws(LedgerError) -> Int {
        let events = try ledger.takeEvents(limit: Self.batchSize, lease: lease, at: .now)
        var results: [(event: OutgoingEvent, failure: String?)] = []
        for event in events where !isStopped.load(ordering: .relaxed) {
            let failure = client.send(event.event, id: event.id)
            results.append((event, failure))
            if let failure {
                let isDead = event.attempts + 1 >= maximumAttempts
                onError(LedgerError(isDead ? .deadLetter : .deliveryFailed, "event \(event.id): \(failure)"))
            }
        }
        if !results.isEmpty { try ledger.record(results, maximumAttempts: maximumAttempts, at: .now) }
        return results.count
    }
}
