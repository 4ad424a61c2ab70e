import SignatureTrust
import StrictText

/// The settings of a verifier. Each is one case and one row.
///
/// The command's flags, the server's options and variables, the C options and those of all languages are made from the
/// rows. The raw value is the name in C. `generate-bindings` writes what other languages have.
@_spi(Surfaces) public enum VerifierSetting: String, CaseIterable, Sendable {
    case bundleIDs = "bundle_id"
    case environments
    case appAppleID = "app_apple_id"
    case roots
    case transactionReceiptIssuers = "transaction_receipt_issuers"
    case storeKitTesting = "storekit_testing"
    case distrusted
    case maximumAge = "maximum_age"
    case validationDate = "validation_date"
    case allowsRSA1024 = "allows_rsa_1024"
    case strictForm = "strict_form"
    case clock
    case productTypes = "product_types"

    /// What the values of a setting are, for languages that have types.
    @_spi(Surfaces) public enum Kind: String, Sendable {
        case text, texts, flag, seconds
        /// Files of certificates in DER or PEM. ``VerifierSettings/add(_:to:)`` takes their contents.
        case certificates
        /// A date, or the present.
        case date
        /// A date only.
        case fixedDate = "fixed_date"
    }

    /// What a setting is and does.
    @_spi(Surfaces) public struct Row: Sendable {
        /// The member of the Swift API.
        let swift: String
        /// The word of the command line; `nil` if it has none.
        var flag: String?
        /// The word's value in help; empty for a word without a value.
        var flagValue = ""
        var isOnServer = true
        public let kind: Kind
        /// A sentence that begins with a verb.
        let effect: String
        /// An addition for a command line, where values are words and files.
        var flagNote: String?
        /// An addition where verifyReceipt is answered.
        var serverNote: String?
        /// An addition for other languages.
        var bindingNote: String?
        /// What the verifier does without the setting.
        var absent: String?
        /// The same for a verifier that grants products, if it differs.
        var absentGranting: String?
        /// The values that can be read, for the error.
        let expected: String
        /// Whether the setting is about what purchases mean, and not about what is genuine.
        public var isAboutDecisions = false
        /// Applies a value, and returns whether it could be read.
        let apply: @Sendable (inout VerifierSettings, String) -> Bool
    }

    @_spi(Surfaces) public var row: Row {
        switch self {
        case .bundleIDs:
            Row(
                swift: "VerificationPolicy.bundleIDs", flag: "--bundle-id", flagValue: "ID", kind: .texts,
                effect: "Accept this app only.", absent: "Without it, the bundle id is not checked.",
                absentGranting:
                    "Without it, the bundle id is not checked: compare it in the contents before you grant anything.",
                expected: "a bundle id"
            ) { settings, text in
                // The verifier refuses an empty id: no app has it.
                settings.policy.bundleIDs = (settings.policy.bundleIDs ?? []).union([text])
                return true
            }
        case .appAppleID:
            Row(
                swift: "VerificationPolicy.appAppleID", flag: "--app-apple-id", flagValue: "NUMBER", kind: .text,
                effect: "Accept a JWS of the app with this Apple id only.",
                bindingNote: "Notifications and real-time requests have it.",
                absent: "Without it, the Apple id is not checked.", expected: "a number"
            ) { settings, text in
                guard let id = Int64(text), id > 0 else { return false }
                // As Apple writes it, since it is compared as a text.
                settings.policy.appAppleID = String(id)
                return true
            }
        case .environments:
            Row(
                swift: "VerificationPolicy.environments", flag: "--environment", flagValue: "production|sandbox",
                kind: .texts, effect: "Accept this environment.",
                serverNote:
                    "With both, /verifyReceipt answers for both, and your code must look at 'environment' in the answer.",
                bindingNote: "It is `production`, `sandbox`, `xcode` or `local-testing`.",
                absent: "Without it, the environment is not checked.",
                absentGranting: "Without it, production is accepted, or what Xcode signed with StoreKit Testing.",
                expected: "production, sandbox"
            ) { settings, text in
                guard let environment = AppStoreEnvironment(rawValue: text) else { return false }
                let others = settings.has(.environments) ? settings.policy.environments ?? [] : []
                settings.policy.environments = others.union([environment])
                return true
            }
        case .roots:
            Row(
                swift: "AppStoreTrust.roots", flag: "--root", flagValue: "FILE", kind: .certificates,
                effect: "Trust self-signed root certificates, in DER or PEM, instead of Apple's.",
                flagNote:
                    "An intermediate with Apple's marker counts for transaction receipts, which do not contain theirs.",
                expected: "certificates in DER or PEM"
            ) { _, _ in false }
        case .transactionReceiptIssuers:
            Row(
                // The files of `--root` may have them.
                swift: "AppStoreTrust.adding(_:)", kind: .certificates,
                effect:
                    "Trust intermediate certificates, in DER or PEM, for transaction receipts of iOS 3 to 6, which do not contain theirs.",
                expected: "certificates in DER or PEM"
            ) { _, _ in false }
        case .storeKitTesting:
            Row(
                swift: "AppStoreTrust.storeKitTesting", flag: "--xcode-root", flagValue: "FILE", kind: .flag,
                effect: "Accept only what StoreKit Testing in Xcode signed.",
                flagNote: "FILE has its certificate.", bindingNote: "The roots are its certificates.",
                expected: "true or false"
            ) { settings, text in
                guard let isOn = Bool(text) else { return false }
                settings.isStoreKitTesting = isOn
                return true
            }
        case .allowsRSA1024:
            Row(
                swift: "VerificationPolicy.allowsRSA1024TransactionReceipts", flag: "--allow-rsa-1024", kind: .flag,
                effect:
                    "Accept transaction receipts of version 2 (until 2015), which are signed with an RSA key of 1024 bits. Such keys are no longer safe.",
                expected: "true or false"
            ) { settings, text in
                guard let isOn = Bool(text) else { return false }
                settings.policy.allowsRSA1024TransactionReceipts = isOn
                return true
            }
        case .validationDate:
            Row(
                swift: "VerificationPolicy.validationDate", flag: "--at", flagValue: "creation|now|DATE",
                isOnServer: false, kind: .date, effect: "Validate the certificates at this date.",
                flagNote: "2025-01-31 is its first moment in UTC, as 2025-01-31T00:00:00Z.",
                absent: "Without it, they are validated at the date the evidence was signed.",
                expected: "creation, now, or a date such as 2025-01-31 or 2025-01-31T12:00:00Z"
            ) { settings, text in
                switch text {
                case "creation": settings.policy.validationDate = .whenSigned
                case "now": settings.policy.validationDate = .now
                default:
                    guard let date = Instant(setting: text) else { return false }
                    settings.policy.validationDate = .at(date)
                }
                return true
            }
        case .distrusted:
            Row(
                swift: "VerificationPolicy.distrusted", flag: "--distrust", flagValue: "FILE|FINGERPRINT",
                kind: .texts, effect: "Refuse what a signer's or intermediate certificate signed.",
                flagNote: "FILE has certificates, in DER or PEM; FINGERPRINT is the SHA-256 of one in hexadecimal.",
                bindingNote: "It is the SHA-256 of the certificate in hexadecimal.",
                expected: "the SHA-256 of a certificate in hexadecimal"
            ) { settings, text in
                guard let fingerprint = Fingerprint(text) else { return false }
                settings.policy.distrusted.insert(fingerprint)
                return true
            }
        case .maximumAge:
            Row(
                swift: "VerificationPolicy.maximumAge", kind: .seconds,
                effect: "Refuse evidence that was signed longer ago than this, or is from the future.",
                absent: "Without it, any age is accepted.", expected: "a number of seconds"
            ) { settings, text in
                guard let seconds = Int64(text), seconds >= 0 else { return false }
                settings.policy.maximumAge = .seconds(seconds)
                return true
            }
        case .strictForm:
            Row(
                swift: "VerificationPolicy.requiresStrictForm", flag: "--strict-form", kind: .flag,
                effect: "Refuse evidence that is in something else, such as the JSON of Unity IAP or a form.",
                absent: "Without it, what clients are known to put around evidence is removed.",
                expected: "true or false"
            ) { settings, text in
                guard let isOn = Bool(text) else { return false }
                settings.policy.requiresStrictForm = isOn
                return true
            }
        case .clock:
            Row(
                swift: "VerificationPolicy.clock", kind: .fixedDate,
                effect: "Stop the verifier's clock at this date, for tests.",
                expected: "a date such as 2025-01-31T12:00:00Z"
            ) { settings, text in
                if text == "now" {
                    settings.clock = nil
                    return true
                }
                guard let date = Instant(setting: text) else { return false }
                settings.clock = date
                return true
            }
        case .productTypes:
            Row(
                swift: "Entitlements.init(productTypes:)", flag: "--product-type",
                flagValue: "ID=TYPE", kind: .texts,
                effect: "Take the type of a product from here if the evidence does not say it.",
                flagNote:
                    "TYPE is consumable, non-consumable, auto-renewable, or non-renewing:DAYS with the length of the subscription.",
                bindingNote:
                    "It is `ID=consumable`, `ID=non-consumable`, `ID=auto-renewable`, or `ID=non-renewing:90` for 90 days.",
                expected: "such as com.example.coins=consumable or com.example.season=non-renewing:90, each id once",
                isAboutDecisions: true
            ) { settings, text in
                // Apple's product ids have no equals sign.
                guard let end = text.utf8.firstIndex(of: UInt8(ascii: "=")), end > text.startIndex,
                    let type = CatalogType(String(text[text.utf8.index(after: end)...]))
                else { return false }
                return settings.productTypes.updateValue(type, forKey: String(text[..<end])) == nil
            }
        }
    }
}

extension VerifierSetting {
    /// The settings that a command or the server takes from its command line.
    @_spi(Surfaces) public static func onCommandLine(of surface: Surface) -> [VerifierSetting] {
        allCases.filter { $0.row.flag != nil && (surface != .server || $0.row.isOnServer) }
    }

    /// Two settings that exclude each other on a command line, where Xcode's certificate is the value of a setting.
    @_spi(Surfaces) public static func conflict(where isGiven: (VerifierSetting) -> Bool) -> (Self, Self)? {
        guard isGiven(.storeKitTesting) else { return nil }
        return [roots, environments].first(where: isGiven).map { (.storeKitTesting, $0) }
    }

    /// Whether it has several values.
    @_spi(Surfaces) public var isRepeatable: Bool {
        switch row.kind {
        case .texts, .certificates: true
        case .text, .flag, .seconds, .date, .fixedDate: false
        }
    }

    /// The name of its value in the help of a command line; empty without a value.
    @_spi(Surfaces) public var flagValue: String { row.flagValue }

    /// The words that a command line takes, if it takes no others.
    var flagChoices: [String]? {
        let words = row.flagValue.split(separator: "|").map(String.init)
        return words.count > 1 && !row.flagValue.contains(where: \.isUppercase) ? words : nil
    }

    /// Whether a value on a command line is the name of a file with certificates, or may be one.
    @_spi(Surfaces) public var takesFiles: Bool { row.flagValue.hasPrefix("FILE") }

    /// The help on a command line, for a verifier with a purpose.
    @_spi(Surfaces) public func flagHelp(_ purpose: VerifierSettings.Purpose) -> String {
        [row.effect, row.flagNote, absent(purpose), purpose == .granting ? row.serverNote : nil].compactMap(\.self)
            .joined(separator: " ")
    }

    /// What the setting does, in other languages: "Accepts this app only. …"
    @_spi(Surfaces) public var explanation: String {
        let words = row.effect.split(separator: " ", maxSplits: 1)
        return [words[0] + "s " + words[1], row.bindingNote, absent(.granting)].compactMap(\.self)
            .joined(separator: " ")
    }

    private func absent(_ purpose: VerifierSettings.Purpose) -> String? {
        purpose == .granting ? row.absentGranting ?? row.absent : row.absent
    }
}

extension Instant {
    /// Reads a date as ``init(specified:)``, or milliseconds since 1970 such as `1738324800000ms`.
    fileprivate init?(setting text: String) {
        if text.utf8.suffix(2).elementsEqual("ms".utf8) {
            guard let milliseconds = Int64(text.dropLast(2)) else { return nil }
            self.init(millisecondsSince1970: milliseconds)
        } else {
            self.init(specified: text)
        }
    }
}
