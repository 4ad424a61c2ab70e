import AppStoreReceipt
import AppStoreReceiptTesting
@testable import AppStoreServerAPI
import AppStoreServerTesting
import Testing

@Suite struct KeyTests {
    @Test("No text has the key or a token")
    func secrets() throws {
        let shop = try Shop()
        let pem = String(decoding: try shop.store.clientKey.pem(), as: UTF8.self)
        let secret = pem.split(separator: "\n")[1]
        shop.server.stop()
        var texts = ["\(shop.store.signer)", String(reflecting: shop.store.signer)]
        var dumped = ""
        dump(shop.client, to: &dumped)
        texts.append(dumped)
        do { _ = try shop.client.transactionInfo(of: "1") } catch { texts += ["\(error)", String(reflecting: error)] }
        for text in texts {
            #expect(!text.contains(secret) && !text.contains("Bearer"))
        }
    }
}

@Suite struct RetryAfterTests {
    @Test(
        "Retry-After is milliseconds beyond 10^12, seconds since 1970 beyond 10^9, else seconds from now; between 1 s and a day",
        arguments: [
            ("1767225660000", 60), ("1767225660", 60), ("60", 60), ("0", 1), ("1767225590000", 1), ("1767225590", 1),
            ("999999999", 86_400), ("1767999999999", 86_400), ("99999999999999999999999", 86_400), ("", nil),
            ("-5", nil), ("soon", nil), ("+60", nil), ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
        ] as [(String, Int64?)])
    func waits(header: String, seconds: Int64?) {
        #expect(RetryAfter.wait(header, at: Shop.date) == seconds.map { .seconds($0) })
    }
}

@Suite struct ErrorTests {
    @Test(
        "Every code has the class of the table; unknown codes go by the status",
        arguments: [
            (429, 4_290_000, .retry), (500, 5_000_000, .retry), (500, 5_000_001, .retry), (404, 4_040_002, .retry),
            (404, 4_040_004, .retry), (404, 4_040_006, .retry), (400, 4_000_017, .restartPaging),
            (400, 4_000_014, .restartPaging), (400, 4_000_005, .restartPaging), (400, 4_000_012, .shortenWindow),
            (404, 4_040_010, .final), (404, 4_040_008, .final), (400, 4_000_048, .final), (401, nil, .configuration),
            (400, 4_000_002, .configuration), (404, 4_040_003, .configuration), (404, 4_040_007, .configuration),
            (400, 4_000_000, .fault), (400, 4_000_033, .fault), (403, 4_030_004, .fault), (404, 4_049_999, .final),
            (404, nil, .fault), (429, nil, .retry), (408, nil, .retry), (503, nil, .retry), (302, nil, .retry),
            (500, 5_009_999, .retry), (418, nil, .fault),
        ] as [(Int, Int64?, AppStoreServerError.Class)])
    func classes(status: Int, code: Int64?, expected: AppStoreServerError.Class) {
        let body = code.map { Array("{\"errorCode\":\($0),\"errorMessage\":\"x\"}".utf8) } ?? Array("<html>".utf8)
        let error = AppStoreServerClient.error(.init(status: status, body: body), at: Shop.date)
        #expect(error.class == expected)
        #expect(error.code?.rawValue == code && error.status == status)
    }

    @Test("The table has the 87 codes of Apple's libraries") func count() {
        #expect(AppStoreServerErrorCode.known.count == 94)
    }
}

@Suite struct ClientTests {
    @Test("A client asks about an app and an environment that its verifier accepts, at Apple or on this machine")
    func configuration() throws {
        let shop = try Shop()
        func check(_ argument: AppStoreServerError.Argument, _ environment: AppStoreEnvironment, _ url: String?) throws
        {
            var options = AppStoreServerClient.Options()
            options.loopbackURL = url
            #expect(throws: AppStoreServerError(.invalidArgument(argument))) {
                try AppStoreServerClient(
                    shop.store.signer, environment: environment, verifier: shop.store.verifier(), options: options)
            }
        }
        try check(.environment, .xcode, nil)
        try check(.verifier, .production, nil)
        let other = try AppStoreVerifier(
            bundleID: "com.example.other", environments: [.sandbox], trust: .roots([shop.store.trustAnchor]))
        #expect(throws: AppStoreServerError(.invalidArgument(.verifier))) {
            try AppStoreServerClient(shop.store.signer, environment: .sandbox, verifier: other)
        }
        for url in [
            "http://example.com:80", "http://127.0.0.1.example.com:80", "http://127.0.0.1:80@example.com",
            "http://127.0.0.1:80/", "ftp://127.0.0.1:80", "http://127.0.0.1:", "http://127.0.0.1",
        ] { try check(.baseURL, .sandbox, url) }
    }

    @Test(
        "An id that is no segment of a path makes no request",
        arguments: ["", "..", "1/2", "1?x", "é", " ", "%2F", String(repeating: "1", count: 129)])
    func ids(id: String) throws {
        let shop = try Shop()
        let refusal = AppStoreServerError(.invalidArgument(.id))
        #expect(throws: refusal) { try shop.client.transactionInfo(of: id) }
        #expect(throws: refusal) { try shop.client.order(id) }
        #expect(throws: refusal) { try shop.client.testNotificationStatus(id) }
        #expect(shop.store.requestCounts.isEmpty)
    }

    @Test("Every endpoint answers from one history, and what is signed is verified")
    func endpoints() throws {
        let shop = try Shop { $0.receiver = { _ in .success } }
        let coins = shop.fill()
        shop.store.deliverNotifications()
        let info = try shop.client.transactionInfo(of: coins.transactionID)
        #expect(info.transaction?.value?.productID == "coins" && info.isOfAskedID)
        let statuses = try shop.client.subscriptionStatuses(of: coins.transactionID)
        #expect(statuses.subscriptions.count == 1 && statuses.unsigned.bundleID == "com.example.app")
        #expect(statuses.subscriptions[0].unsigned.status == .active)
        #expect(statuses.subscriptions[0].renewalInfo?.value?.productID == "weekly")
        #expect(try shop.client.subscriptionStatuses(of: coins.transactionID, statuses: [.expired]).subscriptions == [])
        var pages = 0
        var ids: [String?] = []
        var iterator = shop.client.transactionHistoryPages(of: coins.transactionID).makeIterator()
        while let page = try iterator.next() {
            pages += 1
            ids += page.transactions.map { $0.value?.transactionID }
        }
        #expect(pages == 3 && ids.count == 50 && Set(ids.compactMap(\.self)).count == 50)
        let refunds = try shop.client.refundHistory(of: coins.transactionID)
        #expect(refunds.transactions.compactMap(\.value?.revocationDate).count == 1 && !refunds.unsigned.hasMore)
        let order = try shop.client.order(FakeAppStore.orderID(of: coins.transactionID))
        #expect(order.unsigned.isValid && order.transactions.first?.value?.transactionID == coins.transactionID)
        #expect(try !shop.client.order("MX0").unsigned.isValid)
        let token = try shop.client.requestTestNotification().token
        #expect(throws: Never.self) { shop.store.deliverNotifications() }
        let test = try shop.client.testNotificationStatus(token)
        #expect(test.notification?.value?.type == .test && test.sendAttempts.map(\.isSuccess) == [true])
        let query = NotificationHistoryQuery(from: Shop.date - .seconds(29 * 86_400), to: Shop.date)
        let page = try shop.client.notificationHistory(query)
        #expect(page.notifications.allSatisfy { $0.notification?.value != nil } && !page.notifications.isEmpty)
    }

    @Test("An answer about a subscription is one of its transactions, if its first one was asked about")
    func renewals() throws {
        let shop = try Shop()
        _ = shop.fill()
        let history = try #require(shop.store.histories[1])
        let subscription = try #require(history.subscriptions.first)
        let renewal = history.latestPeriod(of: subscription)
        let jws = try #require(history.transaction(renewal, signedAt: Shop.date)).signed(by: shop.store.authority)
        let body = Array(#"{"signedTransactionInfo":"\#(jws)"}"#.utf8)
        for (id, isAsked) in [
            (subscription.originalTransactionID, true), (renewal.transactionID, true), ("1", false),
        ] {
            var options = AppStoreServerClient.Options()
            options.transport = { (_) throws(TransportFault) in HTTPTransport.Answer(status: 200, body: body) }
            let client = try AppStoreServerClient(
                shop.store.signer, environment: .sandbox, verifier: shop.store.verifier(), options: options)
            #expect(try client.transactionInfo(of: id).isOfAskedID == isAsked)
        }
    }

    @Test("All pages of a customer's refunds are read, each once")
    func refundPages() throws {
        let shop = try Shop()
        let coins = shop.fill(consumables: 25, refunds: 25)
        var ids: [String?] = []
        var pages = shop.client.refundHistoryPages(of: coins.transactionID).makeIterator()
        while let page = try pages.next() { ids += page.transactions.map { $0.value?.transactionID } }
        // With the first period of the subscription.
        #expect(ids.count == 26 && Set(ids.compactMap(\.self)).count == 26)
    }

    @Test("The last revision of a history finds later what is new, also a refund of an old transaction")
    func revisions() throws {
        let shop = try Shop()
        let coins = shop.fill()
        var revision: String?
        var pages = shop.client.transactionHistoryPages(of: coins.transactionID).makeIterator()
        while let page = try pages.next() { revision = page.unsigned.revision }
        #expect(try shop.client.transactionHistory(of: coins.transactionID, revision: revision).transactions.isEmpty)
        shop.store.change(customer: 1) { $0.refund(coins, at: Shop.date) }
        let page = try shop.client.transactionHistory(of: coins.transactionID, revision: revision)
        #expect(page.transactions.map { $0.value?.transactionID } == [coins.transactionID])
    }

    @Test("The filters of the transaction history select as Apple documents")
    func filters() throws {
        let shop = try Shop()
        let coins = shop.fill()
        func count(_ change: (inout TransactionHistoryQuery) -> Void) throws -> Int {
            var query = TransactionHistoryQuery()
            change(&query)
            var count = 0
            var pages = shop.client.transactionHistoryPages(of: coins.transactionID, query).makeIterator()
            while let page = try pages.next() { count += page.transactions.count }
            return count
        }
        #expect(try count { $0.productIDs = ["pro", "weekly"] } == 5)
        #expect(try count { $0.productTypes = [.nonConsumable, .autoRenewable] } == 5)
        #expect(try count { $0.subscriptionGroupIDs = ["group"] } == 4)
        #expect(try count { $0.isRevoked = true } == 1)
        #expect(try count { $0.isRevoked = false } == 49)
        #expect(try count { $0.ownershipType = .familyShared } == 0)
        #expect(
            try count { ($0.startDate, $0.endDate) = (coins.purchaseDate, coins.purchaseDate + .seconds(3600)) } == 3)
        #expect(try count { $0.sort = .descending } == 50)
    }

    @Test("An item of another app or environment is refused, also by a verifier that accepts all")
    func otherSubjects() throws {
        let shop = try Shop()
        let coins = shop.fill()
        let policy = VerificationPolicy(bundleIDs: nil, environments: [.sandbox, .production])
        let verifier = try AppStoreVerifier(policy: policy, trust: .roots([shop.store.trustAnchor]))
        var options = shop.server.clientOptions
        options.clock = { Shop.date }
        let client = try AppStoreServerClient(
            shop.store.signer, environment: .sandbox, verifier: verifier, options: options)
        for (fault, code) in [(FakeFault.otherApp, "other-app"), (.otherEnvironment, "other-environment")] {
            shop.store.inject(fault)
            #expect(try client.transactionInfo(of: coins.transactionID).transaction?.refusal?.code == code)
        }
        shop.store.inject(.otherTransaction)
        #expect(try !client.transactionInfo(of: coins.transactionID).isOfAskedID)
    }

    @Test("A server that sends more than the limit, or too slowly, is left in time")
    func bounds() throws {
        let shop = try Shop(timeLimit: .milliseconds(400))
        let coins = shop.fill()
        shop.store.inject(.slow)
        #expect(throws: AppStoreServerError(.transport(.timeout))) {
            try shop.client.transactionInfo(of: coins.transactionID)
        }
        let patient = try Shop()
        let id = patient.fill().transactionID
        patient.store.inject(.huge)
        #expect(throws: AppStoreServerError(.transport(.tooLarge))) { try patient.client.transactionInfo(of: id) }
    }
}
