@_spi(Surfaces) import AppStoreReceipt

extension GeneratedFile {
    static let python = [
        GeneratedFile(path: "python/appstorereceipt/__init__.py", region: "constants", lines: pythonConstants),
        GeneratedFile(path: "python/appstorereceipt/__init__.py", region: "records", lines: pythonRecords),
        GeneratedFile(path: "python/appstorereceipt/__init__.py", region: "options", lines: pythonOptions),
        GeneratedFile(
            path: "../Integrations/spark/appstorereceipt_spark/__init__.py", region: "options", lines: sparkOptions),
    ]

    private static var pythonConstants: [String] {
        Description.statuses.enumerated().map { "_\($1.name.uppercased()) = \($0)" }
            + Description.flags.map { "_\($0.uppercased()) = \($1)" }
    }

    // MARK: Records

    private static var pythonRecords: [String] {
        var lines: [String] = []
        for words in Description.words {
            lines += ["class \(words.type)(_Word):", "    \"\"\"\(words.summary)\"\"\"", ""]
            lines += words.constants.map { "    \($0.name) = \"\($0.word)\"" } + ["", ""]
        }
        for record in Description.records {
            lines += ["@dataclass(frozen=True)", "class \(record.name):", "    \"\"\"\(record.summary)\"\"\"", ""]
            for member in record.members {
                lines.append("    \(member.name): \(pythonType(member))")
                let meaning = member.meaning(on: .python)
                if !meaning.isEmpty { lines.append("    \"\"\"\(meaning.replacing("`", with: "``"))\"\"\"") }
            }
            lines += ["", "    @classmethod", "    def _of(cls, members: dict[str, Any]) -> \(record.name):"]
            lines.append("        return cls(")
            lines += record.members.map { "            \($0.name)=\(pythonValue($0))," } + ["        )", "", ""]
        }
        return lines.dropLast(2)
    }

    private static func pythonType(_ member: OutputMember) -> String {
        let type =
            switch member.kind {
            case .text: "str"
            case .number: "int"
            case .flag: "bool"
            case .date: "datetime"
            case .word(let words): words.type
            }
        return member.isOptional ? "\(type) | None" : type
    }

    private static func pythonValue(_ member: OutputMember) -> String {
        let value = member.isOptional ? "members.get(\"\(member.name)\")" : "members[\"\(member.name)\"]"
        return switch member.kind {
        case .text, .number, .flag: value
        case .date: "_date(\(value))"
        case .word(let words) where member.isOptional:
            "\(words.type)(members[\"\(member.name)\"]) if \"\(member.name)\" in members else None"
        case .word(let words): "\(words.type)(\(value))"
        }
    }

    // MARK: Options

    private static var pythonOptions: [String] {
        var lines = ["    def __init__(", "        self,"]
        for (index, setting) in Description.settings.enumerated() {
            // Two have a place. The others have names only.
            if index == 2 { lines[lines.count - 1] += " *," }
            let isFlag = setting.row.kind == .flag
            let (type, value) = (pythonType(setting.row.kind), isFlag ? "False" : "_absent")
            lines.append("        \(setting.own(.python)): \(type) = \(value),")
        }
        lines += [
            "    ) -> None:", "        \"\"\"Leave out what is not set: ``None`` and an empty list are errors.", "",
        ]
        for setting in Description.settings {
            let text = "``\(setting.own(.python))``: \(setting.explanation)".wrapped(130)
            lines += ["        - " + text[0].replacing("`", with: "``").replacing("````", with: "``")]
            lines += text.dropFirst().map { "          " + $0.replacing("`", with: "``") }
        }
        lines += ["        \"\"\"", "        self._make(["]
        lines += Description.settings.map {
            "            (\"\($0.own(.c))\", \"\($0.row.kind.rawValue)\", \($0.own(.python))),"
        }
        return lines + ["        ])"]
    }

    private static func pythonType(_ kind: VerifierSetting.Kind) -> String {
        switch kind {
        case .text: "str | int"
        case .texts: "str | Iterable[str]"
        case .certificates: "bytes | Iterable[bytes]"
        case .flag: "bool"
        case .seconds: "timedelta"
        case .date: "datetime | Literal[\"now\"]"
        case .fixedDate: "datetime"
        }
    }

    /// The same as values that a cache can compare, and Spark can send.
    private static var sparkOptions: [String] {
        Description.settings.map { setting in
            let type =
                switch setting.row.kind {
                case .texts: "str | tuple[str, ...]"
                case .certificates: "bytes | tuple[bytes, ...]"
                default: pythonType(setting.row.kind)
                }
            return setting.row.kind == .flag
                ? "    \(setting.own(.python)): bool = False" : "    \(setting.own(.python)): \(type) | None = None"
        }
    }
}
