import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// Changes by another transaction between two statements of this one are a conflict, after which it starts again.
@Suite struct RaceTests {
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        /// The beginning of a statement before which the other transaction does its work.
        let statement: String
        /// How many of these statements run before that.
        var after = 0
        /// The transactions of the act, when nothing is in their way.
        var count = 1
        /// The work of the other transaction.
        let other: [String]
        let act: @Sendable (PurchaseLedger) throws -> Void
    }

    private static let token = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01")!
    private static let tokensOfAccount = "SELECT token FROM account_tokens WHERE account"

    private static let cases = [
        Case(
            testDescription: "an account that is deleted gets a purchase", statement: tokensOfAccount,
            other: ["UPDATE families SET account = 'anna'"]
        ) { _ = try $0.deleteAccount("anna") },
        Case(
            testDescription: "an account that is deleted gets a token", statement: tokensOfAccount, after: 1,
            other: ["INSERT INTO account_tokens VALUES ('\(token)', 'anna', 'stored', 0, NULL)"]
        ) { _ = try $0.deleteAccount("anna") },
        Case(
            testDescription: "a purchase that is given away becomes another account's",
            statement: "SELECT id FROM families", after: 1,
            other: ["UPDATE families SET account = 'carl'", "UPDATE grants SET account = 'carl'"]
        ) { try $0.transfer(from: "ben", to: "anna", transactionID: "3", reason: "support", at: day(1)) },
        Case(
            testDescription: "a token that is stored becomes another account's",
            statement: "INSERT INTO account_tokens",
            other: ["INSERT INTO account_tokens VALUES ('\(token)', 'ben', 'stored', 0, NULL)"]
        ) { _ = try $0.token(for: "anna", storing: token) },
        Case(
            testDescription: "a purchase begins to wait for a token that is stored",
            statement: "SELECT token, account, retired_at FROM account_tokens",
            other: ["INSERT INTO waiting_tokens VALUES ('\(token)', 1, NULL)"]
        ) { _ = try $0.token(for: "anna", storing: token) },
        Case(
            testDescription: "a purchase begins to wait for a token that is imported",
            statement: "SELECT token, account, retired_at FROM account_tokens", count: 3,
            other: ["INSERT INTO waiting_tokens VALUES ('\(token)', 1, NULL)"]
        ) { _ = try $0.imported([.token(account: "anna", token)], at: day(1)) },
        Case(
            testDescription: "a lineage is joined with another one",
            statement: "SELECT \(LineageStatements.columns) FROM families",
            other: [
                "INSERT INTO families (id) VALUES (99)",
                "UPDATE identifiers SET family_id = 99 WHERE transaction_id = '3'",
                "DELETE FROM families WHERE id NOT IN (SELECT family_id FROM identifiers)",
            ]
        ) { try $0.record(Minted.notification(refund("3")), at: day(1)) },
        Case(
            testDescription: "a new purchase becomes known", statement: "INSERT INTO identifiers",
            other: ["INSERT INTO identifiers VALUES (99, 'production', '\(Minted.bundleID)', '2', 1)"]
        ) { try $0.record(Minted.notification(refund("2")), at: day(1)) },
    ]

    private static func coins(_ id: String) -> JWSBuilder {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: id, signedDate: day(0))
        builder.productType = .consumable
        return builder
    }

    private static func refund(_ id: String) throws -> JWSBuilder {
        var coins = coins(id)
        coins.revocationDate = day(1)
        return try JWSBuilder.notification(
            .refund, bundleID: Minted.bundleID, transaction: coins.signed(by: Minted.authority.get()),
            signedDate: day(1))
    }

    @Test(arguments: cases, Place.available)
    func `what changes while it is looked at is looked at again`(_ row: Case, _ place: Place) throws {
        let location = try place.makeLocation()
        let race = Race(row.other, before: row.statement, after: row.after)
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        let store = try RacedStore(store: LedgerLocation(location.text).open(), race: race)
        let ledger = try PurchaseLedger(store, policy)
        _ = try ledger.token(for: "anna")
        _ = try ledger.redeem(Minted.evidence(Self.coins("1")), for: "ben", at: day(0))
        let spent = try #require(
            SpentTransaction(
                account: "ben", environment: .production, bundleID: Minted.bundleID, transactionID: "3",
                originalTransactionID: nil, productID: "coins", quantity: 1, date: day(0)))
        _ = try ledger.imported([.spent(spent)], at: day(0))
        race.begin()
        do {
            try row.act(ledger)
            #expect(race.runs == row.count + 1)
        } catch let error as LedgerError {
            // Nobody else can write to SQLite meanwhile: that something did is an error.
            #expect(place == .sqlite && error.isConflict, "\(error)")
        }
        withExtendedLifetime(location) {}
    }
}

extension RaceTests {
    /// SQLite has one writer.
    @Test(arguments: Place.available.filter { $0 == .postgreSQL })
    func `the floor of the numbers waits for who has taken one`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledger = try PurchaseLedger(location.text)
        let other = try LedgerLocation(location.text).open()
        func raise() throws {
            try other.write { (connection) throws(LedgerError) in
                try connection.run("SET LOCAL lock_timeout = '100ms'")
                try connection.raiseSequenceFloor(to: day(9).millisecondsSince1970)
            }
        }
        let grant = Grant(
            transaction: TransactionKey(environment: .production, bundleID: Minted.bundleID, transactionID: "1"),
            account: "anna", productID: "coins", quantity: 1, isVoided: false)
        let wasRaised = Guarded(false)
        try ledger.store.write { (connection) throws(LedgerError) in
            _ = try connection.post(
                [grant.event(.granted, .redeem, nil, before: 0, at: day(1))], LedgerPolicy(), at: day(1))
            do { try raise() } catch { return }
            wasRaised.withLock { $0 = true }
        }
        #expect(!wasRaised.withLock { $0 })
        try raise()
        withExtendedLifetime(location) {}
    }
}

/// Has another transaction do something before a statement, once. It is rolled back with this one.
private final class Race: Sendable {
    private let other: [String]
    private let statement: String
    private let after: Int
    private let state = Guarded((left: nil as Int?, runs: 0))

    init(_ other: [String], before statement: String, after: Int) {
        (self.other, self.statement, self.after) = (other, statement, after)
    }

    func begin() { state.withLock { $0 = (after, 0) } }

    /// How often the transaction was begun.
    var runs: Int { state.withLock(\.runs) }

    func wrap(_ connection: any SQLConnection) -> RacedConnection {
        state.withLock { $0.runs += 1 }
        return RacedConnection(connection, self)
    }

    func pass(_ text: String, _ connection: any SQLConnection) throws(LedgerError) {
        guard text.hasPrefix(statement) else { return }
        let isNow = state.withLock { state in
            guard let left = state.left else { return false }
            state.left = left == 0 ? nil : left - 1
            return left == 0
        }
        if isNow { for text in other { try connection.run(text) } }
    }
}

private final class RacedConnection: SQLConnection {
    private let connection: any SQLConnection
    private let race: Race
    var dialect: SQLDialect { connection.dialect }

    init(_ connection: any SQLConnection, _ race: Race) { (self.connection, self.race) = (connection, race) }

    func run(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
        for statement in statements { try race.pass(statement.text, connection) }
        return try connection.run(statements)
    }

    func write(_ statement: String, _ parameters: [SQLValue]) throws(LedgerError) {
        try race.pass(statement, connection)
        try connection.write(statement, parameters)
    }
}

private struct RacedStore: ForwardingStore {
    let store: any LedgerStore
    let race: Race

    func write<Result>(
        _ share: WorkShare, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try store.write(share) { [race] (connection) throws(LedgerError) in try body(race.wrap(connection)) }
    }
}
