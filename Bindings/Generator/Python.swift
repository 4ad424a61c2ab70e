@_spi(Surfaces) import AppStoreReceipt

extension GeneratedFile {
    static let python = [
        GeneratedFile(path: pythonModule, region: "names", lines: pythonNames),
        GeneratedFile(path: pythonModule, region: "functions", lines: pythonFunctions),
        GeneratedFile(
            path: pythonModule, region: "constants", lines: Description.constants.map { "_\($0.name) = \($0.value)" }),
        GeneratedFile(path: pythonModule, region: "error", lines: pythonError),
        GeneratedFile(path: pythonModule, region: "records", lines: pythonRecords),
        GeneratedFile(path: pythonModule, region: "options", lines: pythonOptions),
        GeneratedFile(path: pythonModule, region: "transaction ids", lines: pythonTransactionIDs),
        GeneratedFile(path: pythonModule, region: "signing", lines: SigningMethod.pythonClass + SigningMethod.python),
        GeneratedFile(
            path: "../Integrations/spark/appstorereceipt_spark/__init__.py", region: "options", lines: sparkOptions),
    ]

    private static let pythonModule = "python/appstorereceipt/__init__.py"

    /// The names that `import *` brings.
    private static var pythonNames: [String] {
        let types = Description.words.map(\.type) + Description.records.map(\.name)
        let names =
            types + ["Answer", "Entitlements", "Evidence", Description.error.name, "Signer", "Verifier"]
            + Description.Method.allCases.filter { !$0.isOfVerifier }.map(\.rawValue)
        let text = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { "\"\($0)\"," }
        return ["__all__ = ["] + text.joined(separator: " ").wrapped(130).map { "    \($0)" } + ["]"]
    }

    // MARK: Functions

    private static var pythonFunctions: [String] {
        let fields = Description.errorFields.map { "(\"\($0.name)\", ctypes.c_char * \($0.size))" }
        var lines = [
            "class _Error(ctypes.Structure):", "    _fields_ = [\(fields.joined(separator: ", "))]", "", "",
            "_pointer, _size, _text, _to = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER",
            "_int32, _uint32, _int64 = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64",
            "_signatures: dict[str, tuple[Any, list[Any]]] = {",
        ]
        for function in CFunction.called {
            let types = function.parameters.map { pythonType($0.type) }.joined(separator: ", ")
            lines.append("    \"\(function.name)\": (\(pythonType(function.result)), [\(types)]),")
        }
        return lines + ["}"]
    }

    private static func pythonType(_ type: CFunction.CType) -> String {
        switch type {
        case .nothing: "None"
        case .status, .number: "_int32"
        case .options, .readOptions, .verifier, .readVerifier, .signer, .readSigner, .memory: "_pointer"
        case .text, .bytes: "_text"
        case .size: "_size"
        case .sizes, .sizeOutput: "_to(_size)"
        case .flags: "_uint32"
        case .longNumber: "_int64"
        case .verifierOutput, .signerOutput, .textOutput: "_to(_pointer)"
        case .errorOutput: "_to(_Error)"
        }
    }

    /// The members of the error.
    private static var pythonError: [String] {
        let statuses = Description.categories.map { "\"\($0.name)\": \($0.httpStatus)" }.joined(separator: ", ")
        let members = Description.error.members.flatMap(pythonMember)
        return members + [
            "", "    @property", "    def http_status(self) -> int:",
            "        \"\"\"\(Description.httpStatusMeaning)\"\"\"",
            "        return {\(statuses)}.get(self.category, 500)",
        ]
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
            lines += record.members.flatMap { pythonMember($0) }
            lines += ["", "    @classmethod", "    def _of(cls, members: dict[str, Any]) -> \(record.name):"]
            lines.append("        return cls(")
            lines += record.members.map { "            \($0.name)=\(pythonValue($0))," } + ["        )", "", ""]
        }
        let (evidence, entitlements) = (Description.evidence, Description.entitlements)
        return lines
            + """
            @dataclass(frozen=True)
            class Evidence:
                \"\"\"\(evidence.summary)\"\"\"

                kind: str
                \"\"\"\(evidence.kind.replacing("`", with: "``"))\"\"\"
                trust: Trust
                verdict_json: str
                \"\"\"\(evidence.verdictJSON)\"\"\"

                @property
                def contents(self) -> dict[str, Any]:
                    \"\"\"\(evidence.contents.replacing("`", with: "``"))\"\"\"
                    return dict(self.verdict[self.kind])

                @property
                def verdict(self) -> dict[str, Any]:
                    \"\"\"\(evidence.verdict.replacing("`", with: "``"))\"\"\"
                    return dict(json.loads(self.verdict_json))


            """.lines + [
                "@dataclass(frozen=True)", "class Entitlements:", "    \"\"\"\(entitlements.summary)\"\"\"", "",
                "    at: datetime", "    items: list[Entitlement]", "    subscriptions: list[Subscription]",
                "    refused: list[Refusal]", "    json: str",
                "    error: VerificationError | None", "    \"\"\"\(entitlements.error)\"\"\"",
            ]
                + """

                    @classmethod
                    def _of(cls, text: str, error: VerificationError | None) -> Entitlements:
                        answer = json.loads(text)
                        return cls(
                            at=_date(answer["at"]),
                            items=[Entitlement._of(item) for item in answer["items"]],
                            subscriptions=[Subscription._of(subscription) for subscription in answer["subscriptions"]],
                            refused=[Refusal._of({**piece["error"], **piece}) for piece in answer["refused"]],
                            json=text,
                            error=error,
                        )
                """.lines
    }

    private static func pythonMember(_ member: OutputMember) -> [String] {
        let meaning = member.meaning(on: .python).replacing("`", with: "``")
        return ["    \(member.name): \(pythonType(member))"] + (meaning.isEmpty ? [] : ["    \"\"\"\(meaning)\"\"\""])
    }

    private static func pythonType(_ member: OutputMember) -> String {
        let type =
            switch member.kind {
            case .text: "str"
            case .texts: "list[str]"
            case .number: "int"
            case .flag: "bool"
            case .date: "datetime"
            case .word(let words): words.type
            case .object(let type): type
            }
        return member.isOptional ? "\(type) | None" : type
    }

    private static func pythonValue(_ member: OutputMember) -> String {
        let value = member.isOptional ? "members.get(\"\(member.name)\")" : "members[\"\(member.name)\"]"
        return switch member.kind {
        case .text, .texts, .number, .flag: value
        case .date: "_date(\(value))"
        case .word(let words) where member.isOptional:
            "\(words.type)(members[\"\(member.name)\"]) if members.get(\"\(member.name)\") is not None else None"
        case .word(let words): "\(words.type)(\(value))"
        case .object(let type):
            "\(type)._of(members[\"\(member.name)\"]) if members.get(\"\(member.name)\") is not None else None"
        }
    }

    // MARK: Transaction ids

    private static let pythonTransactionIDs: [String] =
        pythonTransactionID(.appReceiptID, "app_receipt", "str | None") + [""]
        + pythonTransactionID(.transactionReceiptID, "transaction_receipt", "str")

    private static func pythonTransactionID(
        _ method: Description.Method, _ parameter: String, _ type: String
    ) -> [String] {
        let text = "\"\"\"\(method.summary) Raises ``VerificationError`` if it is refused.\"\"\"".wrapped(122)
        let id =
            "json.loads(_json(_call(_lib.asr_\(method.rawValue), self._handle, data, len(data))))[\"transaction_id\"]"
        return ["    def \(method.rawValue)(self, \(parameter): Input) -> \(type):"] + text.map { "        \($0)" } + [
            "        data = _bytes(\(parameter))", "        return cast(\"\(type)\", \(id))",
        ]
    }

    // MARK: Options

    private static var pythonOptions: [String] {
        var lines = ["    def __init__(", "        self,"]
        for (index, setting) in Description.settings.enumerated() {
            // Two are positional, the others keyword-only.
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
            return "    \(setting.own(.python)): \(type) = \(setting.row.kind == .flag ? "False" : "_absent")"
        }
    }
}
