// Writes Bindings/cases/cases.json, or compares it with `--check`. `--benchmark FILE ROOT` measures `verify`.
@_spi(Surfaces) import AppStoreReceipt
import Foundation

let bindings = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
let vectors = bindings.appending(path: "../TestVectors").standardized

func read(_ file: String) -> [UInt8] {
    guard let data = try? Data(contentsOf: vectors.appending(path: file)) else {
        print("unreadable: \(file)")
        exit(2)
    }
    return [UInt8](data)
}

func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case "\u{0}"..<" ": result += "\\u" + String(65536 + Int(scalar.value), radix: 16).dropFirst()
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

func list(_ texts: [String]) -> String { "[" + texts.map(quoted).joined(separator: ", ") + "]" }

func json(_ options: Case.Options) -> String {
    var members: [String] = []
    func add(_ name: String, _ value: String?) { if let value { members.append("\"\(name)\": \(value)") } }
    func add(_ name: String, _ texts: [String]) { if !texts.isEmpty { add(name, list(texts)) } }
    add("bundle_id", options.bundleIDs)
    add("environments", options.environments)
    add("app_apple_id", options.appAppleID.map(quoted))
    add("roots", options.roots)
    add("transaction_receipt_issuers", options.issuers)
    add("storekit_testing", options.isStoreKitTesting ? "true" : nil)
    add("distrusted", options.distrusted)
    add("maximum_age", options.maximumAge.map(String.init))
    switch options.validationDate {
    case .now: add("validation_date", "\"now\"")
    case .date(let date): add("validation_date", String(date))
    case nil: break
    }
    add("allows_rsa_1024", options.allowsRSA1024 ? "true" : nil)
    add("strict_form", options.requiresStrictForm ? "true" : nil)
    add("clock", options.clock.map(String.init))
    add("product_types", options.productTypes.map { "\($0.key)=\($0.value)" }.sorted())
    return "{" + members.joined(separator: ", ") + "}"
}

func json(_ item: Case) throws -> String {
    let expected = try item.expectation(read)
    var text = "{\"name\": \(quoted(item.name)), \"call\": \"\(item.call.rawValue)\""
    if item.call == .verify { text += ", \"json\": \"\(item.json)\"" }
    text += ",\n \"options\": \(json(item.options)),\n \"evidence\": \(list(item.evidence))"
    if let date = item.date { text += ", \"date\": \(date)" }
    if let environment = item.environment { text += ", \"environment\": \"\(environment.rawValue)\"" }
    if item.fillsLatestReceiptInfo { text += ", \"latest_receipt_info\": true" }
    text += ",\n \"expect\": {\"status\": \(expected.status), \"code\": \(quoted(expected.code))"
    text += ", \"category\": \(quoted(expected.category))"
    text += ", \"json\": \(expected.json.map(quoted) ?? "null")}"
    let others = try Surface.bindings.compactMap { binding -> String? in
        let json = try item.expectation(read, for: binding).json
        return json == expected.json ? nil : "\"\(binding)\": \(json.map(quoted) ?? "null")"
    }
    return text + (others.isEmpty ? "" : ",\n \"json_of\": {\(others.joined(separator: ",\n  "))}") + "}"
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "--benchmark" {
    func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: name))) }
    try printBenchmark(bytes(CommandLine.arguments[2]), root: bytes(CommandLine.arguments[3]))
    exit(0)
}

let file = bindings.appending(path: "cases/cases.json")
let text = Data(("[\n" + (try Case.all.map(json).joined(separator: ",\n")) + "\n]\n").utf8)
if CommandLine.arguments.contains("--check") {
    guard try Data(contentsOf: file) == text else {
        print("cases.json differs: run generate-cases")
        exit(1)
    }
} else {
    try text.write(to: file)
}
print("\(Case.all.count) cases")
