import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// The contents of an SQLite file after a power loss at any point. Unlike a killed process, a machine loses writes.
@Suite struct PowerLossTests {
    private static let acts = Result { try LedgerActs() }

    /// Cuts the power after each operation of a disk.
    private struct Cuts {
        var generator: SeededGenerator
        var ignoresSync = false
        private(set) var stateCount = 0

        init(_ generator: SeededGenerator) { self.generator = generator }

        /// - Parameters:
        ///   - share: In the short run, one in `share` cuts is tried.
        ///   - check: Opens the ledger in a folder, and fails if its contents are wrong after this number of
        ///     operations.
        mutating func run(
            _ disk: WatchedDisk, oneIn share: Int = 1, _ check: (_ folder: String, _ position: Int) throws -> Void
        ) throws {
            var cut = DiskAfterCut(disk, ignoringSync: ignoresSync)
            let operations = disk.operations
            for position in 0...operations.count {
                if position > 0 { cut.apply(operations[position - 1]) }
                guard Sampling.extent == .long || Int.random(in: 0..<share, using: &generator) == 0 else { continue }
                for _ in 0..<Sampling.count("power-cuts") {
                    let folder = try TemporaryFolder()
                    try cut.write(to: folder.path, using: &generator)
                    // The index of the log can be there, too, with anything in it.
                    if Bool.random(using: &generator) {
                        try Data(generator.bytes(4096)).write(to: URL(filePath: folder.path + "/ledger.db-shm"))
                    }
                    try check(folder.path, position)
                    stateCount += 1
                }
            }
        }
    }

    /// Opens a ledger on a disk, with frequent checkpoints.
    private func open(
        _ folder: String, _ disk: WatchedDisk, _ opening: LedgerOpening = .existing
    ) throws -> PurchaseLedger {
        let ledger = try PurchaseLedger(
            SQLiteStore(path: folder + "/ledger.db", vfs: disk.vfs, opening), LedgerPolicy(), opening, at: day(1))
        _ = try ledger.store.write { (connection) throws(LedgerError) in
            try connection.run("PRAGMA wal_autocheckpoint=25")
        }
        return ledger
    }

    private func openedOrMade(_ file: String) throws(LedgerError) -> PurchaseLedger {
        do throws(LedgerError) {
            return try PurchaseLedger(file)
        } catch {
            guard error.code == .noLedger else { throw error }
            return try PurchaseLedger(creating: file)
        }
    }

    /// Opens what a disk has after a cut.
    ///
    /// - Parameter isMade: Whether the ledger must exist, and isn't created if missing.
    private func reopen(_ folder: String, isMade: Bool = true) throws -> PurchaseLedger {
        let file = folder + "/ledger.db"
        let ledger = try isMade ? PurchaseLedger(file) : openedOrMade(file)
        let integrity = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("PRAGMA integrity_check").map { (row) throws(LedgerError) in try row.text(0) }
        }
        #expect(integrity == ["ok"])
        return ledger
    }

    /// Performs the acts of ``LedgerActs``, and returns the position of the disk after each.
    private func perform(
        _ acts: some Sequence<LedgerActs.Act>, _ ledger: PurchaseLedger, _ disk: WatchedDisk
    ) throws -> [Int] {
        var positions: [Int] = []
        for act in acts {
            #expect(try act.run(ledger) == act.answer)
            positions.append(disk.position)
        }
        return positions
    }

    /// Answered work must be there; other work, all or nothing.
    private func expect(
        _ contents: [String], after position: Int, answered: [Int], _ acts: LedgerActs
    ) -> Bool {
        let count = answered.count { $0 <= position }
        let states = [acts.beginning] + acts.acts.map(\.contents)
        return states[count...min(count + 1, answered.count)].contains(contents)
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `what was answered is there after a cut: grants one by one, from the making of the file to its end`() throws {
        var cuts = Cuts(SeededGenerator())
        let acts = try Self.acts.get()
        let folder = try TemporaryFolder()
        let disk = try WatchedDisk(folder.path)
        var answered: [Int] = []
        let made: Int
        do {
            let ledger = try open(folder.path, disk, .creating)
            made = disk.position
            answered = try perform(acts.acts.prefix(6), ledger, disk)
        }
        // All connections are closed: the file is complete, and its log is removed.
        do {
            let ledger = try open(folder.path, disk)
            answered += try perform(acts.acts.dropFirst(6), ledger, disk)
        }
        var failures: [String] = []
        try cuts.run(disk) { folder, position in
            let contents = try reopen(folder, isMade: position >= made).contents()
            if !expect(contents, after: position, answered: answered, acts) {
                failures.append("after \(position) operations: \(contents)")
            }
        }
        #expect(failures.prefix(1) == [])
        print("power loss: grants one by one: \(cuts.stateCount) states")
    }

    @Test func `a second cut while the ledger is opened after the first one loses nothing`() throws {
        var cuts = Cuts(SeededGenerator())
        let acts = try Self.acts.get()
        let folder = try TemporaryFolder()
        let first = try WatchedDisk(folder.path)
        let ledger = try open(folder.path, first, .creating)
        let made = first.position
        let answered = try perform(acts.acts.prefix(6), ledger, first)
        var failures: [String] = []
        for _ in 0..<Sampling.count("second-power-cuts") {
            var cut = DiskAfterCut(first)
            let position = Int.random(in: made...first.operations.count, using: &cuts.generator)
            for operation in first.operations[..<position] { cut.apply(operation) }
            let folder = try TemporaryFolder()
            try cut.write(to: folder.path, using: &cuts.generator)
            let second = try WatchedDisk(folder.path)
            _ = try open(folder.path, second)
            try cuts.run(second) { folder, _ in
                let contents = try reopen(folder).contents()
                if !expect(contents, after: position, answered: answered, acts) {
                    failures.append("after \(position) operations: \(contents)")
                }
            }
        }
        #expect(failures.prefix(1) == [])
        print("power loss: two cuts: \(cuts.stateCount) states")
    }

    @Test func `what was answered is there after a cut: grants of many clients in one commit`() throws {
        var cuts = Cuts(SeededGenerator())
        let folder = try TemporaryFolder()
        _ = try PurchaseLedger(creating: folder.path + "/ledger.db")
        // Those who wait for a disk share the next commit.
        let disk = try WatchedDisk(folder.path, syncTime: .milliseconds(5))
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = (0..<96).map { _ in history.buyConsumable("coins", at: day(0)) }
        let evidence = try coins.map { try history.evidence($0, signedAt: day(1)) }
        let answered = Guarded<[(String, Int)]>([])
        func syncCount() -> Int { disk.operations.count { if case .sync = $0 { true } else { false } } }
        var begun = 0
        do {
            let ledger = try open(folder.path, disk)
            begun = syncCount()
            inThreads(16) { thread in
                for number in stride(from: thread, to: coins.count, by: 16) {
                    let id = coins[number].transactionID
                    let outcomes = try? ledger.outcomes(evidence[number], for: "account \(id)", at: day(1))
                    if outcomes == [.granted] { answered.withLock { $0.append((id, disk.position)) } }
                }
            }
        }
        #expect(answered.withLock(\.count) == coins.count)
        // Otherwise each was alone.
        let syncs = syncCount() - begun
        #expect(syncs < coins.count)
        var failures: [String] = []
        try cuts.run(disk, oneIn: 2) { folder, position in
            let ledger = try reopen(folder)
            let granted = Set(try LedgerState(ledger).grants.keys)
            let missing = answered.withLock { $0.filter { $0.1 <= position }.map(\.0) }.filter { !granted.contains($0) }
            if !missing.isEmpty { failures.append("after \(position) operations: \(missing)") }
            for query in [
                "SELECT transaction_id FROM identifiers",
                "SELECT transaction_id FROM evidence JOIN identifiers ON id = identifier_id",
                "SELECT substr(account, 9) FROM families", "SELECT substr(account, 9) FROM outbox",
                "SELECT substr(account, 9) FROM accounts",
            ] {
                let found = try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run(query).map { (row) throws(LedgerError) in try row.text(0) }
                }
                if found.sorted() != granted.sorted() { failures.append("after \(position) operations: \(query)") }
            }
        }
        #expect(failures.prefix(1) == [])
        print("power loss: groups: \(cuts.stateCount) states; \(coins.count) grants with \(syncs) syncs")
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: 1..<Schema.versions(.sqlite).count)
    func `a cut while tables are changed loses nothing, and the next start changes the rest`(
        _ version: Int
    ) throws {
        var cuts = Cuts(SeededGenerator())
        let folder = try TemporaryFolder()
        try MigrationTests.makeLedger(ofVersion: version, in: SQLiteStore(path: folder.path + "/ledger.db", .creating))
        let disk = try WatchedDisk(folder.path)
        let contents = try open(folder.path, disk).contents()
        #expect(contents.count { $0.hasPrefix("grant") } == 2)
        var failures: [String] = []
        try cuts.run(disk) { folder, position in
            if try reopen(folder).contents() != contents { failures.append("after \(position) operations") }
        }
        #expect(failures.prefix(1) == [])
        print("power loss: tables of version \(version): \(cuts.stateCount) states")
    }

    @Test func `a disk that keeps nothing by a sync loses grants, and this is found`() throws {
        var cuts = Cuts(SeededGenerator())
        cuts.ignoresSync = true
        let acts = try Self.acts.get()
        let folder = try TemporaryFolder()
        _ = try PurchaseLedger(creating: folder.path + "/ledger.db")
        let disk = try WatchedDisk(folder.path)
        let ledger = try open(folder.path, disk)
        let answered = try perform(acts.acts.prefix(3), ledger, disk)
        var lossCount = 0
        try cuts.run(disk) { folder, position in
            // The file itself can be damaged.
            let contents = try? PurchaseLedger(folder + "/ledger.db").contents()
            if !expect(contents ?? [], after: position, answered: answered, acts) { lossCount += 1 }
        }
        #expect(lossCount > 0)
        print("power loss: a disk that lies: \(lossCount) of \(cuts.stateCount) states have lost something")
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil), arguments: [("off", "on"), ("local", "local")])
    func `a database that does not wait for its disk waits for what a ledger writes`(
        _ setting: String, _ expected: String
    ) throws {
        let location = try Place.postgreSQL.makeLocation()
        // As if it stood in the server's configuration.
        let server = location.text + "%20-csynchronous_commit%3D\(setting)"
        let rows = try PurchaseLedger(server).store.write { (connection) throws(LedgerError) in
            try connection.run("SELECT current_setting('synchronous_commit')")
        }
        #expect(try rows.map { try $0.text(0) } == [expected])
        withExtendedLifetime(location) {}
    }
}
