import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreSigning
import Foundation
import LedgerTestSupport
import PurchaseLedger
import Reconciliation
import TrialSupport

/// A simulated day of a shop: clients redeem, and most notifications arrive, but none during two hours.
///
/// 3 % of the notifications are lost, and a proxy swallows 1 %. A tenth of the sales are weekly subscriptions that end
/// on this day. Most of them were charged hours before.
final class SimulatedDay {
    static let budget = 3600
    private static let start = Instant(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01
    private static let silence = 10 * 3600..<12 * 3600

    struct Result {
        var requests: [AppStoreServerEndpoint: Int] = [:]
        var requestsByPriority: [Int: Int] = [:]
        /// The most requests in an hour, and the most of low priority.
        var (most, mostLow) = (0, 0)
        var (lost, missing, left) = (0, 0, 0)
    }

    private struct Event {
        enum Kind { case sale, renewal, notification(String, Delivery) }

        let date: Instant
        let kind: Kind
        let id: Int
    }

    enum Delivery { case taken, lost, swallowed }

    private let evidence: MintedEvidence
    private let verifier: AppStoreVerifier
    private let ledger: PurchaseLedger
    private let folder: String
    private let saleCount: Int
    private let apple: DayApple
    private let reconciler: Reconciler
    private let app = AskedApp(.production, MintedEvidence.bundleID)
    private var hourCount: Int64 = 0
    /// The low-priority requests so far.
    private var lowCount = 0
    private var lowByHour: [Int64: Int] = [:]

    init(_ evidence: MintedEvidence, _ saleCount: Int) throws {
        (self.evidence, self.saleCount) = (evidence, saleCount)
        var policy = VerificationPolicy(bundleIDs: [MintedEvidence.bundleID], environments: [.production])
        policy.clock = { .now }
        verifier = try AppStoreVerifier(policy: policy, trust: evidence.trust)
        folder = evidence.path("day-\(UUID().uuidString).db")
        var ledgerPolicy = LedgerPolicy()
        ledgerPolicy.inquiries = InquiryPolicy(apps: [app])
        ledger = try PurchaseLedger(creating: folder, policy: ledgerPolicy)
        let apple = DayApple(evidence, Self.start)
        self.apple = apple
        var options = AppStoreServerClient.Options()
        options.clock = { apple.now }
        options.transport = { (request) throws(TransportFault) in apple.answer(request) }
        let key = try InAppPurchaseKey(p8: SigningKey(generating: .p256).pem())
        let client = try AppStoreServerClient(
            AppStoreSigner(keyID: "1", issuerID: "2", bundleID: MintedEvidence.bundleID, key: key),
            environment: .production, verifier: verifier, options: options)
        var reconcilerOptions = Reconciler.Options()
        reconcilerOptions.clock = { apple.now }
        reconciler = Reconciler(
            ledger, [AppleApp(client, requestsPerHour: Self.budget)],
            reconcilerOptions)
    }

    deinit { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder + suffix) } }

    /// - Parameter progress: Called after each simulated hour, with the number of hours so far.
    func run(_ progress: (Int64) -> Void) throws -> Result {
        var events: [Event] = []
        for id in 0..<saleCount {
            let second = Int64(id) * 86_400 / Int64(saleCount)
            // This subscription ends today.
            if id % 10 == 9 { try sell(id, at: Self.start - .seconds(7 * 86_400 - second)) }
            let date = Self.start + .seconds(id % 10 == 9 ? max(0, second - 7200 - Int64(id % 50_000)) : second)
            let isSilent = Self.silence.contains(Int((date - Self.start).components.seconds))
            // The same share of subscriptions and others.
            let share = (id / 10 + id) % 100
            let delivery: Delivery = isSilent || share < 3 ? .lost : share == 50 ? .swallowed : .taken
            events.append(Event(date: date, kind: id % 10 == 9 ? .renewal : .sale, id: id))
            let type = id % 10 == 9 ? "DID_RENEW" : "ONE_TIME_CHARGE"
            events.append(Event(date: date + .seconds(5), kind: .notification(type, delivery), id: id))
        }
        events.sort { $0.date < $1.date }
        try reconciler.begin()
        var nextLook = Self.start
        for event in events {
            while nextLook <= event.date {
                look(at: nextLook, progress)
                nextLook = nextLook + .seconds(60)
            }
            apple.now = max(apple.now, event.date)
            try take(event)
        }
        // The night, and the next day's sweep.
        let end = nextLook + .seconds(30 * 3600)
        while nextLook <= end {
            look(at: nextLook, progress)
            nextLook = nextLook + .seconds(300)
        }
        return try result()
    }

    private func look(at date: Instant, _ progress: (Int64) -> Void) {
        let hour = (date.secondsSince1970 - Self.start.secondsSince1970) / 3600
        if hour > hourCount { progress(hour) }
        hourCount = hour
        apple.now = max(apple.now, date)
        while case .asked = reconciler.runOnce() {}
        let count = reconciler.counts.requestsByPriority.reduce(0) { count, requests in
            requests.key < Inquiry.lowPriority ? count : count + requests.value
        }
        lowByHour[apple.now.secondsSince1970 / 3600, default: 0] += count - lowCount
        lowCount = count
    }

    private func sell(_ id: Int, at date: Instant) throws {
        _ = try ledger.redeem(verifier.verify(apple.transaction(id, 0, date)), for: "account \(id % 50_000)", at: date)
        apple.sold[id] = date
    }

    private func take(_ event: Event) throws {
        switch event.kind {
        case .sale: try sell(event.id, at: event.date)
        case .renewal: apple.renewed[event.id] = event.date
        case .notification(let type, let delivery):
            let payload = try apple.send(type, event.id, event.date, delivery)
            if case .taken = delivery { try ledger.record(verifier.verifyNotification(payload), at: event.date) }
        }
    }

    private func result() throws -> Result {
        var result = Result()
        result.requests = apple.requests
        result.requestsByPriority = reconciler.counts.requestsByPriority
        result.most = apple.requestsByHour.values.max() ?? 0
        result.mostLow = lowByHour.values.max() ?? 0
        let lost = apple.sent.filter { $0.delivery != .taken }
        result.lost = lost.count
        for start in stride(from: 0, to: lost.count, by: 1000) {
            let uuids = lost[start..<min(start + 1000, lost.count)].map(\.uuid)
            result.missing += uuids.count - (try ledger.recordedNotifications(uuids, in: .production).count)
        }
        // The daily history inquiry is always pending, and so are inquiries about subscriptions that end next week.
        for counts in try ledger.inquiryCounts(at: apple.now) {
            result.left += counts.failed + max(0, (counts.pending[3] ?? 0) - 1) + (counts.pending[4] ?? 0)
        }
        return result
    }
}

/// Apple's side of the day. It signs on request.
private final class DayApple: @unchecked Sendable {
    struct Sent {
        let date: Instant
        let uuid: String
        let payload: String
        let delivery: SimulatedDay.Delivery
    }

    private let evidence: MintedEvidence
    var now: Instant
    var sold: [Int: Instant] = [:]
    var renewed: [Int: Instant] = [:]
    /// Ordered by date.
    private(set) var sent: [Sent] = []
    private(set) var requests: [AppStoreServerEndpoint: Int] = [:]
    private(set) var requestsByHour: [Int64: Int] = [:]

    init(_ evidence: MintedEvidence, _ now: Instant) { (self.evidence, self.now) = (evidence, now) }

    // MARK: Signing

    /// Returns an id whose last digit is the period.
    private func id(_ sale: Int, _ period: Int) -> String { "\(5_000_000_000 + sale * 10 + period)" }

    private func builder(_ sale: Int, _ period: Int, _ date: Instant) -> JWSBuilder {
        var builder = JWSBuilder.transaction(
            bundleID: MintedEvidence.bundleID, productID: sale % 10 == 9 ? "weekly" : "coins",
            transactionID: id(sale, period))
        builder.originalTransactionID = id(sale, 0)
        builder.productType = sale % 10 == 9 ? .autoRenewableSubscription : .consumable
        builder.signedDate = date
        guard let first = sold[sale] ?? (period == 0 ? date : nil) else { return builder }
        let week = Duration.seconds(7 * 86_400)
        builder.originalPurchaseDate = first
        builder.purchaseDate = first + week * period
        if sale % 10 == 9 { builder.expiresDate = first + week * (period + 1) }
        return builder
    }

    func transaction(_ sale: Int, _ period: Int, _ date: Instant) throws -> String {
        try builder(sale, period, date).signed(by: evidence.ellipticAuthority)
    }

    func send(_ type: String, _ sale: Int, _ date: Instant, _ delivery: SimulatedDay.Delivery) throws -> String {
        var notification = JWSBuilder.notification(
            NotificationType(rawValue: type), bundleID: MintedEvidence.bundleID, appAppleID: "1234567890",
            environment: .production, transaction: try transaction(sale, renewed[sale] == nil ? 0 : 1, date),
            signedDate: date)
        let number = String(sale, radix: 16)
        let uuid = "00000000-0000-4000-8000-\(String(repeating: "0", count: 12 - number.utf8.count))\(number)"
        notification.notificationUUID = uuid
        let payload = try notification.signed(by: evidence.ellipticAuthority)
        sent.append(Sent(date: date, uuid: uuid, payload: payload, delivery: delivery))
        return payload
    }

    // MARK: Answers

    func answer(_ request: HTTPTransport.Request) -> HTTPTransport.Answer {
        let parts = request.url.split(separator: "?", maxSplits: 1)
        let path = parts[0].split(separator: "/").map(String.init)
        requestsByHour[now.secondsSince1970 / 3600, default: 0] += 1
        let json: String
        if path.contains("history") {
            requests[.notificationHistory, default: 0] += 1
            json = history(request, parts.count > 1 ? String(parts[1]) : nil)
        } else {
            let number = (Int(path.last ?? "") ?? 0) - 5_000_000_000
            let (sale, period) = (number / 10, number % 10)
            if path.contains("subscriptions") {
                requests[.subscriptionStatuses, default: 0] += 1
                let isRenewed = renewed[sale].map { $0 <= now } ?? false
                let jws = (try? transaction(sale, isRenewed ? 1 : 0, now)) ?? ""
                json = """
                    {"data":[{"subscriptionGroupIdentifier":"g","lastTransactions":[{"status":1,\
                    "originalTransactionId":"\(id(sale, 0))","signedTransactionInfo":"\(jws)"}]}]}
                    """
            } else {
                requests[.transactionInfo, default: 0] += 1
                json = #"{"signedTransactionInfo":"\#((try? transaction(sale, period, now)) ?? "")"}"#
            }
        }
        return HTTPTransport.Answer(status: 200, body: Array(json.utf8))
    }

    private struct Query: Decodable {
        let startDate: Int64
        let endDate: Int64
        let onlyFailures: Bool?
    }

    private func history(_ request: HTTPTransport.Request, _ query: String?) -> String {
        guard let asked = try? JSONDecoder().decode(Query.self, from: Data(request.body ?? [])) else {
            return "{}"
        }
        let (first, last) = (
            Instant(millisecondsSince1970: asked.startDate), Instant(millisecondsSince1970: asked.endDate)
        )
        var place = query.flatMap { Int($0.split(separator: "=").last ?? "") } ?? lowerBound(first)
        var items: [String] = []
        while place < sent.count, sent[place].date <= min(last, now), items.count < 20 {
            let item = sent[place]
            place += 1
            if asked.onlyFailures == true, item.delivery != .lost { continue }
            let result = item.delivery == .lost ? "TIMED_OUT" : "SUCCESS"
            let attempt = #"{"attemptDate":\#(item.date.millisecondsSince1970),"sendAttemptResult":"\#(result)"}"#
            items.append(#"{"signedPayload":"\#(item.payload)","sendAttempts":[\#(attempt)]}"#)
        }
        let hasMore = place < sent.count && sent[place].date <= min(last, now)
        let token = hasMore ? #","paginationToken":"\#(place)""# : ""
        return #"{"notificationHistory":[\#(items.joined(separator: ","))],"hasMore":\#(hasMore)\#(token)}"#
    }

    private func lowerBound(_ date: Instant) -> Int {
        var (low, high) = (0, sent.count)
        while low < high {
            let middle = (low + high) / 2
            if sent[middle].date < date { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
