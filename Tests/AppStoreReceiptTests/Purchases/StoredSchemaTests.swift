import Foundation
import StrictText
import Testing

@_spi(Ledger) @_spi(Surfaces) @testable import AppStoreReceipt

/// Stored purchases outlive a version of this library. If you change one of these objects, raise the number of the
/// schema, and read both.
struct StoredSchemaTests {
    private static let purchase = """
        {"schema":1,"product_id":"com.example.app.monthly","product_type":"Auto-Renewable Subscription","quantity":1,
        "subscription_group_id":"20500001","offer":{"type":1,"id":"winter","discount_type":"FREE_TRIAL","period":"P1W"},
        "transaction_id":"70001","original_transaction_id":"70000","previous_original_transaction_id":"60000",
        "web_order_line_item_id":"80001","purchase_date":1748770200000,"original_purchase_date":1748770100000,
        "expires_date":1751362200000,"signed_date":1748770201000,"evidence_expiration_date":1751362201000,"revoked":true,
        "revocation_date":1748770202000,"revocation_reason":1,"revocation_type":"REFUND_PRORATED","revocation_percentage":50000,
        "upgraded":false,"ownership_type":"PURCHASED","app_account_token":"7e3fb204-2bbe-4a3f-9a4c-0a2b5a6c7d8e",
        "bundle_id":"com.example.app","environment":"production"}
        """
    private static let renewal = """
        {"schema":1,"original_transaction_id":"70000","environment":"sandbox","product_id":"com.example.app.monthly",
        "auto_renew_product_id":"com.example.app.yearly","auto_renew_status":1,"renewal_date":1751362200000,
        "grace_period_expires_date":1752362200000,"is_in_billing_retry_period":true,"expiration_intent":2,
        "price_consent_status":1,"signed_date":1748770201000}
        """

    /// The object that a value is after it was read from JSON and written again.
    private func rewritten<Value: Codable>(_ json: String, as type: Value.Type) throws -> NSDictionary {
        try object(JSONEncoder().encode(JSONDecoder().decode(type, from: Data(json.utf8))))
    }

    private func object(_ json: Data) throws -> NSDictionary {
        try #require(JSONSerialization.jsonObject(with: json) as? NSDictionary)
    }

    @Test func `purchases whose texts only look the same are not the same`() throws {
        func purchase(_ productID: String) throws -> Purchase {
            let json = Self.purchase.replacing("com.example.app.monthly", with: productID)
            return try JSONDecoder().decode(Purchase.self, from: Data(json.utf8))
        }
        // One scalar, and two that Unicode calls equivalent.
        #expect(try purchase("caf\u{E9}") == purchase("caf\u{E9}"))
        #expect(try purchase("caf\u{E9}") != purchase("cafe\u{301}"))
    }

    @Test func `all members of schema 1 are read and written`() throws {
        #expect(try rewritten(Self.purchase, as: Purchase.self) == object(Data(Self.purchase.utf8)))
        #expect(try rewritten(Self.renewal, as: SubscriptionRenewal.self) == object(Data(Self.renewal.utf8)))
    }

    @Test func `another schema is refused`() {
        for (json, type) in [(Self.purchase, Purchase.self), (Self.renewal, SubscriptionRenewal.self)]
            as [(String, any Decodable.Type)]
        {
            let other = json.replacing("\"schema\":1", with: "\"schema\":2")
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(type, from: Data(other.utf8)) }
        }
        #expect(throws: DecodingError.self) {
            try Purchase(storedJSON: Self.purchase.replacing("\"schema\":1", with: "\"schema\":2"))
        }
    }

    private func foundationText(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// The ledger of 0.2.0 wrote its rows with Foundation's coder.
    @Test func `the library's coder writes the text of Foundation's, and reads it`() throws {
        var purchase = try JSONDecoder().decode(Purchase.self, from: Data(Self.purchase.utf8))
        let renewal = try JSONDecoder().decode(SubscriptionRenewal.self, from: Data(Self.renewal.utf8))
        #expect(try purchase.storedJSON == foundationText(purchase))
        #expect(try renewal.storedJSON == foundationText(renewal))
        #expect(try Purchase(storedJSON: Self.purchase) == purchase)
        #expect(try SubscriptionRenewal(storedJSON: Self.renewal) == renewal)
        // Every optional field alone is missing. Version 0.2.0 had no stated type, seats,
        // app transaction and price.
        var whole = purchase
        whole.statedType = .nonConsumable
        whole.multiSeatInfo = PurchaseSeatInfo(invitationManagement: .developer, revokedSeatQuantity: 2)
        (whole.additionalTransactionReason, whole.appTransactionID) = (.seatAddition, "704289572311736190")
        whole.lacksOriginalTransactionID = true
        (whole.price, whole.currency, whole.storefront) = (4990, "USD", "USA")
        whole.priceSignedDate = Instant(millisecondsSince1970: 1_748_770_200_000)
        let wholeText = Data(whole.storedJSON.utf8)
        for field in Purchase.table.fields where !field.isRequired {
            var object = try #require(JSONSerialization.jsonObject(with: wholeText) as? [String: Any])
            object[field.key.stringValue] = nil
            let text = String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
            let shorter = try Purchase(storedJSON: text)
            #expect(shorter != whole, "\(field.key.stringValue) is compared")
            #expect(try shorter.storedJSON == foundationText(shorter))
            #expect(try JSONDecoder().decode(Purchase.self, from: Data(text.utf8)) == shorter)
        }
        for text in ["", "\"\\/\u{1}\n", "täglich \u{1F600}", "e\u{301}", "\u{e9}", "\u{202E}\u{7F}"] {
            purchase.productID = text
            purchase.offer?.id = text
            let read = try Purchase(storedJSON: purchase.storedJSON)
            #expect(read == purchase && read.productID.utf8.elementsEqual(text.utf8))
            #expect(try Purchase(storedJSON: foundationText(purchase)) == purchase)
            #expect(try JSONDecoder().decode(Purchase.self, from: Data(purchase.storedJSON.utf8)) == purchase)
        }
    }

    @Test(arguments: [
        ("", "truncated"), ("[]", "wrong type"), ("{}", "missing"), ("{\"schema\":1}", "missing"),
        (purchase + "x", "extra text"),
        (purchase.replacing("\"quantity\":1", with: "\"quantity\":\"1\""), "wrong type"),
        (purchase.replacing("\"quantity\":1", with: "\"quantity\":1,\"quantity\":1"), "repeated"),
        (purchase.replacing("\"70001\"", with: "null"), "wrong type"),
        (purchase.replacing("\"production\"", with: "\"moon\""), "not allowed"),
        (purchase.replacing("\"70001\"", with: "\"7\\x\""), "escape"),
    ])
    func `what the ledger did not write is refused with its place`(text: String, reason: String) throws {
        do throws(DecodingError) {
            _ = try Purchase(storedJSON: text)
            Issue.record("read")
        } catch {
            guard case .dataCorrupted(let context) = error else { throw error }
            if reason != "truncated" { #expect(context.debugDescription.contains(reason)) }
            #expect(context.debugDescription.contains("at byte"))
        }
        #expect(throws: DecodingError.self) {
            // Foundation takes the first of two members.
            guard reason != "repeated" else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: ""))
            }
            _ = try JSONDecoder().decode(Purchase.self, from: Data(text.utf8))
        }
    }

    @Test func `names of a later version are ignored`() throws {
        let later = Self.purchase.replacing("\"schema\":1", with: "\"schema\":1,\"shade\":{\"of\":[null]}")
        #expect(try Purchase(storedJSON: later) == Purchase(storedJSON: Self.purchase))
    }

    @Test func `an optional field that is null has no value, as for Foundation`() throws {
        let text = Self.purchase.replacing("\"quantity\":1", with: "\"quantity\":null")
        var expected = try Purchase(storedJSON: Self.purchase)
        expected.quantity = nil
        #expect(try Purchase(storedJSON: text) == expected)
        #expect(try JSONDecoder().decode(Purchase.self, from: Data(text.utf8)) == expected)
    }

    @Test func `outputs leave out what a purchase lacks, and their description does not say null`() {
        for field in Purchase.table.fields where !field.isRequired {
            var writer = JSONWriter()
            writer.beginObject()
            field.show(.blank, &writer)
            writer.endObject()
            #expect(writer.bytes == Array("{}".utf8), "\(field.key.stringValue)")
            #expect(field.output.isOptional && !field.output.isNull, "\(field.key.stringValue)")
        }
    }

    /// What is merged from two pieces of evidence, field by field.
    @Test func `a later signature's value counts where it has one, for every field but those with a rule`() throws {
        let known = try Purchase(storedJSON: Self.purchase)
        let bare = Purchase(
            productID: "other", transactionID: known.transactionID, purchaseDate: Instant(millisecondsSince1970: 1),
            signedDate: Instant(millisecondsSince1970: 2))
        var merged = known
        merged.merge(bare)
        var expected = known
        (expected.productID, expected.purchaseDate, expected.signedDate) = ("other", bare.purchaseDate, bare.signedDate)
        // Evidence that does not expire proves the purchase.
        expected.evidenceExpirationDate = nil
        #expect(merged == expected)
        merged = bare
        merged.merge(known)
        expected = known
        // What is merged is of one app and environment.
        (expected.bundleID, expected.environment, expected.evidenceExpirationDate) = (nil, nil, nil)
        #expect(merged == expected)
    }
}
