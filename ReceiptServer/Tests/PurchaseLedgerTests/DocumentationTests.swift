import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Testing
import TrialSupport

/// The statements of `RUNBOOK.md`, and the code and the tables of `REFERENCE.md`.
@Suite struct DocumentationTests {
    private let runbook, reference: String

    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        runbook = try String(contentsOf: folder.appending(path: "RUNBOOK.md"), encoding: .utf8)
        reference = try String(contentsOf: folder.appending(path: "REFERENCE.md"), encoding: .utf8)
    }

    /// The statements of the runbook under a heading.
    private func statements(_ heading: String) throws -> [String] {
        let section = try #require(runbook.components(separatedBy: "\n## ").first { $0.hasPrefix(heading) })
        let blocks = section.components(separatedBy: "```sql\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        let all = blocks.flatMap { $0.components(separatedBy: ";") }
        return all.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
    }

    private func run(_ statement: String, _ ledger: PurchaseLedger) throws -> [SQLRow] {
        try ledger.store.write { (connection) throws(LedgerError) in try connection.run(statement) }
    }

    @Test(arguments: Place.available)
    func `wrong grants are found by a query, and no signature gives back what is set to nothing`(
        _ place: Place
    ) throws {
        let statements = try statements("Undo wrong grants")
        try #require(statements.count == 1)
        let location = try place.makeLocation()
        do {
            let start = Instant(millisecondsSince1970: 1_750_000_000_000)
            let ledger = try PurchaseLedger(LedgerLocation(location.text).open(), LedgerPolicy(), at: start)
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let granted = Instant(millisecondsSince1970: 1_750_000_000_001)
            let coins = history.buyNonConsumable("com.example.coins", at: day(0))
            let other = history.buyNonConsumable("com.example.other", at: day(0))
            let evidence = try Minted.evidence(history.receipt(signedAt: day(1), of: [coins, other]))
            #expect(try ledger.outcomes(evidence, for: "anna", at: granted) == [.granted, .granted])
            let found = try run(statements[0], ledger)
            #expect(try found.map { try $0.text(1) } == [coins.transactionID])
            for row in found {
                let name = TransactionName(
                    environment: .production, bundleID: "com.example.app", transactionID: try row.text(1))
                try ledger.adjust(
                    Adjustment(.quantity(name, 0), reason: "the list of products was wrong"), of: row.text(0),
                    at: granted)
            }
            #expect(try run(statements[0], ledger).isEmpty)
            #expect(try ledger.outcomes(evidence, for: "anna", at: granted) == [.revoked, .alreadyYours])
            #expect(try ledger.entitlements(of: "anna", at: granted).activeProductIDs == ["com.example.other"])
            history.refund(coins, at: day(2))
            history.reverseRefund(of: coins, at: day(3))
            for notification in try history.verifiedNotifications(through: day(4)) {
                try ledger.record(notification, at: granted)
            }
            #expect(try ledger.outcomes(evidence, for: "anna", at: granted) == [.revoked, .alreadyYours])
        }
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `what a signer whose key leaked was first to sign is found`(_ place: Place) throws {
        let statement = try #require(statements("A signing key leaks").first)
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("com.example.coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            let signer = try #require(evidence.purchases.first).verification.signer
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(0)) == [.granted])
            let parts = statement.split(separator: "'", omittingEmptySubsequences: false)
            #expect(parts.count == 3 && parts[1].utf8.count == 64)
            #expect(try run(statement, ledger).isEmpty)
            let rows = try run("\(parts[0])'\(signer)'\(parts[2])", ledger)
            #expect(try rows.map { try $0.text(0) } == ["anna"])
            // What Apple has confirmed is genuine.
            let info = try history.evidence(coins, signedAt: day(1))
            guard case .transaction(let transaction) = info else { return }
            let app = AskedApp(.production, Minted.bundleID)
            try ledger.record(answered: [transaction], about: app, at: day(1))
            #expect(try run("\(parts[0])'\(signer)'\(parts[2])", ledger).isEmpty)
        }
    }

    /// A receipt before 2013, which does not say that the product is a non-consumable.
    private func untyped(signedAt date: Instant) throws -> VerifiedEvidence {
        var purchase = ReceiptBuilder.Purchase()
        (purchase.productID, purchase.transactionID, purchase.originalTransactionID) = ("com.example.coins", "1", "1")
        (purchase.purchaseDate, purchase.originalPurchaseDate, purchase.quantity) = (day(0), day(0), 1)
        purchase.productType = nil
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [purchase])
        builder.creationDate = date
        return try Minted.evidence(builder)
    }

    @Test(arguments: Place.available)
    func `a wrong stated type is corrected by a query, and the next evidence is decided by the new setting`(
        _ place: Place
    ) throws {
        let statements = try statements("Wrong types")
        try #require(statements.count == 1)
        let location = try place.makeLocation()
        var policy = LedgerPolicy()
        policy.productTypes["com.example.coins"] = .consumable
        let wrong = try PurchaseLedger(location.text, policy: policy)
        #expect(try wrong.outcomes(untyped(signedAt: day(1)), for: "anna", at: day(1)) == [.granted])
        policy.productTypes["com.example.coins"] = .nonConsumable
        let corrected = try PurchaseLedger(location.text, policy: policy)
        func access(_ date: Instant) throws -> Entitlements.Access? {
            let outcome = try #require(corrected.redeem(untyped(signedAt: date), for: "anna", at: date).outcomes.first)
            #expect(outcome.outcome == .alreadyYours && outcome.quantity == 1 && outcome.isTypeStated == true)
            return outcome.access
        }
        #expect(try access(day(2)) == .consumable(quantity: 1))
        _ = try run(statements[0], corrected)
        #expect(try corrected.entitlements(of: "anna", at: day(2)).activeProductIDs == ["com.example.coins"])
        #expect(try access(day(3)) == .owned && access(day(4)) == .owned)
        withExtendedLifetime(location) {}
    }

    @Test func `a back-up is put in place by the server's user, follows no link, and only that user reads it`() throws {
        let quoted = runbook.components(separatedBy: "-p StateDirectoryMode=0700 \\\n       sh -c '").dropFirst().first
        let command = try #require(quoted?.components(separatedBy: "' < copy.db").first)
        let folder = try TemporaryFolder()
        let (state, copy, other) = ("\(folder.path)/state", "\(folder.path)/copy.db", "\(folder.path)/other")
        let files = FileManager.default
        try files.createDirectory(atPath: state, withIntermediateDirectories: false)
        for (path, text) in [(copy, "copy"), (other, "other"), ("\(state)/ledger.db-wal", "log")] {
            try Data(text.utf8).write(to: URL(filePath: path))
        }
        try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy)
        try files.createSymbolicLink(atPath: "\(state)/ledger.db", withDestinationPath: other)
        // Root's shell opens the copy. The command has only the folder.
        let isRoot = geteuid() == 0
        if isRoot { try files.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: state) }
        let process = Process()
        process.executableURL = URL(filePath: isRoot ? "/usr/bin/setpriv" : "/bin/sh")
        process.arguments =
            (isRoot ? ["--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh"] : [])
            + ["-c", command.replacing("/var/lib/receipt-server", with: state)]
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: copy))
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(try files.contentsOfDirectory(atPath: state) == ["ledger.db"])
        let attributes = try files.attributesOfItem(atPath: "\(state)/ledger.db")
        #expect(
            attributes[.type] as? FileAttributeType == .typeRegular && attributes[.posixPermissions] as? Int == 0o600)
        if isRoot { #expect(attributes[.ownerAccountID] as? Int == 65_534) }
        #expect(try String(contentsOfFile: "\(state)/ledger.db", encoding: .utf8) == "copy")
        #expect(try String(contentsOfFile: other, encoding: .utf8) == "other")
    }

    @Test func `the code of the page compiles and grants`() throws {
        let folder = try TemporaryFolder()
        let verifier = try Minted.verifier.get()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let body = try #require(history.transaction(coins, signedAt: day(0))).signed(by: Minted.authority.get())
        var delivered: [String] = []
        var sequences: [Int64] = []
        func apply(
            _ account: String, _ environment: AppStoreEnvironment, _ app: String, _ grant: String, _ product: String,
            _ quantity: Int, _ until: Instant?, _ sequence: Int64, _ bought: Instant?, _ length: String?
        ) {
            #expect(until == nil && length == nil && bought == coins.purchaseDate)
            delivered.append("\(account) \(environment) \(app) \(grant) \(product) \(quantity)")
            sequences.append(sequence)
        }
        func redeem(_ path: String, for account: String) throws {
            let ledger = try PurchaseLedger(path)
            let redemption = try ledger.redeem(verifier.verify(body), for: account)
            for outcome in redemption.outcomes {
                guard let environment = outcome.environment, let app = outcome.bundleID else { continue }
                let product = outcome.productID
                let (sequence, bought, length) = (redemption.sequence, outcome.purchaseDate, outcome.length)
                if outcome.grantedAs != outcome.transactionID {
                    apply(
                        account, environment, app, outcome.transactionID, product, 0, outcome.until, sequence, bought,
                        length)
                }
                if let grant = outcome.grantedAs {
                    apply(
                        account, environment, app, grant, product, outcome.quantity, outcome.until, sequence, bought,
                        length)
                }
            }
        }
        _ = try PurchaseLedger(creating: folder.path + "/ledger.db")
        for account in ["anna", "anna", "ben"] { try redeem(folder.path + "/ledger.db", for: account) }
        // The second request of the owner says the same, and the other account has nothing.
        let granted = "anna production \(Minted.bundleID) \(coins.transactionID) coins 3"
        let nothing = "ben production \(Minted.bundleID) \(coins.transactionID) coins 0"
        #expect(delivered == [granted, granted, nothing] && sequences == sequences.sorted())
        let lines = [
            "let redemption = try ledger.redeem(verifier.verify(body), for: account)",
            "for outcome in redemption.outcomes {",
            "    guard let environment = outcome.environment, let app = outcome.bundleID else { continue }",
            "    let product = outcome.productID",
            "    let (sequence, bought, length) = (redemption.sequence, outcome.purchaseDate, outcome.length)",
            "    if outcome.grantedAs != outcome.transactionID {",
            "        apply(account, environment, app, outcome.transactionID, product, 0, outcome.until, sequence, bought, length)",
            "    }",
            "    if let grant = outcome.grantedAs {",
            "        apply(account, environment, app, grant, product, outcome.quantity, outcome.until, sequence, bought, length)",
            "    }",
            "}",
        ]
        #expect(reference.contains(lines.joined(separator: "\n")))
    }

    @Test func `the code of the page records a notification, and its closure gets the event`() throws {
        let folder = try TemporaryFolder()
        let verifier = try Minted.verifier.get()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        history.refund(coins, at: day(1))
        let ledger = try PurchaseLedger(creating: folder.path + "/ledger.db")
        _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna")
        let refund = try #require(history.notifications(through: day(1)).first { $0.type == .refund })
        let authority = try Minted.authority.get()
        let notification = try history.builder(for: refund, partsSignedBy: authority).signed(by: authority)
        let quantities = Guarded([Int]())
        @Sendable func apply(
            _ account: String, _ environment: AppStoreEnvironment, _ app: String, _ grant: String, _ product: String,
            _ quantity: Int, _ until: Instant?, _ sequence: Int64, _ bought: Instant?, _ length: String?
        ) {
            quantities.withLock { $0.append(quantity) }
            #expect(
                "\(account) \(environment) \(app) \(grant)"
                    == "anna production \(Minted.bundleID) \(coins.transactionID)")
            #expect(product == "coins" && length == nil && sequence > 0)
            #expect((until == nil) == (quantity == 1))
            #expect(bought == coins.purchaseDate)
        }
        let failures = Guarded([LedgerError]())
        @Sendable func log(_ error: LedgerError) { failures.withLock { $0.append(error) } }

        let delivery = EventDelivery(ledger) { event in
            apply(
                event.account, event.environment, event.bundleID, event.transactionID, event.productID, event.quantity,
                event.until, event.sequence, event.purchaseDate, event.length)
        }
        Thread { delivery.run { error in log(error) } }.start()  // until delivery.stop()
        // Of each notification, before Apple is answered with 200:
        let events = try ledger.record(verifier.verifyNotification(notification))

        defer { delivery.stop() }
        try wait { quantities.withLock(\.count) == 2 }
        #expect(quantities.withLock { $0 } == [1, 0] && failures.withLock(\.isEmpty))
        #expect(events.map(\.kind) == [.revoked])
        let lines = [
            "let delivery = EventDelivery(ledger) { event in", "    apply(",
            "        event.account, event.environment, event.bundleID, event.transactionID, event.productID, event.quantity,",
            "        event.until, event.sequence, event.purchaseDate, event.length)", "}",
            "Thread { delivery.run { error in log(error) } }.start()  // until delivery.stop()",
            "// Of each notification, before Apple is answered with 200:",
            "let events = try ledger.record(verifier.verifyNotification(notification))",
        ]
        #expect(reference.contains(lines.joined(separator: "\n")))
    }

    @Test func `the tables of the page are those of the library`() throws {
        try Place.sqlite.withLedger { ledger in
            let rows = try run("SELECT name FROM sqlite_master WHERE type = 'table'", ledger)
            let section = try #require(
                reference.components(separatedBy: "\n## ").first { $0.hasPrefix("Tables") })
            let cells = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap {
                $0.components(separatedBy: " | ").last
            }
            let described = cells.flatMap { $0.matches(of: /`([a-z_]+)`/).map { String($0.1) } }
            let onlyOnPostgreSQL = ["commit_marks"]
            #expect(described.sorted() == (try rows.map { try $0.text(0) } + onlyOnPostgreSQL).sorted())
        }
    }
}
