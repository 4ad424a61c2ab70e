import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite struct MintCommandTests {
    private let folder: TemporaryFolder
    /// A stored authority.
    private let authority: String

    init() throws {
        folder = try TemporaryFolder()
        authority = folder.url.appending(path: "authority").path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: authority, withIntermediateDirectories: true)
        for file in try Minted.authority.files() {
            _ = try folder.write("authority/" + file.name, file.contents)
        }
    }

    private func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

    private func contents(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.url.appending(path: name)))
    }

    @Test func `an authority is stored, and what it mints is verified under its root`() throws {
        let made = run("ca", "--out", path("new"))
        #expect(made.status == 0 && made.errorOutput.isEmpty)
        #expect(made.output == "\(path("new"))/root.der is the root to trust in tests.\n")
        #expect(run("mint", "--purchases", "1", "--ca", path("new"), "--out", path("receipt")).status == 0)
        #expect(run("verify", "--root", path("new/root.der"), path("receipt")).status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: path("new/leaf.key"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `an authority is never written over`() throws {
        let result = run("ca", "--out", authority)
        #expect(result.status == 2)
        #expect(result.errorOutput == "receipt: \(authority)/root.der: File exists\n")
        #expect(try contents("authority/root.der") == Minted.authority.root.certificate)
    }

    @Test func `a byte order mark is no part of a specification, of a certificate, or of evidence`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let specification = try folder.write("specification", mark + Array(#"{"bundle_id":"com.example.app"}"#.utf8))
        #expect(run("mint", "--ca", authority, "--out", path("receipt"), specification).status == 0)
        let root = Data(try Minted.authority.root.certificate).base64EncodedString()
        let pem = "-----BEGIN CERTIFICATE-----\n\(root)\n-----END CERTIFICATE-----\n"
        let anchor = try folder.write("root.pem", mark + Array(pem.utf8))
        let text = try folder.write("text", mark + Array(Data(contents("receipt")).base64EncodedString().utf8))
        for file in [path("receipt"), text] { #expect(run("verify", "--root", anchor, file).status == 0) }
        #expect(run("batch", "--root", anchor, text).status == 0)
    }

    @Test(arguments: [0, 1, 250])
    func `as many purchases are made as asked for`(_ count: Int) throws {
        let result = run("mint", "--ca", authority, "--purchases", String(count), "--out", path("receipt"))
        #expect(result.status == 0 && result.output.isEmpty && result.errorOutput.isEmpty)
        let receipt = try UnverifiedReceipt(decoding: contents("receipt"))
        #expect(Set(receipt.inAppPurchases.map(\.transactionID)).count == count)
        #expect(receipt.bundleID == "com.example.app")
    }

    @Test func `the same authority and specification give the same bytes`() throws {
        for name in ["first", "second"] {
            #expect(run("mint", "--ca", authority, "--purchases", "5", "--out", path(name)).status == 0)
        }
        #expect(try contents("first") == contents("second"))
    }

    @Test func `what decode prints, edited, is minted again`() throws {
        _ = run("mint", "--ca", authority, "--purchases", "3", "--out", path("receipt"))
        let decoded = run("decode", "--format", "json", path("receipt"))
        let edited = decoded.output.replacing("com.example.app.product.1", with: "com.example.app.gold")
        let specification = try folder.write("spec.json", edited)
        for (words, name) in [([specification], "again"), (["--purchases", specification], "more")] {
            #expect(run(["mint", "--ca", authority, "--out", path(name)] + words).status == 0)
            let again = run("decode", "--format", "json", path(name))
            #expect(again.output.replacing(path(name), with: path("receipt")) == edited)
            #expect(run("verify", "--root", authority + "/root.der", path(name)).status == 0)
        }
    }

    @Test func `standard output gets base64, a file DER, unless said otherwise`() throws {
        let words = ["mint", "--purchases", "1", "--ca", authority]
        let text = run(words).output
        let bytes = try #require(Data(base64Encoded: text.trimmingCharacters(in: .newlines)))
        #expect(run(words + ["--out", path("der")]).status == 0)
        #expect(try contents("der") == Array(bytes))
        #expect(run(words + ["--out", path("base64"), "--format", "base64"]).status == 0)
        #expect(try String(decoding: contents("base64"), as: UTF8.self) == text)
    }

    @Test func `a bundle id replaces that of the specification`() throws {
        let specification = try folder.write("spec.json", #"{"bundle_id":"com.example.one"}"#)
        _ = run("mint", "--ca", authority, "--bundle-id", "com.example.two", "--out", path("receipt"), specification)
        #expect(try UnverifiedReceipt(decoding: contents("receipt")).bundleID == "com.example.two")
    }

    @Test func `without an authority a receipt is signed by one that nobody keeps`() throws {
        #expect(run("mint", "--purchases", "1", "--out", path("receipt")).status == 0)
        #expect(run("decode", path("receipt")).status == 0)
        #expect(run("verify", "--root", authority + "/root.der", path("receipt")).status == 1)
    }

    @Test func `no file is overwritten`() throws {
        let file = try folder.write("precious", "precious")
        let result = run("mint", "--purchases", "1", "--out", file)
        #expect(result.status == 2 && result.errorOutput == "receipt: \(file): File exists\n")
        #expect(try contents("precious") == Array("precious".utf8))
        #expect(run("mint", "--purchases", "1", "--out", "/dev/null").status == 0)
        #expect(run("mint", "--purchases", "1", "--out", folder.url.path).errorOutput.hasSuffix("Is a directory\n"))
    }

    @Test func `a specification that is not text is shown in hexadecimal`() throws {
        let file = try folder.write("spec", [0x30, 0x82, 0x00, 0x01])
        let result = run("mint", file)
        #expect(result.status == 2)
        #expect(result.errorOutput.hasSuffix("the specification is not a JSON object at byte 0: 30 82 00 01\n"))
        let text = run("mint", try folder.write("text", "pro"))
        #expect(text.errorOutput.hasSuffix("the specification is not a JSON object at byte 0: pro\n"))
    }

    /// The specification that the help shows.
    private var example: String {
        get throws {
            let lines = MintCommand.syntax.notes.split(separator: "\n")
            let start = try #require(lines.firstIndex { $0 == #"  {"in_app":["# })
            let end = try #require(lines[start...].firstIndex { $0.hasSuffix("]}") })
            return lines[start...end].joined(separator: "\n")
        }
    }

    @Test func `the specification in the help mints a receipt with products of all types`() throws {
        let file = try folder.write("spec.json", example)
        #expect(run("mint", "--ca", authority, "--out", path("receipt"), file).status == 0)
        let result = run(
            "entitlements", "--root", path("authority/root.der"), "--bundle-id", "com.example.app", "--at",
            "2026-01-01",
            "--format", "json", path("receipt"))
        #expect(result.status == 0, "\(result.errorOutput)")
        let items = try #require(try result.objects().first?["items"] as? [[String: Any]])
        let access = items.map { ["\($0["product_id"] ?? "")", "\($0["access"] ?? "")"] }
        #expect(
            Set(access) == [
                ["coins", "consumable"], ["pro", "owned"], ["monthly", "active"], ["pass", "length-unknown"],
            ])
    }

    @Test(arguments: [
        (#"{"in_app":[{"product_type":"coin"}]}"#, #"must be an integer, or "consumable", "non-consumable""#),
        (#"{"bundle_id":1}"#, "must be a string"), (#"{"app_item_id":"1"}"#, "must be an integer"),
        (#"{"receipt_creation_date":"1 June"}"#, #"must be a date such as "2025-06-15T12:00:00Z" or "2025-06-15""#),
        (#"{"in_app":{}}"#, "must be an array of objects"), (#"{"in_app":[{"is_trial_period":0}]}"#, "true or false"),
        (#"{"opaque_value":"x"}"#, "must be a string of hexadecimal digits"),
        (#"{"transaction_receipt":{"quantity":"1"}}"#, "must be an integer"),
        (#"{"transaction":{"quantity":"1"}}"#, "must be an integer"),
        (#"{"transaction":[]}"#, "must be an object"),
        (#"{"notification":{"data":{"status":true}}}"#, "must be an integer"),
    ])
    func `a value that a key cannot have is refused with what it can have`(_ specification: String, _ expected: String)
        throws
    {
        let result = run("mint", try folder.write("spec.json", specification))
        #expect(result.status == 2)
        #expect(result.errorOutput.contains("a value that this key cannot have (it "), "\(result.errorOutput)")
        #expect(result.errorOutput.contains(expected), "\(result.errorOutput)")
    }

    @Test func `a specification without a bundle id has that of the help, and one with null has none`() throws {
        for (text, expected) in [("{}", "com.example.app"), (#"{"bundle_id":null}"#, nil)] as [(String, String?)] {
            let name = expected ?? "none"
            let file = try folder.write("spec.json", text)
            #expect(run("mint", "--ca", authority, "--out", path(name), file).status == 0)
            #expect(try UnverifiedReceipt(decoding: contents(name)).bundleID == expected)
        }
    }

    @Test func `a receipt is signed after what it says has happened`() throws {
        let text =
            #"{"in_app":[{"purchase_date":"2025-07-01","cancellation_date":"2025-08-01","expires_date":"2030-01-01"}]}"#
        _ = run("mint", "--ca", authority, "--out", path("receipt"), try folder.write("spec.json", text))
        let receipt = try UnverifiedReceipt(decoding: contents("receipt"))
        #expect(receipt.creationDate == Instant(rfc3339: "2025-08-01T00:00:00Z"))
    }

    @Test func `what is wrong is said with its place`() throws {
        let specification = try folder.write("spec.json", #"{"bundel_id":"x"}"#)
        let unknown = run("mint", specification)
        #expect(unknown.status == 2)
        #expect(
            unknown.errorOutput
                == "receipt: \(specification): no receipt has this key at byte 1: \"bundel_id\":\"x\"}; "
                + "did you mean 'bundle_id'?\n")
        for (text, meant) in [
            (#"{"transction":{}}"#, "transaction"), (#"{"in_app":[{"prodct_id":"x"}]}"#, "product_id"),
        ] {
            let misspelt = run("mint", try folder.write("misspelt.json", text))
            #expect(misspelt.errorOutput.hasSuffix("; did you mean '\(meant)'?\n"), "\(misspelt.errorOutput)")
        }
        let cut = run("mint", try folder.write("cut.json", #"{"in_app":["#))
        #expect(cut.errorOutput.hasSuffix("the JSON is malformed at byte 11, where the text ends\n"))
        let missing = run("mint", "--purchases", "1", "--ca", path("nothing"))
        #expect(missing.status == 2)
        #expect(missing.errorOutput.hasPrefix("receipt: \(path("nothing"))/root.der: No such file or directory\n"))
        #expect(missing.errorOutput.contains("receipt ca --out"))
        _ = try folder.write("authority/leaf.key", "no key")
        #expect(
            run("mint", "--purchases", "1", "--ca", authority).errorOutput == "receipt: \(authority): malformed-key\n")
        #expect(run("mint", "--purchases", "1", "--out", "/no/such/file").status == 2)
    }

    @Test func `each line of a file is minted as it would be alone, in order`() throws {
        let specifications = (0..<300).map { #"{"in_app":[{"product_id":"p","transaction_id":"\#($0)"}]}"# }
        let file = try folder.write("lines", specifications.joined(separator: "\n"))
        let result = run("mint", "--ca", authority, "--bundle-id", "com.example.lines", "--lines", file)
        #expect(result.status == 0 && result.errorOutput.isEmpty && result.lines.count == 300)
        let one = try folder.write("one", specifications[123])
        #expect(
            run("mint", "--ca", authority, "--bundle-id", "com.example.lines", one).output == result.lines[123] + "\n")
        let minted = try folder.write("minted", result.output)
        let verdicts = run("batch", "--root", path("authority/root.der"), "--brief", minted)
        #expect(
            try verdicts.objects().map { $0["transaction_ids"] as? [String] } == (0..<300).map { ["\($0)"] })
    }

    @Test func `a line that specifies nothing ends the minting, after the lines before it`() throws {
        let file = try folder.write("lines", "{}\n{}\n{\"x\":1}\n{}\n")
        let result = run("mint", "--ca", authority, "--lines", file)
        #expect(result.status == 2 && result.lines.count == 2)
        #expect(
            result.errorOutput == "receipt: \(file): line 3: no receipt has this key at byte 1: \"x\":1}\n")
        #expect(run("mint", "--ca", authority, "--lines", "/no/such/file").status == 2)
        #expect(run("mint", "--ca", "/no/such/folder", "--lines", file).status == 2)
    }

    @Test(arguments: [
        (["ca"], "--out DIR is needed"),
        (["mint", "--lines", "--purchases", "2"], "--lines and --purchases exclude each other"),
        (["mint", "--lines", "--out", "x", "y"], "--lines and --out exclude each other"),
        (["ca", "x"], "one argument too many: 'x'"),
        (["mint", "--purchases", "-1"], "--purchases cannot be '-1'; expected: 0 to 1000000, or a file"),
        (["mint", "--purchases", "1000001"], "--purchases cannot be '1000001'; expected: 0 to 1000000, or a file"),
        (["mint", "--purchases", "1", "x"], "--purchases and SPEC.json exclude each other"),
        (["ca", "--out", "x", "--key", "x25519"], "--key cannot be 'x25519'; expected: rsa, ec"),
        (["mint", "--format", "dre"], "--format cannot be 'dre'; did you mean 'der'?"),
        (["mint", "a", "b"], "one argument too many: 'b'"),
    ])
    func `wrong usage is explained`(_ words: [String], _ message: String) {
        let result = run(words)
        #expect(result.status == 2)
        #expect(result.errorOutput == "receipt: \(message)\nTry 'receipt \(words[0]) --help'.\n")
    }
}
