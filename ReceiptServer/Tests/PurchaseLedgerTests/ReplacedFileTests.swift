import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import PurchaseLedger
import Testing

/// Changes to SQLite's files while a ledger has them open.
@Suite struct ReplacedFileTests {
    enum Change: String, CaseIterable, CustomTestStringConvertible {
        case deleted, moved, replacedByACopy, folderMoved, logDeleted, indexDeleted, linkChanged

        var testDescription: String { rawValue }

        /// - Parameter file: A symbolic link to `files/ledger.db` in the same folder.
        func make(_ file: String) throws {
            let folder = (file as NSString).deletingLastPathComponent
            let real = folder + "/files/ledger.db"
            let manager = FileManager.default
            switch self {
            case .deleted: try manager.removeItem(atPath: real)
            case .moved: try manager.moveItem(atPath: real, toPath: folder + "/elsewhere")
            case .replacedByACopy:
                try manager.copyItem(atPath: real, toPath: folder + "/copy")
                try manager.removeItem(atPath: real)
                try manager.moveItem(atPath: folder + "/copy", toPath: real)
            case .folderMoved: try manager.moveItem(atPath: folder + "/files", toPath: folder + "/elsewhere")
            case .logDeleted: try manager.removeItem(atPath: real + "-wal")
            case .indexDeleted: try manager.removeItem(atPath: real + "-shm")
            case .linkChanged:
                try manager.copyItem(atPath: real, toPath: folder + "/copy")
                try manager.removeItem(atPath: file)
                try manager.createSymbolicLink(atPath: file, withDestinationPath: folder + "/copy")
            }
        }
    }

    @Test func `nobody but its user reads the files of a ledger`() throws {
        let folder = try TemporaryFolder()
        let ledger = try PurchaseLedger(creating: folder.path + "/ledger.db")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)[.posixPermissions]
            #expect(mode.map { "\($0)" } == "\(0o600)", "\(name)")
        }
        withExtendedLifetime(ledger) {}
    }

    @Test(arguments: Change.allCases)
    func `a deleted or replaced file ends writing, until the ledger is opened again`(_ change: Change) throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/ledger.db"
        try FileManager.default.createDirectory(atPath: folder.path + "/files", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: folder.path + "/files/ledger.db")
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = (0..<3).map { _ in history.buyConsumable("coins", at: day(0)) }
        let evidence = try coins.map { try history.evidence($0, signedAt: day(1)) }
        do {
            let ledger = try PurchaseLedger(creating: file)
            #expect(try ledger.outcomes(evidence[0], for: "anna", at: day(1)) == [.granted])
            try ledger.completeFile()
            try change.make(file)
            for _ in 0..<2 {
                let error = #expect(throws: LedgerError.self) {
                    try ledger.redeem(evidence[1], for: "anna", at: day(1))
                }
                #expect(error?.code == .storeUnavailable)
                #expect(error?.detail.contains("was deleted or replaced while the ledger was open") == true)
            }
            // Possibly lost changes are not delivered.
            #expect(throws: LedgerError.self) { try ledger.takeEvents(limit: 8, lease: .seconds(1), at: day(1)) }
        }
        if change == .folderMoved {
            try FileManager.default.createDirectory(atPath: folder.path + "/files", withIntermediateDirectories: true)
        }
        let isGone = [.deleted, .moved, .folderMoved].contains(change)
        if isGone {
            let error = #expect(throws: LedgerError.self) { try PurchaseLedger(file) }
            #expect(error?.code == .noLedger)
        }
        if [.deleted, .moved].contains(change) {
            // The log would be played over a new file.
            let error = #expect(throws: LedgerError.self) { try PurchaseLedger(creating: file) }
            #expect(error?.code == .ledgerExists)
            for suffix in ["-wal", "-shm"] {
                try FileManager.default.removeItem(atPath: folder.path + "/files/ledger.db" + suffix)
            }
        }
        let ledger = try isGone ? PurchaseLedger(creating: file) : PurchaseLedger(file)
        #expect(try ledger.outcomes(evidence[2], for: "anna", at: day(1)) == [.granted])
    }

    @Test func `a new connection to a replaced file is refused`() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/ledger.db"
        let ledger = try PurchaseLedger(creating: file)
        try FileManager.default.removeItem(atPath: file)
        // The first read opens a connection of its own, and makes no file.
        #expect(throws: LedgerError.self) { try ledger.entitlements(of: "anna", at: day(1)) }
        #expect(!FileManager.default.fileExists(atPath: file))
        for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: file + suffix) }
        _ = try PurchaseLedger(creating: file)
        let error = #expect(throws: LedgerError.self) { try ledger.entitlements(of: "anna", at: day(1)) }
        #expect(error?.code == .storeUnavailable)
    }

    @Test func `a copy and a second link of the file change nothing`() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/ledger.db"
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(1))
        let ledger = try PurchaseLedger(creating: file)
        try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
        try FileManager.default.linkItem(atPath: file, toPath: file + ".link")
        #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
        // The same file, moved there and back.
        try FileManager.default.moveItem(atPath: file, toPath: file + ".moved")
        #expect(throws: LedgerError.self) { try ledger.redeem(evidence, for: "anna", at: day(1)) }
        try FileManager.default.moveItem(atPath: file + ".moved", toPath: file)
        #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.alreadyYours])
    }
}
