@_spi(Surfaces) import AppStoreReceipt
@_spi(Surfaces) import AppStoreSigning

/// What a signer signs, once for all languages. The kinds and their arguments are the library's own table.
struct SigningMethod {
    let kind: SigningRequest.Kind

    static let all = SigningRequest.Kind.allCases.map(SigningMethod.init)

    var name: String { "sign_" + kind.rawValue }

    /// Whether it returns the original form, and not a JWS.
    var isOriginal: Bool {
        kind == .originalPromotionalOffer || kind == .originalPromotionalOfferForUsername
    }

    var summary: String {
        switch kind {
        case .promotionalOffer: "Signs a promotional offer for a subscriber, as a JWS."
        case .originalPromotionalOffer:
            "Signs a promotional offer in the original form, for the account of an appAccountToken."
        case .originalPromotionalOfferForUsername:
            "Signs a promotional offer in the original form, for a text that the app passes as applicationUsername."
        case .introductoryOfferEligibility:
            "Signs whether a customer may have an introductory offer, whatever Apple would decide, as a JWS."
        case .advancedCommerceRequest: "Signs a request of the Advanced Commerce API that the app passes on, as a JWS."
        }
    }

    enum ArgumentType {
        case text, optionalText, flag
    }

    struct Argument {
        let name: String
        let type: ArgumentType
        let meaning: String
    }

    var arguments: [Argument] {
        kind.arguments.map { argument in
            Argument(
                name: argument.rawValue,
                type: argument == .allowIntroductoryOffer ? .flag : isOptional(argument) ? .optionalText : .text,
                meaning: meaning(argument))
        }
    }

    private func isOptional(_ argument: SigningError.Argument) -> Bool {
        argument == .appAccountToken || argument == .transactionID && kind == .promotionalOffer
    }

    private func meaning(_ argument: SigningError.Argument) -> String {
        switch argument {
        case .productID: "the subscription"
        case .offerID: "the promotional offer"
        case .transactionID:
            "any transaction id of the customer, or the id of the app transaction"
                + (isOptional(argument) ? "; with none, the offer is for whoever has the signature" : "")
        case .appAccountToken:
            "the UUID that the app passes, which is signed in lower case; with none, the app passes none, and the offer is for whoever has the signature"
        case .applicationUsername: "the text that the app passes, which is signed byte for byte"
        case .allowIntroductoryOffer: "whether the customer may have it, also if it was used before"
        default: "the request as JSON, which is signed byte for byte"
        }
    }

    static let summary =
        "Signs offers and requests for the App Store with an In-App Purchase key, for one app. It signs what it is asked to, and no signature can be withdrawn."
    static let settings = [
        ("key_id", "the id of the key"), ("issuer_id", "the issuer id of the team's keys"), ("bundle_id", "the app"),
    ]
    static let keys = [
        ("key", "the contents of a .p8 file"), ("key_file", "a .p8 file that its owner alone can read"),
        ("key_credential", "the name of a credential of systemd"),
    ]
    static let record = Description.Record(
        name: "PromotionalOfferSignature",
        summary: "A promotional offer in the original form: what the app passes to StoreKit.",
        members: [
            OutputMember("key_id", .text), OutputMember("nonce", .text, "A UUID in lower case."),
            OutputMember("timestamp", .number, "When it was signed, in milliseconds since 1970."),
            OutputMember("signature", .text, "The signature in DER, as base64."),
        ])
}

// MARK: Python

extension SigningMethod {
    static var python: [String] {
        all.flatMap { method in
            let parameters = method.arguments.map { argument in
                switch argument.type {
                case .text: "\(argument.name): str"
                case .optionalText: "\(argument.name): str | None"
                case .flag: "\(argument.name): bool"
                }
            }
            let result = method.isOriginal ? record.name : "str"
            let members =
                ["\"sign\": \"\(method.kind.rawValue)\""] + method.arguments.map { "\"\($0.name)\": \($0.name)" }
            let signed = "self._sign({\(members.joined(separator: ", "))})"
            let described = method.arguments.flatMap { argument in
                let lines = "``\(argument.name)``: \(argument.meaning)".wrapped(120)
                return ["        - " + lines[0]] + lines.dropFirst().map { "          " + $0 }
            }
            return ["", "    def \(method.name)(self, \(parameters.joined(separator: ", "))) -> \(result):"]
                + ["        \"\"\"\(method.summary)", ""] + described + ["        \"\"\""]
                + ["        return \(method.isOriginal ? "\(record.name)._of(\(signed))" : "str(\(signed)[\"jws\"])")"]
        }
    }
}

// MARK: PHP

extension SigningMethod {
    static var php: [String] {
        Array(
            all.map { method in
                let parameters = method.arguments.map { argument in
                    let type = ["string", "?string", "bool"][argument.type.index]
                    return "\(type) $\(Surface.php.spelled(argument.name))"
                }
                let members =
                    ["'sign' => '\(method.kind.rawValue)'"]
                    + method.arguments.map { "'\($0.name)' => $\(Surface.php.spelled($0.name))" }
                let result = method.isOriginal ? record.name : "string"
                let signed = "$this->sign([\(members.joined(separator: ", "))])"
                let described = zip(parameters, method.arguments).map { "     * @param \($0) \($1.meaning)" }
                return ["    /**", "     * \(method.summary)", "     *"] + described + [
                    "     * @throws VerificationError if nothing is signed", "     */",
                    "    public function \(Surface.php.spelled(method.name))(\(parameters.joined(separator: ", "))): \(result)",
                    "    {",
                    "        return \(method.isOriginal ? "new \(record.name)(\(signed))" : "\(signed)['jws']");",
                    "    }",
                ]
            }.joined(separator: [""]))
    }
}

extension SigningMethod.ArgumentType {
    fileprivate var index: Int {
        switch self {
        case .text: 0
        case .optionalText: 1
        case .flag: 2
        }
    }
}

// MARK: Java

extension SigningMethod {
    static var java: [String] {
        Array(
            all.map { method in
                let parameters = method.arguments.map { argument in
                    "\(argument.type == .flag ? "boolean" : "String") \(Surface.java.spelled(argument.name))"
                }
                let values = method.arguments.map { "\"\($0.name)\", \(Surface.java.spelled($0.name))" }
                let result = method.isOriginal ? record.name : "String"
                let signed = "sign(\((["\"\(method.kind.rawValue)\""] + values).joined(separator: ", ")))"
                let described = method.arguments.flatMap { argument in
                    let none =
                        argument.type == .optionalText
                        ? argument.meaning.replacing("with none", with: "with null") : argument.meaning
                    return "@param \(Surface.java.spelled(argument.name)) \(none)".wrapped(120).map { "     * \($0)" }
                }
                return ["    /**"] + method.summary.wrapped(120).map { "     * \($0)" } + ["     *"] + described + [
                    "     * @return \(method.isOriginal ? "what the app passes to StoreKit" : "the JWS in compact form")",
                    "     * @throws VerificationError if nothing is signed", "     */",
                    "    public \(result) \(Surface.java.spelled(method.name))(\(parameters.joined(separator: ", ")))",
                    "            throws VerificationError {",
                    "        return Json.record(\(signed), \(method.isOriginal ? "\(record.name).class)" : "Jws.class).jws()");",
                    "    }",
                ]
            }.joined(separator: [""]))
    }
}

// MARK: Node

extension SigningMethod {
    static var nodeMethods: [String] {
        Array(
            all.map { method in
                let names = method.arguments.map { Surface.node.spelled($0.name) }
                let members = zip(method.arguments, names).map { "\($0.name): \($1)" }
                let signed = "this.#sign({ sign: '\(method.kind.rawValue)', \(members.joined(separator: ", ")) })"
                return [
                    "  \(Surface.node.spelled(method.name))(\(names.joined(separator: ", "))) {",
                    "    return \(method.isOriginal ? "record(\(signed))" : "\(signed).jws");", "  }",
                ]
            }.joined(separator: [""]))
    }

    static var nodeTypes: [String] {
        let settings = settings.map { "\(Surface.node.spelled($0.0)): string" }.joined(separator: "; ")
        let kinds = [("key", "Input"), ("key_file", "string"), ("key_credential", "string")]
            .map { "{ \(Surface.node.spelled($0.0)): \($0.1) }" }.joined(separator: " | ")
        var lines = [
            "", "/** \(summary) */", "export class Signer {",
            "  /** With one key: \(keys.map { "`\(Surface.node.spelled($0.0))`, \($0.1)" }.joined(separator: "; ")). */",
            "  constructor(settings: { \(settings) } & (\(kinds)));",
        ]
        for method in all {
            let parameters = method.arguments.map { argument in
                "\(Surface.node.spelled(argument.name)): "
                    + ["string", "string | null", "boolean"][argument.type.index]
            }
            lines += ["  /**", "   * \(method.summary)"]
            lines += method.arguments.map { "   * @param \(Surface.node.spelled($0.name)) \($0.meaning)" }
            lines += ["   */"]
            lines.append(
                "  \(Surface.node.spelled(method.name))(\(parameters.joined(separator: ", "))): \(method.isOriginal ? record.name : "string");"
            )
        }
        return lines + ["}"]
    }
}

// MARK: Go

extension SigningMethod {
    static var go: [String] {
        var lines =
            ["// Code generated by generate-bindings. DO NOT EDIT.", "", "package appstorereceipt", ""] + goType
        for method in all {
            let names = method.arguments.map { argument in
                let words = argument.name.split(separator: "_", maxSplits: 1)
                return words[0] + (words.count > 1 ? Surface.go.spelled(String(words[1])) : "")
            }
            let parameters = zip(names, method.arguments).map { name, argument in
                "\(name) " + ["string", "*string", "bool"][argument.type.index]
            }
            let own = Surface.go.spelled(method.name)
            let words = method.summary.prefix(1).lowercased() + method.summary.dropFirst()
            let meanings = zip(names, method.arguments).map {
                "\($0) is \($1.meaning.replacing("with none", with: "with nil"))"
            }
            let comment =
                "\(own) \(words) \(meanings.joined(separator: ". ").replacing(". ", with: ". ")). The error is a *VerificationError."
            lines += [""] + comment.wrapped(125).map { "// \($0)" }
            let members = zip(method.arguments, names).map { "\"\($0.name)\": \($1)" }
            let request =
                "map[string]any{\((["\"sign\": \"\(method.kind.rawValue)\""] + members).joined(separator: ", "))}"
            let result = method.isOriginal ? "*\(record.name)" : "string"
            lines += ["func (s *Signer) \(own)(\(parameters.joined(separator: ", "))) (\(result), error) {"]
            if method.isOriginal {
                lines += ["\tvar signed \(record.name)", "\terr := s.sign(\(request), &signed)"]
                lines += ["\tif err != nil {", "\t\treturn nil, err", "\t}", "\treturn &signed, nil", "}"]
            } else {
                lines += [
                    "\tvar signed struct{ JWS string }", "\terr := s.sign(\(request), &signed)",
                    "\treturn signed.JWS, err", "}",
                ]
            }
        }
        return lines
    }
}
