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
        let missing = #expect(throws: LedgerError.self) { try PurchaseLedger(location.text) }
        // The URI of a database can have a password.
        #expect(missing?.code == .noLedger && missing?.detail.contains(location.text) == (place == .sqlite))
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
            // On a busy disk, creating it can take longer than SQLite waits.
            var code: LedgerError.Code? = .storeUnavailable
            for _ in 0..<10 where code == .storeUnavailable {
                do throws(LedgerError) {
                    _ = try PurchaseLedger(creating: text)
                    code = nil
                } catch {
                    code = error.code
                }
            }
            codes.withLock { [code] in $0.append(code) }
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

    /// Beside the file itself, and not beside the link.
    @Test(arguments: ["files/ledger.db", "/files/ledger.db", "second"])
    func `the log of a ledger that is reached by a symbolic link is found, also if the file was deleted`(
        _ target: String
    ) throws {
        let folder = try TemporaryFolder()
        let (link, real) = (folder.path + "/ledger.db", folder.path + "/files/ledger.db")
        let manager = FileManager.default
        try manager.createDirectory(atPath: folder.path + "/files", withIntermediateDirectories: true)
        try manager.createSymbolicLink(
            atPath: link, withDestinationPath: (target.hasPrefix("/") ? folder.path : "") + target)
        if target == "second" {
            try manager.createSymbolicLink(
                atPath: folder.path + "/second", withDestinationPath: "files/../files/ledger.db")
        }
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(1))
        let ledger = try PurchaseLedger(creating: link)
        #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
        #expect(manager.fileExists(atPath: real + "-wal") && !manager.fileExists(atPath: link + "-wal"))
        // The same ledger by its own name.
        #expect(try PurchaseLedger(real).outcomes(evidence, for: "ben", at: day(1)) == [.belongsToAnother])
        // A checkpoint that was cut short is in the log.
        let size = try #require(try manager.attributesOfItem(atPath: real)[.size] as? Int)
        // Closing the file would end SQLite's locks.
        let isCut = unsafe truncate(real, size - 1) == 0
        #expect(isCut)
        #expect(try PurchaseLedger(link).outcomes(evidence, for: "ben", at: day(1)) == [.belongsToAnother])
        let log = try Data(contentsOf: URL(filePath: real + "-wal"))
        #expect(!log.isEmpty)
        try manager.removeItem(atPath: real)
        #expect(code { try PurchaseLedger(link) } == .noLedger)
        #expect(code { try PurchaseLedger(creating: link) } == .ledgerExists)
        #expect(try Data(contentsOf: URL(filePath: real + "-wal")) == log && !manager.fileExists(atPath: real))
        withExtendedLifetime(ledger) {}
    }

    @Test func `a link that leads to itself is no ledger, and none is made there`() throws {
        let folder = try TemporaryFolder()
        for (name, target) in [("a", "b"), ("b", "a")] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.path + "/" + name, withDestinationPath: target)
        }
        #expect(code { try PurchaseLedger(folder.path + "/a") } == .noLedger)
        #expect(code { try PurchaseLedger(creating: folder.path + "/a") } == .storeUnavailable)
    }

    @Test(arguments: Place.available)
    func `a start counts no more grants than it has time for, and all of them later, without a limit of time`(
        _ place: Place
    ) throws {
        let location = try place.makeLocation()
        let ledger = try PurchaseLedger(location.text)
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for _ in 0..<3 {
            let coins = history.buyConsumable("coins", at: day(0))
            _ = try ledger.outcomes(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(4))
        }
        let whole = try ledger.summary()
        for (limit, expected) in [(2, nil), (3, 3), (100_000, 3)] as [(Int64, Int64?)] {
            let start = try ledger.summaryAtStart(countingUpTo: limit)
            #expect(start.grantCount == expected && start.creationDate == whole.creationDate)
            #expect(start.id.utf8.elementsEqual(whole.id.utf8))
        }
        guard place == .postgreSQL else { return }
        let limit = try ledger.store.readLong { (connection) throws(LedgerError) in
            try connection.run("SELECT current_setting('statement_timeout')")[0].text(0)
        }
        #expect(limit == "0")
        withExtendedLifetime(location) {}
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
