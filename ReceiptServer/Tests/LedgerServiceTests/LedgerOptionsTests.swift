import AppStoreReceipt
import Foundation
import HTTPService
@testable import LedgerService
import PurchaseLedger
import Testing
import TrialSupport

struct LedgerOptionsTests {
    @Test(arguments: [
        (["--ledger", "FOLDER/l.db"], "--ledger needs --token-file"),
        (["--token-file", "FOLDER/tokens"], "--token-file needs --ledger"),
        (["--product-id", "pro"], "--product-id needs --ledger"),
        (["--entitlement", "premium=pro"], "--entitlement needs --ledger"),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--entitlement", "premium"],
            "--entitlement must be a name and its products, such as premium=pro.month,pro.year, and is 'premium'"
        ),
        (["--new-ledger"], "--new-ledger needs --ledger"),
        (["--other-apps", "ignore"], "--other-apps needs --ledger"),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--other-apps", "drop"],
            "--other-apps must be 'refuse' or 'ignore', and is 'drop'"
        ),
        (["--orders"], "--orders needs --ledger"),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--order-hours", "9"],
            "--order-hours needs --orders"
        ),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--require-token", "2026-12-31"],
            "--require-token needs --orders"
        ),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--orders", "--require-token", "tomorrow"],
            "--require-token must be a date"
        ),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--orders", "--order-hours", "0"],
            "--order-hours must be a number"
        ),
        (["--webhook", "https://example.com"], "--webhook needs --ledger"),
        (["--ledger", "FOLDER/none/l.db", "--token-file", "FOLDER/tokens"], "--ledger: no-ledger"),
        (
            ["--ledger", "FOLDER/none/l.db", "--token-file", "FOLDER/tokens", "--new-ledger"],
            "--ledger: store-unavailable"
        ),
        (["--ledger", "mysql://host", "--token-file", "FOLDER/tokens"], "--ledger: invalid-location"),
        (
            ["--ledger", "postgresql://ledger:Ab/cd@db/ledger", "--token-file", "FOLDER/tokens"],
            "--ledger: invalid-location: not a valid postgresql: URI; percent-encode the password"
        ),
        (["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/none"], "none: No such file"),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--webhook", "https://example.com"],
            "--webhook needs --webhook-secret-file"
        ),
        (
            ["--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--webhook-secret-file", "FOLDER/tokens"],
            "--webhook-secret-file needs --webhook"
        ),
        (
            [
                "--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--webhook", "http://example.com",
                "--webhook-secret-file", "FOLDER/tokens",
            ], "must be an https: URL"
        ),
        // 15 bytes without the line break.
        (
            [
                "--ledger", "FOLDER/l.db", "--token-file", "FOLDER/tokens", "--webhook", "https://example.com",
                "--webhook-secret-file", "FOLDER/secret",
            ], "the webhook's secret must have at least 16 bytes"
        ),
    ])
    func `a configuration that cannot work is refused in words`(options: [String], message: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ledger-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in [("tokens", "token-of-the-backend-1234\n"), ("secret", "secret-of-tests\r\n")] {
            try text.write(toFile: folder.appending(path: name).path, atomically: true, encoding: .utf8)
        }
        let arguments = options.map { $0.replacingOccurrences(of: "FOLDER", with: folder.path) }
        let values = try OptionTable(LedgerService.options).read(arguments) { _ in nil }
        let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
        let error = #expect(throws: ConfigurationError.self) {
            try LedgerService(values, verifier, [:], ServiceLog(detail: .none) { _ in })
        }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("https://name:password@example.com:8443/token?key=secret#part", "https://example.com:8443"),
        ("HTTPS://example.com?key=secret", "https://example.com"),
        ("http://127.0.0.1:9/token", "http://127.0.0.1:9"),
        ("http://[::1]:9/token", "http://[::1]:9"),
        (nil, "none"),
    ])
    func `the start line names the webhook by scheme, host and port, and nothing else of it`(
        url: String?, named: String
    )
        throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ledger-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let tokens = folder.appending(path: "tokens").path
        try "token-of-the-backend-1234\n".write(toFile: tokens, atomically: true, encoding: .utf8)
        var options = ["--bundle-id", "com.example.app", "--token-file", tokens]
        options += ["--ledger", folder.appending(path: "ledger.db").path, "--new-ledger"]
        if let url { options += ["--webhook", url, "--webhook-secret-file", tokens] }
        let server = try ServerProcess(options)
        #expect(server.terminate() == 0)
        #expect(server.events("start").map { $0["webhook"] as? String } == [named])
        for part in ["password", "token", "secret"] { #expect(!server.log.contains(part), "\(part)") }
    }

    @Test func `an order is open for the hours of --order-hours`() throws {
        let values = try OptionTable(LedgerService.options).read(["--orders", "--order-hours", "9"]) { _ in nil }
        #expect(try LedgerService.policy(values, [:], nil).orders?.orderTime == .seconds(9 * 3600))
    }

    @Test func `without --ledger there is none`() throws {
        let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
        let values = try OptionTable(LedgerService.options).read([]) { _ in nil }
        let ledger = try LedgerService(values, verifier, [:], ServiceLog(detail: .none) { _ in })
        #expect(ledger == nil)
    }
}
