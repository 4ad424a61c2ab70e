import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation

/// A transaction receipt and the verdict on it; a faulty one is accepted when its fault is undone.
struct TransactionVector: Sendable {
    /// Of the file in `TestVectors/transaction-receipts/`, without `.txt`; named for the fault.
    let name: String
    let expected: TransactionVerdict
    /// One sentence.
    let why: String
    /// What it is made by.
    var base: [TransactionStep] = []
    /// What makes it faulty.
    var fault: [TransactionStep] = []

    static func accepted(_ name: String, _ why: String, _ base: TransactionStep...) -> TransactionVector {
        TransactionVector(name: name, expected: .accepted, why: why, base: base)
    }

    static func refused(
        _ name: String, _ stage: VerificationError.Stage, _ code: String, _ why: String, base: [TransactionStep] = [],
        _ fault: TransactionStep...
    ) -> TransactionVector {
        TransactionVector(
            name: name, expected: .refused(code: code, stage: stage.rawValue), why: why, base: base, fault: fault)
    }

    /// All files by name, and what is wrong with the vectors.
    static func generate(
        with forge: Forge, _ anchors: [String: [UInt8]]
    ) throws -> (files: [String: [UInt8]], problems: [String]) {
        var files: [String: [UInt8]] = [:]
        var expectations: [TransactionExpectation] = []
        var problems: [String] = []
        for vector in all {
            func verdict(_ steps: [TransactionStep]) throws -> ([UInt8], VerifierOptions, TransactionVerdict) {
                let text = try forge.transactionReceipt(steps)
                let options = forge.options(steps)
                return (text, options, TransactionVerdict(text, try options.verifier { anchors[$0] ?? [] }))
            }
            let (text, options, found) = try verdict(vector.base + vector.fault)
            if found != vector.expected { problems.append("\(vector.name): \(found) instead of \(vector.expected)") }
            if !vector.fault.isEmpty, case .refused(let code, _) = try verdict(vector.base).2 {
                problems.append("\(vector.name): without its fault \(code)")
            }
            let file = "transaction-receipts/\(vector.name).txt"
            if files.updateValue(text, forKey: file) != nil { problems.append("\(file): twice") }
            expectations.append(TransactionExpectation(file, vector, options))
        }
        expectations.sort { $0.file < $1.file }
        files["transaction-receipts/expectations.json"] = Array(try GenerateVectors.json(expectations).utf8)
        return (files, problems)
    }
}

/// What a verifier says of a transaction receipt.
enum TransactionVerdict: Hashable {
    case accepted
    case refused(code: String, stage: String)

    init(_ text: [UInt8], _ verifier: AppStoreVerifier) {
        do throws(VerificationError) {
            _ = try verifier.verifyTransactionReceipt(text)
            self = .accepted
        } catch {
            self = .refused(code: error.code.rawValue, stage: error.stage.rawValue)
        }
    }
}

/// A line of `transaction-receipts/expectations.json`.
struct TransactionExpectation: Codable {
    var file: String
    /// `accepted` or `refused`.
    var verdict: String
    var code: String?
    var stage: String?
    var why: String
    var verifier: VerifierOptions

    init(_ file: String, _ vector: TransactionVector, _ options: VerifierOptions) {
        self.file = file
        why = vector.why
        verifier = options
        switch vector.expected {
        case .accepted: verdict = "accepted"
        case .refused(let code, let stage):
            verdict = "refused"
            (self.code, self.stage) = (code, stage)
        }
    }

    var expectedVerdict: TransactionVerdict {
        verdict == "accepted" ? .accepted : .refused(code: code ?? "", stage: stage ?? "")
    }
}

extension TransactionVector {
    static let all = genuine + texts + lists + blobs + signatures + chains + dates + contents + policies

    private static let version2 = TransactionStep.version(.version2)
    private static let version3 = TransactionStep.version(.version3)

    private static let genuine: [TransactionVector] = [
        accepted("version-2", "RSA-1024 and SHA-1 under the iTunes Store, where the policy allows it.", version2),
        accepted("version-3", "RSA-2048 and SHA-1.", version3),
        accepted("version-4", "RSA-2048 and SHA-256."),
        accepted("subscription", "With an expiry in three forms.", .subscription),
        accepted("in-base64", "As apps send it.", .inBase64),
        accepted(
            "in-base64-without-padding", "Padding may be missing.", .inBase64,
            .sent { while $0.last == UInt8(ascii: "=") { $0.removeLast() } }),
        accepted(
            "on-one-line", "Without line breaks and tabs.",
            .list { $0 = $0.replacing("\n", with: "").replacing("\t", with: "") }),
        accepted("unknown-key", "It is kept.", .builder { $0.additionalValues = [.init("new-key", "1")] }),
        accepted(
            "unsigned-environment-lies", "What is not signed decides nothing.",
            .builder { $0.unsignedEnvironment = "Sandbox" }),
        accepted(
            "leaf-younger-than-the-purchase", "A restore is signed later than the purchase that it names.",
            .leaf { $0.notBefore = ReceiptBuilder.defaultCreationDate + .seconds(86_400) }),
    ]

    private static let texts: [TransactionVector] = [
        refused("empty", .input, "empty-input", "There is nothing.", .sent { $0 = [] }),
        refused(
            "base64-with-an-asterisk", .input, "invalid-base64", "No alphabet has it.", base: [.inBase64],
            .sent { $0[40] = UInt8(ascii: "*") }),
    ]

    private static let lists: [TransactionVector] = [
        refused("list-truncated", .form, "truncated", "Without its brace.", .list { $0.removeLast() }),
        refused("list-followed-by-text", .form, "trailing-data", "Something follows the brace.", .list { $0 += "x" }),
        refused("list-as-json", .form, "unexpected-character", "A colon.", .list("\" = \"", "\" : \"")),
        refused(
            "list-without-semicolon", .form, "unexpected-character", "Values end with one.", .list("\";\n}", "\"\n}")),
        refused("list-key-without-quotes", .form, "unquoted-string", "Apple quotes all.", .list("\"pod\"", "pod")),
        refused(
            "list-with-an-escape", .form, "unsupported-escape", "None was ever seen.", .list("\"pod\"", "\"p\\157d\"")),
        refused(
            "list-with-a-comment", .form, "unsupported-comment", "None was ever seen.", .list("{\n", "{ /* a */\n")),
        refused(
            "list-with-a-dictionary", .form, "unsupported-nesting", "All values are strings.", .list("\"7\"", "{}")),
        refused("list-with-data", .form, "unsupported-nesting", "All values are strings.", .list("\"7\"", "<37>")),
        refused(
            "list-with-a-line-break-in-a-string", .form, "invalid-string", "A control character.",
            .list("\"7\"", "\"\n7\"")),
        refused(
            "list-of-invalid-utf-8", .form, "invalid-utf8", "A lone continuation byte.",
            .sent { list in
                guard let place = list.lastIndex(of: UInt8(ascii: "7")) else { return }
                list[place] = 0xBF
            }),
        refused(
            "signature-twice", .form, "duplicate-key", "Which one counts?",
            .list("\t\"pod\"", "\t\"signature\" = \"\";\n\t\"pod\"")),
        refused(
            "purchase-info-twice", .form, "duplicate-key", "Which one counts?",
            .list("\t\"pod\"", "\t\"purchase-info\" = \"\";\n\t\"pod\"")),
        refused(
            "list-of-300-keys", .form, "too-many-keys", "A genuine one has five.",
            .list { list in
                let keys = (0..<300).map { "\t\"k\($0)\" = \"\";\n" }.joined()
                list = list.replacing("{\n", with: "{\n" + keys, maxReplacements: 1)
            }),
        refused(
            "signature-missing", .form, "missing-key", "Nothing is signed.", .list("\"signature\"", "\"signatur\"")),
        refused(
            "purchase-info-missing", .form, "missing-key", "Nothing is bought.", .list("\"purchase-info\"", "\"info\"")),
        refused(
            "signature-not-base64", .form, "invalid-base64", "A space in it.",
            .list("\"signature\" = \"B", "\"signature\" = \" B")),
        refused(
            "purchase-info-not-base64", .form, "invalid-base64", "A character that no alphabet has.",
            .list("\"purchase-info\" = \"e", "\"purchase-info\" = \"*")),
    ]

    private static let blobs: [TransactionVector] = [
        refused("signature-empty", .header, "signature-truncated", "No version.", .blob { blob, _ in blob = [] }),
        refused("version-1", .header, "unsupported-version", "Never seen.", .blob { blob, _ in blob[0] = 1 }),
        refused("version-5", .header, "unsupported-version", "Never seen.", .blob { blob, _ in blob[0] = 5 }),
        refused(
            "text-for-a-signature", .header, "unsupported-version", "As in a public sample.",
            .blob { blob, _ in blob = Array("company_signature".utf8) }),
        refused(
            "signature-cut-off", .header, "signature-truncated", "It ends before the certificate.",
            .blob { blob, _ in blob = Array(blob.prefix(200)) }),
        refused(
            "certificate-length-too-large", .header, "certificate-length-mismatch", "By one.",
            .blob { blob, _ in blob[260] &+= 1 }),
        refused(
            "certificate-followed-by-a-byte", .header, "certificate-length-mismatch",
            "The length is the rest, exactly.",
            .blob { blob, _ in blob.append(0) }),
        refused(
            "certificate-length-4-gib", .header, "certificate-length-mismatch", "Nothing is reserved for it.",
            .blob { blob, _ in for index in 257..<261 { blob[index] = 0xFF } }),
        refused(
            "version-2-read-as-4", .header, "signature-truncated", "The version decides where the certificate is.",
            base: [version2],
            .blob { blob, _ in
                blob[0] = 4; blob = Array(blob.prefix(250))
            }),
    ]

    private static let signatures: [TransactionVector] = [
        refused(
            "version-2-not-allowed", .signature, "rsa-1024-not-allowed", "RSA-1024 is a choice.", base: [version2],
            .verifier { $0.allowsRSA1024 = nil }),
        refused(
            "purchase-info-changed", .signature, "content-digest-mismatch", "Another product after signing.",
            .signedInfo { info in
                guard let place = info.lastIndex(of: UInt8(ascii: "p")) else { return }
                info[place] = UInt8(ascii: "q")
            }),
        refused(
            "version-byte-changed", .signature, "algorithm-mismatch", "The version byte is signed, and fixes the hash.",
            .blob { blob, _ in blob[0] = 3 }),
        refused(
            "signature-of-zeros", .signature, "invalid-signature", "No signature of this key.",
            .blob { blob, _ in for index in 1..<257 { blob[index] = 0 } }),
        refused(
            "version-2-with-sha-256", .signature, "algorithm-mismatch", "Version 2 is SHA-1.", base: [version2],
            .digest(.sha256)),
        refused(
            "version-3-with-sha-256", .signature, "algorithm-mismatch", "Version 3 is SHA-1.", base: [version3],
            .digest(.sha256)),
        refused("version-4-with-sha-1", .signature, "algorithm-mismatch", "Version 4 is SHA-256.", .digest(.sha1)),
        refused(
            "version-3-where-sha-1-is-refused", .signature, "weak-algorithm", "The policy's choice.", base: [version3],
            .verifier { $0.allowsSHA1 = false }),
        refused(
            "version-2-under-a-version-3-leaf", .signature, "key-size-mismatch", "Its key has 2048 bits.",
            base: [version2],
            .blob { blob, minting in
                let leaf = minting.intermediate.certificate
                blob = TransactionReceiptBuilder.signatureBlob(
                    version: 2, signature: Array(blob[1..<129]), certificate: leaf)
            }),
        refused(
            "version-4-with-rsa-1024", .signature, "key-size-mismatch", "RSA-1024 is for version 2 alone.",
            .keys { $0.leaf = .rsa1024 }),
        refused(
            "version-3-with-rsa-1024", .signature, "key-size-mismatch", "RSA-1024 is for version 2 alone.",
            base: [version3], .keys { $0.leaf = .rsa1024 }),
        refused(
            "version-4-with-rsa-4096", .signature, "key-size-mismatch", "The size is fixed.",
            .keys { $0.leaf = .rsa4096 }),
        refused(
            "version-4-with-p-256", .signature, "unsupported-key", "RSA alone.", .keys { $0.leaf = .p256 },
            .blob { blob, _ in for index in 1..<257 { blob[index] = 0 } }),
        refused(
            "certificate-empty", .signature, "malformed-certificate", "No certificate.",
            .blob { blob, _ in blob = Array(blob.prefix(257)) + [0, 0, 0, 0] }),
        refused(
            "certificate-malformed", .signature, "malformed-certificate", "Its first tag is no SEQUENCE.",
            .blob { blob, _ in blob[261] = 0x31 }),
    ]

    private static let chains: [TransactionVector] = [
        refused(
            "version-2-under-a-developers-certificate", .chain, "unpinned-issuer",
            "Worldwide Developer Relations issues those, and the hack of 2012 used one.", base: [version2],
            .shape {
                $0.intermediate = TestCertificateAuthority.Shape(digest: .sha1).intermediate
                $0.leaf.removeExtensions(.purchaseReceiptMarker)
            }),
        refused(
            "version-2-without-the-leafs-marker", .chain, "missing-leaf-marker", "The marker is not optional.",
            base: [version2], .leaf { $0.removeExtensions(.purchaseReceiptMarker) }),
        refused(
            "version-2-with-the-marker-of-receipts", .chain, "missing-leaf-marker", "Each version has its own.",
            base: [version2],
            .leaf {
                $0.removeExtensions(.purchaseReceiptMarker)
                $0.replaceExtension(.receiptSigningMarker)
            }),
        refused(
            "version-2-without-the-issuers-marker", .chain, "missing-intermediate-marker", "Pinned, and unmarked.",
            base: [version2],
            .shape { $0.intermediate.removeExtensions(.iTunesStoreMarker) },
            .verifier {
                $0.issuers = nil
                $0.issuerOfAllVersions = "itunes-store-unmarked.der"
            }),
        refused(
            "version-4-without-the-leafs-marker", .chain, "missing-leaf-marker",
            "Developers' certificates have the same issuer.", .leaf { $0.removeExtensions(.receiptSigningMarker) }),
        refused(
            "version-3-without-the-leafs-marker", .chain, "missing-leaf-marker",
            "Developers' certificates have the same issuer.", base: [version3],
            .leaf { $0.removeExtensions(.receiptSigningMarker) }),
        refused(
            "version-4-without-the-issuers-marker", .chain, "missing-intermediate-marker", "Pinned, and unmarked.",
            .shape { $0.intermediate.removeExtensions(.worldwideDeveloperRelationsMarker) },
            .verifier {
                $0.issuers = nil
                $0.issuerOfAllVersions = "intermediate-unmarked.der"
            }),
        refused(
            "version-4-under-the-itunes-store", .chain, "unpinned-issuer", "That is the issuer of version 2.",
            .shape { shape in
                shape.intermediate = TestCertificateAuthority.Shape.transactionReceiptsOfVersion2.intermediate
            }),
        refused(
            "issuer-not-pinned", .chain, "unpinned-issuer", "Nobody gave it to the verifier.",
            .verifier { $0.issuers = ["itunes-store.der"] }),
        refused(
            "issuer-of-the-same-name", .chain, "untrusted-chain", "With another key.",
            .keys { $0.intermediate = .strangerIntermediate }),
        refused(
            "root-not-trusted", .chain, "untrusted-chain", "A pinned intermediate is no root.",
            .verifier { $0.roots = ["stranger-root.der"] }),
        refused(
            "leaf-signed-by-the-root", .chain, "unpinned-issuer", "An intermediate is missing.",
            .leaf { $0.issuer = TestCertificateAuthority.Shape().root.subject }),
        refused(
            "leaf-expired", .chain, "certificate-expired", "Before the purchase.",
            .leaf { $0.notAfter = ReceiptBuilder.defaultCreationDate - .seconds(86_400) }),
        refused(
            "leaf-that-may-not-sign", .chain, "invalid-key-usage", "Its key is for encryption.",
            .leaf { $0.replaceExtension(.keyUsage(.keyEncipherment)) }),
        refused(
            "leaf-that-is-an-authority", .chain, "invalid-key-usage", "An authority issues certificates.",
            .leaf { $0.replaceExtension(.basicConstraints(isAuthority: true)) }),
        refused(
            "version-2-by-an-authority", .chain, "invalid-key-usage", "An authority issues certificates.",
            base: [version2], .leaf { $0.replaceExtension(.basicConstraints(isAuthority: true)) }),
    ]

    private static let dates: [TransactionVector] = [
        refused(
            "purchase-date-missing", .date, "purchase-date-missing", "When was it?",
            .builder { $0.purchaseDate = nil }),
        refused(
            "purchase-date-in-rfc-3339", .date, "purchase-date-unreadable", "Another format.",
            .info("\t\"purchase-date\" = \"2025-06-15 12:00:00 Etc/GMT", "\t\"purchase-date\" = \"2025-06-15T12:00:00Z")
        ),
        refused(
            "purchase-date-of-no-day", .date, "purchase-date-unreadable", "June has 30 days.",
            .info("\t\"purchase-date\" = \"2025-06-15", "\t\"purchase-date\" = \"2025-06-31")),
        refused(
            "purchase-date-a-second-off", .date, "dates-disagree", "The text in GMT is not the milliseconds.",
            .info("\t\"purchase-date\" = \"2025-06-15 12:00:00", "\t\"purchase-date\" = \"2025-06-15 12:00:01")),
        refused(
            "purchase-date-without-daylight-saving", .date, "dates-disagree",
            "In June, the Pacific is seven hours off.",
            .info("\t\"purchase-date-pst\" = \"2025-06-15 05", "\t\"purchase-date-pst\" = \"2025-06-15 04")),
        refused(
            "original-purchase-date-disagrees", .payload, "dates-disagree", "Another year.",
            .info("original-purchase-date\" = \"2025", "original-purchase-date\" = \"2024")),
        refused(
            "expires-date-disagrees", .payload, "dates-disagree", "Another year.", base: [.subscription],
            .info("expires-date-formatted\" = \"2025", "expires-date-formatted\" = \"2035")),
        refused(
            "expires-date-in-seconds", .payload, "dates-disagree", "It is in milliseconds.", base: [.subscription],
            .info("000\";\n\t\"expires-date-formatted\"", "\";\n\t\"expires-date-formatted\"")),
    ]

    private static let contents: [TransactionVector] = [
        refused(
            "purchase-info-not-a-list", .payload, "unexpected-character", "Something else was signed.",
            .info { $0 = "x" }),
        refused(
            "product-id-twice", .payload, "duplicate-key", "Which one counts?",
            .builder { $0.additionalValues = [.init("product-id", "all")] }),
        refused(
            "bid-twice", .payload, "duplicate-key", "Which one counts?",
            .builder { $0.additionalValues = [.init("bid", "com.example.other")] }),
        refused("product-id-missing", .payload, "missing-key", "What was bought?", .builder { $0.productID = nil }),
        refused("bid-missing", .payload, "missing-key", "In which app?", .builder { $0.bundleID = nil }),
        refused(
            "transaction-id-missing", .payload, "missing-key", "Which purchase?", .builder { $0.transactionID = nil }),
        refused(
            "original-transaction-id-missing", .payload, "missing-key", "The environment is inferred from both.",
            .builder { $0.originalTransactionID = nil }),
        refused("quantity-missing", .payload, "missing-key", "How many?", .builder { $0.quantity = nil }),
        refused("quantity-zero", .payload, "unexpected-value", "Nothing was bought.", .builder { $0.quantity = 0 }),
        refused("quantity-negative", .payload, "unexpected-value", "No digits.", .builder { $0.quantity = -1 }),
        refused(
            "transaction-id-with-letters", .payload, "unexpected-value", "Digits alone.",
            .builder { $0.transactionID = "1000000000000a" }),
        refused(
            "is-trial-period-yes", .payload, "unexpected-value", "true or false.", base: [.subscription],
            .info("is-trial-period\" = \"false", "is-trial-period\" = \"NO")),
    ]

    private static let policies: [TransactionVector] = [
        refused(
            "another-app", .policy, "bundle-id-mismatch", "Genuine ones of other apps are sold as keys.",
            .builder { $0.bundleID = "com.example.other" }),
        refused(
            "from-the-sandbox", .policy, "environment-mismatch", "By the digits of its ids.",
            .builder { ($0.transactionID, $0.originalTransactionID) = ("1000000046178817", "1000000046178817") }),
        refused(
            "ids-of-no-environment", .policy, "unknown-environment", "Neither 14 or 15 digits nor the sandbox's 16.",
            .builder { ($0.transactionID, $0.originalTransactionID) = ("33993399", "33993399") }),
        refused(
            "ids-of-two-environments", .policy, "unknown-environment", "They must agree.",
            .builder { $0.originalTransactionID = "1000000046178817" }),
        refused(
            "too-old", .policy, "receipt-too-old", "The policy has a maximum age.",
            .verifier {
                $0.now = "2025-06-15T13:00:00Z"
                $0.maximumAge = 60_000
            }),
        refused(
            "from-the-future", .policy, "receipt-from-the-future", "Bought after the clock's time.",
            .verifier {
                $0.now = "2025-06-15T11:00:00Z"
                $0.rejectsFutureDates = true
            }),
    ]
}
