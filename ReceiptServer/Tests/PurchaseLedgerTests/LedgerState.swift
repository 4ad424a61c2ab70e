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
            state.set(Int64(event.quantity), of: event.transactionID, for: event.account)
        }
        return state
    }
}

extension Entitlements {
    /// The access of each transaction.
    var codes: [String: String] {
        Dictionary(uniqueKeysWithValues: items.map { ($0.transactionID, "\($0.access)") })
    }
}
