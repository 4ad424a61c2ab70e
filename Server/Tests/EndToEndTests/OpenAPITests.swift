import AppStoreReceiptTesting
import Foundation
import Testing
import TrialSupport

/// `openapi.json` beside the running server: every path, method, status and body.
@Suite(.serialized) struct OpenAPITests {
    private let evidence: MintedEvidence
    private let document: [String: Any]

    init() throws {
        evidence = try MintedEvidence()
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../openapi.json")
        document = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    }

    private static let methods = ["get", "head", "post", "put", "patch", "delete", "options"]

    /// A status of an operation.
    private struct Place: Hashable, CustomStringConvertible {
        let path: String
        let method: String
        let status: Int

        var description: String { "\(method) \(path) \(status)" }
    }

    // MARK: The document

    /// Follows a reference, if the value is one.
    private func resolved(_ value: Any?) -> [String: Any] {
        let object = value as? [String: Any] ?? [:]
        guard let reference = object["$ref"] as? String else { return object }
        var target: Any? = document
        for name in reference.split(separator: "/").dropFirst() { target = (target as? [String: Any])?[String(name)] }
        return resolved(target)
    }

    private var paths: [String] { (document["paths"] as? [String: Any] ?? [:]).keys.sorted() }

    private func operation(_ path: String, _ method: String) -> [String: Any]? {
        resolved((document["paths"] as? [String: Any])?[path])[method] as? [String: Any]
    }

    private func responses(_ path: String, _ method: String) -> [String: Any] {
        operation(path, method)?["responses"] as? [String: Any] ?? [:]
    }

    private var described: Set<Place> {
        var places: Set<Place> = []
        for path in paths {
            for method in Self.methods {
                for status in responses(path, method).keys {
                    places.insert(Place(path: path, method: method, status: Int(status) ?? 0))
                }
            }
        }
        return places
    }

    // MARK: JSON Schema, as far as the document uses it

    /// The first place where a value is not as its schema says; `nil` if there is none.
    private func fault(_ value: Any, _ schema: Any?, at place: String = "body") -> String? {
        let schema = resolved(schema)
        let known: Set = [
            "type", "const", "enum", "anyOf", "required", "properties", "items", "format", "description", "minItems",
            "maxItems", "contentMediaType",
        ]
        if let other = schema.keys.first(where: { !known.contains($0) }) { return "\(place): unknown keyword \(other)" }
        if let choices = schema["anyOf"] as? [Any] {
            return choices.contains { fault(value, $0) == nil } ? nil : "\(place): none of anyOf"
        }
        if let constant = schema["const"] as? NSObject, constant != value as? NSObject {
            return "\(place): not \(constant)"
        }
        if let values = schema["enum"] as? [NSObject], !values.contains(where: { $0 == value as? NSObject }) {
            return "\(place): \(value) is not in the enumeration"
        }
        let types = (schema["type"] as? [String]) ?? (schema["type"] as? String).map { [$0] } ?? []
        if !types.isEmpty, !types.contains(where: { isOf($0, value) }) { return "\(place): not \(types)" }
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
        if let items = schema["items"], let array = value as? [Any] {
            for (index, item) in array.enumerated() {
                if let fault = fault(item, items, at: "\(place)[\(index)]") { return fault }
            }
        }
        return nil
    }

    private func isOf(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "integer": value is Int
        case "boolean": value is Bool
        case "null": value is NSNull
        default: false
        }
    }

    // MARK: The server

    /// Bodies for the paths that take one, of every category.
    private func bodies(_ path: String) throws -> [[UInt8]] {
        let receipt = try evidence.receipt(purchaseCount: 2)
        let forged = try evidence.receipt(isForged: true)
        let unreadable = try JWSBuilder(payload: .raw("[]")).signed(by: evidence.ellipticAuthority)
        switch path {
        case "/v1/verify":
            return [
                receipt, forged, [], Array(unreadable.utf8), Array(MintedEvidence.body(receipt).utf8),
                Array(try evidence.transaction().utf8), try evidence.receipt(environment: .sandbox),
                try evidence.receipt(bundleID: "com.example.other"), Array(receipt.dropLast()),
            ]
        case "/v1/entitlements":
            let pieces =
                [receipt, forged].map { Data($0).base64EncodedString() } + [unreadable, try evidence.transaction()]
            return pieces.map { Array(#"{"evidence":"\#($0)","at":"2025-02-01"}"#.utf8) } + [
                Array("{}".utf8), Array(#"{"evidence":["x"]}"#.utf8),
            ]
        default:
            return [[], Array(MintedEvidence.body(receipt).utf8), Array(MintedEvidence.body(forged).utf8)]
        }
    }

    /// Sends a request and compares its answer with the document.
    private func probe(_ method: String, _ path: String, _ body: [UInt8], _ port: UInt16) throws -> Place {
        let answer = try request(method.uppercased(), path, body, port: port)
        let place = Place(path: path, method: method, status: answer.status)
        let response = resolved(responses(path, method)["\(answer.status)"])
        // The description says it of every answer.
        if answer.status == 503 { #expect(answer.headers["retry-after"] != nil) }
        guard answer.status != 503 || !response.isEmpty else { return place }
        #expect(!response.isEmpty, "\(place) is not described")
        guard method != "head" else { return place }
        let content = response["content"] as? [String: Any] ?? [:]
        let type = try #require(answer.headers["content-type"])
        let media = try #require(content[type] as? [String: Any], "\(place): \(type) is not described")
        let value = try JSONSerialization.jsonObject(with: Data(answer.body), options: .fragmentsAllowed)
        let fault = fault(value, media["schema"])
        #expect(fault == nil, "\(place): \(fault ?? "")")
        return place
    }

    @Test func `every path, method and status of the document is the server's, and no other`() throws {
        let options = evidence.trustOptions + ["--bundle-id", MintedEvidence.bundleID]
        let server = try ServerProcess(options)
        let small = try ServerProcess(options + ["--maximum-body", "8"])
        let busy = try ServerProcess(options + ["--connections", "1", "--header-time", "60"])
        let first = try Client(port: busy.port)
        usleep(200_000)
        var seen: Set<Place> = []
        for path in paths {
            for method in Self.methods {
                guard operation(path, method) != nil else {
                    let answer = try request(method.uppercased(), path, port: server.port)
                    #expect(answer.status == 405, "\(method) \(path)")
                    let allowed = Self.methods.filter { operation(path, $0) != nil }.map { $0.uppercased() }
                    let named = answer.headers["allow"]?.split(separator: ",").map {
                        $0.trimmingCharacters(in: .whitespaces)
                    }
                    #expect(named.map { Set($0) } == Set(allowed), "\(method) \(path)")
                    continue
                }
                let takesBody = operation(path, method)?["requestBody"] != nil
                for body in takesBody ? try bodies(path) : [[]] {
                    seen.insert(try probe(method, path, body, server.port))
                }
                if takesBody {
                    seen.insert(try probe(method, path, Array(repeating: 0x20, count: 9), small.port))
                }
                seen.insert(try probe(method, path, [], busy.port))
            }
        }
        #expect(try request("GET", "/v1", port: server.port).status == 404)
        let unseen = described.subtracting(seen)
        #expect(unseen.isEmpty, "\(unseen.map(\.description).sorted())")
        withExtendedLifetime(first) {}
    }
}
