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
    /// The events in the outbox, of each account in their order. The columns by which support finds them say the same.
    func events() throws -> [LedgerEvent] {
        let rows = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT event, kind, environment, bundle_id, transaction_id
                FROM outbox LEFT JOIN identifiers ON identifiers.id = identifier_id ORDER BY account, sequence
                """)
        }
        return try rows.map { row in
            let event: LedgerEvent = try StoredJSON.decode(row.text("event"))
            let words = [event.kind.rawValue, event.environment.rawValue, event.bundleID, event.transactionID]
            let columns = try ["kind", "environment", "bundle_id", "transaction_id"].map { try row.optionalText($0) }
            #expect(columns == words)
            return event
        }
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
