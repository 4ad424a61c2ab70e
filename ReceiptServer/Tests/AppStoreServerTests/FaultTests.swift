import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import LedgerTestSupport
import Foundation
import Testing

/// What the client does with every fault of every endpoint.
@Suite struct FaultTests {
    /// What must come of a fault, whatever the endpoint; `nil` where it depends on the endpoint.
    static func expected(_ fault: FakeFault) -> String? {
        switch fault {
        case .rateLimit, .rateLimitSeconds:
            "retry: the App Store answered with the HTTP status 429 and the error 4290000 (rate-limit-exceeded), asked to wait 60 s"
        case .rateLimitPast:
            "retry: the App Store answered with the HTTP status 429 and the error 4290000 (rate-limit-exceeded), asked to wait 1 s"
        case .rateLimitWithoutHeader:
            "retry: the App Store answered with the HTTP status 429 and the error 4290000 (rate-limit-exceeded)"
        case .internalError:
            "retry: the App Store answered with the HTTP status 500 and the error 5000000 (general-internal)"
        case .internalErrorRetryable:
            "retry: the App Store answered with the HTTP status 500 and the error 5000001 (general-internal-retryable)"
        case .unavailable: "retry: the App Store answered with the HTTP status 503"
        case .unauthorized, .clockSlow: "configuration: the App Store answered with the HTTP status 401"
        case .slow: "retry: the answer did not come in time"
        case .tornBody, .tornHeader: "retry: the connection ended within the answer, or the answer is no HTTP"
        case .gzip: "retry: the answer is not the documented JSON, at byte 0"
        case .redirect: "retry: the App Store answered with the HTTP status 302"
        case .huge: "retry: the answer is larger than the limit"
        case .notFound:
            "final: the App Store answered with the HTTP status 404 and the error 4040010 (transaction-id-not-found)"
        default: nil
        }
    }

    /// Of these, only an endpoint with something signed can know.
    private static let signed: Set<FakeFault> = [
        .changedSignature, .otherApp, .otherEnvironment, .untrustedRoot, .future,
    ]

    @Test(
        "A fault of any endpoint ends in the documented class, an item refused alone, or the right answer; never in a wrong item"
    )
    func table() throws {
        let shop = try Shop(timeLimit: .milliseconds(1000)) { options in
            options.receiver = { _ in .success }
            options.slowTime = .milliseconds(1300)
            options.requestsPerHour = Dictionary(
                uniqueKeysWithValues: AppStoreServerEndpoint.allCases.map { ($0, 1_000_000) })
        }
        let id = shop.fill(consumables: 21, refunds: 21).transactionID
        let token = try shop.client.requestTestNotification().token
        shop.store.deliverNotifications()
        let endpoints = AppStoreServerEndpoint.allCases.filter { shop.client.outcome($0, id, token) != "not asked" }
        var good: [AppStoreServerEndpoint: String] = [:]
        for endpoint in endpoints { good[endpoint] = shop.client.outcome(endpoint, id, token) }
        var table = "endpoint × fault: what the client did\n"
        for fault in FakeFault.allCases {
            table += "\(fault.rawValue)\n"
            var byOutcome: [(outcome: String, endpoints: [String])] = []
            for endpoint in endpoints {
                if Self.isPaged(fault) {
                    guard Self.paged.contains(endpoint) else { continue }
                    // The second page.
                    shop.store.inject(.charset, into: endpoint)
                }
                if fault == .closeOnReuse { shop.store.inject(fault, into: .orderLookup) }
                shop.store.inject(fault, into: endpoint)
                if fault == .closeOnReuse { _ = shop.client.outcome(.orderLookup, id, token) }
                let outcome = shop.client.outcome(endpoint, id, token)
                shop.store.endFaults()
                let after = shop.client.outcome(endpoint, id, token)
                #expect(after == good[endpoint], "\(endpoint) after \(fault)")
                check(fault, endpoint, outcome, good[endpoint] ?? "")
                if let index = byOutcome.firstIndex(where: { $0.outcome == outcome }) {
                    byOutcome[index].endpoints.append(endpoint.rawValue)
                } else {
                    byOutcome.append((outcome, [endpoint.rawValue]))
                }
            }
            for row in byOutcome {
                let names = row.endpoints.count == endpoints.count ? "all" : row.endpoints.joined(separator: ", ")
                table += "    \(names): \(row.outcome)\n"
            }
        }
        print(table)
    }

    private static let paged: Set<AppStoreServerEndpoint> = [.transactionHistory, .refundHistory, .notificationHistory]

    private static func isPaged(_ fault: FakeFault) -> Bool {
        [.pageRepeated, .tokenLooped, .pageLost, .reversed, .windowChanging].contains(fault)
    }

    private func check(_ fault: FakeFault, _ endpoint: AppStoreServerEndpoint, _ outcome: String, _ good: String) {
        if let expected = Self.expected(fault) {
            #expect(outcome == expected, "\(endpoint), \(fault)")
        } else if Self.signed.contains(fault), endpoint != .requestTestNotification {
            // Renewal information has no bundle id.
            let isPartlyGood = fault == .otherApp && endpoint == .subscriptionStatuses
            #expect(outcome.contains(isPartlyGood ? "1 of 2 refused" : "refused"), "\(endpoint), \(fault): \(outcome)")
        } else if fault == .doubleMember {
            #expect(outcome.hasPrefix("retry: the answer is not the documented JSON"), "\(endpoint): \(outcome)")
        } else if fault == .otherTransaction, endpoint == .transactionInfo {
            #expect(outcome == "1 verified, not the one asked")
        } else if [.charset, .closeOnReuse, .clockFast, .reversed].contains(fault) {
            let isAccepted = outcome == good || fault == .clockFast && outcome.hasPrefix("configuration")
            #expect(isAccepted, "\(endpoint), \(fault): \(outcome)")
        } else if fault == .pageRepeated || fault == .tokenLooped {
            #expect(outcome == "restart-paging: the pages of the answer have no end", "\(endpoint): \(outcome)")
        }
    }

    @Test("A token that repeats ends the pages before it is used again")
    func loopedToken() throws {
        let shop = try Shop()
        let id = shop.fill(consumables: 25).transactionID
        // The second page.
        for fault in [FakeFault.charset, .tokenLooped] { shop.store.inject(fault, into: .transactionHistory) }
        let before = shop.store.requestCounts[.transactionHistory] ?? 0
        var pages = shop.client.transactionHistoryPages(of: id).makeIterator()
        #expect(throws: AppStoreServerError.self) { while try pages.next() != nil {} }
        #expect(try pages.next() == nil)
        #expect(shop.store.requestCounts[.transactionHistory] == before + 2)
    }

    @Test("Whatever a server does at random, what the client calls verified is what the store signed")
    func random() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("random faults: seed \(seed)")
        let shop = try Shop(timeLimit: .seconds(5)) { options in
            options.receiver = { _ in .success }
            options.requestsPerHour = Dictionary(
                uniqueKeysWithValues: AppStoreServerEndpoint.allCases.map { ($0, 1_000_000) })
        }
        let id = shop.fill(consumables: 25).transactionID
        shop.store.deliverNotifications()
        let genuine = Set(shop.store.histories.values.flatMap(\.transactions).map(\.transactionID))
        let others = FakeFault.allCases.filter { $0 != .otherTransaction && $0 != .slow && $0 != .huge }
        shop.store.injectRandomly(seed: seed, percent: 50, others)
        var verifiedCount = 0
        for _ in 0..<40 {
            do throws(AppStoreServerError) {
                var pages = shop.client.transactionHistoryPages(of: id).makeIterator()
                while let page = try pages.next() {
                    for transaction in page.transactions {
                        guard let value = transaction.value else { continue }
                        verifiedCount += 1
                        #expect(genuine.contains(value.transactionID ?? ""))
                        #expect(value.bundleID == "com.example.app" && value.environment == .sandbox)
                    }
                }
            } catch {
                #expect(error.class != .fault, "\(error)")
            }
        }
        #expect(verifiedCount > 0)
    }

    @Test(
        "An answer that is no HTTP says nothing of the inquiry: it is torn",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "<html>Try again</html>\r\n", "{\"signedTransactionInfo\":null}",
            "HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 110_000))\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 404 No\r\n", "HTTP/1.1 200 OK\r\nContent-Len", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
            "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n",
        ])
    func noHTTP(answer: String) throws {
        let server = try WebhookReceiver(rawAnswer: { _ in [answer, ""] }) { _ in 200 }
        let transport = HTTPTransport(timeLimit: .seconds(20), maximumByteCount: 1 << 20, isLoopback: true)
        #expect(throws: TransportFault.torn) { try transport.send(.init(url: server.url)) }
        // Nothing was sent: libcurl does not know the protocol, or may not use it.
        #expect(throws: TransportFault.unavailable) { try transport.send(.init(url: "ftp://127.0.0.1/")) }
    }

    @Test("What a server sends before it is asked is no answer to the next inquiry")
    func answerAhead() throws {
        let (ok, missing) = (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
        )
        let server = try WebhookReceiver(rawAnswer: { $0 == 1 ? [ok, missing] : [ok] }) { _ in 200 }
        let transport = HTTPTransport(timeLimit: .seconds(20), maximumByteCount: 1 << 20, isLoopback: true)
        #expect(try transport.send(.init(url: server.url)).status == 200)
        usleep(200_000)
        #expect(try transport.send(.init(url: server.url)).status == 200)
        #expect(server.received.count == 2)
    }

    @Test(
        "A date of the server's clock has four digits for its year; another one is none",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799_000),
            ("Sun, 06 Nov 2000000000 08:49:37 GMT", nil), ("Sun, 06 Nov 2147483647 08:49:37 GMT", nil),
            ("Sat, 01 Jan 10000 00:00:00 GMT", nil), ("Thu, 06 Nov 1900 08:49:37 GMT", nil), ("soon", nil), ("", nil),
        ] as [(String, Int64?)])
    func serverDate(header: String, milliseconds: Int64?) throws {
        let server = try WebhookReceiver(
            rawAnswer: { _ in ["HTTP/1.1 200 OK\r\nDate: \(header)\r\nContent-Length: 2\r\n\r\n{}"] }
        ) { _ in 200 }
        let transport = HTTPTransport(timeLimit: .seconds(20), maximumByteCount: 1 << 20, isLoopback: true)
        let date = try transport.send(.init(url: server.url)).date
        #expect(date?.millisecondsSince1970 == milliseconds)
    }
}
