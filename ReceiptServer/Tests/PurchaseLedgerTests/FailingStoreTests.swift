import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// Fails each call of SQLite to the system, or of the ledger to PostgreSQL, in turn.
@Suite(.serialized) struct FailingStoreTests {
    private static let acts = Result { try LedgerActs() }

    /// In the short run, every n-th call is tried, beginning with a random one.
    private static let stride = Sampling.count("failing-store-calls")

    /// The versions of the tables from which they are changed. 0 is none.
    private static let versions = Sampling.share(
        0..<Schema.versions(.sqlite).count, of: "failing-store-versions")

    /// Performs all acts of ``LedgerActs``, each until it is answered.
    ///
    /// A request gets the right answer, or `store-unavailable` if nothing was done; it is then repeated without faults.
    /// An act of several transactions may have been done completely.
    ///
    /// - Parameters:
    ///   - contents: Returns what the ledger has. It does not fail.
    ///   - stop: Ends the fault.
    private func perform(
        _ ledger: PurchaseLedger, contents: () throws -> [String], stop: () -> Void = {}
    ) throws {
        let acts = try Self.acts.get()
        var before = acts.beginning
        for (number, act) in acts.acts.enumerated() {
            do throws(LedgerError) {
                let answer = try act.run(ledger)
                #expect(answer == act.answer, "act \(number)")
            } catch {
                #expect(error.code == .storeUnavailable, "act \(number): \(error)")
                stop()
                let found = try contents()
                #expect(found == before || !act.isOneTransaction && found == act.contents, "act \(number): \(error)")
                #expect(try act.run(ledger) == act.answer, "act \(number): \(error)")
            }
            let found = try contents()
            #expect(found == act.contents, "act \(number)")
            before = act.contents
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: WatchedDisk.Fault.Kind.allCases)
    func `a call of SQLite that fails is a true answer, or none and nothing done`(_ kind: WatchedDisk.Fault.Kind) throws
    {
        var generator = SeededGenerator("\(#function) \(kind)")
        let template = try TemporaryFolder()
        do { try PurchaseLedger(creating: template.path + "/ledger.db").completeFile() }
        var count = Int.random(in: 0..<Self.stride, using: &generator)
        var failed = 0
        while true {
            let folder = try TemporaryFolder()
            let path = folder.path + "/ledger.db"
            try FileManager.default.copyItem(atPath: template.path + "/ledger.db", toPath: path)
            let disk = try WatchedDisk(folder.path)
            let ledger = try PurchaseLedger(SQLiteStore(path: path, vfs: disk.vfs), LedgerPolicy(), at: day(1))
            disk.fail(WatchedDisk.Fault(kind, after: count))
            try perform(
                ledger, contents: { try disk.withoutFault { try ledger.contents() } },
                stop: { disk.fail(nil) })
            // Beyond the last call of the acts, it would fail here.
            disk.fail(nil)
            let integrity = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("PRAGMA integrity_check").map { (row) throws(LedgerError) in try row.text(0) }
            }
            #expect(integrity == ["ok"])
            if disk.failureCount == 0 { break }
            failed += 1
            count += Self.stride
        }
        #expect(failed > 20)
        print("failing calls: SQLite, \(kind): \(failed) of about \(count) calls")
    }

    /// Opens a ledger, or creates it if there is none.
    private static func opened(
        _ version: Int, _ open: (LedgerOpening) throws(LedgerError) -> PurchaseLedger
    ) throws(LedgerError) -> PurchaseLedger {
        do throws(LedgerError) {
            return try open(.existing)
        } catch {
            guard error.code == .noLedger, version == 0 else { throw error }
            return try open(.creating)
        }
    }

    @Test(arguments: WatchedDisk.Fault.Kind.allCases)
    func `a ledger that could not be opened, or whose tables could not be changed, opens when nothing fails`(
        _ kind: WatchedDisk.Fault.Kind
    ) throws {
        var generator = SeededGenerator("\(#function) \(kind)")
        for version in Self.versions {
            let template = try TemporaryFolder()
            if version > 0 {
                try MigrationTests.makeLedger(
                    ofVersion: version, in: SQLiteStore(path: template.path + "/ledger.db", .creating))
            }
            func copy() throws -> TemporaryFolder {
                let folder = try TemporaryFolder()
                for name in try FileManager.default.contentsOfDirectory(atPath: template.path)
                where !name.hasSuffix("-shm") {
                    try FileManager.default.copyItem(
                        atPath: template.path + "/" + name, toPath: folder.path + "/" + name)
                }
                return folder
            }
            let changed = try copy()
            let opening = version == 0 ? LedgerOpening.creating : .existing
            let expected = try PurchaseLedger(
                SQLiteStore(path: changed.path + "/ledger.db", opening), LedgerPolicy(), opening, at: day(1)
            ).contents()
            var tried = 0
            var count = Int.random(in: 0..<Self.stride, using: &generator)
            while true {
                let folder = try copy()
                let disk = try WatchedDisk(folder.path)
                func open(_ opening: LedgerOpening) throws(LedgerError) -> PurchaseLedger {
                    let store = try SQLiteStore(path: folder.path + "/ledger.db", vfs: disk.vfs, opening)
                    return try PurchaseLedger(store, LedgerPolicy(), opening, at: day(1))
                }
                disk.fail(WatchedDisk.Fault(kind, after: count))
                do throws(LedgerError) {
                    _ = try open(opening)
                } catch {
                    #expect(error.code == .storeUnavailable, "version \(version), call \(count): \(error)")
                }
                disk.fail(nil)
                let ledger = try Self.opened(version, open)
                #expect(try ledger.contents() == expected, "version \(version), call \(count)")
                if version == 0 {
                    let acts = try Self.acts.get()
                    #expect(try acts.acts[0].run(ledger) == acts.acts[0].answer)
                }
                if disk.failureCount == 0 { break }
                tried += 1
                count += Self.stride
            }
            #expect(tried > 0)
            print("failing calls: SQLite, \(kind), change of version \(version): every \(Self.stride)th of \(count)")
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: WatchedDisk.Fault.Kind.allCases)
    func `of a group in which a call of SQLite fails, each has a true answer`(_ kind: WatchedDisk.Fault.Kind) throws {
        var generator = SeededGenerator("\(#function) \(kind)")
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = (0..<32).map { _ in history.buyConsumable("coins", at: day(0)) }
        let evidence = try coins.map { try history.evidence($0, signedAt: day(1)) }
        var count = Int.random(in: 0..<Self.stride, using: &generator)
        var failed = 0
        while true {
            let folder = try TemporaryFolder()
            // Those who wait for a disk share the next commit.
            let disk = try WatchedDisk(folder.path, syncTime: .milliseconds(2))
            let store = try SQLiteStore(path: folder.path + "/ledger.db", vfs: disk.vfs, .creating)
            let ledger = try PurchaseLedger(store, LedgerPolicy(), .creating, at: day(1))
            let granted = Guarded<Set<String>>([])
            let failing = count
            disk.fail(WatchedDisk.Fault(kind, after: failing))
            inThreads(16) { thread in
                for number in Swift.stride(from: thread, to: coins.count, by: 16) {
                    let id = coins[number].transactionID
                    do throws(LedgerError) {
                        let answer = try ledger.redeem(evidence[number], for: "account \(id)", at: day(1))
                        #expect(answer.outcomes.map(\.outcome) == [.granted])
                        granted.withLock { _ = $0.insert(id) }
                    } catch {
                        #expect(error.code == .storeUnavailable, "call \(failing): \(error)")
                    }
                }
            }
            disk.fail(nil)
            let recorded = Set(try LedgerState(ledger).grants.keys)
            #expect(recorded == granted.withLock(\.self), "call \(count)")
            #expect(try ledger.stateByEvents() == LedgerState(ledger))
            for (coin, evidence) in zip(coins, evidence) {
                let id = coin.transactionID
                let outcomes = try ledger.outcomes(evidence, for: "account \(id)", at: day(2))
                let expected = recorded.contains(id) ? Outcome.alreadyYours : .granted
                #expect(outcomes == [expected], "call \(count)")
            }
            if disk.failureCount == 0 { break }
            failed += 1
            count += Self.stride
        }
        #expect(failed > 5)
        print("failing calls: SQLite, \(kind), groups: \(failed) of about \(count) calls")
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil), arguments: LossyProxy.Moment.allCases)
    func `a call to PostgreSQL that loses its connection is a true answer, or none and nothing done`(
        _ moment: LossyProxy.Moment
    ) throws {
        var generator = SeededGenerator("\(#function) \(moment)")
        let location = try Place.postgreSQL.makeLocation()
        let direct = try PurchaseLedger(location.text)
        let tables = try direct.store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()"
            ).map { (row) throws(LedgerError) in try row.text(0) }
        }.filter { !["ledger_schema", "sequence_floor"].contains($0) }
        let proxy = try LossyProxy(before: location.text)
        var count = Int.random(in: 0..<Self.stride, using: &generator)
        var lost = 0
        while true {
            _ = try direct.store.write { (connection) throws(LedgerError) in
                try connection.run("TRUNCATE \(tables.joined(separator: ", "))")
            }
            // Another test covers opening.
            let ledger = try PurchaseLedger(PostgreSQLStore(uri: proxy.uri), LedgerPolicy(), at: day(1))
            proxy.loseCall(after: count, moment)
            try perform(ledger, contents: { try direct.contents() })
            if proxy.loseNothing() == 0 { break }
            lost += 1
            count += Self.stride
        }
        #expect(lost > 5)
        print("failing calls: PostgreSQL, \(moment): \(lost) of about \(count) calls")
        withExtendedLifetime(location) {}
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil), arguments: LossyProxy.Moment.allCases)
    func `tables of PostgreSQL that could not be made or changed are made when no connection is lost`(
        _ moment: LossyProxy.Moment
    ) throws {
        var generator = SeededGenerator("\(#function) \(moment)")
        for version in Self.versions {
            func make() throws -> String {
                let location = try Place.postgreSQL.makeEmptyLocation()
                if version > 0 {
                    try MigrationTests.makeLedger(ofVersion: version, in: PostgreSQLStore(uri: location.text))
                }
                return location.text
            }
            func open(_ uri: String, _ opening: LedgerOpening) throws(LedgerError) -> PurchaseLedger {
                try PurchaseLedger(PostgreSQLStore(uri: uri, connections: 1), LedgerPolicy(), opening, at: day(1))
            }
            let opening = version == 0 ? LedgerOpening.creating : .existing
            let expected = try open(make(), opening).contents()
            var tried = 0
            var count = Int.random(in: 0..<Self.stride, using: &generator)
            while true {
                let location = try make()
                let proxy = try LossyProxy(before: location)
                proxy.loseCall(after: count, moment)
                do throws(LedgerError) {
                    _ = try open(proxy.uri, opening)
                } catch {
                    #expect(error.code == .storeUnavailable, "version \(version), call \(count): \(error)")
                }
                let lost = proxy.loseNothing()
                let ledger = try Self.opened(version) { (opening) throws(LedgerError) in try open(location, opening) }
                #expect(try ledger.contents() == expected, "version \(version), call \(count)")
                if version == 0 {
                    let acts = try Self.acts.get()
                    #expect(try acts.acts[0].run(ledger) == acts.acts[0].answer)
                }
                if lost == 0 { break }
                tried += 1
                count += Self.stride
            }
            #expect(tried > 0)
            let calls = "every \(Self.stride)th of \(count)"
            print("failing calls: PostgreSQL, \(moment), change of version \(version): \(calls)")
        }
    }
}
