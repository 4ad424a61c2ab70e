import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// A ledger is made once, on purpose: in an empty one, everything can be claimed again.
@Suite struct NewLedgerTests {
    private func code(_ body: () throws -> PurchaseLedger) -> LedgerError.Code? {
        #expect(throws: LedgerError.self) { try body() }?.code
    }

    @Test(arguments: Place.available)
    func `a ledger is opened where one was made, and made where there is none`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        #expect(code { try PurchaseLedger(location.text) } == .noLedger)
        if location.folder != nil { #expect(!FileManager.default.fileExists(atPath: location.text)) }
        _ = try PurchaseLedger(creating: location.text)
        _ = try PurchaseLedger(location.text)
        #expect(code { try PurchaseLedger(creating: location.text) } == .ledgerExists)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `tables of another program, and a list of versions without a row, are no ledger`(_ place: Place) throws {
        for statement in ["CREATE TABLE grants_of_another (id BIGINT)", "CREATE TABLE ledger_schema (version BIGINT)"] {
            let location = try place.makeEmptyLocation()
            let store = try LedgerLocation(location.text).open(.creating)
            _ = try store.migrate { (connection) throws(LedgerError) in try connection.run(statement) }
            #expect(code { try PurchaseLedger(location.text) } == .noLedger, "\(statement)")
            let other = try place.makeLocation()
            withExtendedLifetime((location, other)) {}
        }
    }

    @Test(arguments: Place.available)
    func `of several that make one ledger, one does`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        let (text, codes) = (location.text, Guarded<[LedgerError.Code?]>([]))
        inThreads(4) { _ in
            do throws(LedgerError) {
                _ = try PurchaseLedger(creating: text)
                codes.withLock { $0.append(nil) }
            } catch {
                codes.withLock { $0.append(error.code) }
            }
        }
        #expect(codes.withLock { $0.count { $0 == nil } } == 1)
        #expect(codes.withLock { $0.count { $0 == .ledgerExists } } == 3, "\(codes.withLock(\.self))")
        withExtendedLifetime(location) {}
    }

    @Test func `a file that was cut short is no ledger, and stays as it is`() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/ledger.db"
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(1))
        do {
            let ledger = try PurchaseLedger(creating: file)
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            try ledger.completeFile()
        }
        let whole = try Data(contentsOf: URL(filePath: file))
        let other = Data("no file of SQLite\n".utf8)
        for contents in [0, 1, 50, 99, 100, 511, 512, 4095, 4096, 8192, whole.count / 2, whole.count - 1].map({
            whole.prefix($0)
        }) + [other] {
            try contents.write(to: URL(filePath: file))
            #expect(code { try PurchaseLedger(file) } == .noLedger, "\(contents.count) bytes")
            #expect(throws: LedgerError.self) {
                try PurchaseLedger(file, policy: LedgerPolicy(), asItIs: true)
            }
            #expect(try Data(contentsOf: URL(filePath: file)) == contents, "\(contents.count) bytes")
        }
        try whole.write(to: URL(filePath: file))
        #expect(try PurchaseLedger(file).outcomes(evidence, for: "anna", at: day(1)) == [.alreadyYours])
    }

    /// SQLite deletes the log of a file that is empty.
    @Test(arguments: [false, true])
    func `beside the log of a file that was deleted, no ledger is opened or made, and the log stays`(
        _ isEmptyFile: Bool
    ) throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/ledger.db"
        let ledger = try PurchaseLedger(creating: file)
        let log = try Data(contentsOf: URL(filePath: file + "-wal"))
        #expect(!log.isEmpty)
        try FileManager.default.removeItem(atPath: file)
        if isEmptyFile { #expect(FileManager.default.createFile(atPath: file, contents: nil)) }
        #expect(code { try PurchaseLedger(file) } == .noLedger)
        #expect(code { try PurchaseLedger(creating: file) } == .ledgerExists)
        #expect(try Data(contentsOf: URL(filePath: file + "-wal")) == log)
        withExtendedLifetime(ledger) {}
    }

    @Test(arguments: Place.available)
    func `a ledger has a name, the date of its making and the number of its grants, also when it is opened again`(
        _ place: Place
    ) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        let first = try PurchaseLedger(store, LedgerPolicy(), .creating, at: day(3))
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for count in 1...2 {
            let coins = history.buyConsumable("coins", at: day(0))
            _ = try first.outcomes(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(4))
            let summary = try PurchaseLedger(location.text).summary()
            #expect(summary.creationDate == day(3) && summary.grantCount == count)
            #expect(try summary.id == first.summary().id && summary.id.utf8.count == 32)
        }
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `the date of an older ledger is that at which it was first opened`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        try MigrationTests.makeLedger(ofVersion: 5, in: LedgerLocation(location.text).open(.creating))
        for days in [8.0, 9] {
            let ledger = try PurchaseLedger(LedgerLocation(location.text).open(), LedgerPolicy(), at: day(days))
            #expect(try ledger.summary().creationDate == day(8))
            #expect(try ledger.summary().grantCount == 2)
        }
        withExtendedLifetime(location) {}
    }
}
