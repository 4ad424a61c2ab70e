import AppStoreReceipt
import Foundation
import LibcryptoHandles
@testable import PurchaseLedger
import StrictText
import Testing

/// Ledgers that releases made, opened by the code of today. `Tests/Ledgers/make` makes them.
@Suite struct OldLedgerTests {
    struct Release: CustomTestStringConvertible, Sendable {
        let name: String
        let place: Place

        static let all = ["0.2.0"].flatMap { name in Place.available.map { Release(name: name, place: $0) } }

        var testDescription: String { "\(name), \(place.rawValue)" }

        func text(_ file: String) throws -> String {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Ledgers/\(name)")
            return try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        }
    }

    /// The release's last answers, and evidence to redeem afterwards.
    private struct Story: Decodable {
        struct Redemption: Decodable {
            let account: String
            let evidence: String
            let outcomes: [RecordedOutcome]
        }

        let version: String
        let roots: [String]
        let redemptions: [Redemption]
        let refund: String
    }

    private struct RecordedOutcome: Decodable {
        let transaction_id: String
        let product_id: String
        let outcome: String
        let access: String?
        let quantity: Int
        let until: String?

        func isSaid(by outcome: TransactionOutcome) -> Bool {
            transaction_id == outcome.transactionID && product_id == outcome.productID
                && self.outcome == outcome.outcome.rawValue && access == outcome.access?.code
                && quantity == outcome.quantity
                && until.flatMap { Instant(rfc3339: $0) } == outcome.until
        }
    }

    private struct Ended: Error {}

    /// Queries that have the same answer before and after, when `#` has the names of transactions.
    private static let facts = [
        "owners": """
        SELECT i.environment, i.bundle_id, i.transaction_id, f.account, f.claimed_at FROM identifiers i
        JOIN families f ON f.id = i.family_id ORDER BY 1, 2, 3
        """,
        "quantities": """
        SELECT environment, bundle_id, transaction_id, product_id, account, quantity, granted_quantity, granted_at, voided_at
        FROM grants # ORDER BY 1, 2, 3
        """,
        "evidence": """
        SELECT environment, bundle_id, transaction_id, variant, signed_date, purchase, signer FROM evidence #
        ORDER BY 1, 2, 3, 4
        """,
        "notifications":
            "SELECT environment, uuid, type, transaction_id, signed_date, received_at FROM notifications ORDER BY 1, 2",
        "transfers": "SELECT id, from_account, to_account, reason, transferred_at FROM transfers ORDER BY 1",
        "deliveries": "SELECT id, account, sequence, made_at, state, attempts, failure FROM outbox ORDER BY 2, 3",
    ]

    private func facts(_ connection: any SQLConnection, _ names: String) throws(LedgerError) -> [String: [String]] {
        var all: [String: [String]] = [:]
        for (name, query) in Self.facts {
            all[name] = try connection.run(query.replacing("#", with: names)).map { row in
                row.values.map { value in
                    switch value {
                    case .integer(let value): "\(value)"
                    case .text(let text): text
                    default: "\(value)"
                    }
                }.joined(separator: "|")
            }
        }
        return all
    }

    /// The members of events by their ids. Version 1 of the tables had dates in milliseconds, and no member without a
    /// value now.
    private func events(_ connection: any SQLConnection) throws -> [String: [String: String]] {
        var all: [String: [String: String]] = [:]
        for row in try connection.run("SELECT id, event FROM outbox") {
            let object = try JSONSerialization.jsonObject(with: Data(row.text(1).utf8))
            all[try row.text(0)] = try #require(object as? [String: Any]).compactMapValues { value in
                if value is NSNull { return nil }
                let text = "\(value)"
                return Instant(rfc3339: text).map { "\($0.millisecondsSince1970)" } ?? text
            }
        }
        return all
    }

    @Test(arguments: Release.all)
    func `a ledger of a release is opened, is the same, and goes on`(_ release: Release) throws {
        let story = try JSONDecoder().decode(Story.self, from: Data(release.text("story.json").utf8))
        #expect(story.version == release.name)
        let location = try release.place.makeEmptyLocation()
        var before: ([String: [String]], [String: [String: String]]) = ([:], [:])
        let store = try LedgerLocation(location.text).open(.creating)
        let statements = try release.text(release.place == .sqlite ? "sqlite.sql" : "postgresql.sql")
        var result: Result<Void, any Error> = .failure(Ended())
        try store.migrate { (connection) throws(LedgerError) in
            for statement in statements.components(separatedBy: ";\n") where !statement.isEmpty {
                try connection.run(statement)
            }
            before.0 = try facts(connection, "")
            result = Result { before.1 = try events(connection) }
        }
        try result.get()
        #expect(before.0.values.allSatisfy { !$0.isEmpty } && before.1.count > 10)

        let ledger = try PurchaseLedger(location.text)
        #expect(ledger.upgrade?.found == 1)
        #expect(try PurchaseLedger(location.text).upgrade == nil)
        var after: ([String: [String]], [String: [String: String]]) = ([:], [:])
        try ledger.store.read { (connection) throws(LedgerError) in
            after.0 = try facts(connection, "JOIN identifiers ON id = identifier_id")
            result = Result { after.1 = try events(connection) }
        }
        try result.get()
        for (name, rows) in before.0 { #expect(after.0[name] == rows, "\(name)") }
        #expect(after.1 == before.1.mapValues { $0.merging(["version": "2"]) { $1 } })
        #expect(try Set(ledger.grantedBalances().values.map(\.quantity)).isSuperset(of: [1, 2, 3, 5]))

        // Repeated redemptions get the release's answers.
        let roots = try story.roots.map { try TrustAnchor(der: [UInt8](#require(Data(base64Encoded: $0)))) }
        let verifier = try AppStoreVerifier(
            bundleID: Minted.bundleID, environments: [.production, .sandbox], trust: .roots(roots))
        for redemption in story.redemptions {
            let answer = try ledger.redeem(verifier.verify(redemption.evidence), for: redemption.account)
            try #require(answer.outcomes.count == redemption.outcomes.count)
            for (recorded, outcome) in zip(redemption.outcomes, answer.outcomes) {
                #expect(recorded.isSaid(by: outcome), "\(recorded), \(outcome)")
            }
        }

        func object(_ json: String) throws -> [String: Any] {
            try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any] ?? [:]
        }
        let answers = try object(release.text("story.json"))["entitlements"] as? [[String: Any]]
        for recorded in try #require(answers) {
            let name = try #require(recorded["environment"] as? String)
            let environment = try #require(AppStoreEnvironment(rawValue: name))
            let account = try #require(recorded["account"] as? String)
            let own = try object(ledger.entitlements(of: account, in: environment, at: day(424)).json)
            let (old, new) = (recorded["items"] as? [NSDictionary] ?? [], own["items"] as? [[String: Any]] ?? [])
            try #require(old.count == new.count)
            // Later releases add members, and the quantity is what is left.
            for (old, new) in zip(old, new) {
                let common = new.filter { old[$0.key] != nil }
                var expected: [AnyHashable: Any] = [:]
                for (key, value) in old { expected[key as? String ?? ""] = value }
                if old["access"] as? String == "revoked" { expected["quantity"] = 0 }
                #expect(
                    NSDictionary(dictionary: common) == NSDictionary(dictionary: expected), "\(account), \(environment)"
                )
            }
        }

        // A refund takes back what was granted then, and its event follows the others of the account.
        let last = try #require(ledger.events().last { $0.account == "anna" })
        try ledger.record(verifier.verifyNotification(story.refund))
        let refund = try #require(ledger.events().last { $0.account == "anna" })
        #expect(refund.kind == .revoked && refund.transactionID == "11" && refund.previousQuantity == 3)
        #expect(refund.quantity == 0 && refund.sequence > last.sequence)
        withExtendedLifetime(location) {}
    }
}
