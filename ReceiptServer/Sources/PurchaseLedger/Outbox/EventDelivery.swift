import AppStoreReceipt
import ServerThreads
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Does what a ledger has to do without a request: it delivers events to a webhook, grants renewals that begin, and
/// removes what is no longer needed.
///
/// Each event is delivered at least once, and those of one account in their order. Accounts do not wait for each other,
/// unless many of them are slow. Each event has a `sequence`, by which the receiver ignores older events. Several
/// servers may deliver the events of one ledger.
public final class EventDelivery: Sendable {
    /// How long delivered events, the answers to idempotency keys and abandoned orders are kept.
    static let retention = Duration.seconds(30 * 86_400)
    /// How many events are sent at once, each of another account.
    static let concurrency = 16
    /// How often the ledger is asked whether something is due.
    private static let interval = Duration.milliseconds(500)

    private let ledger: PurchaseLedger
    private let webhook: Webhook?
    private let maximumAttempts: Int64
    private let lease: Duration
    private let isStopped = Atomic(false)
    private var surroundings: Surroundings { ledger.policy.surroundings }

    /// Creates a delivery, which ``run(onError:)`` begins.
    ///
    /// - Parameters:
    ///   - ledger: The ledger.
    ///   - webhook: Where to deliver; `nil` for nowhere. Events then wait in the outbox.
    ///   - maximumAttempts: The number of failures after which an event is a dead letter; by default 80, which takes
    ///     three days.
    public convenience init(_ ledger: PurchaseLedger, to webhook: Webhook?, maximumAttempts: Int = 80) {
        self.init(ledger, to: webhook, maximumAttempts: maximumAttempts, lease: PurchaseLedger.eventLease)
    }

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
        let senders = webhook.map { EventSenders($0, count: Self.concurrency, surroundings.date) }
        if let senders, senders.count == 0 {
            onError(LedgerError(.deliveryFailed, "the system has no thread to give"))
        }
        var results: [EventSenders.Result] = []
        var nextCleaning = surroundings.uptime()
        var nextLook = surroundings.uptime()
        var isNewestFirst = false
        while !isStopped.load(ordering: .relaxed) {
            var isDue = surroundings.uptime() >= nextLook
            if isDue {
                nextLook = surroundings.uptime() + Self.interval
                // A fault in one of them does not stop the others.
                do throws(LedgerError) {
                    if surroundings.uptime() >= nextCleaning {
                        nextCleaning = surroundings.uptime() + .seconds(3600)
                        try ledger.removeHistory(before: surroundings.date() - Self.retention)
                    }
                } catch {
                    onError(error)
                }
                do throws(LedgerError) { try ledger.settleDue(at: surroundings.date()) } catch { onError(error) }
            }
            guard let senders else {
                usleep(100_000)
                continue
            }
            do throws(LedgerError) {
                if try record(&results, onError) { isDue = true }
                if isDue, senders.freeCount > 0 {
                    let events = try ledger.takeEvents(
                        limit: senders.freeCount, lease: lease, isNewestFirst: isNewestFirst, at: surroundings.date())
                    isNewestFirst.toggle()
                    senders.send(events)
                }
            } catch {
                onError(error)
            }
            results += senders.takeResults(within: .milliseconds(100))
        }
        // What is being sent is recorded, or it would be sent again.
        results += senders?.stop() ?? []
        do throws(LedgerError) { _ = try record(&results, onError) } catch { onError(error) }
    }

    /// Makes ``run(onError:)`` return after the deliveries that it is at.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Records what became of deliveries. Results that the database does not take stay in `results`.
    ///
    /// - Returns: Whether there were any.
    private func record(
        _ results: inout [EventSenders.Result], _ onError: (LedgerError) -> Void
    ) throws(LedgerError) -> Bool {
        guard !results.isEmpty else { return false }
        try ledger.record(results, maximumAttempts: maximumAttempts, at: surroundings.date())
        for (event, failure) in results {
            guard let failure else { continue }
            let isDead = event.attempts + 1 >= maximumAttempts
            onError(LedgerError(isDead ? .deadLetter : .deliveryFailed, "event \(event.id): \(failure)"))
        }
        results = []
        return true
    }
}
