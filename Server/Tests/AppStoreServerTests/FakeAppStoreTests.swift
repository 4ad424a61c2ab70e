import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import AppStoreSigning
import Synchronization
import Testing

@Suite struct FakeAppStoreTests {
    @Test("A token is refused with 401 and no body if anything of it is wrong")
    func tokens() throws {
        let shop = try Shop()
        let coins = shop.fill()
        func status(_ signer: AppStoreSigner, late: Duration = .zero) throws -> Int? {
            var options = shop.server.clientOptions
            options.clock = { Shop.date + late }
            let policy = VerificationPolicy(bundleIDs: nil, environments: [.sandbox])
            let client = try AppStoreServerClient(
                signer, environment: .sandbox,
                verifier: AppStoreVerifier(policy: policy, trust: .roots([shop.store.trustAnchor])), options: options)
            do throws(AppStoreServerError) {
                _ = try client.transactionInfo(of: coins.transactionID)
                return nil
            } catch {
                #expect(error.class == .configuration && error.code == nil && error.serverDate == Shop.date)
                return error.status
            }
        }
        let own = try InAppPurchaseKey(p8: shop.store.clientKey.pem())
        let other = try InAppPurchaseKey(p8: SigningKey(generating: .p256).pem())
        func signer(
            _ key: InAppPurchaseKey, kid: String = "FAKEKEY123",
            issuer: String = "57246542-96fe-1a63-e053-0824d011072a", app: String = "com.example.app"
        ) throws -> AppStoreSigner {
            try AppStoreSigner(keyID: kid, issuerID: issuer, bundleID: app, key: key)
        }
        #expect(try status(signer(own)) == nil)
        #expect(try status(signer(other)) == 401)
        #expect(try status(signer(own, kid: "OTHER")) == 401)
        #expect(try status(signer(own, issuer: "other")) == 401)
        #expect(try status(signer(own, app: "com.example.other")) == 401)
        // Up to 30 seconds fast, and valid for 570.
        #expect(try status(signer(own), late: .seconds(30)) == nil)
        #expect(try status(signer(own), late: .seconds(31)) == 401)
        #expect(try status(signer(own), late: .seconds(-569)) == nil)
        #expect(try status(signer(own), late: .seconds(-571)) == 401)
    }

    @Test(
        "In production, a notification that nobody takes is sent again after 1, 12, 24, 48 and 72 hours; in the sandbox never"
    )
    func retries() throws {
        for (environment, count) in [(AppStoreEnvironment.production, 6), (.sandbox, 1)] {
            let shop = try Shop(environment) { $0.receiver = { _ in .unsuccessfulStatus } }
            _ = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.date) }
            shop.store.setClock(Shop.date + .seconds(10 * 86_400))
            shop.store.deliverNotifications()
            var query = NotificationHistoryQuery(from: Shop.date - .seconds(1), to: .distantFuture)
            query.onlyFailures = true
            let page = try shop.client.notificationHistory(query)
            let hours = page.notifications.first?.sendAttempts.compactMap {
                $0.date.map { ($0 - Shop.date).components.seconds }
            }
            #expect(hours == Array([0, 1, 13, 37, 85, 157].map { $0 * 3600 }.prefix(count)))
        }
    }

    @Test("A notification that was taken late is no failure, and is not sent again")
    func recovery() throws {
        let isUp = Mutex(false)
        let shop = try Shop(.production) { $0.receiver = { _ in isUp.withLock { $0 } ? .success : .noResponse } }
        _ = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.date) }
        shop.store.deliverNotifications()
        #expect(shop.store.notificationCounts == (0, 1))
        isUp.withLock { $0 = true }
        shop.store.setClock(Shop.date + .seconds(3600))
        shop.store.deliverNotifications()
        #expect(shop.store.notificationCounts == (1, 0))
        var query = NotificationHistoryQuery(from: Shop.date - .seconds(1), to: .distantFuture)
        query.onlyFailures = true
        #expect(try shop.client.notificationHistory(query).notifications.isEmpty)
    }

    @Test("Beyond the limit of an hour the answer is 429 until the hour is over")
    func limits() throws {
        let shop = try Shop { $0.requestsPerHour = [.transactionInfo: 2] }
        let id = shop.fill().transactionID
        shop.store.setClock(Shop.date + .seconds(600))
        for _ in 0..<2 { _ = try shop.client.transactionInfo(of: id) }
        let error = #expect(throws: AppStoreServerError.self) { try shop.client.transactionInfo(of: id) }
        #expect(error?.code == .rateLimitExceeded && error?.retryAfter == .seconds(3000))
        _ = try shop.client.order("MX0")
        shop.store.setClock(Shop.date + .seconds(3600))
        _ = try shop.client.transactionInfo(of: id)
    }

    @Test("The windows, filters and tokens of the notification history are checked")
    func notificationErrors() throws {
        let shop = try Shop { $0.receiver = { _ in .success } }
        _ = shop.fill()
        shop.store.deliverNotifications()
        func code(_ query: NotificationHistoryQuery, _ token: String? = nil) -> Int64? {
            do throws(AppStoreServerError) {
                _ = try shop.client.notificationHistory(query, paginationToken: token)
                return nil
            } catch {
                return error.code?.rawValue
            }
        }

        let good = NotificationHistoryQuery(from: Shop.date - .seconds(29 * 86_400), to: Shop.date)
        #expect(code(good) == nil)
        #expect(code(NotificationHistoryQuery(from: Shop.date - .seconds(31 * 86_400), to: Shop.date)) == 4_000_012)
        #expect(code(NotificationHistoryQuery(from: Shop.date, to: Shop.date)) == 4_000_013)
        #expect(code(NotificationHistoryQuery(from: .distantPast, to: Shop.date)) == 4_000_015)
        #expect(code(NotificationHistoryQuery(from: Shop.date - .seconds(86_400), to: .distantPast)) == 4_000_016)
        #expect(code(good, "x") == 4_000_014)
        var filtered = good
        filtered.filter = .type(.init(rawValue: "no type"))
        #expect(code(filtered) == 4_000_018)
        filtered.filter = .transaction("5")
        #expect(code(filtered) == 4_040_010)
        filtered.filter = .type(.didRenew)
        let page = try shop.client.notificationHistory(filtered)
        #expect(page.notifications.compactMap { $0.notification?.value?.type } == [.didRenew, .didRenew, .didRenew])
        let first = try shop.client.notificationHistory(good)
        #expect(first.unsigned.hasMore)
        shop.store.setClock(Shop.date + .seconds(3601))
        let late = NotificationHistoryQuery(from: Shop.date - .seconds(28 * 86_400), to: Shop.date)
        #expect(code(late, first.unsigned.paginationToken) == 4_000_017)
    }

    @Test("Without a URL there is neither a test notification nor a history")
    func noURL() throws {
        let shop = try Shop()
        _ = shop.fill()
        shop.store.deliverNotifications()
        let error = #expect(throws: AppStoreServerError.self) { try shop.client.requestTestNotification() }
        #expect(error?.code == .notificationURLNotFound)
        let query = NotificationHistoryQuery(from: Shop.date - .seconds(86_400), to: Shop.date)
        #expect(try shop.client.notificationHistory(query).notifications.isEmpty)
    }

    @Test("The paths under /fake/ make purchases, move the clock and say what is wrong with a request")
    func control() throws {
        let shop = try Shop()
        func post(_ path: String, _ body: String) throws -> (status: Int, text: String) {
            let transport = HTTPTransport(timeLimit: .seconds(20), maximumByteCount: 1 << 20, isLoopback: true)
            // A client that expects the end of the connection has it at once.
            let answer = try transport.send(
                .init(url: shop.server.url + "/fake/" + path, headers: ["Connection: close"], body: Array(body.utf8)))
            return (answer.status, String(decoding: answer.body, as: UTF8.self))
        }
        let bought = try post("purchase", #"{"product_id":"monthly","type":"auto-renewable","period":"PT5M"}"#)
        #expect(bought.status == 200 && bought.text.contains(#""transaction_id":"2000000001000001""#))
        #expect(try post("renew", #"{"transaction_id":"2000000001000001"}"#).text.contains("2000000001000002"))
        #expect(shop.store.now == Shop.date + .seconds(300))
        #expect(try post("refund", #"{"transaction_id":"2000000001000001","percentage":50}"#).status == 200)
        #expect(try shop.client.transactionInfo(of: "2000000001000001").transaction?.value?.isRevoked == true)
        #expect(try post("clock", #"{"advance_seconds":60}"#).text == #"{"clock":"2026-01-01T00:06:00Z"}"#)
        #expect(try post("fault", #"{"fault":"not-found","endpoint":"transaction-info","count":2}"#).status == 200)
        #expect(throws: AppStoreServerError.self) { try shop.client.transactionInfo(of: "2000000001000001") }
        #expect(try post("fault", #"{"clear":true}"#).status == 200)
        #expect(try shop.client.transactionInfo(of: "2000000001000001").isOfAskedID)
        let wrong = [
            ("purchase", "{}"), ("purchase", "["), ("purchase", #"{"product_id":"a","kind":"b"}"#),
            ("purchase", #"{"product_id":"a","type":"other"}"#), ("purchase", #"{"product_id":"a","customer":500}"#),
            ("purchase", #"{"product_id":"a","date":"yesterday"}"#), ("refund", #"{"transaction_id":"1"}"#),
            ("renew", "{}"), ("clock", #"{"advance_seconds":-1}"#), ("fault", #"{"fault":"all"}"#),
            ("fault", #"{"percent":5}"#), ("fault", #"{"fault":"slow","endpoint":"x"}"#),
        ]
        for (path, body) in wrong {
            let answer = try post(path, body)
            #expect(answer.status == 400 && answer.text.hasPrefix(#"{"error":""#), "\(path) \(body): \(answer.text)")
        }
        #expect(try post("nothing", "{}").status == 404)
    }
}
