import Foundation

/// An OpenAPI description in JSON, with which tests compare answers.
package struct OpenAPIDocument {
    private let document: [String: Any]

    /// - Parameter name: The name of a file of this package, such as `openapi.json`.
    package init(_ name: String) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../\(name)")
        document = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
    }

    package static let methods = ["get", "head", "post", "put", "patch", "delete", "options"]

    package var paths: [String] { resolved(document["paths"]).keys.sorted() }

    /// An operation; `nil` if the path does not have the method, which is in lower case.
    package func operation(_ path: String, _ method: String) -> [String: Any]? {
        resolved(resolved(document["paths"])[path])[method] as? [String: Any]
    }

    /// The responses of an operation, by their status.
    package func responses(_ path: String, _ method: String) -> [String: Any] {
        resolved(operation(path, method)?["responses"])
    }

    /// The difference between an answer and its description; `nil` if there is none.
    package func fault(
        _ method: String, _ path: String, _ status: Int, _ type: String, _ body: Any
    ) -> String? {
        let response = resolved(responses(path, method)["\(status)"])
        guard !response.isEmpty else { return "the status is not described" }
        guard let media = resolved(response["content"])[type] as? [String: Any] else {
            return "\(type) is not described"
        }
        return fault(body, media["schema"], at: "body")
    }

    /// Follows a reference, if the value is one.
    private func resolved(_ value: Any?) -> [String: Any] {
        let object = value as? [String: Any] ?? [:]
        guard let reference = object["$ref"] as? String else { return object }
        var target: Any? = document
        for name in reference.split(separator: "/").dropFirst() { target = (target as? [String: Any])?[String(name)] }
        return resolved(target)
    }

    // MARK: JSON Schema, as far as the document uses it

    /// The first place where a value is not as its schema says; `nil` if there is none.
    private func fault(_ value: Any, _ schema: Any?, at place: String) -> String? {
        let schema = resolved(schema)
        let known: Set = [
            "type", "const", "enum", "anyOf", "required", "properties", "items", "format", "description", "minItems",
            "maxItems", "contentMediaType",
        ]
        if let other = schema.keys.first(where: { !known.contains($0) }) { return "\(place): unknown keyword \(other)" }
        if let choices = schema["anyOf"] as? [Any] {
            return choices.contains { fault(value, $0, at: place) == nil } ? nil : "\(place): none of anyOf"
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
}
