import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Testing

/// A database for ledgers. All must behave alike.
enum Place: String, CaseIterable, CustomTestStringConvertible {
    case sqlite, postgreSQL

    static var available: [Place] { PostgreSQLServer.binaries == nil ? [.sqlite] : allCases }

    var testDescription: String { rawValue }

    /// A new, empty ledger. It was made at a date before all others.
    func makeLocation() throws -> Location {
        let location = try makeEmptyLocation()
        _ = try PurchaseLedger(
            LedgerLocation(location.text).open(.creating), LedgerPolicy(), .creating,
            at: Instant(millisecondsSince1970: 0))
        return location
    }

    private func makeEmptyLocation() throws -> Location {
        switch self {
        case .sqlite:
            let memory = URL(filePath: "/dev/shm")
            let isUsable = FileManager.default.isWritableFile(atPath: memory.path)
            let parent = isUsable ? memory : FileManager.default.temporaryDirectory
            let folder = parent.appending(path: "reconciliation-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            return Location(folder + "/ledger.db", folder: folder)
        case .postgreSQL: return Location(try PostgreSQLServer.shared.get().makeDatabase(), folder: nil)
        }
    }

    /// A ledger's place, which is removed when it is no longer used.
    final class Location: Sendable {
        let text: String
        let folder: String?

        init(_ text: String, folder: String?) {
            self.text = text
            self.folder = folder
        }

        deinit { if let folder { try? FileManager.default.removeItem(atPath: folder) } }
    }
}

/// A fake App Store with a manual clock, a ledger, and its reconciler.
final class Shop: Sendable {
    static let start = Instant(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01

    let store: FakeAppStore
    let location: Place.Location
    let ledger: PurchaseLedger
    let reconciler: Reconciler
    let findings = Guarded<[Finding]>([])
    /// Whether the server takes notifications.
    let isUp: Guarded<Bool>
    /// Whether something in front of the server takes them instead.
    let isSwallowing = Guarded(false)
    /// Called with each request before it is answered.
    let onRequest: Guarded<@Sendable (HTTPTransport.Request) -> Void>
    /// Answers instead of the store, or returns `nil`.
    let stranger: Guarded<Stranger>
    /// How far the server's clock is ahead.
    let clockError = Guarded(Duration.zero)
    let requestsPerHour: Int
    private let confirm: InquiryPolicy.Confirm
    private let sweepsRefunds: Bool
    private let orders: Bool
    private let receiver: Receiver

    typealias Stranger = @Sendable (HTTPTransport.Request) -> HTTPTransport.Answer?

    private final class Receiver: Sendable {
        let body = Guarded<NotificationReceiver>({ _ in .noResponse })
    }

    init(
        _ place: Place, _ environment: AppStoreEnvironment = .production, confirm: InquiryPolicy.Confirm = .unnotified,
        requestsPerHour: Int = AppleApp.defaultRequestsPerHour, sweepsRefunds: Bool = false, orders: Bool = false
    ) throws {
        let receiver = Receiver()
        var options = FakeAppStore.Options()
        options.environment = environment
        options.date = Self.start
        options.tokenClock = .store
        options.receiver = { payload in receiver.body.withLock { $0 }(payload) }
        store = try FakeAppStore(options)
        self.receiver = receiver
        location = try place.makeLocation()
        isUp = Guarded(true)
        onRequest = Guarded({ _ in })
        stranger = Guarded({ _ in nil })
        self.requestsPerHour = requestsPerHour
        self.confirm = confirm
        self.sweepsRefunds = sweepsRefunds
        self.orders = orders
        ledger = try Self.ledger(location, store, confirm, sweepsRefunds, orders)
        reconciler = try Self.reconciler(
            ledger, store, requestsPerHour, onRequest, findings, stranger, clockError)
        let (ledger, store, isUp, isSwallowing) = (ledger, store, isUp, isSwallowing)
        let verifier = try store.verifier()
        receiver.body.withLock { body in
            body = { payload in
                if isSwallowing.withLock({ $0 }) { return .success }
                guard isUp.withLock({ $0 }) else { return .noResponse }
                do {
                    try ledger.record(verifier.verifyNotification(payload), at: store.now)
                    return .success
                } catch {
                    return .unsuccessfulStatus
                }
            }
        }
    }

    static func ledger(
        _ location: Place.Location, _ store: FakeAppStore, _ confirm: InquiryPolicy.Confirm = .unnotified,
        _ sweepsRefunds: Bool = false, _ orders: Bool = false
    ) throws -> PurchaseLedger {
        var policy = LedgerPolicy()
        policy.surroundings.hasDatabaseClock = false
        if orders { policy.orders = OrderPolicy() }
        var inquiries = InquiryPolicy(apps: [AskedApp(store.environment, store.options.bundleID)])
        inquiries.confirm = confirm
        inquiries.sweepsRefunds = sweepsRefunds
        policy.inquiries = inquiries
        return try PurchaseLedger(location.text, policy: policy)
    }

    static func reconciler(
        _ ledger: PurchaseLedger, _ store: FakeAppStore, _ requestsPerHour: Int,
        _ onRequest: Guarded<@Sendable (HTTPTransport.Request) -> Void> = Guarded({ _ in }),
        _ findings: Guarded<[Finding]> = Guarded([]), _ stranger: Guarded<Stranger> = Guarded({ _ in nil }),
        _ clockError: Guarded<Duration> = Guarded(.zero)
    ) throws -> Reconciler {
        var clientOptions = AppStoreServerClient.Options()
        let clock: @Sendable () -> Instant = { store.now + clockError.withLock(\.self) }
        clientOptions.clock = clock
        let answer = store.inProcess()
        clientOptions.transport = { (request) throws(TransportFault) in
            onRequest.withLock { $0 }(request)
            if let strange = stranger.withLock({ $0 })(request) { return strange }
            return try answer(request)
        }
        let client = try AppStoreServerClient(
            store.signer, environment: store.environment, verifier: store.verifier(), options: clientOptions)
        var options = Reconciler.Options()
        options.clock = clock
        options.random = { 0.5 }
        options.wait = { store.setClock(store.now + $0) }
        options.onFinding = { finding in findings.withLock { $0.append(finding) } }
        return Reconciler(ledger, [AppleApp(client, requestsPerHour: requestsPerHour)], options)
    }

    /// Another server of the same ledger.
    func another() throws -> Reconciler {
        try Self.reconciler(
            Self.ledger(location, store, confirm, sweepsRefunds, orders), store, requestsPerHour, onRequest, findings,
            stranger)
    }

    var found: [Finding] { findings.withLock { $0 } }

    /// The transactions that nobody owns.
    func unowned() throws -> [String] {
        var ids: [String] = []
        try ledger.forEachPurchaseWithoutOwner { ids.append($0.transactionID) }
        return ids
    }

    var app: AskedApp { AskedApp(store.environment, store.options.bundleID) }

    // MARK: Time

    /// Asks what is due, and moves the clock to what is due next, until a date.
    func run(_ reconciler: Reconciler? = nil, until date: Instant) throws {
        let reconciler = reconciler ?? self.reconciler
        var steps = 0
        while true {
            store.deliverNotifications()
            switch reconciler.runOnce() {
            case .asked: steps += 1
            case .idle(let next):
                guard let next, next <= date else {
                    store.setClock(date)
                    store.deliverNotifications()
                    return
                }
                steps += 1
                store.setClock(next)
            }
            try #require(steps < 100_000)
        }
    }

    func run(for duration: Duration) throws { try run(until: store.now + duration) }

    /// Looks every minute, whatever the server's clock says.
    func tick(for duration: Duration) {
        let end = store.now + duration
        while store.now < end {
            store.setClock(min(store.now + .seconds(60), end))
            store.deliverNotifications()
            while case .asked = reconciler.runOnce() {}
        }
    }

    // MARK: Purchases

    /// What the app gets from StoreKit.
    func evidence(_ transaction: PurchaseHistory.Transaction, customer: Int = 1) throws -> VerifiedEvidence {
        let history = try #require(store.histories[customer])
        let builder = try #require(history.transaction(transaction, signedAt: store.now))
        return try store.verifier().verify(builder.signed(by: store.authority))
    }

    @discardableResult
    func redeem(
        _ transaction: PurchaseHistory.Transaction, for account: String = "anna", customer: Int = 1
    ) throws -> [Outcome] {
        try ledger.redeem(evidence(transaction, customer: customer), for: account, at: store.now).outcomes.map(
            \.outcome)
    }

    /// A granted consumable without a notification.
    @discardableResult
    func unnotified() throws -> PurchaseHistory.Transaction {
        isUp.withLock { $0 = false }
        let coins = store.change(customer: 1) { $0.buyConsumable("coins", at: Self.start) }
        #expect(try redeem(coins) == [.granted])
        return coins
    }

    func verified(_ notification: PurchaseHistory.Notification, customer: Int = 1) throws -> VerifiedNotification {
        let history = try #require(store.histories[customer])
        let builder = try history.builder(for: notification, partsSignedBy: store.authority)
        return try store.verifier().verifyNotification(builder.signed(by: store.authority))
    }

    // MARK: Tables

    func rows(_ statement: String) throws -> [[String]] {
        let rows = try ledger.store.read { (connection) throws(LedgerError) in try connection.run(statement) }
        return rows.map { row in
            row.values.map { value in
                switch value {
                case .null: "NULL"
                case .integer(let number): "\(number)"
                case .text(let text): text
                default: "\(value)"
                }
            }
        }
    }

    func quantity(_ transaction: PurchaseHistory.Transaction) throws -> String? {
        try rows(
            """
            SELECT quantity FROM grants JOIN identifiers ON id = identifier_id
            WHERE transaction_id = '\(transaction.transactionID)'
            """
        ).first?[0]
    }

    var inquiries: [String] {
        get throws {
            try rows("SELECT kind, subject, priority FROM questions WHERE state = 'pending' ORDER BY kind, subject").map
            { $0.joined(separator: " ") }
        }
    }

    var causes: [String] {
        get throws {
            try rows("SELECT event FROM outbox ORDER BY account, sequence").map { row in
                let event = try JSONSerialization.jsonObject(with: Data(row[0].utf8)) as? [String: Any]
                return "\(event?["kind"] ?? "") \(event?["cause"] ?? "")"
            }
        }
    }

    func checkpoint() throws -> HistoryCheckpoint { try ledger.historyCheckpoint(of: app) }

    func requests(_ endpoint: AppStoreServerEndpoint) -> Int { store.requestCounts[endpoint] ?? 0 }
}

/// A thread that tests wait for.
final class JoinedThread: @unchecked Sendable {
    private let end = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [end] in
            body()
            end.signal()
        }
    }

    func join() { end.wait() }
}

extension Duration {
    static func hours(_ hours: Double) -> Duration { .milliseconds(Int64(hours * 3_600_000)) }
    static func days(_ days: Double) -> Duration { .hours(days * 24) }
}
