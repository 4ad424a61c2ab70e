import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import PurchaseLedger
@_spi(Surfaces) import ReceiptReport
@testable import SupportDesk
import Testing
import TrialSupport

/// What support reads, over a real socket.
@Suite(.serialized) struct StoryTests {
    private let id = "340000000000001"

    /// Granted to 安娜 at 00:12 in Beijing, delivered, tried by ben, and refunded eight minutes later.
    private func refunded(isGrantDelivered: Bool = true) throws -> DeskFixture {
        let desk = try DeskFixture()
        let coins = try desk.coins(id)
        try desk.redeem(coins, for: "安娜")
        if isGrantDelivered {
            for event in try desk.ledger.takeEvents(limit: 9, lease: .seconds(1), at: desk.date) {
                try desk.ledger.record([(event, nil)], maximumAttempts: 3, at: desk.date)
            }
        }
        desk.advance(.seconds(120))
        try desk.redeem(coins, for: "ben")
        desk.advance(.seconds(360))
        let date = desk.date
        var notification = try JWSBuilder.notification(
            .refund, bundleID: MintedEvidence.bundleID,
            transaction: desk.coins(id) { ($0.revocationDate, $0.signedDate) = (date, date) }, signedDate: date)
        notification.notificationUUID = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        let signed = try notification.signed(by: desk.evidence.ellipticAuthority)
        try desk.ledger.record(desk.desk.verifier.verifyNotification(signed), at: date)
        return desk
    }

    @Test func `a story has who was granted it, who else tried, the refund, and what the backend was sent`() throws {
        let desk = try refunded()
        let browser = try desk.browser()
        let saved = try browser.post("/settings", [("language", "en"), ("zone", "Asia/Shanghai")])
        let view = try #require(saved.cookies.first?.prefix { $0 != ";" })
        func search(_ text: String) throws -> String {
            let answer = try desk.post(
                "/search", [("form", browser.form), ("text", text)], cookie: browser.cookie + "; " + view)
            return words(answer.text)
        }
        let story = try search(id)
        let inOrder = [
            "Apple refunded or revoked it 2025-06-21 00:20:00 +08:00", "Nobody has it now.",
            "ben sent it, too. The answer: It belongs to another account, which sent it first.",
            "What happened, the newest first", "Your backend has not been notified yet, sequence",
            "安娜 has 0, and had 3: it was taken back.", "Apple's notification REFUND arrived.",
            "Refunded or revoked by Apple.", "ben sent it. The answer:",
            "2025-06-21 00:12:00 +08:00 (2025-06-20 16:12:00 UTC) Granted to 安娜: 3 × com.example.app.coins.",
            "Times are in Beijing time; UTC in brackets.",
        ]
        var rest = story[...]
        for sentence in inOrder {
            let place = try #require(rest.range(of: sentence), "\(sentence) in \(story)")
            rest = rest[place.upperBound...]
        }
        // The first event was delivered.
        #expect(story.contains("Your backend was notified, sequence"))
        #expect(story.contains("It acknowledged this on 2025-06-21 00:12:00 +08:00"))
        // Whatever the customer has leads to it.
        let line = #"{"request":"request-of-ben","transactions":"340000000000001 belongs-to-another"}"#
        for text in [line, try desk.coins(id), "the receipt \(try desk.coins(id)) of ben", "  \(id)\n"] {
            #expect(try search(text).contains("Granted to 安娜"), "\(text.prefix(40))")
        }
        #expect(try search(desk.coins(id)).contains("Genuine under the root certificate that was given"))
        #expect(try search("request-of-ben").contains("Request request-of-ben"))
        let account = try search("安娜")
        #expect(account.contains("Account 安娜") && account.contains("The evidence shows no active subscription"))
    }

    @Test(arguments: ["20260648-订单7", "GO-648-0001", "6.48元/单 7"])
    func `a shop's order leads to its account and to its purchase`(shopOrderID: String) throws {
        let desk = try DeskFixture()
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        let shop = try PurchaseLedger(desk.folder.appending(path: "ledger.db").path, policy: policy)
        _ = try shop.placeOrder(
            for: "anna", productID: "com.example.app.coins", bundleID: MintedEvidence.bundleID, in: .production,
            shopOrderID: shopOrderID, at: desk.date)
        let browser = try desk.browser()
        #expect(try words(browser.search(shopOrderID)).contains("Account anna"))
        _ = try shop.redeem(desk.desk.verifier.verify(desk.coins(id)), for: "anna", at: desk.date)
        let page = try words(browser.search(shopOrderID))
        #expect(page.contains("Account anna") && page.contains("Order of your shop \(shopOrderID)"), "\(page)")
        #expect(page.contains("anna has it: 3 × com.example.app.coins."))
        #expect(try !words(browser.search("another")).contains("Account anna"))
    }

    @Test(arguments: [
        ("en", "Its length is unknown, so it has no end", "card, without an end: its length is unknown"),
        ("zh-Hans", "期限未知，因此没有到期时间", "期限未知，没有到期时间（"),
    ])
    func `a subscription without a stated length is shown as one without an end`(
        language: String, story: String, item: String
    ) throws {
        let desk = try DeskFixture()
        let card = try desk.coins(id) {
            ($0.productType, $0.productID, $0.quantity) = (.nonRenewingSubscription, "card", 1)
        }
        #expect(try desk.redeem(card, for: "anna") == [.granted])
        let browser = try desk.browser()
        let saved = try browser.post("/settings", [("language", language), ("zone", "Asia/Shanghai")])
        let view = try #require(saved.cookies.first?.prefix { $0 != ";" })
        for (text, sentence) in [(id, story), ("anna", item)] {
            let answer = try desk.post(
                "/search", [("form", browser.form), ("text", text)], cookie: browser.cookie + "; " + view)
            #expect(words(answer.text).contains(sentence), "\(words(answer.text))")
        }
    }

    @Test(arguments: [1, 20, 21])
    func `an account is shown with its newest tokens`(count: Int) throws {
        let desk = try DeskFixture()
        try desk.redeem(desk.coins(id), for: "anna")
        let browser = try desk.browser()
        #expect(try !words(browser.search("anna")).contains("account tokens"))
        var tokens: [String] = []
        for _ in 0..<count {
            desk.advance(.seconds(1))
            tokens.append(try desk.ledger.token(for: "anna", storing: .random(), at: desk.date).token.description)
        }
        // Any of them leads to the account.
        let page = try words(browser.search(tokens[0]))
        #expect(page.contains("Its account tokens, newest first: \(count)"), "\(page)")
        let places = tokens.suffix(20).reversed().map { page.range(of: "\($0), since 2025-06-")?.lowerBound }
        let found = places.compactMap(\.self)
        #expect(found.count == min(count, 20) && found == found.sorted())
        #expect(page.contains("The newest 20 are shown.") == (count > 20))
    }

    @Test(arguments: [
        (true, "Your backend has not been notified yet: the event waits for delivery."),
        (false, "Your backend has not been notified yet: 2 events wait for delivery."),
    ])
    func `of events that wait, the answer has the number`(isGrantDelivered: Bool, sentence: String) throws {
        let browser = try refunded(isGrantDelivered: isGrantDelivered).browser()
        #expect(try words(browser.post("/search", [("text", id)]).text).contains(sentence))
    }

    @Test(
        arguments: [
            (86_399, "anna has it: com.example.app.coins, until"),
            (86_400, "anna had it: com.example.app.coins. The period ended"),
        ] as [(Int64, String)])
    func `a period is shown as running until its end, and as over from then on`(seconds: Int64, sentence: String) throws
    {
        let desk = try DeskFixture()
        let period = try desk.coins(id) {
            ($0.productType, $0.quantity) = (.autoRenewableSubscription, 1)
            $0.expiresDate = DeskFixture.start + .seconds(86_400)
        }
        #expect(try desk.redeem(period, for: "anna") == [.granted])
        desk.advance(.seconds(seconds))
        let story = try words(desk.browser().search(id))
        #expect(story.contains(sentence), "\(story)")
        #expect(!story.contains("nobody paid"))
    }

    @Test func `a purchase of the sandbox is shown as one for which nobody paid`() throws {
        let desk = try DeskFixture()
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.sandbox], trust: desk.evidence.trust)
        let coins = try desk.coins(id) { $0.environment = .sandbox }
        _ = try desk.ledger.redeem(verifier.verify(coins), for: "anna", at: desk.date)
        let story = try words(desk.browser().search(id))
        #expect(story.contains("It is from the sandbox, in which apps are tested: nobody paid."), "\(story)")
    }

    @Test func `an assigned seat is shown as one, and its end, too`() throws {
        let desk = try DeskFixture()
        for isRevoked in [false, true] {
            let seat = try desk.coins(id) {
                ($0.productType, $0.quantity, $0.ownershipType) = (.autoRenewableSubscription, 1, .assigned)
                $0.expiresDate = DeskFixture.start + .seconds(86_400)
                guard isRevoked else { return }
                ($0.revocationDate, $0.revocationType) = (DeskFixture.start, .assignmentRevoke)
                $0.signedDate = DeskFixture.start + .seconds(1)
            }
            try desk.redeem(seat, for: "anna")
            let story = try words(desk.browser().search(id))
            #expect(story.contains("Assigned at Apple: a seat of com.example.app.coins, until"), "\(story)")
            #expect(story.contains("The assigned seat was taken back.") == isRevoked, "\(story)")
        }
    }

    @Test func `the seats of a transaction are shown, less those that were refunded`() throws {
        let desk = try DeskFixture()
        let seats = try desk.coins(id) {
            ($0.productType, $0.quantity) = (.autoRenewableSubscription, 8)
            $0.expiresDate = DeskFixture.start + .seconds(86_400)
            $0.payload["multiSeatInfo"] = ["revokedSeatQuantity": 2]
        }
        try desk.redeem(seats, for: "anna")
        let story = try words(desk.browser().search(id))
        #expect(story.contains("Its seats: 6.") && story.contains("Granted to anna: 1 × com.example.app.coins"))
    }

    @Test(arguments: [(nil, nil), (500, 0), (50_000, 50), (99_999, 99), (100_000, 100)] as [(Int64?, Int?)])
    func `Apple says the refunded part in thousandths of a percent`(percentage: Int64?, whole: Int?) {
        let refund = RefundFact(
            date: nil, type: nil, reason: nil, percentage: percentage, signedDate: DeskFixture.start)
        #expect(refund.wholePercentage == whole)
    }

    @Test func `of the purchases that evidence proves, the latest stand first`() throws {
        let desk = try DeskFixture()
        let old = try desk.coins("340000000000001") { $0.purchaseDate = DeskFixture.start - .seconds(60) }
        let new = try desk.coins("340000000000002")
        for (coins, account) in [(old, "anna"), (new, "ben")] { try desk.redeem(coins, for: account) }
        for text in ["\(old) \(new)", "\(new) \(old)"] {
            let answer = try SearchAnswer(Array(text.utf8), desk.desk, at: desk.date)
            #expect(answer.stories.map(\.name.transactionID) == ["340000000000002", "340000000000001"])
        }
    }

    @Test func `the page is in the language that was chosen, whole`() throws {
        let desk = try refunded()
        let browser = try desk.browser()
        let saved = try browser.post("/settings", [("language", "zh-Hans"), ("zone", "UTC")])
        let view = try #require(saved.cookies.first?.prefix { $0 != ";" })
        let page = try desk.post(
            "/search", [("form", browser.form), ("text", id)], cookie: browser.cookie + "; " + view
        ).text
        #expect(page.contains("<html lang=\"zh-Hans\">"))
        #expect(words(page).contains("已发放给 安娜 ：3 × com.example.app.coins"))
        #expect(!words(page).contains("Granted") && !words(page).contains("Your backend"))
        // Without a chosen time zone, the page has that of the language.
        let signedIn = try desk.post("/sign-in", [("token", DeskFixture.staff), ("language", "zh-Hans")])
        #expect(signedIn.cookies.contains { $0.contains("zh-Hans|Asia/Shanghai") }, "\(signedIn.cookies)")
        let english = try desk.post(
            "/sign-in", [("token", DeskFixture.staff), ("language", "en")], headers: ["Accept-Language: zh-CN"])
        #expect(english.cookies.contains { $0.contains("=en|;") }, "\(english.cookies)")
        let kept = try desk.post(
            "/sign-in", [("token", DeskFixture.staff), ("language", "zh-Hans")], cookie: String(view))
        #expect(kept.cookies.contains { $0.contains("zh-Hans|;") }, "\(kept.cookies)")
        // A stranger is asked in the language of the browser.
        let chinese = try desk.get("/", headers: ["Accept-Language: zh-CN,zh;q=0.9"]).text
        #expect(chinese.contains("登录"))
    }

    /// No text may contain the wrong words.
    @Test func `Chinese texts have one word for one thing`() {
        let wrong = [
            "账户", "帐户", "帐号", "顾客", "续期", "运营者", "项目", "价款", "部分变更", "回答", "正式服务", "所固定",
            "本机的 App Store",
        ]
        for phrase in DeskFixture.words {
            let text = "\(phrase.text(in: .simplifiedChinese))"
            #expect(!wrong.contains { text.contains($0) }, "\(text)")
            // A consumable cannot be restored.
            if text.contains("恢复购买") { #expect(text.contains("重新打开 App") && text.contains("非消耗型"), "\(text)") }
        }
    }

    @Test func `evidence that was refused has its report, and what only Apple knows is said to be that`() throws {
        let desk = try DeskFixture()
        let browser = try desk.browser()
        let forged = try Data(desk.evidence.receipt(isForged: true)).base64EncodedString()
        let other = try Data(desk.evidence.receipt(bundleID: "com.example.other")).base64EncodedString()
        try desk.redeem(forged, for: "eve")
        let page = try words(browser.search("eve sent \(forged)"))
        #expect(page.contains("Not genuine: trust nothing in it."))
        #expect(page.contains("eve sent evidence that was refused: untrusted-chain"))
        let answer = try words(browser.search(other))
        #expect(answer.contains("bundle-id-mismatch"))
        #expect(answer.contains("It is from another app, and proves nothing here."))
        let sandbox = try Data(desk.evidence.receipt(environment: .sandbox)).base64EncodedString()
        let tested = try words(browser.search(sandbox))
        #expect(tested.contains("nobody paid"))
        // Staff cannot set an option of the server.
        #expect(page.contains("It does not prove that Apple sold anything. Grant nothing for it."))
        for text in [page, answer, tested] { #expect(!text.contains(" --")) }
        let saved = try browser.post("/settings", [("language", "zh-Hans"), ("zone", "UTC")])
        let view = try #require(saved.cookies.first?.prefix { $0 != ";" })
        let damaged = try desk.post(
            "/search", [("form", browser.form), ("text", String(forged.dropLast(8)))],
            cookie: browser.cookie + "; " + view
        ).text
        #expect(damaged.contains("请让客户端原样重新发送完整的凭证") && !damaged.contains("Have the client"))
        let unknown = try words(browser.search("340000000000009"))
        #expect(unknown.contains("The ledger has no record of this."))
        #expect(unknown.contains("may be a transaction id whose evidence was never sent"))
        let order = try browser.search("My order is MX1A2B3C4D, thanks")
        #expect(words(order).contains("MX1A2B3C4D may be the order id from Apple's e-mail."))
        // Asks for nothing that this server can't look up.
        #expect(words(order).contains("This server is not set up to ask Apple."))
        #expect(!words(order).contains("ask the customer for the order id"))
    }

    @Test func `of a refusal whose evidence was not kept, the request shows what it means and what staff do`() throws {
        let desk = try DeskFixture()
        let browser = try desk.browser()
        let forged = try Data(desk.evidence.receipt(isForged: true)).base64EncodedString()
        let other = try Data(desk.evidence.receipt(bundleID: "com.example.other")).base64EncodedString()
        let rows = [
            ("eve", forged, "Grant nothing for it"), ("zoe", other, "It is from another app"),
            ("bob", "{\"transactionId\":\"2000000001\",\"productId\":\"coins\"}", "jwsRepresentation"),
            ("amy", "<!DOCTYPE html><html><body>502</body></html>", "Check the address from which"),
        ]
        for (account, evidence, meaning) in rows {
            let error = #expect(throws: VerificationError.self) { try desk.desk.verifier.verify(Array(evidence.utf8)) }
            var attempt = try #require(
                Attempt(
                    "request-of-\(account)", of: account, Array(evidence.utf8), code: error?.code.rawValue ?? "",
                    at: desk.date))
            attempt.evidence = nil
            try desk.ledger.record([attempt])
            let page = try words(browser.search("request-of-\(account)"))
            #expect(page.contains(meaning), "\(page)")
            #expect(!page.contains(" --") || page.contains("--keep-evidence"))
        }
    }
}
