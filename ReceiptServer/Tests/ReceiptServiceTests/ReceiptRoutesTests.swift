@_spi(Surfaces) import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import HTTPService
import Testing
import TrialSupport

@testable import ReceiptService

/// Minted once: keys take time.
private let minted = Result { try MintedEvidence() }

/// The routes that verify, called without a network.
struct ReceiptRoutesTests {
    private let evidence: MintedEvidence

    init() throws { evidence = try minted.get() }

    private func table(
        _ environments: Set<AppStoreEnvironment> = [.production],
        _ change: (inout ReceiptConfiguration) -> Void = { _ in }
    ) throws -> RouteTable {
        var configuration = ReceiptConfiguration(
            policy: VerificationPolicy(bundleIDs: [MintedEvidence.bundleID], environments: environments),
            trust: try evidence.trust)
        change(&configuration)
        return RouteTable(try ReceiptRoutes(configuration).routes)
    }

    private func post(_ path: String, _ body: some Sequence<UInt8>, to table: RouteTable? = nil) throws -> Response {
        try (table ?? self.table()).answer(Request(method: "POST", path: path, body: Array(body)))
    }

    private func object(_ response: Response) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    // MARK: verifyReceipt

    @Test(arguments: [
        ([AppStoreEnvironment.production], "/verifyReceipt", 0, 21007), ([.sandbox], "/verifyReceipt", 21008, 0),
        ([.production, .sandbox], "/verifyReceipt", 0, 0), ([.production], "/production/verifyReceipt", 0, 21007),
        ([.production], "/sandbox/verifyReceipt", 21008, 0), ([.sandbox], "/production/verifyReceipt", 0, 21007),
        ([.production, .sandbox], "/production/verifyReceipt", 0, 21007),
        ([.production, .sandbox], "/sandbox/verifyReceipt", 21008, 0),
    ])
    func `a path answers for its environment`(
        environments: [AppStoreEnvironment], path: String, production: Int, sandbox: Int
    ) throws {
        let table = try table(Set(environments))
        for (environment, status) in [(ReceiptBuilder.ReceiptType.production, production), (.sandbox, sandbox)] {
            let body = try MintedEvidence.body(evidence.receipt(environment: environment))
            let response = try post(path, body.utf8, to: table)
            #expect(response.status == 200)
            #expect(response.contentType == "application/json")
            #expect(try object(response)["status"] as? Int == status)
            #expect((response.code == "ok") == (status == 0))
        }
    }

    @Test func `every refusal is answered as Apple does: 200, and a status in the body`() throws {
        let cases: [(String, Int)] = [
            ("", 21000), ("[]", 21000), ("{}", 21002), (#"{"receipt-data":"AAAA"}"#, 21002),
            (try MintedEvidence.body(evidence.receipt(isForged: true)), 21003),
            (try MintedEvidence.body(evidence.receipt(bundleID: "com.example.other")), 21003),
            (#"{"receipt-data":"\#(try evidence.transaction())"}"#, 21002),
        ]
        for (body, status) in cases {
            let response = try post("/verifyReceipt", body.utf8)
            #expect(response.status == 200)
            #expect(response.body == Array(#"{"status":\#(status)}"#.utf8), "\(body.prefix(40))")
        }
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "BREW"])
    func `another method than POST is answered with 21000`(method: String) throws {
        let response = try table().answer(Request(method: method, path: "/verifyReceipt"))
        #expect(response.status == 200 && response.body == Array(#"{"status":21000}"#.utf8))
    }

    @Test(arguments: [false, true])
    func `latest_receipt_info is there by option`(isThere: Bool) throws {
        let table = try table { $0.fillsLatestReceiptInfo = isThere }
        let response = try post("/verifyReceipt", MintedEvidence.body(evidence.receipt()).utf8, to: table)
        #expect((try object(response)["latest_receipt_info"] != nil) == isThere)
    }

    // MARK: /v1/verify

    @Test func `the HTTP status is that of the category`() throws {
        let receipt = try evidence.receipt()
        let cases: [([UInt8], Int, String)] = [
            (receipt, 200, "ok"), (Array(Data(receipt).base64EncodedString().utf8), 200, "ok"),
            (Array(MintedEvidence.body(receipt).utf8), 200, "ok"), (Array(try evidence.transaction().utf8), 200, "ok"),
            ([], 400, "empty-input"), (Array(receipt.dropLast()), 400, "truncated"),
            (try evidence.receipt(environment: .sandbox), 400, "environment-mismatch"),
            (try evidence.receipt(bundleID: "com.example.other"), 400, "bundle-id-mismatch"),
            (try evidence.receipt(isForged: true), 403, "untrusted-chain"),
            (
                Array(try JWSBuilder(payload: .raw("[]")).signed(by: evidence.ellipticAuthority).utf8), 500,
                "unexpected-type"
            ),
        ]
        for (body, status, code) in cases {
            let response = try post("/v1/verify", body)
            #expect(response.status == status && response.code == code, "\(code): \(response.status) \(response.code)")
            let object = try object(response)
            #expect(object["verified"] as? Bool == (status == 200))
            #expect(object["schema"] as? Int == 1)
            #expect(((object["error"] as? [String: Any])?["code"] as? String ?? "ok") == code)
        }
    }

    @Test func `a stranger learns what was found, and nothing of what the server accepts`() throws {
        let table = try table {
            $0.policy.maximumAge = .seconds(86_400)
            $0.policy.appAppleID = "1234567890"
        }
        let old = Instant(millisecondsSince1970: 1_600_000_000_000)
        let cases: [([UInt8], String, found: String?)] = [
            (try evidence.receipt(bundleID: "com.example.other"), "bundle-id-mismatch", "com.example.other"),
            (try evidence.receipt(environment: .sandbox), "environment-mismatch", "sandbox"),
            (
                Array(try evidence.transaction { $0.bundleID = "com.example.x" }.utf8), "bundle-id-mismatch",
                "com.example.x"
            ),
            (Array(try evidence.transaction { $0.signedDate = old }.utf8), "signed-too-long-ago", nil),
        ]
        for (body, code, found) in cases {
            let list = #"{"evidence":"\#(Data(body).base64EncodedString())"}"#
            let text = body.first == 0x30 ? list : #"{"evidence":"\#(String(decoding: body, as: UTF8.self))"}"#
            for (path, body) in [("/v1/verify", body), ("/v1/entitlements", Array(text.utf8))] {
                let response = try post(path, body, to: table)
                #expect(response.code == code, "\(path) \(code): \(response.code)")
                let answer = String(decoding: response.body, as: UTF8.self)
                if let found {
                    #expect(answer.contains("\"found\":\"\(found)\""), "\(answer)")
                    #expect(answer.contains(#"is not accepted: found \"\#(found)\"""#), "\(answer)")
                }
                for secret in ["expected", MintedEvidence.bundleID, "production", "1234567890", "86400"] {
                    #expect(!answer.contains(secret), "\(path) \(code): \(answer)")
                }
            }
        }
    }

    // MARK: /v1/entitlements

    private func entitlements(_ pieces: [String], at date: String? = nil) throws -> Response {
        let list = pieces.map { "\"\($0)\"" }.joined(separator: ",")
        return try post("/v1/entitlements", #"{"evidence":[\#(list)]\#(date.map { ",\"at\":\"\($0)\"" } ?? "")}"#.utf8)
    }

    @Test func `one or many pieces of evidence are decided together`() throws {
        let receipt = Data(try evidence.receipt(purchaseCount: 2)).base64EncodedString()
        let response = try entitlements([receipt, try evidence.transaction()], at: "2025-02-01")
        #expect(response.status == 200)
        let object = try object(response)
        #expect(object["at"] as? String == "2025-02-01T00:00:00Z")
        let items = try #require(object["items"] as? [[String: Any]])
        #expect(items.count == 3)
        #expect(items.allSatisfy { $0["gives_access"] is Bool && $0["grantable"] is Bool })
        #expect((object["refused"] as? [Any])?.isEmpty == true)
        let single = try post("/v1/entitlements", #"{"at":null,"evidence":"\#(receipt)"}"#.utf8)
        #expect(try (self.object(single)["items"] as? [[String: Any]])?.count == 2)
    }

    @Test func `what is refused is named, and the worst category is the status`() throws {
        let receipt = Data(try evidence.receipt()).base64EncodedString()
        let forged = Data(try evidence.receipt(isForged: true)).base64EncodedString()
        let request = try JWSBuilder.realtimeRequest(productID: "pro", originalTransactionID: "1")
            .signed(by: evidence.ellipticAuthority)
        let repeated = try JWSBuilder(
            payload: .raw(#"{"transactionId":"1","transactionId":"2","signedDate":1735689600000}"#)
        )
        .signed(by: evidence.ellipticAuthority)
        for (pieces, status, refused) in [
            ([request, receipt], 400, [0]), ([receipt, repeated], 400, [1]), ([request, forged], 403, [0, 1]),
            ([receipt, "x"], 400, [1]), ([forged, receipt, "x"], 403, [0, 2]), (["x", forged], 403, [0, 1]),
        ] {
            let response = try entitlements(pieces)
            #expect(response.status == status)
            let object = try object(response)
            #expect((object["items"] as? [Any])?.count == (pieces.contains(receipt) ? 1 : 0))
            let refusals = try #require(object["refused"] as? [[String: Any]])
            #expect(refusals.map { $0["index"] as? Int } == refused)
            let codes = refusals.compactMap { ($0["error"] as? [String: Any])?["code"] as? String }
            #expect(codes.count == refusals.count)
            // What the log and the metrics say is one of them.
            #expect(codes.contains(response.code), "\(response.code)")
        }
    }

    @Test(arguments: [
        ("", "invalid-json"), ("[]", "invalid-json"), (#"{"evidence":1}"#, "invalid-json"),
        (#"{"evidence":[1]}"#, "invalid-json"), (#"{"evidence":"a","evidence":"b"}"#, "invalid-json"),
        (#"{"evidence":"a"} x"#, "invalid-json"), ("{}", "missing-evidence"), (#"{"evidence":[]}"#, "missing-evidence"),
        (#"{"evidence":"a","at":"yesterday"}"#, "invalid-date"), (#"{"evidence":"a","at":5}"#, "invalid-json"),
        (#"{"evidence":[\#(Array(repeating: "\"\"", count: 1001).joined(separator: ","))]}"#, "too-much-evidence"),
    ])
    func `a request that cannot be read is refused by its fault`(body: String, code: String) throws {
        let response = try post("/v1/entitlements", body.utf8)
        #expect(response.status == 400 && response.code == code)
        #expect(try (object(response)["error"] as? [String: Any])?["code"] as? String == code)
    }

    @Test func `the most evidence of a request is answered within bounds`() throws {
        let response = try entitlements(Array(repeating: "", count: Entitlements.maximumEvidenceCount))
        #expect(response.status == 400)
        #expect(response.body.count < 1 << 20)
    }
}
