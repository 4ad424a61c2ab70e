@_spi(Surfaces) import AppStoreReceipt

/// The inputs and outputs of the C library, for all languages. The settings, members and words are the library's own
/// tables.
enum Description {
    static let settings = VerifierSetting.allCases
    static let words = OutputMember.Words.allCases

    /// The results of functions, from 0, in a few words and for the header.
    static let statuses: [(name: String, brief: String, meaning: String)] = [
        ("verified", "success", "Success. The evidence is genuine and the options accept it."),
        (
            "refused", "the evidence is refused",
            "The evidence is not genuine, or the options do not accept it. Do not grant anything."
        ),
        (
            "host", "this host is at fault",
            "This host or this library is at fault, not the evidence: keep the evidence, raise an alarm, and verify it again after a correction. Do not grant anything. It is the status for the category \"host\", such as for genuine evidence whose contents this version cannot read."
        ),
        (
            "configuration", "the options are at fault",
            "The options can accept nothing, or a certificate in them cannot be used."
        ),
        (
            "usage", "the call is wrong",
            "The call is wrong: see \"Errors of the caller\". The code is \"usage\", and there is no JSON."
        ),
        (
            "decoded", "decoded, and not verified",
            "Only of asr_decode_unverified(): the evidence was decoded and NOT verified."
        ),
    ]

    /// The statuses that an error has.
    static let failures = statuses.enumerated().filter { !["verified", "decoded"].contains($1.name) }
        .map { (value: $0, name: $1.name, meaning: $1.brief) }

    /// The flags of `asr_verify` and `asr_answer`.
    static let flags = [
        (name: "full", c: "ASR_JSON_FULL", value: 0), (name: "brief", c: "ASR_JSON_BRIEF", value: 1),
        (name: "none", c: "ASR_JSON_NONE", value: 2),
        (name: "latest_receipt_info", c: "ASR_ANSWER_LATEST_RECEIPT_INFO", value: 16),
    ]

    /// The statuses and the flags, for languages that do not read the header.
    static let constants =
        statuses.enumerated().map { (name: $1.name.uppercased(), value: $0) }
        + flags.map { (name: $0.name.uppercased(), value: $0.value) }

    /// The words of `asr_error`, with their sizes.
    static let errorFields = [(name: "code", size: 48), (name: "category", size: 16)]

    /// The party that can correct an error, with the HTTP status to respond with.
    static let categories = VerificationError.Category.allCases.map { (name: $0.rawValue, httpStatus: $0.httpStatus) }

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
            // Some languages cannot express every year of evidence.
            guard case .date = member.kind else { return member }
            return OutputMember(member.name, member.kind, isOptional: true, member.meaning)
        })

    static let subscription = Record(
        name: "Subscription",
        summary:
            "The state of a subscription, with what Apple signed last about its renewal. Nothing is known of that for family members, and for members to whom a seat is assigned.",
        members: Subscription.members)

    static let renewalOffer = Record(
        name: "RenewalOffer", summary: "The offer for the next period of a subscription.",
        members: Subscription.offerMembers)

    static let refusal = Record(
        name: "Refusal", summary: "A piece of evidence that was refused, by its place among those that were passed.",
        members: [
            OutputMember("index", .number), OutputMember("code", .text), OutputMember("category", .text),
            OutputMember("message", .text),
        ])

    static let records = [trust, entitlement, subscription, renewalOffer, refusal, SigningMethod.record]

    static let error = Record(
        name: "VerificationError",
        summary:
            "The reason that evidence was refused, that nothing was signed, or that a verifier or a signer could not be made.",
        members: [
            OutputMember(
                "status", .number, failures.map { "\($0.value): \($0.meaning)" }.joined(separator: ", ") + "."),
            OutputMember(
                "code", .text, "A stable word such as `bundle-id-mismatch`; `usage` if an option cannot be read."),
            OutputMember(
                "category", .text,
                "Who can correct the error: " + categories.map { "`\($0.name)`" }.formatted(last: "or") + "."),
            OutputMember(
                "message", .text, "The reason, in words, with what was found and what is accepted where that is known."),
            OutputMember("advice", .text, "What to do, for a log. It has the names of this language's options."),
            OutputMember("verdict_json", .text, isOptional: true, "The refusal as JSON, if there is one."),
        ])
    static let httpStatusMeaning =
        "The status to respond with: " + categories.map { "\($0.httpStatus)" }.formatted(last: "or") + "."

    /// The results of methods beside records: their summaries, and the meaning of their errors. JSON is as the library
    /// returned it.
    static let entitlements = (
        summary:
            "What the evidence of one customer gives access to. Refused pieces give access to nothing; the others count.",
        error: "The error of the first piece that was refused, if one was."
    )
    static let answer = (
        summary: "An answer of verifyReceipt.",
        json: "The body of the response, which Apple sends with HTTP status 200.",
        error: "The reason, if the answer has no receipt."
    )

    /// The methods of a verifier, and of the library.
    enum Method: String, CaseIterable {
        case verify
        case verdictJSON = "verdict_json"
        case accepts, entitlements, answer
        case appReceiptID = "extract_transaction_id_from_app_receipt"
        case transactionReceiptID = "extract_transaction_id_from_transaction_receipt"
        case counts
        case decodeUnverified = "decode_unverified"
        case version

        var isOfVerifier: Bool { self != .decodeUnverified && self != .version }

        var summary: String {
            switch self {
            case .verify:
                "Verifies a receipt, a JWS or a transaction receipt, or a JSON object that contains one, as the client sent it."
            case .verdictJSON: "The verdict on evidence that is verified or refused, as JSON."
            case .accepts: "Whether evidence is verified: the fastest call, without JSON."
            case .entitlements: "What one customer's evidence, at most 1,000 pieces, gives access to at a date."
            case .answer: "The answer of verifyReceipt to a request's body, from the receipt alone."
            case .appReceiptID:
                "The transaction id that Apple's library takes from a receipt, which is verified here first: the first transaction id or original transaction id of the first purchase that has one, for the App Store Server API; none without purchases."
            case .transactionReceiptID:
                "The transaction id that Apple's library takes from a transaction receipt, which is verified here first, for the App Store Server API."
            case .counts: "The numbers of inputs verified and refused in this process, for metrics."
            case .decodeUnverified:
                "The contents of evidence as JSON, WITHOUT VERIFYING IT: anyone can have written them. Never grant anything by it."
            case .version: "The version of the library."
            }
        }
    }

    static let formSummary = "What a verdict's JSON has: all contents, or only the kind and the trust."

    /// The names of the members of a verdict that have contents.
    static let kinds = [
        "receipt", "transaction", "renewal_info", "app_transaction", "notification", "realtime_request",
        "transaction_receipt",
    ]

    static let evidence = (
        summary: "Evidence that was verified.",
        trust: "Who signed it.",
        kind: "The name of the verdict's member that has the contents: `receipt`, `transaction`, `notification`, …",
        contents: "The member that `kind` names, with the names and the dates of the JSON.",
        verdict: "The whole verdict. A notification's signed parts are its members `transaction` and `renewal_info`.",
        verdictJSON: "The verdict as JSON, to store."
    )

    /// The other names that all languages have, by their owners.
    static let names: [(of: String, names: [String])] = [
        ("`Verifier`", Method.allCases.filter(\.isOfVerifier).map(\.rawValue)),
        ("`Signer`", SigningMethod.all.map(\.name)),
        ("the library", Method.allCases.filter { !$0.isOfVerifier }.map(\.rawValue)),
        ("`Evidence`", ["kind", "trust", "contents", "verdict", "verdict_json"]),
        ("`Entitlements`", ["at", "items", "subscriptions", "refused", "json", "error"]),
        ("`Answer`", ["json", "error"]),
        ("`VerificationError`", error.members.map(\.name) + ["http_status"]),
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
        case .reason: "Why a purchase gives nothing."
        case .productTypeSource: "Who says the type of a product: the evidence, or only an option."
        case .priceIncrease: "The state of a price increase."
        case .expirationIntent: "Why a subscription expired."
        }
    }

    /// The words with their names, such as `NOT_YET`, and one for words that a later version adds.
    var constants: [(name: String, word: String)] {
        (all + ["unknown"]).map { ($0.uppercased().replacing("-", with: "_"), $0) }
    }
}

extension [String] {
    /// "a, b or c"
    fileprivate func formatted(last word: String) -> String {
        dropLast().joined(separator: ", ") + " \(word) " + self[count - 1]
    }
}
