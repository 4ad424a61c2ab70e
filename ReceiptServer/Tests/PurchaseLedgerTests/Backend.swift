import AppStoreReceipt
@testable import PurchaseLedger

/// A backend that follows *Deliver* in `TUTORIAL.md` to the letter, and sees only answers and events.
struct Backend {
    struct Grant: Hashable {
        let account: String
        let environment: String
        let bundleID: String
        let transactionID: String
    }

    /// What an account has of a grant, and the end of its access as events report it.
    struct Balance: Hashable {
        let quantity: Int
        let until: String?
    }

    private var balances: [Grant: (balance: Balance, sequence: Int64)] = [:]

    /// The members of an event that a backend reads.
    struct Event: Decodable {
        let account: String
        let environment: String
        let bundle_id: String
        let transaction_id: String
        let quantity: Int
        let until: String?
        let sequence: Int64
    }

    /// Records a grant from before the ledger: see *Import what was granted before* in `RUNBOOK.md`.
    mutating func know(_ spent: SpentTransaction) {
        let key = spent.keys.transaction
        let grant = Grant(
            account: spent.account, environment: key.environment.rawValue, bundleID: key.bundleID.string,
            transactionID: key.transactionID.string)
        apply(grant, spent.quantity ?? 1, nil, 0)
    }

    mutating func receive(_ event: Event) {
        let grant = Grant(
            account: event.account, environment: event.environment, bundleID: event.bundle_id,
            transactionID: event.transaction_id)
        apply(grant, event.quantity, event.until, event.sequence)
    }

    mutating func receive(_ answer: Redemption, for account: String) {
        for outcome in answer.outcomes {
            guard let environment = outcome.environment, let bundleID = outcome.bundleID else { continue }
            func grant(_ transaction: String) -> Grant {
                Grant(
                    account: account, environment: environment.rawValue, bundleID: bundleID, transactionID: transaction)
            }
            let until = outcome.until?.description
            if let grantedAs = outcome.grantedAs { apply(grant(grantedAs), outcome.quantity, until, answer.sequence) }
            if outcome.grantedAs != outcome.transactionID {
                apply(grant(outcome.transactionID), 0, until, answer.sequence)
            }
        }
    }

    /// Forgets an account that the ledger deleted, too.
    mutating func forget(_ account: String) { balances = balances.filter { $0.key.account != account } }

    private mutating func apply(_ grant: Grant, _ quantity: Int, _ until: String?, _ sequence: Int64) {
        if let known = balances[grant], sequence < known.sequence { return }
        balances[grant] = (Balance(quantity: quantity, until: until), sequence)
    }

    /// The balances of its accounts, without those of deleted ones.
    var grants: [Grant: Balance] {
        balances.mapValues(\.balance).filter { $0.value.quantity > 0 && !$0.key.account.hasPrefix("forgotten-") }
    }
}

extension PurchaseLedger {
    /// The balances of undeleted accounts, from the table `grants`.
    func grantedBalances() throws -> [Backend.Grant: Backend.Balance] {
        let rows = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT account, environment, bundle_id, transaction_id, quantity, until
                FROM grants JOIN identifiers ON id = identifier_id
                WHERE quantity > 0 AND account NOT LIKE 'forgotten-%'
                """)
        }
        var grants: [Backend.Grant: Backend.Balance] = [:]
        for row in rows {
            let grant = Backend.Grant(
                account: try row.text(0), environment: try row.text(1), bundleID: try row.text(2),
                transactionID: try row.text(3))
            grants[grant] = Backend.Balance(
                quantity: Int(try row.integer(4)), until: try row.optionalDate(5)?.description)
        }
        return grants
    }
}
