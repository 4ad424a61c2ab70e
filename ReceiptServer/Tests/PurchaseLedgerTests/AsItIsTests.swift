import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// Ledgers that are opened as they are, for a dry run or a look.
@Suite struct AsItIsTests {
    private static let latest = Schema.versions(.sqlite).count

    private func openAsItIs(_ location: Place.Location) throws(LedgerError) -> PurchaseLedger {
        try PurchaseLedger(location.text, policy: LedgerPolicy(), asItIs: true)
    }

    /// SQLite's file, or PostgreSQL's columns, version and floor of event numbers.
    private func contents(_ location: Place.Location) throws -> String {
        if location.folder != nil {
            return FileManager.default.contents(atPath: location.text)?.base64EncodedString() ?? "no file"
        }
        let columns = try PostgreSQLServer.query(
            location.text,
            """
            SELECT table_name, column_name FROM information_schema.columns
            WHERE table_schema = current_schema() ORDER BY 1, 2
            """)
        var contents = columns
        for table in ["ledger_schema", "sequence_floor"] where columns.contains(table) {
            contents += try PostgreSQLServer.query(location.text, "SELECT * FROM \(table)")
        }
        return contents
    }

    /// Gives SQLite's file a journal mode that opening the ledger for writing would change.
    private func changeJournal(_ location: Place.Location) throws {
        guard location.folder != nil else { return }
        let connection = try SQLiteConnection(path: location.text, FileIdentity(path: location.text))
        #expect(try connection.run("PRAGMA journal_mode=DELETE").first?.text(0) == "delete")
    }

    @Test(arguments: Place.available)
    func `without a ledger, none is made`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        for isEmptyFile in location.folder == nil ? [false] : [false, true] {
            if isEmptyFile { #expect(FileManager.default.createFile(atPath: location.text, contents: nil)) }
            let before = try contents(location)
            let error = #expect(throws: LedgerError.self) { try openAsItIs(location) }
            #expect(error?.code == .noLedger)
            #expect(try contents(location) == before)
        }
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available, [1, latest - 1, latest + 1])
    func `tables of another version are refused, and stay`(_ place: Place, _ version: Int) throws {
        let location = try place.makeEmptyLocation()
        do {
            let store = try LedgerLocation(location.text).open(.creating)
            try MigrationTests.makeLedger(ofVersion: min(version, Self.latest), in: store)
            _ = try store.migrate { (connection) throws(LedgerError) in
                try connection.run("UPDATE ledger_schema SET version = $1", [.integer(Int64(version))])
            }
        }
        try changeJournal(location)
        let before = try contents(location)
        let error = #expect(throws: LedgerError.self) { try openAsItIs(location) }
        let code = version < Self.latest ? LedgerError.Code.olderSchema : .newerSchema
        #expect(error?.code == code)
        #expect(try contents(location) == before)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a ledger of today answers, and is not changed`(_ place: Place) throws {
        let location = try place.makeLocation()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let pro = history.buyNonConsumable("pro", at: day(0))
        let evidence = try history.evidence(pro, signedAt: day(1))
        do {
            let ledger = try PurchaseLedger(location.text)
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
        }
        try changeJournal(location)
        let before = try contents(location)
        do {
            let ledger = try openAsItIs(location)
            #expect(ledger.upgrade == nil)
            #expect(try ledger.entitlements(of: "anna", at: day(1)).activeProductIDs == ["pro"])
        }
        #expect(try contents(location) == before)
        withExtendedLifetime(location) {}
    }
}
