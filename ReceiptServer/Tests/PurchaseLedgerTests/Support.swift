import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@_exported import LedgerModels
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// A folder that is removed when the test ends.
final class TemporaryFolder {
    let path: String

    /// - Parameter onDisk: Whether a commit waits for a disk. Most tests write much and don't need it, because none
    ///   cuts the power.
    init(onDisk: Bool = false) throws {
        let memory = URL(filePath: "/dev/shm")
        let isUsable = !onDisk && FileManager.default.isWritableFile(atPath: memory.path)
        let parent = isUsable ? memory : FileManager.default.temporaryDirectory
        path = parent.appending(path: "ledger-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A database for ledgers. All must behave alike.
enum Place: String, CaseIterable, CustomTestStringConvertible {
    case sqlite, postgreSQL

    /// PostgreSQL is a package of its own, which not every machine has; `ReceiptServer/test` installs it.
    static var available: [Place] { PostgreSQLServer.binaries == nil ? [.sqlite] : allCases }

    var testDescription: String { rawValue }

    /// A new, empty ledger. It was made at a date before all others.
    func makeLocation(onDisk: Bool = false) throws -> Location {
        let location = try makeEmptyLocation(onDisk: onDisk)
        _ = try PurchaseLedger(
            LedgerLocation(location.text).open(.creating), LedgerPolicy(), .creating,
            at: Instant(millisecondsSince1970: 0))
        return location
    }

    /// A place without a ledger.
    func makeEmptyLocation(onDisk: Bool = false) throws -> Location {
        switch self {
        case .sqlite:
            let folder = try TemporaryFolder(onDisk: onDisk)
            return Location(text: folder.path + "/ledger.db", folder: folder)
        case .postgreSQL: return Location(text: try PostgreSQLServer.shared.get().makeDatabase(), folder: nil)
        }
    }

    /// Runs `body` with a new ledger.
    func withLedger(
        _ policy: LedgerPolicy = LedgerPolicy(), _ body: (PurchaseLedger) throws -> Void
    ) throws {
        let location = try makeLocation()
        try body(PurchaseLedger(location.text, policy: policy))
        withExtendedLifetime(location) {}
    }

    struct Location {
        let text: String
        let folder: TemporaryFolder?
    }
}

extension PurchaseLedger {
    /// Imports lines as a file of their own.
    func imported(_ lines: [ImportedLine], at date: Instant) throws -> [ImportedLine.Result] {
        var run = try beginImport(of: "file", digest: "", by: "tests", at: date)
        let results = try self.importLines(lines, of: &run, at: date)
        try endImport(run, at: date)
        return results
    }

    /// The outcomes of a request by transaction.
    func outcomes(
        _ evidence: VerifiedEvidence, for account: String, token: String? = nil, key: String? = nil,
        at date: Instant
    ) throws -> [Outcome] {
        try redeem(
            evidence, for: account, accountToken: token.flatMap { AppAccountToken($0) }, idempotencyKey: key, at: date
        ).outcomes.map(\.outcome)
    }
}

/// A store that passes everything that it doesn't implement to another one.
protocol ForwardingStore: LedgerStore {
    var store: any LedgerStore { get }
}

extension ForwardingStore {
    func redeem(
        _ request: RedemptionRequest, then: @escaping @Sendable (Result<Redemption?, LedgerError>) -> Void
    ) { store.redeem(request, then: then) }

    func write<Result>(
        _ share: WorkShare, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result { try store.write(share, body) }

    func read<Result>(_ body: (any SQLConnection) throws(LedgerError) -> Result) throws(LedgerError) -> Result {
        try store.read(body)
    }

    func migrate<Result>(
        _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result { try store.migrate(body) }

    func completeFile() throws(LedgerError) { try store.completeFile() }
}
