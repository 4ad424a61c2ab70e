// Writes what the compiler's symbol graphs (a folder a module) say as one listing a module. Called by
// scripts/check/public-api:
//   swift scripts/check/public-api.swift GRAPHS LISTINGS MODULE...
// Exit status 1 if a public symbol has no documentation.
import Foundation

struct SymbolGraph: Decodable {
    var symbols: [Symbol]
    var relationships: [Relationship]

    struct Symbol: Decodable {
        struct Kind: Decodable { var identifier: String }
        struct Identifier: Decodable { var precise: String }
        struct Fragment: Decodable { var kind, spelling: String }
        struct Comment: Decodable {}
        struct Location: Decodable {
            struct Position: Decodable { var line: Int }
            var uri: String
            var position: Position
        }

        var kind: Kind
        var identifier: Identifier
        var pathComponents: [String]
        var declarationFragments: [Fragment]
        var docComment: Comment?
        var location: Location?

        var declaration: String {
            declarationFragments.filter { $0.kind != "attribute" }.map(\.spelling).joined()
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        var isType: Bool {
            ["swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.extension"].contains(kind.identifier)
        }
        /// What a conformance demands says nothing that its protocol does not.
        var needsDocumentation: Bool {
            let known: Set = [
                "init(rawValue:)", "rawValue", "hash(into:)", "==(_:_:)", "<(_:_:)", "encode(to:)", "init(from:)",
                "description", "startIndex", "endIndex", "subscript(_:)", "makeIterator()", "next()", "Iterator",
                "Element",
                "makeAsyncIterator()", "AsyncIterator", "Failure", "RawValue", "init(stringLiteral:)",
                "init(integerLiteral:)",
            ]
            return location != nil && !known.contains(pathComponents.last ?? "")
        }
    }

    struct Relationship: Decodable {
        var kind, source, target: String
        var targetFallback: String?
    }
}

/// Members of one kind and type on one line, wrapped: `case a, b, c`.
func folded(_ members: [SymbolGraph.Symbol]) -> [String] {
    var lines: [String] = []
    var groups: [(head: String, names: [String], tail: String)] = []
    for member in members {
        let declaration = member.declaration
        let name = member.pathComponents.last ?? ""
        var head = declaration, tail = ""
        if let range = declaration.range(of: " \(name)"),
            member.kind.identifier.hasSuffix("case") || declaration.contains(": ")
        {
            head = String(declaration[..<range.lowerBound])
            tail = String(declaration[range.upperBound...])
        }
        let isFoldable =
            ["swift.enum.case", "swift.type.property", "swift.property"].contains(member.kind.identifier)
            && !name.contains("(")
        if isFoldable, let index = groups.firstIndex(where: { $0.head == head && $0.tail == tail && !$0.names.isEmpty })
        {
            groups[index].names.append(name)
        } else if isFoldable {
            groups.append((head, [name], tail))
        } else {
            groups.append((declaration, [], ""))
        }
    }
    for group in groups {
        guard !group.names.isEmpty else {
            lines.append(group.head)
            continue
        }
        var line = group.head + " " + group.names[0]
        for name in group.names.dropFirst() {
            if line.count + name.count > 110 {
                lines.append(line + ",")
                line = "    " + name
            } else {
                line += ", " + name
            }
        }
        lines.append(line + group.tail)
    }
    return lines
}

func listing(of module: String, in folder: URL) throws -> (text: String, undocumented: [String]) {
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .filter { $0.lastPathComponent == "\(module).symbols.json" || $0.lastPathComponent.hasPrefix("\(module)@") }
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
    var text = "", undocumented: [String] = []
    for file in files {
        let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: file))
        let names = file.lastPathComponent.dropLast(".symbols.json".count).split(separator: "@")
        if names.count > 1 {
            guard !graph.symbols.isEmpty else { continue }
            text += "// extensions of \(names[1])\n\n"
        }
        let ids = Dictionary(graph.symbols.map { ($0.identifier.precise, $0) }) { first, _ in first }
        var conformances: [String: Set<String>] = [:]
        for relationship in graph.relationships where relationship.kind == "conformsTo" {
            let name =
                ids[relationship.target]?.pathComponents.joined(separator: ".") ?? relationship.targetFallback ?? "?"
            conformances[relationship.source, default: []].insert(name.replacing("Swift.", with: ""))
        }
        let implied: Set = ["Copyable", "Escapable", "SendableMetatype", "Equatable"]
        let grouped = Dictionary(grouping: graph.symbols.filter { !$0.isType }) {
            $0.pathComponents.dropLast().joined(separator: ".")
        }
        let types = Dictionary(grouping: graph.symbols.filter(\.isType)) { $0.pathComponents.joined(separator: ".") }
        for path in Set(grouped.keys).union(types.keys).sorted() {
            if let type = types[path]?.first {
                let all = conformances[type.identifier.precise] ?? []
                var list = all.subtracting(implied)
                if all.contains("Equatable"), !all.contains("Hashable") { list.insert("Equatable") }
                if all.contains("Decodable"), all.contains("Encodable") {
                    list.subtract(["Decodable", "Encodable"])
                    list.insert("Codable")
                }
                let declaration = type.declaration.replacing(
                    type.pathComponents.last ?? "", with: path, maxReplacements: 1)
                text += declaration + (list.isEmpty ? "" : ": " + list.sorted().joined(separator: ", ")) + "\n"
            } else {
                text += path.isEmpty ? "// top level\n" : "extension \(path)\n"
            }
            let members = (grouped[path] ?? []).sorted {
                ($0.kind.identifier, $0.declaration) < ($1.kind.identifier, $1.declaration)
            }
            for line in folded(members) { text += "    \(line)\n" }
            text += "\n"
        }
        for symbol in graph.symbols where symbol.docComment == nil && symbol.needsDocumentation {
            let place = symbol.location.map {
                "\($0.uri.components(separatedBy: "/Sources/").last ?? ""):\($0.position.line + 1)"
            }
            undocumented.append(
                "\(place ?? module): no documentation of \(symbol.pathComponents.joined(separator: "."))")
        }
    }
    return (text, undocumented.sorted())
}

let (graphs, listings) = (URL(filePath: CommandLine.arguments[1]), URL(filePath: CommandLine.arguments[2]))
var isComplete = true
for module in CommandLine.arguments.dropFirst(3) {
    let (text, undocumented) = try listing(of: module, in: graphs.appending(path: module))
    try text.write(to: listings.appending(path: "\(module).txt"), atomically: true, encoding: .utf8)
    for line in undocumented { print(line) }
    isComplete = isComplete && undocumented.isEmpty
}
exit(isComplete ? 0 : 1)
