import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerTesting
import Foundation
@testable import HTTPService
@testable import LedgerService
import PurchaseLedger
import Testing

@Suite struct AskAppleFileTests {
    private let folder: URL
    private let verifier: AppStoreVerifier

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "ask-apple-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production, .sandbox])
        try write(try SigningKey(generating: .p256).pem(), to: "key.p8")
    }

    private func write(_ bytes: [UInt8], to name: String, mode: Int = 0o600) throws {
        let path = folder.appending(path: name).path
        try Data(bytes).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func askers(_ text: String, mode: Int = 0o600) throws -> [AskAppleFile.Asker] {
        try write(Array(text.utf8), to: "ask-apple.json", mode: mode)
        return try AskAppleFile(folder.appending(path: "ask-apple.json").path, verifier).askers
    }

    private static let ids = #""bundle_id":"com.example.app","issuer_id":"57246542","key_id":"2X9R4HXF34""#
    private static let entry = #"{\#(ids),"key_file":"key.p8"}"#

    @Test func `an entry asks about each environment of the server, unless it names some`() throws {
        let both = try askers("[\(Self.entry)]")
        #expect(both.map(\.app.app.environment) == [.production, .sandbox])
        #expect(both.map(\.app.requestsPerHour) == [3600, 3600] && both.allSatisfy { $0.keyID == "2X9R4HXF34" })
        let one = try askers(
            #"[{\#(Self.ids),"key_file":"\#(folder.path)/key.p8","environments":["sandbox"],"requests_per_hour":100}]"#)
        #expect(one.map(\.app.app.environment) == [.sandbox] && one.map(\.app.requestsPerHour) == [100])
    }

    @Test(arguments: [
        ("", "not an array of JSON objects"), ("{}", "not an array of JSON objects"),
        ("[\(entry)] ,", "not an array of JSON objects"), ("[1]", "not an array of JSON objects"),
        ("[]", "it has no entry"),
        ("[\(entry),\(entry)]", "entry 2: the app is there twice for the environment 'production'"),
        (#"[{\#(ids)}]"#, "entry 1: 'key_file' is missing"),
        (#"[{\#(ids),"key_file":""}]"#, "entry 1: 'key_file' must be a text"),
        (#"[{\#(ids),"key_file":7}]"#, "entry 1: 'key_file' must be a text"),
        (#"[{\#(ids),"keyfile":"key.p8"}]"#, "entry 1: an unknown member"),
        (#"[{\#(ids),"key_file":"key.p8","key_file":"key.p8"}]"#, "not an array of JSON objects"),
        (
            #"[{\#(ids),"key_file":"none.p8"}]"#,
            "none.p8: The key cannot be used: its file cannot be read: No such file"
        ),
        (
            #"[{\#(ids),"key_file":"ask-apple.json"}]"#,
            "ask-apple.json: The key cannot be used: it must be exactly one block of PEM"
        ),
        (
            #"[{"bundle_id":"com.example.app","issuer_id":"\#(String(repeating: "5", count: 256))","key_id":"2","key_file":"key.p8"}]"#,
            "entry 1: issuer_id must have 1 to 255 bytes"
        ),
        (#"[{\#(ids),"key_file":"key.p8","environments":[]}]"#, "'environments' must be an array"),
        (#"[{\#(ids),"key_file":"key.p8","environments":["Production"]}]"#, "'environments' must be an array"),
        (#"[{\#(ids),"key_file":"key.p8","environments":["production",1]}]"#, "'environments' must be an array"),
        (#"[{\#(ids),"key_file":"key.p8","requests_per_hour":0}]"#, "'requests_per_hour' must be a number"),
        (#"[{\#(ids),"key_file":"key.p8","requests_per_hour":"60"}]"#, "'requests_per_hour' must be a number"),
        (#"[{\#(ids),"key_file":"key.p8","url":"http://example.com:80"}]"#, "the argument 'base-url' is not valid"),
        (
            #"[{"bundle_id":"com.example.other","issuer_id":"1","key_id":"2","key_file":"key.p8"}]"#,
            "the app is none of --bundle-id"
        ),
    ])
    func `a faulty file is refused, and says which entry`(text: String, message: String) throws {
        let fault = #expect(throws: AskAppleFault.self) { try askers(text) }
        #expect(fault?.description.contains(message) == true, "\(fault?.description ?? "")")
    }

    @Test func `an environment that the server does not accept is not asked`() throws {
        let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
        func askers(_ text: String) throws -> [AskAppleFile.Asker] {
            try write(Array(text.utf8), to: "ask-apple.json")
            return try AskAppleFile(folder.appending(path: "ask-apple.json").path, verifier).askers
        }
        #expect(try askers("[\(Self.entry)]").map(\.app.app.environment) == [.production])
        let fault = #expect(throws: AskAppleFault.self) {
            try askers(#"[{\#(Self.ids),"key_file":"key.p8","environments":["sandbox"]}]"#)
        }
        #expect(fault?.description == "entry 1: an environment is none of --environment")
    }

    @Test func `with roots of somebody else, only an App Store on this machine is asked`() throws {
        let store = try FakeAppStore()
        let verifier = try store.verifier()
        func askers(_ more: String) throws -> [AskAppleFile.Asker] {
            let entry = #"{\#(Self.ids),"key_file":"key.p8"\#(more)}"#
            try write(Array("[\(entry)]".utf8), to: "ask-apple.json")
            return try AskAppleFile(folder.appending(path: "ask-apple.json").path, verifier).askers
        }
        #expect(try !askers(#","url":"http://127.0.0.1:8088""#).isEmpty)
        let fault = #expect(throws: AskAppleFault.self) { try askers("") }
        #expect(fault?.description == "entry 1: --root is for tests: 'url' must name an App Store on this machine")
    }

    private func file() throws -> AskAppleFile {
        try write(Array("[\(Self.entry)]".utf8), to: "ask-apple.json")
        return try AskAppleFile(folder.appending(path: "ask-apple.json").path, verifier)
    }

    @Test(arguments: [([], false), (["--refund-sweep"], true)] as [([String], Bool)])
    func `refunds are asked for by option`(options: [String], sweeps: Bool) throws {
        let values = try OptionTable(LedgerService.options).read(options) { _ in nil }
        #expect(try AskApple.policy(values, file()).sweepsRefunds == sweeps)
    }

    @Test func `a history that was never read is as old as the epoch, so that the alarm rings`() throws {
        var policy = LedgerPolicy()
        policy.inquiries = InquiryPolicy(apps: Set(try file().askers.map(\.app.app)))
        let ledger = try PurchaseLedger(creating: folder.appending(path: "ledger.db").path, policy: policy)
        let now = Instant(millisecondsSince1970: 1_750_000_000_000)
        let stored = try AppleMetrics.read(ledger, isAsking: true, at: now)
        var text = ""
        for family in AppleMetrics.stored(stored, [], at: now) { family.append(to: &text) }
        for environment in ["production", "sandbox"] {
            let labels = #"{app="com.example.app",environment="\#(environment)"}"#
            let line = "receipt_server_apple_history_complete_until_seconds\(labels) \(now.secondsSince1970)\n"
            #expect(text.contains(line), "\(text)")
        }
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o660, 0o644])
    func `files that others can read or change are refused, and no text of a key is printed`(mode: Int) throws {
        let fault = #expect(throws: AskAppleFault.self) { try askers("[\(Self.entry)]", mode: mode) }
        #expect(fault?.description.hasSuffix("others than its owner can read or change it: chmod 600") == true)
        try write(try SigningKey(generating: .p256).pem(), to: "key.p8", mode: mode)
        let other = #expect(throws: AskAppleFault.self) { try askers("[\(Self.entry)]") }
        #expect(other?.description.contains("key.p8: The key cannot be used: others than its file's owner") == true)
    }
}
