import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import AppStoreSigning
import Foundation
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

    @Test(arguments: [
        ("GET", "/inApps/v1/groups/1/seats"), ("POST", "/advancedCommerce/v1/subscription/cancel/1"), ("PUT", "/"),
        ("DELETE", "/inApps/v1/transactions/1"), ("GET", "/inApps/v3/history/1"),
    ])
    func `a call that is not imitated is named in JSON`(method: String, path: String) throws {
        let shop = try Shop()
        let answer = shop.store.answer(FakeRequest(method, path))
        #expect(answer.status == 404 && answer.headers.map(\.value) == ["application/json"])
        let json = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: String]
        #expect(json?["error"] == "the fake App Store does not imitate \(method) \(path)")
    }

    /// What was sent to a receiver.
    private final class Received: Sendable {
        private let payloads = Mutex<[String]>([])

        var all: [String] { payloads.withLock(\.self) }
        func add(_ payload: String) { payloads.withLock { $0.append(payload) } }
    }

    private func post(_ path: String, _ body: String, to shop: Shop) throws -> (status: Int, json: [String: Any]) {
        let transport = HTTPTransport(timeLimit: .seconds(20), maximumByteCount: 1 << 20, isLoopback: true)
        let answer = try transport.send(
            .init(url: shop.server.url + "/fake/" + path, headers: ["Connection: close"], body: Array(body.utf8)))
        let json = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return (answer.status, json ?? [:])
    }

    @Test func `seats are bought, added, refunded, assigned, taken back and unclaimed, and each is notified`() throws {
        let received = Received()
        let shop = try Shop(.production) {
            $0.receiver = { payload in
                received.add(payload)
                return .success
            }
        }
        func id(_ path: String, _ body: String) throws -> String {
            let (status, json) = try post(path, body, to: shop)
            #expect(status == 200, "\(path) \(body): \(json)")
            return json["transaction_id"] as? String ?? ""
        }
        func info(_ id: String) throws -> TransactionInfo? {
            try shop.client.transactionInfo(of: id).transaction?.value?.payload
        }
        let team = try id("purchase", #"{"product_id":"team","type":"auto-renewable","seats":8,"price":500}"#)
        #expect(try info(team)?.quantity == 8 && info(team)?.multiSeatInfo?.invitationManagement == .apple)
        let added = try id("seats", #"{"transaction_id":"\#(team)","seats":12}"#)
        #expect(try info(added)?.quantity == 4 && info(added)?.originalTransactionID == team)
        #expect(try [team, added].allSatisfy { try info($0)?.additionalTransactionReason == .seatAddition })
        _ = try id("seats", #"{"transaction_id":"\#(team)","refund":3}"#)
        #expect(try info(team)?.multiSeatInfo?.revokedSeatQuantity == 3 && info(team)?.revocationDate == nil)
        // What is signed of the refund is what holds at its date.
        shop.store.setClock(shop.store.now + .seconds(1))
        _ = try id("seats", #"{"transaction_id":"\#(team)","seats":6}"#)
        let member = try id("assign", #"{"transaction_id":"\#(team)","customer":2}"#)
        #expect(try info(member)?.ownershipType == .assigned && info(member)?.quantity == 9)
        _ = try id("assign", #"{"transaction_id":"\#(member)","revoke":true}"#)
        #expect(try info(member)?.revocationType == .assignmentRevoke)
        #expect(try shop.client.refundHistory(of: member).transactions.isEmpty)
        let own = try id(
            "purchase",
            #"{"product_id":"own","type":"auto-renewable","seats":3,"invitation_management":"DEVELOPER","customer":3}"#)
        let claim = "11111111-2222-4333-8444-555555555555"
        _ = try id("seats", #"{"transaction_id":"\#(own)","unclaim":["\#(claim)"]}"#)
        let renewed = try id("renew", #"{"transaction_id":"\#(team)"}"#)
        #expect(try info(renewed)?.quantity == 6)

        shop.store.deliverNotifications()
        let verifier = try shop.store.verifier()
        let notifications = try received.all.map { try verifier.verifyNotification($0) }
        // The clock has moved to the end of the first period.
        let kinds = notifications.filter { $0.notification.type != .expired }.map { sent in
            [sent.notification.type?.rawValue, sent.notification.subtype?.rawValue].compactMap(\.self)
                .joined(separator: " ") + " " + (sent.transactionInfo?.transactionID ?? "-")
        }
        #expect(
            kinds.sorted()
                == [
                    "SUBSCRIBED INITIAL_BUY \(team)", "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY \(added)",
                    "REFUND SEATS \(team)", "DID_CHANGE_RENEWAL_PREF DECREASE_QUANTITY \(team)",
                    "SUBSCRIBED INITIAL_BUY \(member)", "REVOKE \(member)", "SUBSCRIBED INITIAL_BUY \(own)",
                    "UNCLAIM_SEATS -", "DID_RENEW \(renewed)",
                ].sorted())
        let unclaimed = try #require(notifications.first { $0.notification.type == .unclaimSeats }).notification
        #expect(unclaimed.unclaimInfo?.unclaimSeatIDs == [claim] && unclaimed.data == nil)
        let refund = notifications.first { $0.notification.subtype == .seats }
        #expect(refund?.transactionInfo?.multiSeatInfo?.revokedSeatQuantity == 3)
        #expect(refund?.renewalInfo?.renewalQuantity == 9)
        let revoke = notifications.first { $0.notification.type == .revoke }
        #expect(revoke?.transactionInfo?.revocationType == .assignmentRevoke)

        let coins = try id("purchase", #"{"product_id":"coins"}"#)
        let wrong = [
            ("purchase", #"{"product_id":"a","seats":2}"#),
            ("purchase", #"{"product_id":"a","type":"auto-renewable","seats":0}"#),
            ("purchase", #"{"product_id":"a","type":"auto-renewable","invitation_management":"apple"}"#),
            ("seats", #"{"transaction_id":"\#(coins)","seats":2}"#), ("seats", #"{"transaction_id":"\#(team)"}"#),
            ("seats", #"{"transaction_id":"\#(team)","seats":2,"refund":1}"#),
            ("seats", #"{"transaction_id":"\#(team)","refund":6}"#),
            ("seats", #"{"transaction_id":"\#(team)","unclaim":["\#(claim)"]}"#),
            ("seats", #"{"transaction_id":"\#(own)","unclaim":["a"]}"#),
            ("seats", #"{"transaction_id":"\#(own)","unclaim":[]}"#),
            ("seats", #"{"transaction_id":"\#(member)","seats":2}"#),
            ("assign", #"{"transaction_id":"\#(renewed)","customer":1}"#),
            ("assign", #"{"transaction_id":"\#(renewed)"}"#),
            ("assign", #"{"transaction_id":"\#(own)","customer":2}"#),
            ("assign", #"{"transaction_id":"\#(team)","revoke":true}"#),
        ]
        for (path, body) in wrong {
            let (status, json) = try post(path, body, to: shop)
            #expect(status == 400 && json["error"] is String, "\(path) \(body): \(json)")
        }
    }

    @Test func `a token that was set is in the notifications that follow, and not in those before`() throws {
        let received = Received()
        let shop = try Shop {
            $0.receiver = { payload in
                received.add(payload)
                return .success
            }
        }
        let (app, server) = ("00000000-0000-4000-8000-00000000000a", "7e3fb204-2a0b-4b1c-8d5e-5f1f2a3b4c5d")
        let bought = try post(
            "purchase", #"{"product_id":"weekly","type":"auto-renewable","app_account_token":"\#(app)"}"#, to: shop)
        let id = bought.json["transaction_id"] as? String ?? ""
        shop.store.deliverNotifications()
        shop.store.setClock(Shop.date + .seconds(1))
        try shop.client.setAppAccountToken(server, ofOriginalTransaction: id)
        #expect(try post("renew", #"{"transaction_id":"\#(id)"}"#, to: shop).status == 200)
        #expect(try post("consumption-request", #"{"transaction_id":"\#(id)"}"#, to: shop).status == 200)
        shop.store.deliverNotifications()
        let verifier = try shop.store.verifier()
        let tokens = try received.all.map { payload in
            let sent = try verifier.verifyNotification(payload)
            return [sent.transactionInfo?.appAccountToken?.description, sent.renewalInfo?.appAccountToken?.description]
        }
        #expect(tokens == [[app, app], [server, server], [server, server]])
    }
}
