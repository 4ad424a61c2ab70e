import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import FuzzSupport
import LedgerTestSupport
import StrictText

// Answers of the App Store Server API: the first byte is the inquiry, the second the status, the rest the body of
// every answer, in which a byte below 9 stands for something that was signed. Verified contents are the signed
// contents; pages end; an answer that asks to wait asks for a day at most.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        guard let inquiry = input.first, let status = input.dropFirst().first else { return }
        let body = input.dropFirst(2).flatMap { byte in
            byte < shop.signed.count ? shop.signed[Int(byte)] : [byte]
        }
        var requestCount = 0
        let requests = Guarded(0)
        let client = shop.client { _ in
            requests.withLock { $0 += 1 }
            return HTTPTransport.Answer(
                status: statuses[Int(status) % statuses.count], body: body,
                retryAfter: String(decoding: body.prefix(24), as: UTF8.self))
        }
        ask(client, inquiry % 14, body)
        requestCount = requests.withLock { $0 }
        check(requestCount <= 2, "\(requestCount) requests for pages that repeat")
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput, orMint: shop.seeds) }
}
#endif

private let statuses = [200, 400, 401, 404, 413, 429, 500, 302]
private let shop = FuzzAuthority.made { try Shop() }

private func ask(_ client: AppStoreServerClient, _ inquiry: UInt8, _ body: [UInt8]) {
    do throws(AppStoreServerError) {
        switch inquiry {
        case 0: checkGenuine([try client.transactionInfo(of: shop.id).transaction].compactMap(\.self))
        case 1: checkGenuine(try client.subscriptionStatuses(of: shop.id).subscriptions.compactMap(\.transaction))
        case 2:
            var pages = client.transactionHistoryPages(of: shop.id).makeIterator()
            while let page = try pages.next() { checkGenuine(page.transactions) }
        case 3:
            var pages = client.refundHistoryPages(of: shop.id).makeIterator()
            while let page = try pages.next() { checkGenuine(page.transactions) }
        case 4: checkGenuine(try client.order("MX1").transactions)
        case 5:
            let query = NotificationHistoryQuery(from: Shop.date - .seconds(86_400), to: Shop.date)
            var pages = client.notificationHistoryPages(query).makeIterator()
            while let page = try pages.next() {
                for item in page.notifications { checkGenuine(item.notification?.value) }
            }
        case 6: _ = try client.requestTestNotification()
        case 8: _ = try client.appTransactionInfo(of: shop.id)
        case 9:
            let change = RenewalExtension(days: 1, reason: .other, requestIdentifier: "1")
            _ = try client.extendRenewalDate(ofOriginalTransaction: "1", change)
        case 10: _ = try client.statusOfRenewalDateExtensions(of: "pro", requestIdentifier: "1")
        case 11: _ = try client.images()
        case 12: _ = try client.messages()
        case 13: _ = try client.performanceTestResult("1")
        default: checkGenuine(try client.testNotificationStatus("token").notification?.value)
        }
    } catch {
        _ = error.description
        if case .unreadable(let offset) = error.reason {
            check(0...body.count ~= offset, "\(error) lies outside the answer")
        }
        if let wait = error.retryAfter { check(.seconds(1)...Duration.seconds(86_400) ~= wait, "a wait of \(wait)") }
    }
}

private func checkGenuine(_ items: [SignedItem<Verified<TransactionInfo>>]) {
    for item in items {
        guard let transaction = item.value else { continue }
        check(transaction.transactionID.map(shop.ids.contains) ?? false, "verified, and not signed")
    }
}

private func checkGenuine(_ notification: VerifiedNotification?) {
    check(notification.map { $0.environment == .sandbox } ?? true, "verified, and not signed")
}

/// A fake App Store with a customer, and what it signed.
private struct Shop {
    static let date = Instant(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01

    let id: String
    let ids: Set<String>
    /// Signed texts, by the byte that stands for each.
    let signed: [[UInt8]]
    let seeds: [(name: String, bytes: [UInt8])]
    private let store: FakeAppStore
    private let verifier: AppStoreVerifier

    init() throws {
        var options = FakeAppStore.Options()
        options.environment = .sandbox
        options.date = Self.date
        options.tokenClock = .store
        options.receiver = { _ in .success }
        store = try FakeAppStore(options)
        verifier = try store.verifier()
        id =
            store.change(customer: 1) { history in
                let start = Self.date - .seconds(25 * 86_400)
                let subscription = history.subscribe(to: "weekly", in: "group", for: .week, at: start)
                history.renew(subscription)
                let coins = history.buyConsumable("coins", at: start)
                history.refund(coins, at: start + .seconds(86_400))
                return coins
            }.transactionID
        store.deliverNotifications()
        ids = Set(store.histories.values.flatMap(\.transactions).map(\.transactionID))
        let bodies = Guarded<[[UInt8]]>([])
        let answer = store.inProcess()
        let recording = try Self.client(store, verifier) { (request) throws(TransportFault) in
            let found = try answer(request)
            bodies.withLock { $0.append(found.body) }
            return found
        }
        for inquiry in 0..<8 as Range<UInt8> { Self.record(recording, inquiry, id) }
        let quote = UInt8(ascii: "\"")
        let all = bodies.withLock { $0 }
        var signed: [[UInt8]] = []
        for text in all.flatMap({ $0.split(separator: quote) }) where text.starts(with: "eyJ".utf8) {
            if signed.count < 9, !signed.contains(where: { $0.elementsEqual(text) }) { signed.append(Array(text)) }
        }
        self.signed = signed
        seeds = all.enumerated().map { index, body in
            let parts = body.split(separator: quote, omittingEmptySubsequences: false).map { part in
                signed.firstIndex { $0.elementsEqual(part) }.map { [UInt8($0)] } ?? Array(part)
            }
            return ("answer-\(index)", [UInt8(index), 0] + Array(parts.joined(separator: [quote])))
        }
    }

    private static func record(_ client: AppStoreServerClient, _ inquiry: UInt8, _ id: String) {
        switch inquiry {
        case 0: _ = try? client.transactionInfo(of: id)
        case 1: _ = try? client.subscriptionStatuses(of: id)
        case 2: _ = try? client.transactionHistory(of: id)
        case 3: _ = try? client.refundHistory(of: id)
        case 4: _ = try? client.order(FakeAppStore.orderID(of: id))
        case 5:
            _ = try? client.notificationHistory(NotificationHistoryQuery(from: date - .seconds(86_400 * 25), to: date))
        case 6: _ = try? client.requestTestNotification()
        default: _ = try? client.testNotificationStatus("token")
        }
    }

    func client(
        _ transport: @escaping @Sendable (HTTPTransport.Request) throws(TransportFault) -> HTTPTransport.Answer
    ) -> AppStoreServerClient {
        FuzzAuthority.made { try Self.client(store, verifier, transport) }
    }

    private static func client(
        _ store: FakeAppStore, _ verifier: AppStoreVerifier,
        _ transport: @escaping @Sendable (HTTPTransport.Request) throws(TransportFault) -> HTTPTransport.Answer
    ) throws -> AppStoreServerClient {
        var options = AppStoreServerClient.Options()
        options.clock = { date }
        options.transport = transport
        return try AppStoreServerClient(store.signer, environment: .sandbox, verifier: verifier, options: options)
    }
}
