@_spi(Ledger) import AppStoreReceipt
@testable import PurchaseLedger
import StrictText
import Testing

extension LedgerState {
    init(_ ledger: PurchaseLedger) throws {
        self.init()
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT transaction_id, account, quantity FROM grants JOIN identifiers ON id = identifier_id")
        }
        for row in rows {
            set(try row.integer(2), of: try row.text(0), for: try row.text(1))
        }
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
