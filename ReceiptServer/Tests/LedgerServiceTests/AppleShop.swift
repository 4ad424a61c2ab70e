import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import TrialSupport

/// A fake App Store behind HTTP, and what servers need to ask it. Its clock is the system's: servers have no other.
final class AppleShop: Sendable {
    let store: FakeAppStore
    let server: FakeAppStoreServer
    let folder: URL
    /// Whether notifications reach somebody.
    let isDelivering = Guarded(false)

    init(_ change: (inout FakeAppStore.Options) -> Void = { _ in }) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "apple-shop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var options = FakeAppStore.Options()
        options.environment = .production
        options.receiver = { [isDelivering] _ in isDelivering.withLock(\.self) ? .success : .timedOut }
        change(&options)
        store = try FakeAppStore(options)
        server = try FakeAppStoreServer(store)
        try write(store.rootFile(isPEM: false), to: "root.der")
        try write(Array("\(LedgerProcess.token)\n\(Self.supportToken) recover\n".utf8), to: "tokens")
        try writeKeys()
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    static let supportToken = "token-of-support-56789012"

    func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: folder.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(name))
    }

    /// Writes the file of `--ask-apple`, with the store's key or another one, for its app or others.
    ///
    /// - Parameter sandbox: The App Store of the sandbox, which has the same key, if that is asked, too.
    func writeKeys(
        _ key: SigningKey? = nil, for bundleIDs: [String]? = nil, sandbox: FakeAppStoreServer? = nil
    ) throws {
        try write(try (key ?? store.clientKey).pem(), to: "key.p8")
        func entry(_ bundleID: String, _ server: FakeAppStoreServer) -> String {
            let options = server.store.options
            let environment = #""environments":["\#(options.environment.rawValue)"],"#
            return """
                {"bundle_id":"\(bundleID)","issuer_id":"\(options.issuerID)",\(sandbox == nil ? "" : environment)\
                "key_id":"\(options.keyID)","key_file":"key.p8","url":"\(server.url)"}
                """
        }
        var entries = (bundleIDs ?? [store.options.bundleID]).map { entry($0, server) }
        if let sandbox { entries.append(entry(store.options.bundleID, sandbox)) }
        try write(Array("[\(entries.joined(separator: ","))]".utf8), to: "ask-apple.json")
    }

    /// The options of a command over a ledger.
    func options(_ ledger: String) -> [String] {
        [
            "--bundle-id", store.options.bundleID, "--environment", store.environment.rawValue, "--root",
            path("root.der"), "--ledger", ledger, "--ask-apple", path("ask-apple.json"),
        ]
    }

    /// A server that asks.
    func serve(_ ledger: String, _ more: [String] = []) throws -> ServerProcess {
        try ServerProcess(options(ledger) + ["--token-file", path("tokens")] + more)
    }

    /// Runs a command to its end, and returns its exit status and what it wrote.
    func run(_ command: String, _ ledger: String, _ more: [String] = []) throws -> (status: Int32, text: String) {
        let process = try ChildProcess([ServerProcess.executable.path, command] + options(ledger) + more)
        process.closeInput()
        let text = process.readAll()
        return (process.wait() >> 8, text)
    }

    /// A ledger in this process.
    ///
    /// - Parameter isNew: Whether it is made.
    func ledger(_ location: String, orders: Bool = false, isNew: Bool = false) throws -> PurchaseLedger {
        var policy = LedgerPolicy()
        if orders { policy.orders = OrderPolicy() }
        return try isNew
            ? PurchaseLedger(creating: location, policy: policy) : PurchaseLedger(location, policy: policy)
    }

    /// What StoreKit gave the app for a transaction at a date, or gives it now.
    func evidence(
        _ transaction: PurchaseHistory.Transaction, of customer: Int, at date: Instant? = nil
    ) throws -> VerifiedEvidence {
        guard let builder = store.histories[customer]?.transaction(transaction, signedAt: date ?? store.now) else {
            throw ChildProcess.Failure(description: "no such transaction")
        }
        return try store.verifier().verify(builder.signed(by: store.authority))
    }
}

extension PurchaseLedger {
    /// Ends the leases of servers that were killed, as a minute would.
    func endLeases() throws {
        _ = try store.write { (connection) throws(LedgerError) in
            try connection.run("UPDATE questions SET leased_until = 0")
        }
    }

    /// The rows of a query, as texts.
    func texts(_ query: String) throws -> [[String]] {
        let rows = try store.read { (connection) throws(LedgerError) in try connection.run(query) }
        return try rows.map { row in try row.values.indices.map { try row.text($0) } }
    }
}
