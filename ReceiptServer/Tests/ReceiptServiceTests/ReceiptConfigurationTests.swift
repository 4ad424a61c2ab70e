import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import HTTPService
import Testing
import TrialSupport

@testable import ReceiptService

private let minted = Result { try MintedEvidence() }

struct ReceiptConfigurationTests {
    private let evidence: MintedEvidence

    init() throws { evidence = try minted.get() }

    private func configuration(_ arguments: String...) throws -> ReceiptConfiguration {
        try ReceiptConfiguration(ReceiptServer.options.read(arguments, environment: { _ in nil }))
    }

    private func pem(_ certificates: [UInt8]..., explanation: String = "") -> [UInt8] {
        Array(
            certificates.map {
                let text = Data($0).base64EncodedString(options: .lineLength64Characters)
                return "\(explanation)\n-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
            }.joined().utf8)
    }

    @Test func `without options, it accepts every app of production and trusts Apple`() throws {
        let configuration = try configuration()
        #expect(configuration.policy.bundleIDs == nil)
        #expect(configuration.policy.environments == [.production])
        #expect(configuration.trust == .apple)
        #expect(!configuration.fillsLatestReceiptInfo)
    }

    @Test func `options are the words of the command`() throws {
        let configuration = try configuration(
            "--bundle-id", "a", "--bundle-id", "b", "--app-apple-id", "123", "--environment", "production",
            "--environment", "sandbox", "--allow-rsa-1024", "--latest-receipt-info", "--distrust",
            String(repeating: "ab", count: 32))
        #expect(configuration.policy.bundleIDs == ["a", "b"])
        #expect(configuration.policy.appAppleID == "123")
        #expect(configuration.policy.environments == [.production, .sandbox])
        #expect(configuration.policy.allowsRSA1024TransactionReceipts)
        #expect(configuration.policy.distrusted.count == 1)
        #expect(configuration.fillsLatestReceiptInfo)
    }

    @Test func `a non-renewing subscription ends after its days`() throws {
        let season = try evidence.transaction { ($0.productID, $0.productType) = ("season", .nonRenewingSubscription) }
        let root = evidence.path("elliptic-root.der")
        let body = #"{"evidence":"\#(season)","at":"2100-01-01"}"#
        for (options, access) in [([], "length-unknown"), (["--product-type", "season=non-renewing:90"], "expired")] {
            let configuration = try ReceiptConfiguration(
                ReceiptServer.options.read(["--root", root] + options, environment: { _ in nil }))
            let response = RouteTable(try ReceiptRoutes(configuration).routes).answer(
                Request(method: "POST", path: "/v1/entitlements", body: Array(body.utf8)))
            #expect(response.status == 200)
            #expect(String(decoding: response.body, as: UTF8.self).contains(#""access":"\#(access)""#))
        }
    }

    @Test(arguments: [
        "", "season", "=consumable", "season=", "season=non-renewing", "season=non-renewing:0",
        "season=non-renewing:-1",
        "season=non-renewing:90d", "season=non-renewing:36501", "a=b=consumable", "season=90",
    ])
    func `a type that cannot be read is refused`(value: String) {
        #expect(throws: ConfigurationError.self) { try configuration("--product-type", value) }
    }

    @Test func `one product has one type`() {
        #expect(throws: ConfigurationError.self) {
            try configuration("--product-type", "a=consumable", "--product-type", "a=non-consumable")
        }
    }

    @Test func `the refusal of a value is that of the command`() {
        #expect(
            throws: ConfigurationError("--environment cannot be 'Production'; expected: production, sandbox")
        ) { try configuration("--environment", "Production") }
    }

    @Test func `roots are in DER or PEM, and an intermediate with Apple's marker is one of transaction receipts`()
        throws
    {
        let root = try evidence.authority.trustAnchor
        let intermediate = evidence.authority.intermediate.certificate
        let der = try evidence.write(root.der, to: "one.der")
        let text = try evidence.write(pem(root.der, intermediate, explanation: "subject=x"), to: "chain.pem")
        #expect(try configuration("--root", der).trust == .roots([root]))
        let issuer = try TransactionReceiptIssuer(der: intermediate)
        #expect(try configuration("--root", text).trust == .roots([root]).adding([issuer]))
        // Else Apple's roots would be trusted, which nobody asked for.
        let alone = try evidence.write(pem(intermediate), to: "without-root.pem")
        #expect(throws: ConfigurationError("--root: \(alone) has no root")) { try configuration("--root", alone) }
    }

    @Test func `what a distrusted intermediate signed is refused`() throws {
        let file = try evidence.write(pem(evidence.authority.intermediate.certificate), to: "intermediate.pem")
        let routes = try ReceiptRoutes(configuration("--root", evidence.path("root.der"), "--distrust", file)).routes
        let response = RouteTable(routes).answer(
            Request(method: "POST", path: "/v1/verify", body: try evidence.receipt()))
        #expect(response.status == 403 && response.code == "distrusted-certificate")
    }

    @Test func `with a certificate of Xcode, all paths answer for what Xcode signed`() throws {
        let signer = try StoreKitTestingSigner()
        let file = try evidence.write(signer.trustAnchor.der, to: "xcode.der")
        let table = RouteTable(try ReceiptRoutes(configuration("--xcode-root", file)).routes)
        let receipt = try ReceiptBuilder(bundleID: "com.example.app", environment: .xcode).signed(by: signer)
        for path in ["/verifyReceipt", "/production/verifyReceipt", "/sandbox/verifyReceipt"] {
            let response = table.answer(
                Request(method: "POST", path: path, body: Array(MintedEvidence.body(receipt).utf8)))
            #expect(response.code == "ok", "\(path)")
        }
    }

    @Test(arguments: [
        (["--xcode-root", "x", "--root", "y"], "--xcode-root and --root exclude each other"),
        (["--xcode-root", "x", "--environment", "sandbox"], "--xcode-root and --environment exclude each other"),
        (["--app-apple-id", "0"], "--app-apple-id cannot be '0'; expected: a number"),
        (["--root", "/dev/null"], "/dev/null: not a certificate: a required element is missing at byte 0"),
    ])
    func `a configuration that cannot work is refused in words`(arguments: [String], words: String) throws {
        let values = try ReceiptServer.options.read(arguments, environment: { _ in nil })
        let error = #expect(throws: ConfigurationError.self) { try ReceiptConfiguration(values) }
        #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
    }

    @Test func `files that are damaged are refused in words`() throws {
        let root = try evidence.authority.trustAnchor.der
        let cases: [([UInt8], String)] = [
            (Array(root.dropLast()), "not a certificate: an element runs past the end of its container at byte 0"),
            (Array("x".utf8), "not a certificate: an element runs past the end of its container at byte 1"),
            (Array(pem(root).dropLast(40)), "a PEM block without an end at byte 1"),
            (
                Array("-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----".utf8),
                "invalid base64 in a PEM block at byte 28"
            ),
        ]
        for (bytes, words) in cases {
            let file = try evidence.write(bytes, to: "damaged")
            #expect(throws: ConfigurationError("\(file): \(words)")) { try configuration("--root", file) }
        }
        // A leaf is no root.
        let leaf = try evidence.write(evidence.authority.leaf.certificate, to: "leaf.der")
        let unusable = try configuration("--root", leaf)
        let error = #expect(throws: ConfigurationError.self) { try ReceiptRoutes(unusable) }
        #expect(error?.description.hasPrefix("unusable-trust-anchor: ") == true)
    }

    @Test func `a server that cannot start makes no ledger`()
        throws
    {
        let tokens = try evidence.write(Array("token-of-the-backend-1234".utf8), to: "tokens")
        let ledger = tokens + ".db"
        var message = ""
        let status = ReceiptServer.run(
            [
                "--bundle-id", MintedEvidence.bundleID, "--ledger", ledger, "--new-ledger", "--token-file", tokens,
                "--listen", "127.0.0.1:http",
            ], environment: { _ in nil }
        ) { text, _ in message = text }
        #expect(status == 2 && message.contains("--listen"), "\(message)")
        #expect(!FileManager.default.fileExists(atPath: ledger))
    }

    @Test(
        arguments: [
            ("none/ledger.db", 2), ("mysql://host", 2), ("postgresql:///ledger?host=/nowhere&connect_timeout=2", 1),
        ] as [(String, Int32)])
    func `the status says whether to start it again: a database can come back, no ledger can`(
        location: String, expected: Int32
    ) throws {
        let tokens = try evidence.write(Array("token-of-the-backend-1234".utf8), to: "tokens-for-status")
        let ledger = location.contains("://") ? location : evidence.path(location)
        var message = ""
        let status = ReceiptServer.run(
            [
                "--bundle-id", MintedEvidence.bundleID, "--ledger", ledger, "--token-file", tokens, "--listen",
                "127.0.0.1:0",
            ], environment: { _ in nil }
        ) { text, _ in message = text }
        #expect(status == expected && message.contains("--ledger: "), "\(message)")
    }

    @Test func `help names every option with its variable, in lines of a terminal`() {
        for option in ReceiptServer.options.options {
            #expect(ReceiptServer.help.contains("\n  \(option.name)"))
            #expect(ReceiptServer.help.contains("[\(option.variable)]"))
        }
        for line in ReceiptServer.help.split(separator: "\n") { #expect(line.count <= 104, "\(line)") }
    }

    @Test func `the version is that of the description`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../openapi.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains("\"version\": \"\(ReceiptServer.version)\""))
    }
}
