@_spi(Surfaces) import AppStoreReceipt

/// A function of the C library. cgo, PHP's FFI and the addon for Node read the header; the other languages have
/// declarations of their own.
struct CFunction {
    /// A type of C.
    enum CType: String {
        case nothing = "void"
        case status = "asr_status"
        case options = "asr_options *"
        case readOptions = "const asr_options *"
        case verifier = "asr_verifier *"
        case readVerifier = "const asr_verifier *"
        case signer = "asr_signer *"
        case readSigner = "const asr_signer *"
        case text = "const char *"
        case bytes = "const void *"
        case size = "size_t"
        case sizes = "const size_t *"
        case flags = "uint32_t"
        case number = "int32_t"
        case longNumber = "int64_t"
        case memory = "void *"
        case verifierOutput = "asr_verifier **"
        case signerOutput = "asr_signer **"
        case textOutput = "char **"
        case sizeOutput = "size_t *"
        case errorOutput = "asr_error *"
    }

    typealias Parameter = (name: String, type: CType)

    /// The name without the prefix of the library.
    let name: String
    let result: CType
    let parameters: [Parameter]
    /// Whether no process forks during a call.
    let isGuarded: Bool

    init(_ name: String, _ parameters: [Parameter], result: CType = .status, isGuarded: Bool = true) {
        self.name = name
        self.result = result
        self.parameters = parameters
        self.isGuarded = isGuarded
    }

    private static let outputs: [Parameter] = jsonOutputs + [("error", .errorOutput)]
    private static let jsonOutputs: [Parameter] = [("json", .textOutput), ("json_length", .sizeOutput)]

    private static let evidence: [Parameter] = [("verifier", .readVerifier), ("evidence", .bytes), ("length", .size)]

    static let all: [CFunction] = [
        CFunction("options_new", [], result: .options),
        CFunction("options_free", [("options", .options)], result: .nothing),
        CFunction(
            "options_set", [("options", .options), ("name", .text), ("value", .bytes), ("length", .size)]),
        CFunction("options_set_nothing", [("options", .options), ("name", .text)]),
        CFunction("options_set_binding", [("options", .options), ("language", .text)]),
        CFunction("verifier_new", [("options", .readOptions), ("verifier", .verifierOutput)] + outputs),
        CFunction("verifier_shared", [("options", .readOptions), ("verifier", .verifierOutput)] + outputs),
        CFunction("verifier_free", [("verifier", .verifier)], result: .nothing),
        CFunction("verify", evidence + [("flags", .flags)] + outputs),
        CFunction(
            "entitlements",
            [
                ("verifier", .readVerifier), ("evidence", .bytes), ("lengths", .sizes), ("count", .size),
                ("date", .longNumber), ("environment", .flags),
            ] + outputs),
        CFunction(
            "answer", [("verifier", .readVerifier), ("body", .bytes), ("length", .size), ("flags", .flags)] + outputs),
        CFunction("extract_transaction_id_from_app_receipt", evidence + outputs),
        CFunction("extract_transaction_id_from_transaction_receipt", evidence + outputs),
        CFunction("counts", [("verifier", .readVerifier)] + jsonOutputs),
        CFunction("decode_unverified", [("evidence", .bytes), ("length", .size)] + outputs),
        CFunction(
            "signer_new",
            [
                ("settings", .bytes), ("length", .size), ("key", .bytes), ("key_length", .size),
                ("signer", .signerOutput),
            ] + outputs),
        CFunction("signer_free", [("signer", .signer)], result: .nothing),
        CFunction("sign", [("signer", .readSigner), ("request", .bytes), ("length", .size)] + outputs),
        CFunction("free", [("pointer", .memory)], result: .nothing, isGuarded: false),
        CFunction("version", [], result: .text, isGuarded: false),
        CFunction("abi_version", [], result: .number, isGuarded: false),
    ]

    /// The functions that bindings call: all but one that only PHP calls, by its header.
    static let called = all.filter { $0.name != "verifier_shared" }

    /// The functions that set one option, with a type of C.
    static let settings = Description.settings.map { setting in
        CFunction(setting.function, [("options", .options)] + setting.parameters)
    }
}

extension VerifierSetting {
    /// The name of one value, such as `environment`.
    private var singular: String {
        row.kind == .texts && rawValue.hasSuffix("s") ? String(rawValue.dropLast()) : rawValue
    }

    var function: String { "options_\(isRepeatable ? "add" : "set")_\(singular)" }

    var parameters: [CFunction.Parameter] {
        switch row.kind {
        case .text, .texts: [(singular, .text)]
        case .certificates: [("certificates", .bytes), ("length", .size)]
        case .flag: [("is_on", .number)]
        case .seconds: [("seconds", .longNumber)]
        case .date, .fixedDate: [("date", .longNumber)]
        }
    }

    /// The function of C that calls asr_options_set().
    var definition: [String] {
        let call =
            switch row.kind {
            case .text, .texts: "set(options, \"\(rawValue)\", \(singular))"
            case .certificates: "asr_options_set(options, \"\(rawValue)\", certificates, length)"
            case .flag: "set(options, \"\(rawValue)\", is_on ? \"true\" : \"false\")"
            case .seconds: "set_number(options, \"\(rawValue)\", seconds, \"\")"
            case .date, .fixedDate: "set_date(options, \"\(rawValue)\", date)"
            }
        let head = CFunction(function, [("options", .options)] + parameters).prototype.joined(separator: "\n")
        return head.dropLast().split(separator: "\n").map(String.init).appending(" {")
            + ["    return \(call);", "}"]
    }
}

extension CFunction {
    /// The declaration in the header.
    var prototype: [String] {
        let words = parameters.map { Self.declared($0.type, $0.name) }
        return Self.wrapped(
            "\(Self.declared(result, "asr_\(name)"))(", words.isEmpty ? ["void"] : words, ");", width: 130)
    }

    static func declared(_ type: CType, _ name: String) -> String {
        type.rawValue.hasSuffix("*") ? type.rawValue + name : "\(type.rawValue) \(name)"
    }

    /// One line if it is not too long; otherwise several, with the parameters indented.
    static func wrapped(_ head: String, _ words: [String], _ end: String, width: Int, indent: String = "") -> [String] {
        let line = indent + head + words.joined(separator: ", ") + end
        if line.count <= width { return [line] }
        var lines: [String] = []
        for word in words {
            if let last = lines.last, last.count + word.count + 2 <= width {
                lines[lines.count - 1] = "\(last) \(word),"
            } else {
                lines.append("\(indent)    \(word),")
            }
        }
        return [indent + head] + lines.dropLast() + [String(lines[lines.count - 1].dropLast()) + end]
    }
}

extension [String] {
    /// The lines, with text after the last one.
    func appending(_ end: String) -> [String] { dropLast() + [self[count - 1] + end] }
}
