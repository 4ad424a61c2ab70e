import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import PurchaseLedger
@testable import SupportDesk
import Testing
import TrialSupport

/// Prices and renewals on the desk, as Apple signed them.
@Suite(.serialized) struct SignedFactTests {
    private let id = "340000000000001"

    /// Eight seats until the next day, renewed as gold.
    private func seats(_ desk: DeskFixture) throws -> String {
        try desk.coins(id) {
            ($0.productType, $0.quantity, $0.price) = (.autoRenewableSubscription, 8, 4990)
            $0.productID = "pro"
            $0.expiresDate = DeskFixture.start + .seconds(86_400)
        }
    }

    private func renewal(_ desk: DeskFixture, _ change: (inout JWSBuilder) -> Void = { _ in }) throws -> String {
        var builder = JWSBuilder.renewalInfo(
            productID: "pro", originalTransactionID: id, signedDate: DeskFixture.start + .seconds(60))
        builder.payload["renewalDate"] = .integer((DeskFixture.start + .seconds(86_400)).millisecondsSince1970)
        builder.payload["autoRenewProductId"] = "gold"
        change(&builder)
        return try builder.signed(by: desk.evidence.ellipticAuthority)
    }

    /// The words of the page about what was searched.
    private func search(_ text: String, _ desk: DeskFixture, _ language: String) throws -> String {
        let browser = try desk.browser()
        let saved = try browser.post("/settings", [("language", language), ("zone", "UTC")])
        let view = try #require(saved.cookies.first?.prefix { $0 != ";" })
        return try words(
            desk.post("/search", [("form", browser.form), ("text", text)], cookie: browser.cookie + "; " + view).text)
    }

    private static let priceInEnglish =
        "Price of a seat, on average: 4.99 USD. App Store: USA. All 8 seats: 39.92 USD, which Apple does not mean for reconciling revenue."
    private static let priceInChinese =
        "每个席位的平均价格： 4.99 USD 。 App Store 国家或地区： USA 。 全部 8 个席位： 39.92 USD （Apple 说明不可用于收入对账）。"

    @Test(arguments: [("en", Self.priceInEnglish), ("zh-Hans", Self.priceInChinese)])
    func `a price is shown with the purchase, and in the account`(language: String, sentence: String) throws {
        let desk = try DeskFixture()
        try desk.redeem(seats(desk), for: "anna")
        // A receipt that was signed later says no price.
        var purchase = ReceiptBuilder.Purchase.autoRenewable(
            "pro", transactionID: id, purchaseDate: DeskFixture.start,
            expiresDate: DeskFixture.start + .seconds(86_400))
        purchase.quantity = 1
        var receipt = ReceiptBuilder(bundleID: MintedEvidence.bundleID, purchases: [purchase])
        receipt.creationDate = DeskFixture.start + .seconds(60)
        desk.advance(.seconds(120))
        _ = try desk.ledger.redeem(
            desk.desk.verifier.verify(receipt.signed(by: desk.evidence.authority)), for: "anna", at: desk.date)
        for text in [id, "anna"] {
            let page = try search(text, desk, language)
            #expect(page.contains(spaceless: sentence), "\(page)")
        }
    }

    private static let states: [(language: String, says: [String])] = [
        (
            "en",
            [
                "Renewal is on.", "Date of the next charge: 2025-06-21 16:12:00 UTC.", "The next period is of gold.",
                "Price of a seat in the next period, on average: 1.99 USD.",
                "As Apple signed it on 2025-06-20 16:13:00 UTC, and it can have changed since:",
            ]
        ),
        (
            "zh-Hans",
            [
                "自动续订已开启。", "下次扣款日期：2025-06-21 16:12:00 UTC。", "下个周期的产品 ID：gold。", "下个周期每个席位的平均价格：1.99 USD。",
                "Apple 于 2025-06-20 16:13:00 UTC 签署，此后可能有变：",
            ]
        ),
    ]

    @Test(arguments: states)
    func `a renewal is shown with the purchase, and in the account`(language: String, says: [String]) throws {
        let desk = try DeskFixture()
        try desk.redeem(seats(desk), for: "anna")
        for text in [id, "anna"] {
            let page = try search(text, desk, language)
            for sentence in says { #expect(!page.contains(spaceless: sentence), "\(sentence) in \(page)") }
        }
        _ = try desk.ledger.redeem(
            desk.desk.verifier.verify(Array(renewal(desk).utf8)), for: "anna", at: desk.date)
        for text in [id, "anna"] {
            let page = try search(text, desk, language)
            for sentence in says { #expect(page.contains(spaceless: sentence), "\(sentence) in \(page)") }
        }
    }

    @Test(arguments: [("en", "It expired because Apple could not charge the customer."), ("zh-Hans", "因扣款失败而过期。")])
    func `of a subscription that has ended, the account says why`(language: String, sentence: String) throws {
        let desk = try DeskFixture()
        try desk.redeem(seats(desk), for: "anna")
        let ended = try renewal(desk) {
            $0.signedDate = DeskFixture.start + .seconds(90_000)
            ($0.payload["autoRenewStatus"], $0.payload["expirationIntent"]) = (0, 2)
        }
        desk.advance(.seconds(90_001))
        _ = try desk.ledger.redeem(desk.desk.verifier.verify(Array(ended.utf8)), for: "anna", at: desk.date)
        for text in [id, "anna"] {
            let page = try search(text, desk, language)
            #expect(page.contains(spaceless: sentence), "\(page)")
        }
    }
}

extension String {
    /// Whether a page's words contain a sentence, ignoring spaces, which can be markup.
    fileprivate func contains(spaceless sentence: String) -> Bool {
        filter { $0 != " " }.contains(sentence.filter { $0 != " " })
    }
}
