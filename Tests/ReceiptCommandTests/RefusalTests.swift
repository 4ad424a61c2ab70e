import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

/// What the command says about evidence that it refuses.
@Suite struct RefusalTests {
    private let folder: TemporaryFolder
    private let authority: TestCertificateAuthority
    private let root: String
    /// A receipt and a transaction from production.
    private let receipt: String
    private let transaction: String
    private let transactionRoot: String

    init() throws {
        folder = try TemporaryFolder()
        authority = try Minted.authority
        root = try folder.write("root.der", authority.root.certificate)
        receipt = try folder.write("r.der", try ReceiptBuilder(bundleID: "com.example.app").signed(by: authority))
        let signers = try Minted.ellipticAuthority
        transactionRoot = try folder.write("jws-root.der", signers.root.certificate)
        transaction = try folder.write(
            "t.jws",
            JWSBuilder.transaction(bundleID: "com.example.app", productID: "pro", transactionID: "1")
                .signed(by: signers))
    }

    @Test(arguments: [["--environment", "sandbox"], ["--bundle-id", "com.example.other"]])
    func `genuine evidence that is refused shows its bundle id and environment`(options: [String]) throws {
        for (root, file) in [(root, receipt), (transactionRoot, transaction)] {
            let result = run(["verify", "--root", root] + options + [file])
            #expect(result.status == 1)
            #expect(result.output.contains("\n  Bundle id    com.example.app\n  Environment  production\n"))
        }
    }

    @Test func `a request without a bundle id shows its environment`() throws {
        let signers = try Minted.ellipticAuthority
        let request = try folder.write(
            "request.jws",
            JWSBuilder.realtimeRequest(productID: "pro", originalTransactionID: "1").signed(by: signers))
        for options in [["--app-apple-id", "1"], ["--bundle-id", "com.example.app"]] {
            let result = run(["verify", "--root", transactionRoot] + options + [request])
            #expect(result.output.contains("\n  Environment  production\n"))
        }
    }

    @Test func `a notification whose part is about another app shows both`() throws {
        let signers = try Minted.ellipticAuthority
        let part = JWSBuilder.transaction(bundleID: "com.example.other", productID: "pro", transactionID: "1")
        let file = try folder.write(
            "n.jws",
            JWSBuilder.notification(.refund, bundleID: "com.example.app", transaction: part.signed(by: signers))
                .signed(by: signers))
        let result = run("verify", "--root", transactionRoot, file)
        #expect(result.output.hasPrefix("REFUSED  \(file): part-mismatch\n"))
        #expect(result.output.contains("\n  found com.example.other\n  expected com.example.app\n"))
    }

    @Test func `what is not known to be signed is not shown`() throws {
        var tampered = Array(try Data(contentsOf: URL(filePath: receipt)))
        let place = try #require(tampered.firstRange(of: Array("com.example.app".utf8)))
        tampered[place.lowerBound] ^= 1
        let file = try folder.write("tampered.der", tampered)
        for words in [[file], ["--bundle-id", "x", file], ["--at", "2001-01-01", receipt]] {
            let result = run(["verify", "--root", root] + words)
            #expect(result.status == 1 && !result.output.contains("com.example"), "\(result.output)")
        }
        #expect(!run("verify", "--bundle-id", "x", receipt).output.contains("com.example"))
    }

    @Test func `a receipt from production is not advised to use the sandbox`() throws {
        let options = ["--root", root, "--environment", "sandbox"]
        let text = run(["verify"] + options + [receipt]).output
        #expect(text.contains("To accept it, pass --environment production.") && !text.contains("TestFlight"))
        let json = try run(["verify", "--format", "json"] + options + [receipt]).objects().first
        let advice = try #require((json?["error"] as? NSDictionary)?["advice"] as? String)
        #expect(advice.contains("--environment production") && !advice.contains("TestFlight"))
        let line = Data(try Data(contentsOf: URL(filePath: receipt))).base64EncodedString()
        let batch = try run(["batch"] + options + [try folder.write("lines", line)]).objects().first
        #expect((batch?["error"] as? NSDictionary)?["advice"] as? String == advice)
    }

    @Test(
        arguments: [
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00], "89 50 4e 47 0d 0a 1a 0a…"),
            ([0x00], "00"), ([0x31, 0x05, 0x06, 0x03], "31 05 06 03"),
            (Array("<b>\u{1B}[31m".utf8), #""<b>\u{1B}[31m""#), ([0x01, 0xFF], "01 ff"),
            (Array("hello".utf8), "\"hello\""),
            (Array("Grüße".utf8), #""Gr\u{00FC}\u{00DF}e""#),
            // A character that the end of the excerpt divides is text all the same.
            (Array(("x" + String(repeating: "ü", count: 40)).utf8), #""x\u{00FC}"#),
        ] as [([UInt8], String)])
    func `what stands at the place of a fault is shown as text or in hexadecimal`(bytes: [UInt8], shown: String) throws
    {
        let file = try folder.write("x", bytes)
        for command in ["verify", "decode"] {
            let lines = run(command, file).lines
            #expect(lines.first == "REFUSED  \(file): unrecognized-form")
            #expect(lines.dropFirst().first?.contains(": " + shown) == true, "\(lines)")
        }
    }

    @Test func `batch of a binary file says to use verify`() {
        let result = run("batch", "--root", root, receipt)
        #expect(result.status == 1)
        #expect(result.errorOutput.contains("r.der: this begins like a binary receipt"))
        #expect(result.errorOutput.contains("use 'receipt verify'"))
        #expect(result.errorOutput.split(separator: "\n").count == 1)
        #expect(run("batch", "--root", transactionRoot, transaction).errorOutput.isEmpty)
    }

    @Test func `cms prints the error of a malformed message without a root, in JSON, too`() throws {
        let file = try folder.write("cut.der", [0x30, 0x05, 0x06])
        let object = try #require(try run("cms", "--format", "json", file).objects().first)
        let error = try #require(object["error"] as? NSDictionary)
        #expect(object["verified"] as? Bool == false)
        #expect(error["code"] as? String == "truncated" && error["offset"] as? Int == 0)
        #expect((error["message"] as? String)?.contains("runs past the end") == true)
        #expect(run("cms", file).output.contains("runs past the end"))
    }

    // MARK: --at

    @Test func `a date alone is its first moment in UTC`() throws {
        // The signer's certificate is valid from 2010-01-01T00:00:00Z.
        for (date, status) in [
            ("2010-01-01", 0), ("2009-12-31", 1), ("2009-12-31T23:59:59Z", 1), ("2010-01-01T00:00:00Z", 0),
            ("2010-01-01T00:59:59+01:00", 1), ("2010-01-01T01:00:00+01:00", 0),
        ] {
            #expect(run("verify", "--root", root, "--at", date, receipt).status == status, "\(date)")
        }
        let result = run("verify", "--root", root, "--at", "2025-06-20", receipt)
        #expect(result.output.contains("certificates validated at 2025-06-20 00:00:00 UTC"))
    }

    @Test(arguments: ["2025-6-20", "2025-02-30", "20.06.2025", "2025-06-20 12:00", "2025-06", "2025-06-20Z"])
    func `what is no date is wrong usage`(date: String) {
        for command in ["verify", "batch", "cms"] {
            let result = run(command, "--at", date, receipt)
            #expect(result.status == 2 && result.errorOutput.contains("--at cannot be '\(date)'"))
        }
    }

    // MARK: --distrust

    @Test func `what a distrusted certificate signed is refused`() throws {
        let leaf = try Fingerprint(of: authority.leaf.certificate.span).description
        let colons = stride(from: 0, to: 64, by: 2).map { String(Array(leaf.uppercased())[$0..<$0 + 2]) }
            .joined(separator: ":")
        let chain = authority.certificates.map { pem("CERTIFICATE", $0) }.joined()
        for value in [
            leaf, colons, try folder.write("leaf.der", authority.leaf.certificate),
            try folder.write("intermediate.pem", pem("CERTIFICATE", authority.intermediate.certificate)),
            try folder.write("chain.pem", chain),
        ] {
            let result = run("verify", "--root", root, "--distrust", value, receipt)
            #expect(result.status == 1 && result.output.contains(": distrusted-certificate\n"), "\(value)")
            #expect(result.output.contains("among those of --distrust"))
            #expect(result.errorOutput.contains("1 of 3 certificates left out") == value.hasSuffix("chain.pem"))
        }
        let other = String(leaf.reversed())
        #expect(run("verify", "--root", root, "--distrust", other, receipt).status == 0)
        #expect(run("verify", "--root", root, "--distrust", other, "--distrust", leaf, receipt).status == 1)
        let line = Data(try Data(contentsOf: URL(filePath: receipt))).base64EncodedString()
        let lines = try folder.write("lines", line)
        #expect(run("batch", "--root", root, "--distrust", leaf, lines).status == 1)
    }

    @Test func `a distrusted certificate that cannot be distrusted is told`() throws {
        for (value, message) in [
            (root, "a root certificate cannot be distrusted"), ("no/such/file", "No such file"),
            (receipt, "not a certificate"), (String(repeating: "a", count: 63), "No such file"),
        ] {
            let result = run("verify", "--root", root, "--distrust", value, receipt)
            #expect(result.status == 2 && result.output.isEmpty && result.errorOutput.contains(message))
        }
    }
}
