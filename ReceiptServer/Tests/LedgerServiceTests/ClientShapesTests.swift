import AppStoreReceipt
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Testing
import TrialSupport

/// What clients send instead of evidence or around it, at the routes of the ledger.
struct ClientShapesTests {
    private let table: RouteTable
    private let ledger: PurchaseLedger
    private let attempts: AttemptLog
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "ledger-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "tokens").path
        try Self.token.write(toFile: file, atomically: true, encoding: .utf8)
        ledger = try PurchaseLedger(creating: folder.appending(path: "ledger.db").path)
        attempts = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
        let verifier = try AppStoreVerifier(policy: ClientShape.policy(), trust: ClientShape.trust)
        let log = ServiceLog(detail: .none) { _ in }
        let apple = try AskApple(asking: folder, ledger, verifier, log)
        table = RouteTable(LedgerRoutes(ledger, verifier, try AccessTokens(file: file), log, attempts, apple).routes)
    }

    private static let token = "token-of-the-backend-1234"

    private func send(_ path: String, _ body: [UInt8]) throws -> (response: Response, object: [String: Any]) {
        let request = Request(
            method: "POST", path: path, fields: [.init(.header, "Authorization", "Bearer \(Self.token)")], body: body)
        let response = table.answer(request)
        let object = try? JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return (response, object ?? [:])
    }

    @Test func `each shape is unwrapped or named when it is redeemed, and Apple's body is never unwrapped`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for shape in try ClientShape.all() {
            #expect(try send("/v1/notifications", shape.contents).response.status != 200, "\(shape.file)")
            guard let text = try shape.text else { continue }
            let asked = try JSONSerialization.data(withJSONObject: ["account": "anna", "evidence": text])
            let (response, object) = try send("/v1/redeem", [UInt8](asked))
            #expect(response.status == (shape.code == nil ? 200 : 400), "\(shape.file)")
            #expect(object["unwrapped"] as? [String] == shape.unwrapped, "\(shape.file)")
            #expect((object["outcomes"] == nil) == (shape.code != nil), "\(shape.file)")
            let error = object["error"] as? [String: Any]
            #expect(error?["code"] as? String == shape.code, "\(shape.file)")
            #expect(error?["path"] as? String == shape.path && error?["found"] as? String == shape.found)
            #expect(error?["expected"] as? String == shape.expected, "\(shape.file)")
        }
        try attempts.write()
        // However it was sent, one receipt is one digest.
        let history = try #require(try ledger.history(of: "anna"))
        let accepted: [AttemptFact] = history.entries.compactMap { entry -> AttemptFact? in
            guard case .attempt(let attempt) = entry.fact else { return nil }
            return attempt.code == "ok" ? attempt : nil
        }
        #expect(accepted.reduce(0) { $0 + $1.times } > 10 && accepted.count < 10)
    }
}
