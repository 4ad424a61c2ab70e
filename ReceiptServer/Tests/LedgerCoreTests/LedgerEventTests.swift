@_spi(Ledger) import AppStoreReceipt
import Foundation
import LedgerCore
import Testing

/// The JSON of an event, which the webhook's receiver reads and `Codable` reads and writes.
@Suite struct LedgerEventTests {
    /// Every member has a value.
    private static let whole = """
        {"account":"o'neil \\"€/","account_token":"6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01","at":"2025-06-15T15:06:40.250Z",\
        "bundle_id":"com.example.app","cause":"notification","environment":"production","id":"5f0c","kind":"revoked",\
        "length":"P30D","order_id":"8d1e","original_transaction_id":"1","previous_quantity":3,"product_id":"coins",\
        "purchase_date":"2025-06-15T14:30:00Z","quantity":0,"seats":7,"sequence":1750000000000,\
        "shop_order_id":"2025-0615-648","transaction_id":"2","until":"2025-06-15T14:50:00Z","version":2}
        """
    /// Every optional member has no value.
    private static let sparse = """
        {"account":"anna","account_token":null,"at":"2025-06-15T15:06:40Z","bundle_id":"com.example.app",\
        "cause":"redeem","environment":"sandbox","id":"5f0c","kind":"granted","length":null,"order_id":null,\
        "original_transaction_id":null,"previous_quantity":0,"product_id":"coins","purchase_date":null,"quantity":1,\
        "seats":null,"sequence":9,"shop_order_id":null,"transaction_id":"2","until":null,"version":2}
        """
    /// A lifecycle event has members of its own.
    private static let lifecycle = """
        {"account":"anna","account_token":null,"at":"2025-06-15T15:06:40Z","bundle_id":"com.example.app",\
        "cause":"notification","deadline":"2025-06-16T03:06:40Z","environment":"sandbox",\
        "expiration_intent":"billing-error","granted_as":"3","happened_at":"2025-06-15T15:06:39Z","id":"5f0c",\
        "kind":"refund-requested","length":null,"order_id":null,"original_transaction_id":null,"previous_quantity":0,\
        "price_increase":"agreed-or-notified","product_id":"pro","purchase_date":null,"quantity":0,\
        "reason":"FULFILLMENT_ISSUE","renews_as":"basic","request_id":"4ad0","seats":null,"sequence":9,\
        "shop_order_id":null,"transaction_id":"2","until":null,"version":2}
        """

    private func decode(_ body: String) throws -> LedgerEvent {
        try JSONDecoder().decode(LedgerEvent.self, from: Data(body.utf8))
    }

    @Test(arguments: [whole, sparse, lifecycle])
    func `Codable writes what the webhook's body says, to the letter`(_ body: String) throws {
        let event = try decode(body)
        #expect(event.json == body)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        #expect(try String(decoding: encoder.encode(event), as: UTF8.self) == body)
    }

    @Test func `members have their values`() throws {
        let event = try decode(Self.whole)
        #expect(
            event.account == "o'neil \"€/" && event.accountToken?.description == "6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01")
        #expect(event.at == Instant(rfc3339: "2025-06-15T15:06:40.250Z") && event.bundleID == "com.example.app")
        #expect(event.cause == .notification && event.environment == .production && event.id == "5f0c")
        #expect(event.kind == .revoked && event.length == "P30D" && event.originalTransactionID == "1")
        #expect((event.orderID, event.shopOrderID) == ("8d1e", "2025-0615-648"))
        #expect((event.quantity, event.previousQuantity, event.seats) == (0, 3, 7))
        #expect(event.productID == "coins" && event.transactionID == "2" && event.sequence == 1_750_000_000_000)
        #expect(event.purchaseDate == Instant(rfc3339: "2025-06-15T14:30:00Z"))
        #expect(event.until == Instant(rfc3339: "2025-06-15T14:50:00Z"))
    }

    @Test func `kinds and causes of a later version are kept, and its members ignored`() throws {
        var body = Self.sparse.replacing("\"granted\"", with: "\"paused\"").replacing("\"redeem\"", with: "\"weather\"")
        body = body.replacing("{\"account\"", with: "{\"aaa\":[{}],\"account\"")
        let event = try decode(body)
        #expect(event.kind == LedgerEvent.Kind(rawValue: "paused") && event.kind != .granted)
        #expect("\(event.kind) \(event.cause)" == "paused weather")
    }

    @Test func `an event about a purchase without an owner has no account, id and number`() throws {
        var (body, expected) = (Self.sparse, Self.sparse)
        for (member, value, none) in [
            ("account", "\"anna\"", "\"\""), ("id", "\"5f0c\"", "\"\""), ("sequence", "9", "0"),
        ] {
            body = body.replacing("\"\(member)\":\(value)", with: "\"\(member)\":\(none)")
            expected = expected.replacing("\"\(member)\":\(value)", with: "\"\(member)\":null")
        }
        #expect(try decode(body).json == expected)
    }

    @Test func `members that an older version did not write have no value`() throws {
        var body = Self.sparse
        for name in ["account_token", "length", "order_id", "purchase_date", "seats", "shop_order_id"] {
            body = body.replacing("\"\(name)\":null,", with: "")
        }
        let event = try decode(body)
        #expect(event.json == Self.sparse)
    }

    @Test(arguments: [
        ("\"quantity\":1,", ""), ("\"quantity\":1,", "\"quantity\":\"1\","), ("\"at\":\"2025-06-15T15:06:40Z\",", ""),
        ("2025-06-15T15:06:40Z", "2025-06-15"), ("\"sandbox\"", "\"moon\""), ("\"account\":\"anna\",", ""),
    ])
    func `an event without a member that every version has is refused`(_ member: String, _ other: String) {
        #expect(throws: DecodingError.self) { try decode(Self.sparse.replacing(member, with: other)) }
    }
}
