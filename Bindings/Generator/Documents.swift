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
}
