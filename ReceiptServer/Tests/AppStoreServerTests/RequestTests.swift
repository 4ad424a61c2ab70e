import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import Synchronization
import Testing

/// What the client sends beside inquiries.
@Suite struct RequestTests {
    private static let uuid = "7e3fb204-2a0b-4b1c-8d5e-5f1f2a3b4c5d"
    private static let other = "7e3fb204-2a0b-4b1c-8d5e-5f1f2a3b4c5e"

    private func refusal(_ body: () throws -> Void) -> AppStoreServerError? {
        do {
            try body()
            return nil
        } catch {
            return error as? AppStoreServerError
        }
    }

    @Test func `a token is that of later signatures, and for a subscription of its later periods`() throws {
        let shop = try Shop()
        let coins = shop.fill()
        try shop.client.setAppAccountToken(Self.uuid, ofOriginalTransaction: coins.transactionID)
        #expect(
            try shop.client.transactionInfo(of: coins.transactionID).transaction?.value?.appAccountToken?.description
                == Self.uuid)
        let subscription = try #require(shop.store.histories[1]?.subscriptions.first)
        try shop.client.setAppAccountToken(Self.uuid, ofOriginalTransaction: subscription.originalTransactionID)
        let history = try #require(shop.store.histories[1])
        let first = try shop.client.transactionInfo(of: subscription.originalTransactionID).transaction?.value
        #expect(first?.appAccountToken == nil)
        let latest = history.latestPeriod(of: subscription).transactionID
        #expect(
            try shop.client.transactionInfo(of: latest).transaction?.value?.appAccountToken?.description == Self.uuid)
        for (id, code) in [(latest, 4_000_187), ("1", 4_040_005), ("x", 4_000_006)] as [(String, Int64)] {
            let error = refusal { try shop.client.setAppAccountToken(Self.uuid, ofOriginalTransaction: id) }
            #expect(error?.code?.rawValue == code, "\(id)")
        }
        let error = refusal { try shop.client.setAppAccountToken("1", ofOriginalTransaction: coins.transactionID) }
        #expect(error?.reason == .brokenRule(.uuid))
    }

    @Test func `an app transaction is verified, and a finished consumable is in no history of version 1`() throws {
        let shop = try Shop()
        let coins = shop.fill(consumables: 1)
        let answer = try shop.client.appTransactionInfo(of: coins.transactionID)
        #expect(answer.appTransaction?.value?.bundleID == "com.example.app")
        func ids() throws -> [String?] {
            try shop.client.transactionHistoryV1(of: coins.transactionID).transactions.map { $0.value?.transactionID }
        }
        #expect(try ids().contains(coins.transactionID))
        try shop.client.finishTransaction(coins.transactionID)
        #expect(try !ids().contains(coins.transactionID))
        let all = try shop.client.transactionHistory(of: coins.transactionID).transactions
        #expect(all.contains { $0.value?.transactionID == coins.transactionID })
    }

    /// A change of a request that is right, the type of the product, and the rule that it breaks.
    private static let consumption: [(ProductType?, RequestRule?, @Sendable (inout ConsumptionRequest) -> Void)] = [
        (.consumable, nil, { _ in }), (.consumable, .customerConsented, { $0.customerConsented = false }),
        (.consumable, nil, { $0.consumptionPercentage = 50_000 }),
        (.consumable, .consumptionPercentage, { $0.consumptionPercentage = 100_001 }),
        (.consumable, .consumptionPercentage, { $0.consumptionPercentage = -1 }),
        (
            .consumable, .undeliveredPercentage,
            { ($0.deliveryStatus, $0.consumptionPercentage) = (.undeliveredOther, 1) }
        ),
        (.consumable, nil, { ($0.deliveryStatus, $0.consumptionPercentage) = (.undeliveredOther, 0) }),
        (.consumable, .proratedPercentage, { $0.refundPreference = .grantProrated }),
        (
            .nonConsumable, .proratedPercentage,
            { ($0.refundPreference, $0.consumptionPercentage) = (.grantProrated, 100_000) }
        ),
        (.nonRenewingSubscription, .proratedPercentage, { $0.refundPreference = .grantProrated }),
        (.consumable, nil, { ($0.refundPreference, $0.consumptionPercentage) = (.grantProrated, 1) }),
        (.autoRenewableSubscription, nil, { $0.refundPreference = .grantProrated }),
        (.autoRenewableSubscription, .subscriptionPercentage, { $0.consumptionPercentage = 0 }),
        (.autoRenewableSubscription, nil, { $0.refundPreference = .grantFull }),
    ]

    @Test(arguments: consumption.indices)
    func `a consumption request that Apple documents to refuse is not sent`(index: Int) throws {
        let (type, rule, change) = Self.consumption[index]
        let shop = try Shop()
        let coins = shop.fill()
        let history = try #require(shop.store.histories[1])
        let id = history.transactions.first { $0.productType == type }?.transactionID ?? coins.transactionID
        var request = ConsumptionRequest(
            customerConsented: true, sampleContentProvided: false, deliveryStatus: .delivered)
        change(&request)
        let error = refusal { try shop.client.sendConsumptionInformation(request, of: id, productType: type) }
        let sent = shop.store.requestCounts[.sendConsumptionInformation] ?? 0
        #expect(error?.reason == rule.map { .brokenRule($0) } && sent == (rule == nil ? 1 : 0))
        // Without a type, Apple decides, and refuses the same.
        let refused = refusal { try shop.client.sendConsumptionInformation(request, of: id, productType: nil) }
        let needsType = [RequestRule.subscriptionPercentage, .proratedPercentage].contains { $0 == rule }
        if needsType, type != .nonRenewingSubscription { #expect(refused?.status == 400) }
    }

    @Test func `a consumption request of version 1 has all members, and an empty token without one`() throws {
        let shop = try Shop()
        let coins = shop.fill()
        var request = ConsumptionRequestV1(customerConsented: true, sampleContentProvided: false, deliveryStatus: 0)
        try shop.client.sendConsumptionInformationV1(request, of: coins.transactionID)
        request.accountTenure = 8
        let error = refusal { try shop.client.sendConsumptionInformationV1(request, of: coins.transactionID) }
        #expect(error?.code?.rawValue == 4_000_032)
        request.customerConsented = false
        let refused = refusal { try shop.client.sendConsumptionInformationV1(request, of: coins.transactionID) }
        #expect(refused?.reason == .brokenRule(.customerConsented))
    }

    @Test func `a renewal date is extended twice in a year, and a mass extension counts`() throws {
        let shop = try Shop()
        _ = shop.fill()
        let subscription = try #require(shop.store.histories[1]?.subscriptions.first)
        let change = RenewalExtension(days: 10, reason: .serviceIssue, requestIdentifier: Self.uuid)
        let id = subscription.originalTransactionID
        let before = try #require(try shop.client.subscriptionStatuses(of: id).subscriptions[0].transaction?.value)
        let answer = try shop.client.extendRenewalDate(ofOriginalTransaction: id, change)
        #expect(answer.isSuccessful == true && answer.originalTransactionID == id)
        #expect(answer.effectiveDate == before.expiresDate.map { $0 + .seconds(10 * 86_400) })
        let mass = try shop.client.extendRenewalDates(ofAllSubscribersOf: before.productID ?? "", change)
        #expect(mass.requestIdentifier == Self.uuid)
        let status = try shop.client.statusOfRenewalDateExtensions(
            of: before.productID ?? "", requestIdentifier: Self.uuid)
        #expect(status.isComplete == true && status.succeededCount == 1 && status.failedCount == 0)
        let error = refusal { _ = try shop.client.extendRenewalDate(ofOriginalTransaction: id, change) }
        #expect(error?.code?.rawValue == 4_030_005)
        for (days, identifier, storefronts, rule) in [
            (0, Self.uuid, nil, .extendByDays), (91, Self.uuid, nil, .extendByDays), (1, "", nil, .requestIdentifier),
            (1, "not-a-uuid", nil, .requestIdentifier), (1, Self.uuid, [], .storefrontCountryCodes),
            (1, Self.uuid, ["US"], .storefrontCountryCodes),
        ] as [(Int, String, [String]?, RequestRule)] {
            let change = RenewalExtension(days: days, reason: .other, requestIdentifier: identifier)
            let error = refusal {
                _ = try shop.client.extendRenewalDates(ofAllSubscribersOf: "pro", change, storefronts: storefronts)
            }
            #expect(error?.reason == .brokenRule(rule))
        }
    }

    @Test func `a mass extension counts the active subscribers that are extended, and those that cannot be`() throws {
        let shop = try Shop()
        func subscribe(_ customer: Int, days: Int64 = 1, price: Int64 = PurchaseHistory.defaultPrice) -> String {
            shop.store.change(customer: customer) {
                $0.subscribe(
                    to: "weekly", in: "group", for: .week, at: Shop.date - .seconds(days * 86_400), price: price
                ).originalTransactionID
            }
        }
        let (first, twice) = (subscribe(1), subscribe(2))
        // Ended, in a free period, and members of somebody else's: no active subscriber of their own, or not eligible.
        _ = (subscribe(3, days: 20), subscribe(4, price: 0))
        shop.store.change(customer: 5) { [history = shop.store.histories[1]] in
            $0 = history?.sharedWithFamilyMember(customer: 5, from: Shop.date) ?? $0
        }
        let once = RenewalExtension(days: 1, reason: .other, requestIdentifier: "1")
        for _ in 0..<2 { _ = try shop.client.extendRenewalDate(ofOriginalTransaction: twice, once) }
        let change = RenewalExtension(days: 10, reason: .serviceIssue, requestIdentifier: Self.uuid)
        _ = try shop.client.extendRenewalDates(ofAllSubscribersOf: "weekly", change)
        let status = try shop.client.statusOfRenewalDateExtensions(of: "weekly", requestIdentifier: Self.uuid)
        #expect(status.succeededCount == 1 && status.failedCount == 2)
        let end = try shop.client.transactionInfo(of: first).transaction?.value?.expiresDate
        #expect(end == Shop.date + .seconds(16 * 86_400))
    }

    /// The header of a PNG.
    private static func png(_ width: UInt32, _ height: UInt32, colorType: UInt8 = 2) -> [UInt8] {
        let sizes = [width, height].flatMap { number in
            (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52] + sizes
            + [8, colorType, 0, 0, 0, 0, 0, 0, 0]
    }

    @Test func `messages, images, defaults, the URL and its test are kept`() throws {
        let shop = try Shop()
        _ = shop.fill()
        let client = shop.client
        try client.uploadImage(RetentionImage(png: Self.png(3840, 160), size: .full), identifier: Self.uuid)
        #expect(try client.images().map(\.identifier) == [Self.uuid])
        var message = RetentionMessage(header: "Stay", body: "It was nice with you.")
        message.image = .init(identifier: Self.uuid, altText: "A cat")
        message.headerPosition = .aboveImage
        try client.uploadMessage(message, identifier: Self.other)
        #expect(try client.messages().map(\.state) == ["APPROVED"])
        #expect(refusal { try client.deleteImage(Self.uuid) }?.code?.rawValue == 4_030_019)
        try client.setDefaultMessage(Self.other, of: "weekly", locale: "en-US")
        #expect(try client.defaultMessage(of: "weekly", locale: "en-US") == Self.other)
        try client.deleteDefaultMessage(of: "weekly", locale: "en-US")
        #expect(refusal { _ = try client.defaultMessage(of: "weekly", locale: "en-US") }?.code?.rawValue == 4_040_020)
        try client.deleteMessage(Self.other)
        try client.deleteImage(Self.uuid)
        try client.setRealtimeURL("https://example.com/retention")
        #expect(try client.realtimeURL() == "https://example.com/retention")
        let subscription = try #require(shop.store.histories[1]?.subscriptions.first)
        let test = try client.startPerformanceTest(originalTransactionID: subscription.originalTransactionID)
        #expect(test.configuration?.successRateThreshold == 95)
        let result = try client.performanceTestResult(test.requestID ?? "")
        #expect(result.result == "PASS" && result.responseTimes?.p99 == 60 && result.failures.isEmpty)
        try client.deleteRealtimeURL()
        #expect(refusal { _ = try client.realtimeURL() }?.code?.rawValue == 4_040_021)
    }

    /// A line of the table that was written from Apple's pages and library alone.
    struct Refusal: CustomTestStringConvertible {
        let fields: [String: String]
        var testDescription: String { "\(self["call"]): \(self["what"])" }
        subscript(name: String) -> String { fields[name] ?? "" }

        static let all: [Refusal] = {
            let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "refusals.tsv")
            let lines = (try? String(contentsOf: url, encoding: .utf8))?.split(separator: "\n").dropFirst() ?? []
            let names = lines.first?.components(separatedBy: "\t") ?? []
            return lines.dropFirst().map { line in
                Refusal(fields: Dictionary(uniqueKeysWithValues: zip(names, line.components(separatedBy: "\t"))))
            }
        }()
    }

    @Test func `what Apple documents to refuse is refused by the fake App Store, with Apple's code`() throws {
        #expect(Refusal.all.count > 100)
        for row in Refusal.all {
            let shop = try Shop(row["environment"] == "production" ? .production : .sandbox)
            let coins = shop.fill()
            let family = shop.store.change(customer: 2) { [history = shop.store.histories[1]] in
                $0 = history?.sharedWithFamilyMember(customer: 2, from: Shop.date - .seconds(86_400 * 20)) ?? $0
                return $0.subscriptions.first?.originalTransactionID ?? ""
            }
            let assigned = shop.store.change(customer: 3) { member in
                var buyer = PurchaseHistory(bundleID: member.bundleID, environment: member.environment, customer: 4)
                let team = buyer.subscribe(to: "team", in: "group", for: .month, seats: 2, at: Shop.date)
                return member.assignSeat(of: team, in: buyer, at: Shop.date).originalTransactionID
            }
            let expired = shop.store.change(customer: 5) {
                $0.subscribe(to: "old", in: "group", for: .week, at: Shop.date - .seconds(86_400 * 20))
                    .originalTransactionID
            }
            let history = try #require(shop.store.histories[1])
            let subscription = try #require(history.subscriptions.first)
            let app = history.transactions(signedAt: Shop.date).compactMap(\.appTransactionID).first ?? ""
            let names = [
                ("{coins}", coins.transactionID), ("{monthly}", subscription.originalTransactionID),
                ("{renewal}", history.latestPeriod(of: subscription).transactionID), ("{family}", family),
                ("{app}", app), ("{assigned}", assigned), ("{expired}", expired),
                ("{uuid}", "00000000-0000-4000-8000-0000000000ff"), ("{image}", Self.uuid), ("{message}", Self.other),
                ("/monthly", "/weekly"), (#""productId":"monthly""#, #""productId":"weekly""#),
            ]
            func filled(_ text: String) -> String { names.reduce(text) { $0.replacing($1.0, with: $1.1) } }
            let client = shop.client
            switch row["setup"] {
            case "two-extensions":
                let change = RenewalExtension(days: 1, reason: .other, requestIdentifier: "1")
                for _ in 0..<2 {
                    _ = try client.extendRenewalDate(ofOriginalTransaction: subscription.originalTransactionID, change)
                }
            case "image", "image-in-message":
                try client.uploadImage(RetentionImage(png: Self.png(3840, 2160), size: .full), identifier: Self.uuid)
                guard row["setup"] == "image-in-message" else { break }
                var message = RetentionMessage(header: "a", body: "b")
                message.image = .init(identifier: Self.uuid, altText: "c")
                try client.uploadMessage(message, identifier: Self.other)
            case "bullet-image":
                let image = RetentionImage(png: Self.png(1024, 1024), size: .bulletPoint)
                try client.uploadImage(image, identifier: Self.uuid)
            case "message":
                try client.uploadMessage(RetentionMessage(header: "a", body: "b"), identifier: Self.other)
            default: break
            }
            var body = Array(filled(row["body"]).utf8)
            let words = row["body"].split(separator: " ")
            if words.first == "png", let width = UInt32(words[1]), let height = UInt32(words[2]) {
                body = Self.png(width, height, colorType: words.count > 3 ? 6 : 2)
            }
            let query = row["query"].split(separator: "=").map(String.init)
            let token = "Bearer " + (try shop.store.signer.token(at: Shop.date))
            let answer = shop.store.answer(
                FakeRequest(
                    row["method"], filled(row["path"]), query: query.count == 2 ? [(query[0], query[1])] : [],
                    authorization: row["token"] == "wrong" ? token + "x" : token, body: body))
            let code =
                (try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])?["errorCode"] as? Int
            #expect("\(answer.status)" == row["status"], "\(row)")
            #expect(row["code"].isEmpty || code.map(String.init) == row["code"], "\(row): \(code ?? 0)")
        }
    }

    @Test func `a request for a refund and one for a message are sent as Apple sends them`() throws {
        let shop = try Shop()
        let coins = shop.fill()
        let subscription = try #require(shop.store.histories[1]?.subscriptions.first)
        let transport = HTTPTransport(timeLimit: .seconds(10), maximumByteCount: 1 << 20, isLoopback: true)
        func post(_ path: String, _ body: String) throws -> [String: Any] {
            let request = HTTPTransport.Request(
                url: shop.server.url + "/fake/" + path, method: .post, body: Array(body.utf8))
            let answer = try transport.send(request)
            #expect(answer.status == 200)
            return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        }
        let request = try post("consumption-request", #"{"transaction_id":"\#(coins.transactionID)"}"#)
        #expect(request["deadline"] as? String == "2026-01-01T12:00:00Z")
        let notifications = try #require(shop.store.histories[1]).notifications(through: Shop.date)
        #expect(notifications.last?.type == .consumptionRequest)
        let retention = try post(
            "retention-request", #"{"transaction_id":"\#(subscription.originalTransactionID)","locale":"zh-CN"}"#)
        let jws = try #require(retention["signedPayload"] as? String)
        var policy = try shop.store.verifier().policy
        policy.appAppleID = "1234567890"
        let verifier = try AppStoreVerifier(policy: policy, trust: .roots([shop.store.trustAnchor]))
        let decoded = try verifier.verifyRealtimeRequest(jws)
        #expect(decoded.userLocale == "zh-CN" && decoded.originalTransactionID == subscription.originalTransactionID)
    }

    @Test func `what Apple documents to refuse of messages and images is not sent`() throws {
        let shop = try Shop()
        func broken(_ change: (inout RetentionMessage) -> Void) -> AppStoreServerError.Reason? {
            var message = RetentionMessage(header: "a", body: "b")
            change(&message)
            return refusal { try shop.client.uploadMessage(message, identifier: Self.uuid) }?.reason
        }
        let image = RetentionMessage.Image(identifier: Self.uuid, altText: "a")
        let point = RetentionMessage.BulletPoint(text: "a", image: image)
        func long(_ count: Int) -> String { String(repeating: "é", count: count) }
        #expect(broken { $0.header = long(67) } == .brokenRule(.header) && broken { $0.header = long(66) } == nil)
        #expect(broken { $0.body = long(145) } == .brokenRule(.body))
        #expect(broken { $0.bulletPoints = .init(repeating: point, count: 6) } == .brokenRule(.bulletPoints))
        #expect(
            broken { $0.bulletPoints = [.init(text: long(67), image: image)] } == .brokenRule(.bulletPointText))
        #expect(broken { $0.image = .init(identifier: "1", altText: "a") } == .brokenRule(.uuid))
        #expect(broken { $0.image = .init(identifier: Self.uuid, altText: long(151)) } == .brokenRule(.altText))
        #expect(broken { $0.headerPosition = .aboveImage } == .brokenRule(.aboveImage))
        for (png, size) in [
            (Self.png(3840, 159), .full), (Self.png(3840, 2161), .full), (Self.png(1024, 1023), .bulletPoint),
            (Self.png(1024, 1024, colorType: 6), .bulletPoint), ([0xFF, 0xD8], .full),
        ] as [([UInt8], RetentionImage.Size)] {
            let error = refusal {
                try shop.client.uploadImage(RetentionImage(png: png, size: size), identifier: Self.uuid)
            }
            #expect(error?.reason == .brokenRule(.image))
        }
        #expect(refusal { try shop.client.setRealtimeURL("http://a") }?.reason == .brokenRule(.realtimeURL))
        #expect(
            refusal { try shop.client.setRealtimeURL("https://" + long(249)) }?.reason == .brokenRule(.realtimeURL))
        #expect(RequestRule.allCases.allSatisfy { $0.code == nil || $0.code?.name != nil })
    }

    @Test func `asynchronous calls do not occupy the threads of the pool`() async throws {
        let shop = try Shop()
        let id = shop.fill(consumables: 45).transactionID
        var count = 0
        for try await page in shop.client.transactionHistoryPages(of: id) { count += page.transactions.count }
        #expect(count == 50)
        // More at a time than the pool has threads.
        let inFlight = InFlight()
        var options = AppStoreServerClient.Options()
        options.transport = { (_) throws(TransportFault) in
            inFlight.enter()
            usleep(50_000)
            inFlight.leave()
            return HTTPTransport.Answer(status: 404, body: [])
        }
        let client = try AppStoreServerClient(
            shop.store.signer, environment: .sandbox, verifier: shop.store.verifier(), options: options)
        await withTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    await #expect(throws: AppStoreServerError.self) { try await client.transactionInfo(of: id) }
                }
            }
        }
        #expect(inFlight.maximum > ProcessInfo.processInfo.activeProcessorCount && inFlight.maximum <= 64)
    }
}

/// The number of calls at a time.
private final class InFlight: Sendable {
    private let counts = Mutex((now: 0, maximum: 0))

    var maximum: Int { counts.withLock(\.maximum) }

    func enter() {
        counts.withLock { counts in
            counts.now += 1
            counts.maximum = max(counts.maximum, counts.now)
        }
    }

    func leave() { counts.withLock { $0.now -= 1 } }
}
