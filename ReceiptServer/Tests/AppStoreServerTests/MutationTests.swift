import AppStoreReceipt
import AppStoreReceiptTesting
@testable import AppStoreServerAPI
import AppStoreServerTesting
import Sampling
import SeededRandom
import StrictText
import Foundation
import Testing

/// The client's reading of mutated answers. `FuzzAnswers` tries more of them.
@Suite struct MutationTests {
    @Test("An object with no documented member is no answer", arguments: ["{}", #"{"status_":0,"ok":true}"#])
    func noMember(text: String) throws {
        let (body, verifier) = (Array(text.utf8), try Shop().client.verifier)
        let answers: [() throws -> Void] = [
            { _ = try TransactionInfoAnswer(body, askedID: "1", verifier) },
            { _ = try SubscriptionStatusesAnswer(body, verifier) }, { _ = try TransactionPage(body, verifier) },
            { _ = try OrderLookupAnswer(body, verifier) }, { _ = try NotificationPage(body, verifier) },
            { _ = try UnsignedTestNotification(body) }, { _ = try SentNotification(body, verifier) },
        ]
        for read in answers { #expect(throws: JSONError(.missingMember, offset: body.count)) { try read() } }
    }

    @Test(
        "Whatever bytes an answer has, it is read or refused within its bounds, and what is verified is what was signed"
    )
    func mutations() throws {
        let count = Sampling.count("mutated-answers")
        var generator = SeededGenerator()
        let shop = try Shop { $0.receiver = { _ in .success } }
        let id = shop.fill(consumables: 3, refunds: 1).transactionID
        shop.store.deliverNotifications()
        let seeds = try Self.seeds(shop, id)
        let genuine = Set(shop.store.histories.values.flatMap(\.transactions).map(\.transactionID))
        let verifier = shop.client.verifier
        var read = 0
        var verified = 0
        func check(_ transaction: SignedItem<Verified<TransactionInfo>>?) {
            guard let value = transaction?.value else { return }
            verified += 1
            #expect(genuine.contains(value.transactionID ?? ""))
        }
        for _ in 0..<count {
            let kind = Int(generator.next() % UInt64(seeds.count))
            let body = generator.mutated(seeds[kind])
            do throws(JSONError) {
                switch kind {
                case 0: check(try TransactionInfoAnswer(body, askedID: id, verifier).transaction)
                case 1:
                    for item in try SubscriptionStatusesAnswer(body, verifier).subscriptions { check(item.transaction) }
                case 2: for item in try TransactionPage(body, verifier).transactions { check(item) }
                case 3: for item in try OrderLookupAnswer(body, verifier).transactions { check(item) }
                case 4:
                    for item in try NotificationPage(body, verifier).notifications {
                        if let notification = item.notification?.value {
                            verified += 1
                            #expect(notification.environment == .sandbox)
                        }
                    }
                case 5: _ = try UnsignedTestNotification(body)
                default: _ = try SentNotification(body, verifier)
                }
                read += 1
            } catch {
                #expect(0...body.count ~= error.offset)
            }
            let answer = HTTPTransport.Answer(
                status: Int(generator.next() % 600), body: body, retryAfter: generator.digits())
            let error = AppStoreServerClient.error(answer, at: Shop.date)
            if let wait = error.retryAfter { #expect(.seconds(1)...Duration.seconds(86_400) ~= wait) }
        }
        print("\(count) mutated answers, \(generator): \(read) read, \(verified) items verified")
        #expect(read > 0 && verified > 0 && read < count)
    }

    /// Answers of the fake without its HTTP.
    private static func seeds(_ shop: Shop, _ id: String) throws -> [[UInt8]] {
        let authorization = "Bearer " + (try shop.store.signer.token(at: Shop.date))
        func body(_ method: String, _ path: String, _ body: String = "") -> [UInt8] {
            shop.store.answer(
                FakeRequest(method, path, authorization: authorization, body: Array(body.utf8))
            ).body
        }
        let start = (Shop.date - .seconds(86_400 * 25)).millisecondsSince1970
        let window = "{\"startDate\":\(start),\"endDate\":\(Shop.date.millisecondsSince1970)}"
        let token = body("POST", "/inApps/v1/notifications/test")
        let name = String(decoding: token, as: UTF8.self).split(separator: "\"")[3]
        shop.store.deliverNotifications()
        return [
            body("GET", "/inApps/v1/transactions/\(id)"), body("GET", "/inApps/v1/subscriptions/\(id)"),
            body("GET", "/inApps/v2/history/\(id)"),
            body("GET", "/inApps/v1/lookup/\(FakeAppStore.orderID(of: id))"),
            body("POST", "/inApps/v1/notifications/history", window), token,
            body("GET", "/inApps/v1/notifications/test/\(name)"),
        ]
    }
}

extension SeededGenerator {
    fileprivate mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }

    fileprivate mutating func digits() -> String {
        String((0..<below(24)).map { _ in Character(Unicode.Scalar(UInt8(48 + below(11)))) })
    }

    /// What JSON can be made of.
    private static let pieces: [[UInt8]] = [
        "null", "true", "[]", "{}", "\"\"", "-1", "1e9", "99999999999999999999", "\"hasMore\":true,",
        "\"revision\":\"x\",",
        "\"signedTransactions\":[", "\"status\":1,", "\\u0000", "\\ud800", "\"errorCode\":4040010,", ",", "{", "[", "}",
        "]",
    ].map { Array($0.utf8) }

    fileprivate mutating func mutated(_ seed: [UInt8]) -> [UInt8] {
        var bytes = seed
        // Most bytes are those of one long JWS: the ends are hit more often.
        func place(_ generator: inout SeededGenerator) -> Int {
            let window = generator.below(3) == 0 ? bytes.count : min(bytes.count, 60)
            let offset = generator.below(window)
            return generator.below(2) == 0 ? offset : max(bytes.count - 1 - offset, 0)
        }
        for _ in 0..<below(4) where !bytes.isEmpty {
            let place = place(&self)
            switch below(5) {
            case 0: bytes[place] ^= 1 << UInt8(below(8))
            case 1: bytes.remove(at: place)
            case 2: bytes.removeSubrange(place..<min(place + below(40), bytes.count))
            case 3: bytes.insert(contentsOf: Self.pieces[below(Self.pieces.count)], at: place)
            default: bytes.removeLast(below(min(bytes.count, 30)))
            }
        }
        return bytes
    }
}
