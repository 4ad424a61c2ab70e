@_spi(Surfaces) import AppStoreReceipt

/// What the C library takes and returns, once for all languages. The settings, the members and the words are the library's own tables.
enum Description {
    static let settings = VerifierSetting.allCases
    static let words = OutputMember.Words.allCases

    /// The results of functions, from 0.
    static let statuses: [(name: String, meaning: String)] = [
        ("verified", "Success. The evidence is genuine and the options accept it."),
        ("refused", "The evidence is not genuine, or the options do not accept it. Do not grant anything."),
        (
            "host",
            "This host or this library is at fault, not the evidence: keep the evidence, raise an alarm, and verify it again after a correction. Do not grant anything. It is the status for the category \"host\", such as for genuine evidence whose contents this version cannot read."
        ),
        ("configuration", "The options can accept nothing, or a certificate in them cannot be used."),
        ("usage", "The call is wrong: see \"Errors of the caller\". The code is \"usage\", and there is no JSON."),
        ("decoded", "Only of asr_decode_unverified(): the evidence was decoded and NOT verified."),
    ]

    /// The flags of `asr_verify` and `asr_answer`.
    static let flags = [("full", 0), ("brief", 1), ("none", 2), ("latest_receipt_info", 16)]

    /// An object of the JSON.
    struct Record {
        let name: String
        let summary: String
        let members: [OutputMember]
    }

    static let trust = Record(
        name: "Trust", summary: "Who signed the evidence. The certificates are SHA-256 fingerprints in hexadecimal.",
        members: [
            OutputMember("authority", .text), OutputMember("anchor", .text), OutputMember("signer", .text),
            OutputMember("signer_expires", .date), OutputMember("digest", .text), OutputMember("validated_at", .date),
        ])

    static let entitlement = Record(
        name: "Entitlement", summary: "What one transaction gives access to.",
        members: Entitlements.Item.members.map { member in
            // Evidence can have a year that a language does not have.
            guard case .date = member.kind else { return member }
            return OutputMember(member.name, member.kind, isOptional: true, member.meaning)
        })

    static let refusal = Record(
        name: "Refusal", summary: "A piece of evidence that was refused, by its place among those that were passed.",
        members: [
            OutputMember("index", .number), OutputMember("code", .text), OutputMember("category", .text),
            OutputMember("message", .text),
        ])

    static let records = [trust, entitlement, refusal]

    /// The other names that all languages have, by what has them.
    static let names: [(of: String, names: [String])] = [
        ("`Verifier`", ["verify", "verdict_json", "accepts", "entitlements", "answer", "counts"]),
        ("the library", ["decode_unverified", "version"]),
        ("`Evidence`", ["kind", "trust", "contents", "verdict", "verdict_json"]),
        ("`Entitlements`", ["at", "items", "refused", "json", "error"]),
        ("`Answer`", ["json", "error"]),
        ("`VerificationError`", ["status", "code", "category", "http_status", "message", "advice", "verdict_json"]),
    ]
}

extension OutputMember {
    func name(on surface: Surface) -> String { surface.spelled(name) }

    /// The text of its documentation, in the names of a surface.
    func meaning(on surface: Surface) -> String {
        VerifierSetting.allCases.reduce(meaning) { text, setting in
            text.replacing("`\(setting.rawValue)`", with: "`\(setting.name(on: surface) ?? setting.rawValue)`")
        }
    }
}

extension OutputMember.Words {
    /// The name of the type.
    var type: String { Surface.go.spelled(rawValue) }

    var summary: String {
        switch self {
        case .access: "What a purchase gives, or the reason it gives no access."
        case .environment: "Where a purchase was made."
        case .productTypeSource: "Who says the type of a product: the evidence, or only an option."
        }
    }

    /// The words with their names, such as `NOT_YET`, and one for words that a later version adds.
    var constants: [(name: String, word: String)] {
        (all + ["unknown"]).map { ($0.uppercased().replacing("-", with: "_"), $0) }
    }
}
