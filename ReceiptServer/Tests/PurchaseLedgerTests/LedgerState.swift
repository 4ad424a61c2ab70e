@_spi(Ledger) import AppStoreReceipt
@testable import PurchaseLedger
import StrictText
import Testing

/// What accounts have, for comparisons. A refund leaves nothing, as if there had been no grant.
struct LedgerState: Equatable {
    struct Row: Hashable {
        let account: String
        let quantity: Int64
    }

    /// By transaction.
    var grants: [String: Row] = [:]

    init() {}

    init(_ ledger: PurchaseLedger) throws {
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT transaction_id, account, quantity FROM grants")
        }
        for row in rows {
            set(try row.integer(2), of: try row.text(0), for: try row.text(1))
        }
    }
}

extension LedgerState {
    mutating func set(_ quantity: Int64, of transaction: String, for account: String) {
        grants[transaction] = quantity == 0 ? nil : Row(account: account, quantity: quantity)
    }
}

extension PurchaseLedger {
    /// The events in the outbox, of each account in their order.
    func events() throws -> [LedgerEvent] {
        let rows = try store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT event FROM outbox ORDER BY account, sequence")
        }
        return try rows.map { try StoredJSON.decode($0.text(0)) }
    }

    /// What the events add up to.
    func stateByEvents() throws -> LedgerState {
        var state = LedgerState()
        for event in try events() {
            state.set(event.quantity, of: event.transactionID, for: event.account)
        }
        return state
    }
}

/// The tests read events as a backend does.
extension LedgerEvent: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id, account, sequence, kind, cause, environment, quantity, seats, until, length, at
        case purchaseDate = "purchase_date"
        case accountToken = "account_token"
        case orderID = "order_id"
        case shopOrderID = "shop_order_id"
        case bundleID = "bundle_id"
        case productID = "product_id"
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case previousQuantity = "previous_quantity"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func date(_ key: CodingKeys) throws -> Instant? {
            guard let text = try container.decode(String?.self, forKey: key) else { return nil }
            guard let date = Instant(rfc3339: text) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: text)
            }
            return date
        }
        self.init(
            id: try container.decode(String.self, forKey: .id),
            account: try container.decode(String.self, forKey: .account),
            sequence: try container.decode(Int64.self, forKey: .sequence),
            kind: try #require(Kind(rawValue: container.decode(String.self, forKey: .kind))),
            cause: try #require(Cause(rawValue: container.decode(String.self, forKey: .cause))),
            environment: try container.decode(AppStoreEnvironment.self, forKey: .environment),
            bundleID: try container.decode(String.self, forKey: .bundleID),
            productID: try container.decode(String.self, forKey: .productID),
            transactionID: try container.decode(String.self, forKey: .transactionID),
            originalTransactionID: try container.decode(String?.self, forKey: .originalTransactionID),
            quantity: try container.decode(Int64.self, forKey: .quantity),
            previousQuantity: try container.decode(Int64.self, forKey: .previousQuantity),
            seats: try container.decode(Int64?.self, forKey: .seats),
            until: try date(.until), purchaseDate: try date(.purchaseDate),
            length: try container.decode(String?.self, forKey: .length), at: try #require(try date(.at)))
        accountToken = try container.decode(String?.self, forKey: .accountToken).map(AppAccountToken.init(signed:))
        let shopOrderID = try container.decode(String?.self, forKey: .shopOrderID)
        order = try container.decode(String?.self, forKey: .orderID).map {
            NamedOrder(id: $0, shopOrderID: shopOrderID)
        }
        #expect(order != nil || shopOrderID == nil)
    }
}

extension Entitlements {
    /// The access of each transaction.
    var codes: [String: String] {
        Dictionary(uniqueKeysWithValues: items.map { ($0.transactionID, "\($0.access)") })
    }
}
