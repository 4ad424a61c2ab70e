import AppStoreReceipt
import Foundation
@testable import HTTPService
import Testing
import TrialSupport

@testable import ReceiptService

/// What clients send instead of evidence or around it, at each route.
struct ClientShapesTests {
    private static func routes(isStrict: Bool = false) throws -> ReceiptRoutes {
        try ReceiptRoutes(
            ReceiptConfiguration(policy: ClientShape.policy(isStrict: isStrict), trust: ClientShape.trust))
    }

    private static func object(_ response: Response) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    @Test func `each shape is unwrapped or named at each route, and counted by name`() throws {
        let routes = try Self.routes()
        let table = RouteTable(routes.routes)
        var counts: Set<String> = []
        for shape in try ClientShape.all() {
            counts.formUnion(shape.unwrapped ?? [])
            let response = table.answer(Request(method: "POST", path: "/v1/verify", body: try shape.contents))
            let verdict = try Self.object(response)
            #expect(response.code == shape.code ?? "ok", "\(shape.file)")
            #expect(response.status == (shape.code == nil ? 200 : 400), "\(shape.file)")
            #expect(verdict["unwrapped"] as? [String] == shape.unwrapped, "\(shape.file)")
            if let kind = shape.kind { #expect(verdict[kind] != nil, "\(shape.file)") }
            let error = verdict["error"] as? [String: Any]
            #expect(error?["path"] as? String == shape.path && error?["found"] as? String == shape.found)
            #expect(error?["expected"] as? String == shape.expected && (error == nil) == (shape.code == nil))
            guard let text = try shape.text else { continue }
            let asked = try JSONSerialization.data(withJSONObject: ["evidence": [text]])
            let decision = table.answer(Request(method: "POST", path: "/v1/entitlements", body: [UInt8](asked)))
            #expect(decision.code == shape.code ?? "ok", "\(shape.file)")
            let decided = try Self.object(decision)
            let (accepted, refused) = (decided["accepted"] as? [[String: Any]], decided["refused"] as? [[String: Any]])
            #expect(accepted?.count == (shape.code == nil ? 1 : 0) && refused?.count == (shape.code == nil ? 0 : 1))
            let piece = accepted?.first ?? refused?.first
            #expect(piece?["index"] as? Int == 0 && piece?["unwrapped"] as? [String] == shape.unwrapped)
            #expect((piece?["error"] as? [String: Any])?["code"] as? String == shape.code, "\(shape.file)")
        }
        let metric = try #require(routes.metrics().first { $0.name == "receipt_server_unwrapped_total" })
        let counted = metric.samples.flatMap { $0.labels.map(\.1) }
        #expect(counted == counts.sorted())
    }

    @Test func `verifyReceipt answers for the receipt in each shape, and for none that is refused`() throws {
        let table = RouteTable(try Self.routes().routes)
        for shape in try ClientShape.all() {
            let response = table.answer(Request(method: "POST", path: "/verifyReceipt", body: try shape.contents))
            let status = try Self.object(response)["status"] as? Int
            let isReceipt = shape.kind == "receipt" || shape.kind == "transaction_receipt"
            // Apple's server accepts no JWS.
            #expect(isReceipt ? status == 0 : status == 21000 || status == 21002, "\(shape.file)")
            if shape.code != nil { #expect(response.code == shape.code, "\(shape.file)") }
        }
    }

    @Test func `with --strict-form none is accepted`() throws {
        let table = RouteTable(try Self.routes(isStrict: true).routes)
        for shape in try ClientShape.all() {
            let response = table.answer(Request(method: "POST", path: "/v1/verify", body: try shape.contents))
            #expect(response.status == 400, "\(shape.file)")
        }
    }
}
