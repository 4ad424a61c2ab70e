import AppStoreReceipt
import Foundation
import HTTPService
@testable import LedgerService
import Testing
import TrialSupport

struct LedgerOptionsTests {
    @Test(arguments: [
        (["--ledger", "FOLDER/l.db"], "--ledger needs --token-file"),
        (["--token-file", "FOLDER/tokens"], "--token-file needs --ledger"),
        (["--product-id", "pro"], "--product-id needs --ledger"),
        (["--webhook", "https://example.com"], "--webhook needs --ledger"),
        (["--ledger", "FOLDER/none/l.db", "--token-file", "FOLDER/tokens"], "--ledger: store-unavailable"),
        (["--ledger", "mysql://host", "--token-file", "FOLDER/tokens"], "--ledger: invalid-location"),
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
    ])
    func `a configuration that cannot work is refused in words`(options: [String], message: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ledger-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try "token-of-the-backend-1234\n".write(
            toFile: folder.appending(path: "tokens").path, atomically: true, encoding: .utf8)
        let arguments = options.map { $0.replacingOccurrences(of: "FOLDER", with: folder.path) }
        let values = try OptionTable(LedgerService.options).read(arguments) { _ in nil }
        let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
        let error = #expect(throws: ConfigurationError.self) {
            try LedgerService(values, verifier, { _ in nil }, ServiceLog(detail: .none) { _ in })
        }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test func `without --ledger there is none`() throws {
        let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
        let values = try OptionTable(LedgerService.options).read([]) { _ in nil }
        let ledger = try LedgerService(values, verifier, { _ in nil }, ServiceLog(detail: .none) { _ in })
        #expect(ledger == nil)
    }
}
