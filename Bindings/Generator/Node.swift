@_spi(Surfaces) import AppStoreReceipt

extension GeneratedFile {
    static let node = [
        GeneratedFile(
            path: "node/index.js", region: "constants",
            lines: Description.statuses.enumerated().map { "const \($1.name.uppercased()) = \($0);" }
                + Description.flags.map { "const \($0.uppercased()) = \($1);" }),
        GeneratedFile(
            path: "node/index.js", region: "records",
            lines: ["const DATES = new Set(["]
                + Description.records.flatMap(\.members).compactMap { member in
                    if case .date = member.kind { "  '\(member.name)'," } else { nil }
                } + ["]);"]),
        GeneratedFile(
            path: "node/index.js", region: "options",
            lines: Description.settings.map { "  \($0.own(.node)): ['\($0.own(.c))', '\($0.row.kind.rawValue)']," }),
        GeneratedFile(path: "node/index.d.ts", region: "options", lines: nodeOptions),
        GeneratedFile(path: "node/index.d.ts", region: "records", lines: nodeRecords),
    ]

    private static var nodeOptions: [String] {
        Description.settings.flatMap { setting in
            let type =
                switch setting.row.kind {
                case .text: "string"
                case .texts: setting == .environments ? "Environment | Environment[]" : "string | string[]"
                case .certificates: "Input | Input[]"
                case .flag: "boolean"
                case .seconds: "number"
                case .date: "Date | number | 'now'"
                case .fixedDate: "Date | number"
                }
            return ["  /** \(setting.explanation) */", "  \(setting.own(.node))?: \(type);"]
        }
    }

    private static var nodeRecords: [String] {
        var lines: [String] = []
        for words in Description.words {
            lines += ["/** \(words.summary) */", "export type \(words.type) ="]
            lines += words.all.enumerated().map { "  | '\($1)'\($0 == words.all.count - 1 ? ";" : "")" } + [""]
        }
        for record in Description.records {
            lines += ["/** \(record.summary) */", "export interface \(record.name) {"]
            for member in record.members {
                let type =
                    switch member.kind {
                    case .text: "string"
                    case .number: "number"
                    case .flag: "boolean"
                    case .date: "Date"
                    // A later version can add words.
                    case .word(let words): "\(words.type) | (string & {})"
                    }
                let meaning = member.meaning(on: .node)
                if !meaning.isEmpty { lines.append("  /** \(meaning) */") }
                let none = if case .date = member.kind { " | null" } else { "" }
                lines.append("  \(member.name(on: .node))\(member.isOptional ? "?: \(type)\(none)" : ": \(type)");")
            }
            lines += ["}", ""]
        }
        return lines.dropLast()
    }
}
