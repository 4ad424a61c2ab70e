import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerTesting
import Foundation
@testable import PurchaseLedger
@testable import SupportDesk
import Testing
import TrialSupport

/// *Ask Apple now*, against a fake App Store.
@Suite(.serialized) struct AskAppleTests {
    private let store: FakeAppStore
    private let desk: DeskFixture
    private let browser: DeskFixture.Browser

    init() throws {
        var options = FakeAppStore.Options()
        options.bundleID = MintedEvidence.bundleID
        options.environment = .production
        options.date = DeskFixture.start
        options.tokenClock = .store
        store = try FakeAppStore(options)
        desk = try DeskFixture(asking: store)
        browser = try desk.browser(DeskFixture.everything)
    }

    /// Three coins of the customer, which nobody has sent.
    private func buy() -> PurchaseHistory.Transaction {
        let date = store.now - .seconds(60)
        return store.change(customer: 1) { $0.buyConsumable("coins", quantity: 3, at: date) }
    }

    /// Three coins, granted to anna.
    private func granted() throws -> PurchaseHistory.Transaction {
        let coins = buy()
        let builder = try #require(store.histories[1]?.transaction(coins, signedAt: store.now))
        try desk.redeem(builder.signed(by: store.authority), for: "anna")
        return coins
    }

    private func refund(_ transaction: PurchaseHistory.Transaction) {
        let date = store.now
        store.change(customer: 1) { $0.refund(transaction, at: date) }
    }

    @Test func `a refund without a notification is recorded, notified, and in the story with the reason`() throws {
        let coins = try granted()
        refund(coins)
        #expect(try words(browser.search(coins.transactionID)).contains("anna has it: 3 × coins."))
        let page = try words(browser.act(.askApple, coins.transactionID).text)
        for sentence in [
            "Apple answered. Transactions recorded: 1.", "Apple refunded or revoked it", "Nobody has it now.",
            "Support asked Apple. Reason: because of ask-apple Apple answered. What it signed was recorded.",
            "anna has 0, and had 3: it was taken back.",
        ] {
            #expect(page.contains(sentence), "\(sentence)")
        }
        let story = try #require(try desk.story(coins.transactionID))
        #expect(story.events.map(\.kind) == ["revoked", "granted"])
        #expect(story.events.first?.cause == "reconciliation" && story.events.first?.state == .pending)
        #expect(story.acts.map(\.answer) == ["recorded"] && story.acts.map(\.account) == ["anna"])
        // In the history of the account, too.
        #expect(try words(browser.search("anna")).contains("Support asked Apple. Reason: because of ask-apple"))
        // Apple says it again: there is nothing new to notify.
        _ = try browser.act(.askApple, coins.transactionID)
        #expect(try desk.story(coins.transactionID)?.events.count == 2)
    }

    @Test func `the order id of an invoice leads to its transactions, which become nobody's`() throws {
        let coins = buy()
        let order = FakeAppStore.orderID(of: coins.transactionID)
        #expect(hidden("id", in: try browser.search("My order is \(order), thanks")) == [order])
        let page = try words(browser.act(.askApple, order, ["account": ""]).text)
        #expect(page.contains("Apple answered. Transactions recorded: 1.") && page.contains("It can be granted"))
        #expect(page.contains("Support asked Apple. Reason: because of ask-apple"))
        let story = try #require(try desk.story(coins.transactionID))
        #expect(story.owner == nil && story.grants.isEmpty && story.events.isEmpty)
    }

    @Test(arguments: ["340000000000077", "MX1A2B3C4D"])
    func `what Apple does not know is said to prove nothing, and is found again with who asked`(id: String) throws {
        let page = try words(browser.act(.askApple, id, ["account": ""]).text)
        #expect(page.contains("Apple does not know it in this app and environment. That alone proves nothing"))
        let again = try words(browser.search("The customer says \(id)."))
        #expect(again.contains("Support asked Apple. Reason: because of ask-apple Apple does not know it"))
        let knower = id.hasPrefix("M") ? "Only Apple knows its transactions." : "Only Apple can say whether it exists."
        #expect(again.contains(knower))
        #expect(!again.contains("Nobody has it."))
        #expect(desk.asked.withLock(\.count) == 1)
    }

    @Test(
        arguments: [
            (.notFound, .unknown), (.internalError, .unavailable), (.unavailable, .unavailable),
            (.rateLimit, .unavailable), (.tornBody, .unavailable), (.unauthorized, .misconfigured),
            (.changedSignature, .refused), (.otherApp, .refused), (.otherEnvironment, .refused),
            (.untrustedRoot, .refused), (.otherTransaction, .refused),
        ] as [(FakeFault, AppleAnswer.Kind)])
    func `an answer that proves nothing changes nothing, and is a sentence`(
        fault: FakeFault, kind: AppleAnswer.Kind
    ) throws {
        let coins = try granted()
        refund(coins)
        let before = try #require(try desk.story(coins.transactionID))
        store.inject(fault, count: 100)
        let answer = try browser.act(.askApple, coins.transactionID)
        let notice = kind.words.text(in: .english).description
        #expect(answer.status == 200 && words(answer.text).contains(notice), "\(words(answer.text).prefix(400))")
        #expect(!words(answer.text).contains("Transactions recorded"))
        let story = try #require(try desk.story(coins.transactionID))
        #expect(story.grants.map(\.quantity) == [3] && story.owner == "anna")
        #expect(story.events.count == before.events.count && story.evidence.count == before.evidence.count)
        #expect(story.acts.map(\.answer) == [kind.rawValue])
    }

    @Test func `a refused item is named, and the rest is recorded if support chooses so`() throws {
        let date = store.now - .seconds(86_400)
        let id = store.change(customer: 1) { history in
            history.subscribe(to: "monthly", in: "group", for: .days(30), at: date).originalTransactionID
        }
        store.inject(.changedSignature, into: .transactionHistory, count: 100)
        let refused = try words(browser.act(.askApple, id, ["account": ""]).text)
        #expect(refused.contains("nothing was changed. Refused: \(id) (invalid-signature)."), "\(refused.prefix(400))")
        #expect(try desk.story(id)?.evidence.isEmpty ?? true)
        let partly = try words(browser.act(.askApple, id, ["account": "", "refused": "skip"]).text)
        let notice = "\(id) (invalid-signature). The rest was recorded. Transactions recorded: 1."
        #expect(partly.contains(notice), "\(partly.prefix(400))")
        #expect(partly.contains("Something in Apple's answer was refused. The rest was recorded."))
        let story = try #require(try desk.story(id))
        #expect(story.evidence.count == 1 && story.owner == nil)
        #expect(story.acts.map(\.answer) == ["partial", "refused"])
    }

    @Test func `a form that is sent twice asks Apple once, also if Apple said no`() throws {
        let fields = ["number": UUID().uuidString, "account": ""]
        _ = try browser.act(.askApple, "340000000000077", fields)
        let page = try words(browser.act(.askApple, "340000000000077", fields).text)
        #expect(page.contains("This form was sent before. Nothing was done again."))
        #expect(desk.asked.withLock(\.count) == 1)
        #expect(words(try browser.search("nobody")).contains("Or ask the customer for the order id in Apple's e-mail"))
    }

    @Test(arguments: [
        ["reason": " "], ["reason": "r\u{0}"], ["bundle": "com.example.other"], ["bundle": ""],
        ["environment": "sandbox"], ["environment": "xcode"], ["id": ""], ["id": "../notifications"],
        ["id": "1/../2"], ["id": "1?x=y"], ["id": "1\r\nHost: evil.example"], ["id": "1\u{0}"],
        ["id": String(repeating: "1", count: 300)], ["number": ""], ["form": "0"],
    ])
    func `without a reason that can be recorded, an app of the server or an id of Apple's, Apple is not asked`(
        fields: [String: String]
    ) throws {
        let coins = try granted()
        let answer =
            fields["form"] != nil
            ? try desk.post("/act", [("act", "ask-apple")], cookie: browser.cookie)
            : try browser.act(.askApple, coins.transactionID, fields)
        if answer.status == 200 {
            let text = words(answer.text)
            #expect(text.contains("Nothing was done") || text.contains("Apple was not asked"), "\(text.prefix(300))")
        } else {
            #expect([400, 403].contains(answer.status))
        }
        #expect(desk.asked.withLock { $0.isEmpty })
        #expect(try desk.story(coins.transactionID)?.acts.isEmpty == true)
    }
}
