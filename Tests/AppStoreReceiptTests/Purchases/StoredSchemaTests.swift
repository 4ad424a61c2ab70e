import AppStoreReceipt
import Foundation
import Testing

/// Stored purchases outlive a version of this library. Whoever changes one of these objects raises the number of the schema, and reads both.
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
    }
}
