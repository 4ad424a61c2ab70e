import AppStoreReceipt
import AppStoreReceiptTesting
import Sampling
import SeededRandom
import StrictText
import Testing

@testable import PurchaseLedger

/// Subscriptions of several seats: a period has one grant, whose quantity is not the seats, and members have their own.
@Suite struct SeatTests {
    /// What an account has of a product, under any transaction.
    private func has(_ ledger: PurchaseLedger, _ account: String, _ product: String = "team") throws -> [Int64] {
        try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT quantity FROM grants JOIN identifiers ON id = identifier_id
                WHERE account = $1 AND product_id = $2 ORDER BY transaction_id
                """,
                [.text(account), .text(product)]
            ).map { (row) throws(LedgerError) in try row.integer(0) }
        }
    }

    /// The nonzero balances of accounts.
    private func balances(_ ledger: PurchaseLedger) throws -> [String: Int64] {
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT account, transaction_id, quantity FROM grants JOIN identifiers ON id = identifier_id
                WHERE quantity > 0
                """
            )
        }
        return Dictionary(
            uniqueKeysWithValues: try rows.map { ("\(try $0.text(0)) \(try $0.text(1))", try $0.integer(2)) })
    }

    private func balancesByEvents(_ ledger: PurchaseLedger) throws -> [String: Int64] {
        var balances: [String: Int64] = [:]
        for event in try ledger.events() {
            balances["\(event.account) \(event.transactionID)"] = event.quantity == 0 ? nil : Int64(event.quantity)
        }
        return balances
    }

    private func posted(_ ledger: PurchaseLedger, _ account: String) throws -> [String] {
        try ledger.events().filter { $0.account == account }.map { event in
            let seats = event.seats.map(String.init) ?? "-"
            return
                "\(event.kind) \(event.transactionID) \(event.previousQuantity)→\(event.quantity) \(seats) \(event.cause)"
        }
    }

    @Test(arguments: Place.available)
    func `whoever submits what, a period and a member's seat are one account's, and events say whose`(
        _ place: Place
    ) throws {
        let histories = try SeatHistories()
        var generator = SeededGenerator("\(place)")
        for _ in 0..<Sampling.count("seat-histories" + (place == .sqlite ? "" : "-postgresql")) {
            var policy = LedgerPolicy()
            policy.wholeLineageLimit = Bool.random(using: &generator) ? 24 : 1
            let history = try histories.random(using: &generator)
            try place.withLedger(policy) { (ledger) throws in
                var (steps, model) = ([String](), LedgerModel())
                for step in history.steps {
                    steps.append("\(step)")
                    let names = Comment(rawValue: steps.joined(separator: ", "))
                    switch step {
                    case .recorded(let notification):
                        try ledger.record(notification, at: day(20))
                        model.record(.notification(notification), at: day(20))
                    case .submitted(let evidence, let account):
                        let outcomes = try ledger.outcomes(evidence, for: account, at: day(20))
                        let expected = model.redeem(evidence, for: account, at: day(20))
                        #expect(history.hasReceipts || outcomes == expected, names)
                    }
                    #expect(try history.hasReceipts || LedgerState(ledger) == model.state, names)
                    for account in SeatHistories.accounts where !history.hasReceipts {
                        let codes = try ledger.entitlements(of: account, at: day(20)).codes
                        #expect(codes == model.entitlements(of: account, at: day(20)).codes, names)
                    }
                    let balances = try balances(ledger)
                    #expect(try balances == balancesByEvents(ledger), names)
                    SeatHistories.check(balances, names)
                }
            }
        }
    }

    @Test(arguments: Place.available)
    func `two grants of one period become one, and those of two accounts stay`(_ place: Place) throws {
        for other in ["buyer", "berta"] {
            try place.withLedger { (ledger) throws in
                var (first, second) = (SeatTransaction.eight, SeatTransaction.three)
                // Neither has a reason yet, and the second is of a subscription of its own.
                (second.addsSeats, second.signed) = (false, 10)
                _ = try ledger.redeem(first.evidence, for: "buyer", at: day(10))
                _ = try ledger.redeem(second.evidence, for: "buyer", at: day(10))
                if other == "berta" {
                    _ = try ledger.store.write { (connection) throws(LedgerError) in
                        try connection.write(
                            """
                            UPDATE grants SET account = 'berta'
                            WHERE identifier_id = (SELECT id FROM identifiers WHERE transaction_id = '2')
                            """, [])
                    }
                }
                (first.addsSeats, first.signed) = (true, 11)
                try ledger.record(first.notification(.didChangeRenewalPreference, uuid: 1), at: day(12))
                #expect(try has(ledger, "buyer") == (other == "buyer" ? [1, 0] : [1]))
                #expect(try has(ledger, "berta") == (other == "buyer" ? [] : [1]))
                guard other == "buyer" else { return }
                #expect(try posted(ledger, "buyer").last == "adjusted 2 1→0 - notification")
                let answer = try ledger.redeem(SeatTransaction.three.evidence, for: "buyer", at: day(12)).outcomes[0]
                #expect(answer.outcome == .alreadyYours && answer.grantedAs == "1" && answer.seats == 11)
                let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: "2")
                let adjustment = Adjustment(.quantity(name, 1), reason: "a trial")
                #expect(throws: LedgerError.self) { _ = try ledger.adjust(adjustment, of: "buyer", at: day(12)) }
            }
        }
    }

    @Test(arguments: Place.available)
    func `what a receipt joined is split off in the tables, and no claim is uncertain`(_ place: Place) throws {
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        try place.withLedger { (ledger) throws in
            // A member's receipt makes her the owner of the subscription, and of the buyer's renewal.
            #expect(try ledger.outcomes(member.receipt, for: "anna", at: day(2)) == [.granted])
            #expect(
                try ledger.outcomes(SeatTransaction.eight.evidence, for: "buyer", at: day(3)) == [.belongsToAnother])
            #expect(try has(ledger, "anna") == [1, 1])
            #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(12)) == [.alreadyYours])
            #expect(try has(ledger, "anna") == [1])
            let all = try posted(ledger, "anna")
            #expect(all.suffix(2) == ["revoked 1 1→0 - redeem", "changed 3 1→1 - redeem"])
            #expect(try ledger.outcomes(SeatTransaction.eight.evidence, for: "buyer", at: day(13)) == [.granted])
            // A receipt joins nothing again.
            _ = try ledger.redeem(member.receipt, for: "anna", at: day(14))
            #expect(try (has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
            #expect(try ledger.uncertainClaims().isEmpty)
            let name = TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: "1")
            #expect(try ledger.story(of: name, at: day(14))?.related == [])
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    /// Whether Apple signs such ids is not known.
    @Test(arguments: Place.available)
    func `renewal information reaches what a member bought later under a name for her first transaction`(
        _ place: Place
    ) throws {
        let first = SeatTransaction(id: "7", original: "7", quantity: 8, member: "701", signed: 1)
        let bought = SeatTransaction(id: "9", original: "7", days: 30..<60, signed: 31)
        try place.withLedger { (ledger) throws in
            for evidence in try [first.receipt, first.evidence, first.receipt] {
                _ = try ledger.redeem(evidence, for: "work", at: day(12))
            }
            #expect(try ledger.outcomes(bought.evidence, for: "private", at: day(31)) == [.granted])
            try ledger.record(bought.failedRenewal(graceUntil: day(66)), at: day(60))
            for _ in 0..<2 {
                let codes = try ledger.entitlements(of: "private", at: day(62)).codes
                #expect(codes["9"]?.hasPrefix("active") ?? false)
                _ = try ledger.redeem(bought.evidence, for: "private", at: day(60))
                #expect(try ledger.events().last { $0.account == "private" }?.until == day(66))
            }
            #expect(try (has(ledger, "work"), has(ledger, "private")) == ([1], [1]))
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    /// X's receipts put both into one lineage. His purchase stays his in whatever order the rest arrives.
    @Test(arguments: Place.available)
    func `what is split off in one request with what is bought divides no subscription`(_ place: Place) throws {
        let member = SeatTransaction(id: "5", original: "5", quantity: 8, member: "701", signed: 12)
        let older = SeatTransaction(id: "6", original: "5", days: 30..<60, signed: 31)
        let bought = SeatTransaction(id: "7", original: "5", days: 60..<90, signed: 60)
        try place.withLedger { (ledger) throws in
            _ = try ledger.redeem(member.receipt, for: "x", at: day(2))
            _ = try ledger.redeem(older.receipt, for: "x", at: day(31))
            let both = try [member, bought].map { signed in
                guard case .transaction(let transaction) = try signed.evidence else { throw LedgerError(.notFound, "") }
                return transaction
            }
            _ = try ledger.redeem(both, with: [], for: "y", at: day(61))
            #expect(try has(ledger, "x").contains(1) && !balances(ledger).keys.contains("y 7"))
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    @Test(arguments: Place.available)
    func `what is split off in a group of requests is notified once`(_ place: Place) throws {
        try place.withLedger { (ledger) throws in
            let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
            _ = try ledger.redeem(member.receipt, for: "anna", at: day(2))
            _ = try ledger.redeem(SeatTransaction.eight.evidence, for: "buyer", at: day(3))
            let evidence =
                try [member.evidence]
                + (0..<4).map { number in
                    try Minted.evidence(
                        JWSBuilder.transaction(
                            bundleID: Minted.bundleID, productID: "pro", transactionID: "100\(number)"))
                }
            let requests = evidence.enumerated().map { number, evidence in
                RedemptionRequest(
                    submission: Submission(evidence),
                    claim: Claim(account: number == 0 ? "anna" : "other \(number)", token: nil),
                    answered: nil, policy: ledger.policy, now: day(12))
            }
            _ = try ledger.store.write { (connection) throws(LedgerError) in
                try RedemptionRequest.answer(requests, connection)
            }
            #expect(try posted(ledger, "anna").count { $0.hasPrefix("revoked") } == 1)
            #expect(try balances(ledger) == balancesByEvents(ledger))
        }
    }

    @Test(arguments: Place.available)
    func `a member needs no token, and closes no order`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        policy.orders?.requiresTokenSince = day(0)
        try place.withLedger(policy) { (ledger) throws in
            let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 1)
            #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(2)) == [.granted])
            #expect(try ledger.outcomes(SeatTransaction.three.evidence, for: "buyer", at: day(11)) == [.tokenMissing])
        }
    }

    @Test(arguments: Place.available)
    func `a notification that names no app is kept once, for thirty days, a thousand of them`(_ place: Place) throws {
        try place.withLedger { (ledger) throws in
            func record(_ number: Int, at date: Instant) throws {
                var builder = JWSBuilder.notification(
                    .unclaimSeats, about: "unclaimInfo", ["unclaimSeatIds": ["a", "b"]])
                builder.payload["notificationUUID"] = .string("\(number)")
                try ledger.record(Minted.notification(builder), at: date)
            }
            try record(0, at: day(0))
            try record(0, at: day(1))
            let kept = try ledger.unnamedNotifications(at: day(1))
            #expect(kept.map(\.uuid) == ["0"] && kept[0].claims == ["a", "b"] && kept[0].type == "UNCLAIM_SEATS")
            for number in 1..<1005 { try record(number, at: day(2)) }
            #expect(try ledger.unnamedNotifications(at: day(2)).count == 1000)
            #expect(try ledger.unnamedNotifications(at: day(31)).count == 999)
            try record(2000, at: day(40))
            #expect(try ledger.unnamedNotifications(at: day(40)).map(\.uuid) == ["2000"])
            #expect(try ledger.events().isEmpty)
        }
    }

    // MARK: Ledgers of 0.3.0

    /// Makes a ledger with the tables of 0.3.0, and rows in them.
    private func old(_ place: Place, _ rows: [String]) throws -> Place.Location {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try store.migrate { (connection) throws(LedgerError) in
            for statement in Schema.versions(connection.dialect).prefix(5).joined() { try connection.run(statement) }
            try connection.run("CREATE TABLE ledger_schema (version BIGINT NOT NULL)")
            try connection.run("INSERT INTO ledger_schema VALUES (5)")
            for row in rows { try connection.run(row) }
        }
        return location
    }

    /// The rows of a transaction that was granted.
    private func rows(_ id: String, _ quantity: Int, lineage: Int = 1, extra: String = "") -> [String] {
        let key = "'production', '\(Minted.bundleID)', '\(id)'"
        let purchase = """
            {"schema":1,"product_id":"team","product_type":"Auto-Renewable Subscription","quantity":\(quantity),\
            "transaction_id":"\(id)","original_transaction_id":"1","web_order_line_item_id":"9\(id)",\
            "purchase_date":\(day(0).millisecondsSince1970),"expires_date":\(day(30).millisecondsSince1970),\
            "signed_date":\(day(1).millisecondsSince1970),"revoked":false,"bundle_id":"\(Minted.bundleID)",\
            "environment":"production"\(extra)}
            """
        return [
            "INSERT INTO identifiers VALUES (\(key), \(lineage))",
            "INSERT INTO evidence VALUES (\(key), 0, \(day(1).millisecondsSince1970), '\(purchase)', NULL)",
            """
            INSERT INTO grants (environment, bundle_id, transaction_id, product_id, account, quantity,
                granted_quantity, granted_at, changed_at, until)
            VALUES (\(key), 'team', 'buyer', \(quantity), \(quantity), \(day(Double(id) ?? 1).millisecondsSince1970), 1,
                \(day(30).millisecondsSince1970))
            """,
        ]
    }

    private static let lineage = "INSERT INTO families (account, claimed_at) VALUES ('buyer', 1)"

    @Test(arguments: Place.available)
    func `a quantity of eight seats is corrected when the ledger is opened, once`(_ place: Place) throws {
        let location = try old(
            place, [Self.lineage] + rows("1", 8, extra: #","upgraded":false,"ownership_type":"PURCHASED""#))
        for _ in 0..<2 {
            let ledger = try PurchaseLedger(location.text)
            #expect(try posted(ledger, "buyer") == ["adjusted 1 8→1 8 migration"])
            #expect(try has(ledger, "buyer") == [1])
        }
    }

    @Test(arguments: Place.available)
    func `what 0.3.0 knew to be assigned is split off when the ledger is opened`(_ place: Place) throws {
        let assigned = #","upgraded":false,"ownership_type":"ASSIGNED","app_transaction_id":"701""#
        let location = try old(place, [Self.lineage] + rows("1", 8) + rows("3", 8, extra: assigned))
        for _ in 0..<2 {
            let ledger = try PurchaseLedger(location.text)
            #expect(try posted(ledger, "buyer") == ["adjusted 1 8→1 8 migration", "adjusted 3 8→1 - migration"])
            // The member's lineage is separate. A transfer gives it to the member.
            #expect(try ledger.uncertainClaims().map(\.name.transactionID) == ["1"])
            let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
            #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(12)) == [.belongsToAnother])
        }
        let ledger = try PurchaseLedger(location.text)
        try ledger.transfer(from: "buyer", to: "anna", transactionID: "3", reason: "hers", at: day(13))
        #expect(try (has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
    }

    @Test(arguments: Place.available)
    func `two grants of one period of 0.3.0 become one when a reason is known`(_ place: Place) throws {
        let location = try old(place, [Self.lineage] + rows("1", 8) + rows("2", 3))
        let ledger = try PurchaseLedger(location.text)
        #expect(try has(ledger, "buyer") == [1, 1])
        try ledger.record(SeatTransaction.three.notification(.didChangeRenewalPreference, uuid: 1), at: day(12))
        #expect(try has(ledger, "buyer") == [1, 0])
        #expect(try posted(ledger, "buyer").last == "adjusted 2 1→0 - notification")
    }

    @Test(arguments: Place.available)
    func `of a claim of 0.3.0 it is not known on what it rests, and the desk lists it`(_ place: Place) throws {
        let location = try old(place, [Self.lineage] + rows("1", 8) + rows("3", 8))
        let ledger = try PurchaseLedger(location.text)
        let member = SeatTransaction(id: "3", quantity: 8, member: "701", signed: 12)
        #expect(try ledger.outcomes(member.evidence, for: "anna", at: day(12)) == [.belongsToAnother])
        #expect(try has(ledger, "buyer") == [1, 1])
        let listed = try ledger.uncertainClaims()
        #expect(listed.map(\.account) == ["buyer"] && listed.map(\.name.transactionID) == ["1"])
        try ledger.transfer(from: "buyer", to: "anna", transactionID: "3", reason: "hers", at: day(13))
        #expect(try (has(ledger, "anna"), has(ledger, "buyer")) == ([1], [1]))
        try ledger.transfer(from: "buyer", to: "carla", transactionID: "1", reason: "hers", at: day(13))
        #expect(try ledger.uncertainClaims().isEmpty)
    }
}
