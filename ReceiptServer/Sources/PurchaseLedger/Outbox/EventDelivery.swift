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

/// Does what a ledger has to do without a request: it delivers events, grants renewals that begin, and removes what is
/// no longer needed.
///
/// Each event is delivered at least once, and those of one account in their order. Accounts do not wait for each other,
/// unless many of them are slow. Each event has a `sequence`, by which the receiver ignores older events. Several
/// servers may deliver the events of one ledger.
///
/// An event whose delivery fails is delivered again after 1, 2, 4 … seconds, at most an hour, and becomes a dead letter
/// in the end: see `PurchaseLedger/deadLetters()`. If the process is killed, what it was delivering is delivered
/// again within half a minute, by it or by another one.
public final class EventDelivery: Sendable {
    /// How long delivered events, the answers to idempotency keys and abandoned orders are kept.
    static let retention = Duration.seconds(30 * 86_400)
    /// How many events are sent at once, each of another account.
    static let concurrency = 16
    /// How often the ledger is asked whether something is due.
    private static let interval = Duration.milliseconds(500)
    /// The longest description of an error that is kept with an event.
    private static let maximumFailureLength = 1000

    private let ledger: PurchaseLedger
    private let makeSender: (@Sendable () -> EventSender)?
    private let maximumAttempts: Int64
    private let lease: Duration
    private let isStopped = Atomic(false)
    private var surroundings: Surroundings { ledger.policy.surroundings }

    /// Creates a delivery to a closure, which `run(onError:)` begins.
    ///
    /// The closure is called on threads of the delivery, at once for up to 16 events, each of another account; but
    /// requests for refunds wait for no other event. It may wait. While it does, no other process is given the event,
    /// nor those that wait for it.
    ///
    /// - Parameters:
    ///   - ledger: The ledger.
    ///   - maximumAttempts: The number of failures after which an event is a dead letter; by default 80, which takes
    ///     three days.
    ///   - deliver: Records an event. The event is delivered when it returns. If it throws, it is called again.
    public convenience init(
        _ ledger: PurchaseLedger, maximumAttempts: Int = 80,
        deliver: @escaping @Sendable (_ event: LedgerEvent) throws -> Void
    ) {
        self.init(ledger, maximumAttempts: maximumAttempts, deliver, lease: PurchaseLedger.eventLease)
    }

    convenience init(
        _ ledger: PurchaseLedger, maximumAttempts: Int,
        _ deliver: @escaping @Sendable (LedgerEvent) throws -> Void, lease: Duration
    ) {
        self.init(ledger, maximumAttempts: maximumAttempts, lease: lease) {
            { outgoing in
                do { try deliver(outgoing.read()) } catch { return Self.words(of: error) }
                return nil
            }
        }
    }

    /// Creates a delivery to an asynchronous closure, which `run(onError:)` begins.
    ///
    /// The closure is called in up to 16 tasks at once, each for another account; but requests for refunds wait for no
    /// other event. It may wait. While it does, no other process is given the event, nor those that wait for it.
    /// Cancelling the task that runs the delivery does not cancel the closure.
    ///
    /// - Parameters:
    ///   - ledger: The ledger.
    ///   - maximumAttempts: The number of failures after which an event is a dead letter; by default 80, which takes
    ///     three days.
    ///   - deliver: Records an event. The event is delivered when it returns. If it throws, it is called again.
    public convenience init(
        _ ledger: PurchaseLedger, maximumAttempts: Int = 80,
        deliver: @escaping @Sendable (_ event: LedgerEvent) async throws -> Void
    ) {
        self.init(ledger, maximumAttempts: maximumAttempts, lease: PurchaseLedger.eventLease) {
            { outgoing in
                let event: LedgerEvent
                do throws(LedgerError) { event = try outgoing.read() } catch { return "\(error)" }
                return BlockingTask.result { () async -> String? in
                    do { try await deliver(event) } catch { return Self.words(of: error) }
                    return nil
                }
            }
        }
    }

    /// - Parameters:
    ///   - lease: after which the events of a server that has crashed are delivered by another.
    ///   - makeSender: Is called once on each thread that delivers; `nil` for no delivery.
    init(
        _ ledger: PurchaseLedger, maximumAttempts: Int, lease: Duration, _ makeSender: (@Sendable () -> EventSender)?
    ) {
        self.ledger = ledger
        self.makeSender = makeSender
        self.maximumAttempts = Int64(maximumAttempts)
        self.lease = lease
    }

    /// Delivers events until ``stop()`` is called. Call it on a thread of its own.
    ///
    /// - Parameter onError: Is told each time the database or a delivery fails, and of each event that is dead.
    @available(*, noasync)
    public func run(onError: (LedgerError) -> Void) {
        let senders = makeSender.map { EventSenders(count: Self.concurrency, $0) }
        if let senders, senders.count == 0 {
            onError(LedgerError(.deliveryFailed, "the system has no thread to give"))
        }
        var results: [EventSenders.Result] = []
        var nextCleaning = surroundings.uptime()
        var nextLook = surroundings.uptime()
        var nextRenewal = surroundings.uptime() + lease / 3
        var isNewestFirst = false
        // A closure may take any time.
        func renewLeases(of senders: EventSenders) throws(LedgerError) {
            guard surroundings.uptime() >= nextRenewal else { return }
            nextRenewal = surroundings.uptime() + lease / 3
            try ledger.keepEvents(senders.openEvents, lease: lease, at: surroundings.date())
        }
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
                try renewLeases(of: senders)
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
        // No other delivery takes the event that a closure still has.
        senders?.end()
        while let senders, !senders.openEvents.isEmpty {
            results += senders.takeResults(within: .milliseconds(100))
            do throws(LedgerError) {
                _ = try record(&results, onError)
                try renewLeases(of: senders)
            } catch {
                onError(error)
            }
        }
        // What is being sent is recorded, or it would be sent again.
        results += senders?.stop() ?? []
        do throws(LedgerError) { _ = try record(&results, onError) } catch { onError(error) }
    }

    /// Delivers events until ``stop()`` is called or the task is cancelled, on threads of its own.
    ///
    /// - Parameter onError: Is told each time the database or a delivery fails, and of each event that is dead.
    public func run(onError: @escaping @Sendable (LedgerError) -> Void) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasThread = Thread.detached {
                    self.run(onError: onError)
                    continuation.resume()
                }
                if !hasThread {
                    onError(LedgerError(.deliveryFailed, "the system has no thread to give"))
                    continuation.resume()
                }
            }
        } onCancel: {
            stop()
        }
    }

    /// Makes `run(onError:)` return after the deliveries that it is at.
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

    /// What is recorded of an error. A database takes no NUL, and one that is refused would stop all deliveries.
    private static func words(of error: any Error) -> String {
        var words = ""
        for scalar in "\(error)".unicodeScalars.prefix(maximumFailureLength) where scalar.value != 0 {
            words.unicodeScalars.append(scalar)
        }
        return words
    }
}

extension OutgoingEvent {
    fileprivate func read() throws(LedgerError) -> LedgerEvent { try StoredJSON.decode(event) }
}
