import AppStoreReceipt
import Foundation
@testable import HTTPService
import Testing

@testable import ReceiptService

/// What clients send instead of evidence or around it, at each route: the cases of `TestVectors/clients`, which all languages run, too.
struct ClientShapesTests {
    private struct Shape: Decodable {
        let file: String
        let kind: String?
        let unwrapped: [String]?
        let code: String?
        let path: String?
        let found: String?
        let expected: String?
    }

    private static let vectors = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../TestVectors").standardized

    private static func contents(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: vectors.appending(path: file)))
    }

    private static func shapes() throws -> [Shape] {
        try JSONDecoder().decode([Shape].self, from: Data(contents("clients/expectations.json")))
    }

    private static func routes(isStrict: Bool = false) throws -> ReceiptRoutes {
        var policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
        policy.allowsRSA1024TransactionReceipts = true
        policy.requiresStrictForm = isStrict
        let roots = try ["root.der", "ec-root.der"].map { try TrustAnchor(der: contents("authority/\($0)")) }
        let issuers = try ["itunes-store.der", "intermediate.der"].map {
            try TransactionReceiptIssuer(der: contents("authority/\($0)"))
        }
        return try ReceiptRoutes(ReceiptConfiguration(policy: policy, trust: .adding(issuers, to: .roots(roots))))
    }

    private static func object(_ response: Response) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    @Test func `each shape is unwrapped or named at each route, and counted by name`() throws {
        let routes = try Self.routes()
        let table = RouteTable(routes.routes)
        var counts: Set<String> = []
        for shape in try Self.shapes() {
            let body = try Self.contents(shape.file)
            counts.formUnion(shape.unwrapped ?? [])
            let response = table.answer(Request(method: "POST", path: "/v1/verify", body: body))
            let verdict = try Self.object(response)
            #expect(response.code == shape.code ?? "ok", "\(shape.file)")
            #expect(response.status == (shape.code == nil ? 200 : 400), "\(shape.file)")
            #expect(verdict["unwrapped"] as? [String] == shape.unwrapped, "\(shape.file)")
            if let kind = shape.kind { #expect(verdict[kind] != nil, "\(shape.file)") }
            let error = verdict["error"] as? [String: Any]
            #expect(error?["path"] as? String == shape.path && error?["found"] as? String == shape.found)
            #expect(error?["expected"] as? String == shape.expected && (error == nil) == (shape.code == nil))
            guard let text = String(validating: body, as: UTF8.self) else { continue }
            let asked = try JSONSerialization.data(withJSONObject: ["evidence": [text]])
            let decision = table.answer(Request(method: "POST", path: "/v1/entitlements", body: [UInt8](asked)))
            #expect(decision.code == shape.code ?? "ok", "\(shape.file)")
        }
        let metric = try #require(routes.metrics().first { $0.name == "receipt_server_unwrapped_total" })
        let counted = metric.samples.flatMap { $0.labels.map(\.1) }
        #expect(counted == counts.sorted())
    }

    @Test func `with --strict-form none is accepted`() throws {
        let table = RouteTable(try Self.routes(isStrict: true).routes)
        for shape in try Self.shapes() {
            let response = table.answer(
                Request(method: "POST", path: "/v1/verify", body: try Self.contents(shape.file)))
            #expect(response.status == 400, "\(shape.file)")
        }
    }
}
