@_spi(Surfaces) import AppStoreReceipt

extension GeneratedFile {
    static let readme = [
        GeneratedFile(
            path: "README.md", region: "options",
            lines: ["", "| type | options |", "| --- | --- |"]
                + kinds.map { kind in
                    let names = Description.settings.filter { $0.row.kind == kind }.map { "`\($0.own(.c))`" }
                    return "| \(kind.rawValue) | \(names.joined(separator: ", ")) |"
                } + [""]),
        GeneratedFile(
            path: "README.md", region: "names",
            lines: ["", "| of | names |", "| --- | --- |"]
                + (Description.names + Description.records.map { ("`\($0.name)`", $0.members.map(\.name)) }).map {
                    "| \($0.of) | \($0.names.map { "`\($0)`" }.joined(separator: ", ")) |"
                } + [""]),
    ]

    /// In the order of the settings.
    private static let kinds = Description.settings.map(\.row.kind).reduce(into: [VerifierSetting.Kind]()) {
        if !$0.contains($1) { $0.append($1) }
    }
}
