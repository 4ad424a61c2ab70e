import AppStoreSigning
import StrictText

/// `receipt sign-offer`
struct SignOfferCommand: Command {
    private enum Form: String, CaseIterable {
        case promotional, original, introductory
        case advancedCommerce = "advanced-commerce"

        /// The options that it takes, beside those of the signer.
        var options: [String] {
            switch self {
            case .promotional: ["--product-id", "--offer-id", "--transaction-id", "--anyone"]
            case .original: ["--product-id", "--offer-id", "--app-account-token", "--application-username", "--anyone"]
            case .introductory: ["--product-id", "--allow-introductory-offer", "--transaction-id"]
            case .advancedCommerce: ["--request"]
            }
        }
    }

    static let syntax = CommandSyntax(
        name: "sign-offer",
        summary: "Signs an offer, the eligibility for one, or a request, as a developer's server does",
        operands: "promotional|original|introductory|advanced-commerce",
        maximumOperandCount: 1,
        options: [
            .init("--key", "FILE", "The In-App Purchase key (.p8), which its owner alone can read."),
            .init("--credential", "NAME", "The key is this credential of systemd, instead of --key."),
            .init("--key-id", "ID", "The id of the key."),
            .init("--issuer-id", "ID", "The issuer id of the team's keys."),
            .init("--bundle-id", "ID", "The app."),
            .init("--product-id", "ID", "The subscription."),
            .init("--offer-id", "ID", "The promotional offer."),
            .init("--transaction-id", "ID", "A transaction id of the customer, or the app transaction's."),
            .init("--app-account-token", "UUID", "The UUID that the app passes as appAccountToken."),
            .init("--application-username", "TEXT", "The text that the app passes as applicationUsername, as it is."),
            .init("--anyone", "The signature is for no customer: whoever has it can use it."),
            .init(
                "--allow-introductory-offer", "true|false",
                "Whether the customer may have the introductory offer, whatever Apple would decide."),
            .init("--request", "FILE|-", "The request of the Advanced Commerce API, as JSON."),
        ],
        notes: """
            'promotional' is the JWS for a promotional offer, 'original' the signature that StoreKit 1 takes,
            'introductory' the JWS for the eligibility for an introductory offer, and 'advanced-commerce' that for
            a request. A JWS is printed as it is, and the original form as a JSON object.
              receipt sign-offer promotional --key key.p8 --key-id 2X9R4HXF34 --issuer-id UUID \\
                --bundle-id com.example.app --product-id pro --offer-id winback --transaction-id 2000000123456789

            The signature is valid in production and cannot be withdrawn. Apple documents that the original form is
            valid for 24 hours, and of a JWS not how long.

            Exit status: 0 if it is signed, 1 if an argument is refused, 2 for wrong usage, a key that cannot
            be used, an unreadable file, or a host whose libcrypto cannot sign.
            """)

    private let form: Form
    private let arguments: Arguments
    private let keyFile: String?
    private let credential: String?

    init(_ arguments: Arguments) throws(UsageError) {
        let choices = Form.allCases.map(\.rawValue).joined(separator: "|")
        guard let word = arguments.operands.first else { throw .missingOption(choices) }
        guard let form = Form.allCases.first(where: { $0.rawValue.hasSameBytes(as: word) }) else {
            throw .unexpectedOperand(word)
        }
        self.form = form
        self.arguments = arguments
        (keyFile, credential) = (arguments["--key"], arguments["--credential"])
        if keyFile == nil, credential == nil { throw .missingOption("--key FILE or --credential NAME") }
        try Self.exclude(["--key", "--credential"], arguments)
        let all = Set(Form.allCases.flatMap(\.options))
        for option in all.subtracting(form.options).sorted() where arguments[option] != nil {
            throw .conflictingOptions(form.rawValue, option)
        }
        // An omitted option must not sign for everyone.
        let customers = ["--transaction-id", "--app-account-token", "--application-username", "--anyone"]
            .filter(form.options.contains)
        for option in ["--key-id", "--issuer-id", "--bundle-id"] + form.options
        where !customers.contains(option) && arguments[option] == nil {
            throw .missingOption(option)
        }
        if !customers.isEmpty, customers.allSatisfy({ arguments[$0] == nil }) {
            throw .missingOption(customers.joined(separator: " or "))
        }
        try Self.exclude(customers, arguments)
    }

    private static func exclude(_ options: [String], _ arguments: Arguments) throws(UsageError) {
        let given = options.filter { arguments[$0] != nil }
        guard given.count <= 1 else { throw .conflictingOptions(given[0], given[1]) }
    }

    func run(_ console: inout Console) -> ExitStatus {
        var request: [UInt8] = []
        if let name = arguments["--request"] {
            var status = ExitStatus.passed
            guard let bytes = FileInput(name).read(asJSON: false, &console, &status) else { return status }
            request = bytes
        }
        do throws(SigningError) {
            console.print(try sign(request, with: signer()))
            return .passed
        } catch {
            console.report("\(error)")
            switch error.reason {
            case .invalidArgument, .invalidRequest: return .refused
            default: return .unusable
            }
        }
    }

    private func value(_ option: String) -> String { arguments[option] ?? "" }

    private func signer() throws(SigningError) -> AppStoreSigner {
        let key: InAppPurchaseKey
        if let credential {
            key = try InAppPurchaseKey(systemdCredential: credential)
        } else {
            key = try InAppPurchaseKey(file: keyFile ?? "")
        }
        return try AppStoreSigner(
            keyID: value("--key-id"), issuerID: value("--issuer-id"), bundleID: value("--bundle-id"), key: key)
    }

    private func sign(_ request: [UInt8], with signer: AppStoreSigner) throws(SigningError) -> String {
        let (productID, offerID) = (value("--product-id"), value("--offer-id"))
        switch form {
        case .promotional:
            return try signer.signPromotionalOffer(
                productID: productID, offerID: offerID, transactionID: arguments["--transaction-id"])
        case .original:
            guard let username = arguments["--application-username"] else {
                return try signer.signOriginalPromotionalOffer(
                    productID: productID, offerID: offerID, appAccountToken: arguments["--app-account-token"]
                ).json
            }
            return try signer.signOriginalPromotionalOffer(
                productID: productID, offerID: offerID, applicationUsername: username
            ).json
        case .introductory:
            return try signer.signIntroductoryOfferEligibility(
                productID: productID,
                allowIntroductoryOffer: value("--allow-introductory-offer").hasSameBytes(as: "true"),
                transactionID: value("--transaction-id"))
        case .advancedCommerce: return try signer.signAdvancedCommerceRequest(request)
        }
    }
}
