@_spi(Surfaces) import AppStoreReceipt

extension GeneratedFile {
    static let readme = [
        GeneratedFile(
            path: "README.md", region: "options",
            lines: ["", "| option | type | effect |", "| --- | --- | --- |"]
                + Description.settings.map { "| `\($0.own(.c))` | \($0.row.kind.rawValue) | \($0.explanation) |" } + [
                    ""
                ]),
        GeneratedFile(
            path: "README.md", region: "names",
            lines: ["", "| of | names |", "| --- | --- |"]
                + (Description.names + Description.records.map { ("`\($0.name)`", $0.members.map(\.name)) }).map {
                    "| \($0.of) | \($0.names.map { "`\($0)`" }.joined(separator: ", ")) |"
                } + [""]),
    ]

    static let header = [
        GeneratedFile(
            path: "C/include/appstorereceipt.h", region: "options",
            lines: Description.settings.flatMap { setting in
                [" *", " * \(setting.own(.c))  (\(setting.row.kind.rawValue))"]
                    + setting.explanation.wrapped(130).map { " *     \($0)" }
            }),
        GeneratedFile(path: "C/include/appstorereceipt.h", region: "statuses", lines: statuses),
    ]

    private static var statuses: [String] {
        let width = Description.statuses.map(\.name.count).max() ?? 0
        var lines = ["/*", " * asr_status - the result of a function", " *"]
        for (name, meaning) in Description.statuses {
            let head = "ASR_\(name.uppercased())" + String(repeating: " ", count: width - name.count)
            for (index, line) in meaning.wrapped(118).enumerated() {
                lines.append(" * \(index == 0 ? head : String(repeating: " ", count: head.count))  \(line)")
            }
        }
        lines += [" */", "typedef int32_t asr_status;", "enum {"]
        for (value, status) in Description.statuses.enumerated() {
            let comma = value == Description.statuses.count - 1 ? "" : ","
            lines.append("    ASR_\(status.name.uppercased()) = \(value)\(comma)")
        }
        return lines + ["};"]
    }
}
