import Foundation
@testable import LedgerService
@testable import PurchaseLedger
import Testing

/// `openapi-ledger.json`, beside the routes. `LedgerRoutesTests` compares each answer with it.
struct OpenAPILedger {
    let document: [String: Any]

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../openapi-ledger.json")
        document = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    }

    /// Follows a reference, if the value is one.
    private func resolved(_ value: Any?) -> [String: Any] {
        let object = value as? [String: Any] ?? [:]
        guard let reference = object["$ref"] as? String else { return object }
        var target: Any? = document
        for name in reference.split(separator: "/").dropFirst() { target = (target as? [String: Any])?[String(name)] }
        return resolved(target)
    }

    /// Each method with its path.
    var operations: Set<String> {
        let paths = document["paths"] as? [String: [String: Any]] ?? [:]
        return Set(paths.flatMap { path, operations in operations.keys.map { "\($0.uppercased()) \(path)" } })
    }

    /// What an answer has that is not described; `nil` if there is nothing.
    func fault(_ method: String, _ path: String, _ status: Int, _ body: Any) -> String? {
        let operation = resolved(resolved(resolved(document["paths"])[path])[method.lowercased()])
        let response = resolved(resolved(operation["responses"])["\(status)"])
        let media = resolved(resolved(response["content"])["application/json"])
        guard !media.isEmpty else { return "status \(status) is not described" }
        return fault(body, media["schema"], at: "body")
    }

    private func fault(_ value: Any, _ schema: Any?, at place: String) -> String? {
        let schema = resolved(schema)
        if let choices = schema["anyOf"] as? [Any] {
            return choices.contains { fault(value, $0, at: place) == nil } ? nil : "\(place): none of anyOf"
        }
        if let constant = schema["const"] as? String, constant != value as? String {
            return "\(place): not \(constant)"
        }
        if let words = schema["enum"] as? [String], !words.contains(value as? String ?? "") {
            return "\(place): \(value) is not in the enumeration"
        }
        if let object = value as? [String: Any] {
            for name in schema["required"] as? [String] ?? [] where object[name] == nil {
                return "\(place).\(name) is missing"
            }
            if let properties = schema["properties"] as? [String: Any] {
                for (name, member) in object {
                    guard let own = properties[name] else { return "\(place).\(name) is not described" }
                    if let fault = fault(member, own, at: "\(place).\(name)") { return fault }
                }
            }
        }
        for item in value as? [Any] ?? [] {
            if let fault = fault(item, schema["items"], at: "\(place)[]") { return fault }
        }
        return nil
    }
}
