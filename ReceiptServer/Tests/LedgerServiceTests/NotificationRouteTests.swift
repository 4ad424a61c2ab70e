import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Testing
import TrialSupport

/// Minted once: keys take time.
private let minted = Result { try MintedEvidence() }

/// What arrives at `/v1/notifications`, where anyone can send something, and Apple sends what any developer asks it
/// to.
struct NotificationRouteTests {
    private let evidence: MintedEvidence
    private let ledger: PurchaseLedger
    private let document: OpenAPIDocument
    private let verifier: AppStoreVerifier
    private let folder: URL

    init() throws {
        evidence = try minted.get()
        document = try OpenAPIDocument("openapi-ledger.json")
        folder = FileManager.default.temporaryDirectory.appending(path: "notifications-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        ledger = try PurchaseLedger(creating: folder.appending(path: "ledger.db").path)
        verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: evidence.trust)
    }

    private func routes(ignoresOtherApps: Bool = false) throws -> LedgerRoutes {
        let file = folder.appending(path: "tokens").path
        try "\(LedgerProcess.token)\n".write(toFile: file, atomically: true, encoding: .utf8)
        return LedgerRoutes(
            ledger, verifier, try AccessTokens(file: file), ServiceLog(detail: .none) { _ in },
            ignoresOtherApps: ignoresOtherApps)
    }

    private func send(_ body: String, to routes: LedgerRoutes) throws -> (response: Response, object: [String: Any]) {
        let response = RouteTable(routes.routes).answer(
            Request(method: "POST", path: "/v1/notifications", body: Array(body.utf8)))
        let object = try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
        let fault = document.fault("post", "/v1/notifications", response.status, response.contentType, object)
        #expect(fault == nil, "\(fault ?? "")")
        return (response, object)
    }

    private func metrics(_ routes: LedgerRoutes) -> String {
        var text = ""
        for family in routes.metrics { family.append(to: &text) }
        return text
    }

    // MARK: What is none

    @Test(
        arguments: [
            (
                #"{"notification_type":"DID_RENEW","password":"x","unified_receipt":{"status":0}}"#,
                "it is of version 1, which is not signed", "App Store Connect"
            ),
            (#"{"auto_renew_status":"true","notification_type":"CANCEL"}"#, "it is of version 1", "select version 2"),
            ("signedPayload=eyJhbGciOiJFUzI1NiJ9.e30.c2ln", "it is a form", "signedPayload"),
            ("payload%5Bsigned%5D=x&a=b", "it is a form", "signedPayload"),
            ("TRANSACTION", "it is a signed transaction", "signedPayload"),
            (#"{"signedPayload":"TRANSACTION"}"#, "it is a signed transaction", "signedPayload"),
            ("RENEWAL", "it is signed renewal information", "signedPayload"),
            (#"{"receipt-data":"RECEIPT"}"#, "it is a receipt", "signedPayload"),
            ("RECEIPT", "it is a receipt", "signedPayload"),
            ("MIIB", "not an App Store Server Notification", "signedPayload"),
            (#"{"receipt-data":"MIIB=="}"#, "not an App Store Server Notification", "signedPayload"),
        ])
    func `the answer to what is no notification of version 2 says what it is`(
        body: String, message: String, advice: String
    ) throws {
        let transaction = try evidence.transaction()
        let renewal = try JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1").signed(
            by: evidence.ellipticAuthority)
        let receipt = Data(try evidence.receipt()).base64EncodedString()
        let body = body.replacing("TRANSACTION", with: transaction).replacing("RENEWAL", with: renewal).replacing(
            "RECEIPT", with: receipt)
        let (response, object) = try send(body, to: routes())
        let error = try #require(object["error"] as? [String: Any])
        #expect(response.status == 400 && response.code == "not-a-notification", "\(error)")
        #expect((error["message"] as? String)?.contains(message) == true, "\(error)")
        #expect((error["advice"] as? String)?.contains(advice) == true, "\(error)")
    }

    @Test(arguments: ["", "{", "[1]", "{}", #"{"signedPayload":1}"#, "a=", "=b", "a==", "\u{FF}=1"])
    func `what is neither is refused as the verifier refuses it`(body: String) throws {
        let (response, _) = try send(body, to: routes())
        #expect(response.status == 400 && !response.body.isEmpty, "\(body)")
    }

    // MARK: Genuine ones of others

    private func notification(
        _ bundleID: String, _ environment: AppStoreEnvironment, id: String = "1"
    ) throws -> String {
        var transaction = JWSBuilder.transaction(bundleID: bundleID, productID: "pro", transactionID: id)
        transaction.environment = environment
        let builder = JWSBuilder.notification(
            .oneTimeCharge, bundleID: bundleID, environment: environment,
            transaction: try transaction.signed(by: evidence.ellipticAuthority))
        return #"{"signedPayload":"\#(try builder.signed(by: evidence.ellipticAuthority))"}"#
    }

    @Test(
        arguments: [
            ("com.example.other", .production, false, 421, "other-app"),
            ("com.example.other", .production, true, 200, "ok"),
            ("com.example.other", .sandbox, false, 421, "other-app"),
            ("com.example.other", .sandbox, true, 200, "ok"),
            (MintedEvidence.bundleID, .sandbox, false, 421, "other-environment"),
            (MintedEvidence.bundleID, .sandbox, true, 421, "other-environment"),
            (MintedEvidence.bundleID, .production, true, 200, "ok"),
        ] as [(String, AppStoreEnvironment, Bool, Int, String)])
    func `a genuine notification for another app or environment is refused, needs no database, and is counted apart`(
        bundleID: String, environment: AppStoreEnvironment, ignores: Bool, status: Int, code: String
    ) throws {
        let routes = try routes(ignoresOtherApps: ignores)
        let isOurs = bundleID == MintedEvidence.bundleID && environment == .production
        // A ledger whose file is gone answers 503.
        if !isOurs { try FileManager.default.removeItem(at: folder.appending(path: "ledger.db")) }
        let (response, object) = try send(notification(bundleID, environment), to: routes)
        #expect(response.status == status && response.code == code, "\(object)")
        if status == 421 {
            let error = try #require(object["error"] as? [String: Any])
            let found = code == "other-app" ? bundleID : "sandbox"
            #expect((error["message"] as? String)?.hasSuffix(": \(found)") == true, "\(error)")
            if code == "other-app" { #expect(!"\(error)".contains(MintedEvidence.bundleID)) }
        } else {
            #expect(object["status"] as? String == (isOurs ? "recorded" : "ignored"))
        }
        let isOther = bundleID != MintedEvidence.bundleID
        let text = metrics(routes)
        let name = "receipt_server_other_notifications_total"
        #expect(text.contains("\(name){code=\"other-app\"} \(isOther ? 1 : 0)\n"))
        #expect(text.contains("\(name){code=\"other-environment\"} \(isOther || isOurs ? 0 : 1)\n"))
        #expect(routes.countedApart.values.reduce(0, +) == (isOurs ? 0 : 1))
    }

    @Test func `a forged one is refused as a forgery, whatever it names`() throws {
        let stranger = try TestCertificateAuthority(.ellipticCurve)
        for bundleID in ["com.example.other", MintedEvidence.bundleID] {
            let forged = try JWSBuilder.notification(.test, bundleID: bundleID).signed(by: stranger)
            let routes = try routes(ignoresOtherApps: true)
            let (response, _) = try send(#"{"signedPayload":"\#(forged)"}"#, to: routes)
            #expect(response.status == 403 && response.code == "untrusted-chain")
            #expect(routes.countedApart.values.reduce(0, +) == 0)
        }
    }
}
