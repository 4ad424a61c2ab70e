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

/// Does a ledger's background work: delivers events, grants renewals that begin, and removes data that is no longer
/// needed.
///
/// Each event is delivered at least once, and the events of one account are delivered in order. Accounts don't wait for
/// each other, unless many of them are slow. Each event has a `sequence`, which the receiver uses to ignore older
/// events. Several servers can deliver the events of one ledger.
///
/// If the delivery of an event fails, it is retried after 1, 2, 4 … seconds, up to an hour, until the event becomes a
/// dead letter: see `PurchaseLedger/deadLetters()`. If the process is killed, the events it was delivering are
/// delivered again within half a minute, by it or by another process.
public final class EventDelivery: Sendable {
    /// The time to keep delivered events, the answers to idempotency keys, and abandoned orders.
    static let retention = Duration.seconds(30 * 86_400)
    /// The number of events to deliver at once, each for a different account.
    static let concurrency = 16
    /// The interval between checks for due events.
    private static let interval = Duration.milliseconds(500)
    /// The maximum length of an error description that is stored with an event.
    private static let maximumFailureLength = 1000

    private let ledger: PurchaseLedger
    private let makeSender: (@Sendable () -> EventSender)?
    private let maximumAttempts: Int64
    private let lease: Duration
    private let isStopped = Atomic(false)
    private var surroundings: Surroundings { ledger.policy.surroundings }

    /// Creates a delivery to a closure. To start it, call `run(onError:)`.
    ///
    /// The closure is called on the delivery's threads, for up to 16 events at once, each for a different account.
    /// Requests for refunds are an exception: they don't wait for other events. The closure can block. Meanwhile, no
    /// other process gets its event or the events that wait for it.
    ///
    /// - Parameters:
    ///   - ledger: The ledger.
    ///   - maximumAttempts: The number of failures after which an event becomes a dead letter. The default, 80, takes
    ///     three days.
    ///   - deliver: Records an event. When it returns, the event is delivered. If it throws, it is called again.
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

    /// Creates a delivery to an asynchronous closure. To start it, call `run(onError:)`.
    ///
    /// The closure is called in up to 16 tasks at once, each for a different account. Requests for refunds are an
    /// exception: they don't wait for other events. The closure can suspend. Meanwhile, no other process gets its event
    /// or the events that wait for it. Canceling the task that runs the delivery doesn't cancel the closure.
    ///
    /// - Parameters:
    ///   - ledger: The ledger.
    ///   - maximumAttempts: The number of failures after which an event becomes a dead letter. The default, 80, takes
    ///     three days.
    ///   - deliver: Records an event. When it returns, the event is delivered. If it throws, it is called again.
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
    ///   - lease: The time after which another server delivers the events of a server that crashed.
    ///   - makeSender: Called once on each delivering thread, or `nil` to deliver nothing.
    init(
        _ ledger: PurchaseLedger, maximumAttempts: Int, lease: Duration, _ makeSender: (@Sendable () -> EventSender)?
    ) {
        self.ledger = ledger
        self.makeSender = makeSender
        self.maximumAttempts = Int64(maximumAttempts)
        self.lease = lease
    }

    /// Delivers events until ``stop()`` is called. Call it on a separate thread.
    ///
    /// - Parameter onError: Called each time the database or a delivery fails, and for each dead letter.
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
        // A closure can take any amount of time.
        func renewLeases(of senders: EventSenders) throws(LedgerError) {
            guard surroundings.uptime() >= nextRenewal else { return }
            nextRenewal = surroundings.uptime() + lease / 3
            // Without a new reading, the last one goes on.
            do throws(LedgerError) { try ledger.refreshClock() } catch { onError(error) }
            try ledger.keepEvents(senders.openEvents, lease: lease, at: surroundings.sharedDate)
        }
        while !isStopped.load(ordering: .relaxed) {
            var isDue = surroundings.uptime() >= nextLook
            if isDue {
                nextLook = surroundings.uptime() + Self.interval
                // An error in one of these doesn't stop the others.
                do throws(LedgerError) {
                    if surroundings.uptime() >= nextCleaning {
                        nextCleaning = surroundings.uptime() + .seconds(3600)
                        try ledger.removeHistory(before: surroundings.date() - Self.retention)
                    }
                } catch {
                    onError(error)
                }
                do throws(LedgerError) { try ledger.refreshClock() } catch { onError(error) }
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
                        limit: senders.freeCount, lease: lease, isNewestFirst: isNewestFirst,
                        at: surroundings.sharedDate)
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
        // Record the current deliveries. Otherwise, their events would be delivered again.
        results += senders?.stop() ?? []
        do throws(LedgerError) { _ = try record(&results, onError) } catch { onError(error) }
    }

    /// Delivers events until ``stop()`` is called or the task is canceled, on threads of its own.
    ///
    /// - Parameter onError: Called each time the database or a delivery fails, and for each dead letter.
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

    /// Makes `run(onError:)` return after the current deliveries.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Records the results of deliveries. If the database fails, the unrecorded results stay in `results`.
    ///
    /// - Returns: Whether there were any results.
    private func record(
        _ results: inout [EventSenders.Result], _ onError: (LedgerError) -> Void
    ) throws(LedgerError) -> Bool {
        guard !results.isEmpty else { return false }
        try ledger.record(results, maximumAttempts: maximumAttempts, at: surroundings.sharedDate)
        for (event, failure) in results {
            guard let failure else { continue }
            let isDead = event.attempts + 1 >= maximumAttempts
            onError(LedgerError(isDead ? .deadLetter : .deliveryFailed, "event \(event.id): \(failure)"))
        }
        results = []
        return true
    }

    /// Returns the text to record for an error. A NUL would be refused, and would stop all deliveries.
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
