import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting

/// A fake App Store whose clock stands still at `date`, with a server and a client.
struct Shop {
    static let date = Instant(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01

    let store: FakeAppStore
    let server: FakeAppStoreServer
    let client: AppStoreServerClient

    init(
        _ environment: AppStoreEnvironment = .sandbox, timeLimit: Duration = .seconds(30),
        _ change: (inout FakeAppStore.Options) -> Void = { _ in }
    ) throws {
        var options = FakeAppStore.Options()
        options.environment = environment
        options.date = Self.date
        options.tokenClock = .store
        options.slowTime = .seconds(3)
        change(&options)
        let store = try FakeAppStore(options)
        self.store = store
        server = try FakeAppStoreServer(store)
        var clientOptions = server.clientOptions
        clientOptions.timeLimit = timeLimit
        clientOptions.clock = { store.now }
        client = try AppStoreServerClient(
            store.signer, environment: environment, verifier: store.verifier(), options: clientOptions)
    }

    /// A customer with consumables, some of them refunded, a weekly subscription of four periods, the first of them
    /// refunded, and a non-consumable.
    func fill(customer: Int = 1, consumables: Int = 45, refunds: Int = 0) -> PurchaseHistory.Transaction {
        store.change(customer: customer) { history in
            let start = Self.date - .seconds(25 * 86_400)
            let subscription = history.subscribe(to: "weekly", in: "group", for: .week, at: start)
            for _ in 0..<3 { history.renew(subscription) }
            history.refund(subscription.firstPeriod, at: start + .seconds(86_400))
            history.buyNonConsumable("pro", at: start)
            var first: PurchaseHistory.Transaction?
            for number in 0..<consumables {
                let coins = history.buyConsumable("coins", at: start + .seconds(3600 * Int64(number)))
                if number < refunds { history.refund(coins, at: start + .seconds(10 * 86_400)) }
                if first == nil { first = coins }
            }
            return first ?? subscription.firstPeriod
        }
    }
}

extension AppStoreServerClient {
    /// Asks an endpoint, and says in words what came of it.
    func outcome(_ endpoint: AppStoreServerEndpoint, _ id: String, _ token: String) -> String {
        do throws(AppStoreServerError) {
            switch endpoint {
            case .transactionInfo:
                let answer = try transactionInfo(of: id)
                let note = answer.transaction?.value != nil && !answer.isOfAskedID ? ", not the one asked" : ""
                return Self.words([answer.transaction?.refusal]) + note
            case .subscriptionStatuses:
                let items = try subscriptionStatuses(of: id).subscriptions
                return Self.words(items.flatMap { [$0.transaction?.refusal, $0.renewalInfo?.refusal] })
            case .transactionHistory:
                var ids: [String?] = []
                var refusals: [SignedItemRefusal?] = []
                var pages = transactionHistoryPages(of: id).makeIterator()
                while let page = try pages.next() {
                    refusals += page.transactions.map(\.refusal)
                    ids += page.transactions.map { $0.value?.transactionID }
                }
                return Self.words(refusals) + ", \(Set(ids.compactMap(\.self)).count) different"
            case .refundHistory:
                var refusals: [SignedItemRefusal?] = []
                var pages = refundHistoryPages(of: id).makeIterator()
                while let page = try pages.next() { refusals += page.transactions.map(\.refusal) }
                return Self.words(refusals)
            case .orderLookup:
                return Self.words(try order(FakeAppStore.orderID(of: id)).transactions.map(\.refusal))
            case .notificationHistory:
                var ids: [String?] = []
                var refusals: [SignedItemRefusal?] = []
                var query = NotificationHistoryQuery(from: Shop.date - .seconds(29 * 86_400), to: Shop.date)
                query.filter = .transaction(id)
                var pages = notificationHistoryPages(query).makeIterator()
                while let page = try pages.next() {
                    refusals += page.notifications.map { $0.notification?.refusal }
                    ids += page.notifications.map { $0.notification?.value?.notificationUUID }
                }
                return Self.words(refusals) + ", \(Set(ids.compactMap(\.self)).count) different"
            case .requestTestNotification:
                return try requestTestNotification().token.isEmpty ? "no token" : "token"
            case .testNotificationStatus:
                return Self.words([try testNotificationStatus(token).notification?.refusal])
            default: return "not asked"
            }
        } catch {
            let wait = error.retryAfter.map { ", asked to wait \($0.components.seconds) s" } ?? ""
            return "\(error.class.rawValue): \(error)\(wait)"
        }
    }

    private static func words(_ refusals: [SignedItemRefusal?]) -> String {
        let refused = refusals.compactMap(\.self)
        let codes = Set(refused.map(\.code)).sorted().joined(separator: ", ")
        return refused.isEmpty
            ? "\(refusals.count) verified" : "\(refused.count) of \(refusals.count) refused (\(codes))"
    }
}
