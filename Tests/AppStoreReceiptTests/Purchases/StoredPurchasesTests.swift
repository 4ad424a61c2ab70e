import AppStoreReceipt
import Foundation
import Testing

/// Version 1 of the schema of stored purchases and renewals. A changed key or form would make what backends have stored unreadable.
@Suite struct StoredPurchasesTests {
    private static let purchase = """
        {"app_account_token":"9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00","bundle_id":"com.example.app","environment":"production",\
        "evidence_expiration_date":1767225600000,"expires_date":1751362200000,\
        "offer":{"discount_type":"FREE_TRIAL","id":"summer","period":"P1W","type":1},"original_purchase_date":1748770200000,\
        "original_transaction_id":"70001","ownership_type":"PURCHASED","previous_original_transaction_id":"60001",\
        "product_id":"com.example.app.monthly","product_type":"Auto-Renewable Subscription","purchase_date":1748770200000,"quantity":1,\
        "revocation_date":1748856600000,"revocation_percentage":50000,"revocation_reason":1,"revocation_type":"REFUND_PRORATED",\
        "revoked":true,"schema":1,"signed_date":1748770201000,"subscription_group_id":"20500001","transaction_id":"70002",\
        "upgraded":false,"web_order_line_item_id":"80001"}
        """
    private static let renewal = """
        {"auto_renew_product_id":"com.example.app.yearly","auto_renew_status":1,"environment":"sandbox","expiration_intent":2,\
        "grace_period_expires_date":1752744600000,"is_in_billing_retry_period":true,"original_transaction_id":"70001",\
        "price_consent_status":0,"product_id":"com.example.app.monthly","renewal_date":1751362200000,"schema":1,\
        "signed_date":1748770201000}
        """
    /// What no value can be without.
    private static let shortPurchase = """
        {"original_transaction_id":"70001","product_id":"pro","purchase_date":1748770200000,"quantity":1,"schema":1,\
        "signed_date":1748770201000,"transaction_id":"70001"}
        """
    private static let shortRenewal = #"{"original_transaction_id":"70001","schema":1,"signed_date":1748770201000}"#

    private func rewritten<Value: Codable>(_ json: String, as type: Value.Type) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(
            decoding: try encoder.encode(JSONDecoder().decode(Value.self, from: Data(json.utf8))), as: UTF8.self)
    }

    @Test(arguments: [purchase, shortPurchase])
    func `a stored purchase is read, and written as it was`(json: String) throws {
        #expect(try rewritten(json, as: Purchase.self) == json)
    }

    @Test(arguments: [renewal, shortRenewal])
    func `a stored renewal is read, and written as it was`(json: String) throws {
        #expect(try rewritten(json, as: SubscriptionRenewal.self) == json)
    }

    @Test func `the stored values are those of the properties`() throws {
        let renewal = try JSONDecoder().decode(SubscriptionRenewal.self, from: Data(Self.renewal.utf8))
        #expect(renewal.nextProductID == "com.example.app.yearly" && renewal.productID == "com.example.app.monthly")
        #expect(renewal.autoRenewStatus == .on && renewal.expirationIntent == .billingError)
        #expect(renewal.gracePeriodExpiresDate?.millisecondsSince1970 == 1_752_744_600_000)
        #expect(renewal.priceIncreaseStatus == .pending && renewal.isInBillingRetryPeriod == true)
        let purchase = try JSONDecoder().decode(Purchase.self, from: Data(Self.purchase.utf8))
        #expect(purchase.transactionID == "70002" && purchase.originalTransactionID == "70001")
        #expect(purchase.isRevoked == true && purchase.isUpgraded == false && purchase.revocationPercentage == 50_000)
        #expect(purchase.offer?.isFreeTrial == true && purchase.offer?.isIntroductory == true)
    }

    @Test func `an unknown version, or none, is refused`() {
        for (old, new) in [(#""schema":1"#, #""schema":2"#), (#""schema":1,"#, "")] {
            #expect(throws: DecodingError.self) {
                try rewritten(Self.shortPurchase.replacingOccurrences(of: old, with: new), as: Purchase.self)
            }
            #expect(throws: DecodingError.self) {
                try rewritten(
                    Self.shortRenewal.replacingOccurrences(of: old, with: new), as: SubscriptionRenewal.self)
            }
        }
    }
}
