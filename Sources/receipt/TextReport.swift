import AppStoreReceipt
import SignatureTrust
import StrictText

/// The verdict on a receipt, as text.
struct TextReport {
    let style: Style
    /// The checks of the verification; `nil` if nothing was verified.
    let verification: Verification?

    struct Verification {
        let checksBundleID: Bool
        let checksEnvironment: Bool
    }

    func print(_ receipt: VerifiedReceipt, of input: FileInput, to console: inout Console) {
        printVerified(input, receipt.verification.authority.text, to: &console)
        print(fields: receipt.receipt.textFields + receipt.verification.textFields, to: &console)
        print(purchases: receipt.inAppPurchases, to: &console)
        printLimits(to: &console)
    }

    /// - Parameter bytes: The bytes of `input`.
    func print(
        _ result: Result<UnverifiedReceipt, VerificationError>, of input: FileInput, _ bytes: [UInt8],
        to console: inout Console
    ) {
        switch result {
        case .success(let receipt):
            console.print(
                "\(style(.yellow, "UNVERIFIED"))  \(style(.bold, input.name.printable)): anyone can have written this")
            print(fields: receipt.receipt.textFields, to: &console)
            print(purchases: receipt.inAppPurchases, to: &console)
        case .failure(let error): print(error, of: input, bytes, to: &console)
        }
    }

    func print(_ error: VerificationError, of input: FileInput, _ bytes: [UInt8], to console: inout Console) {
        var place: [String] = []
        if let offset = error.offset, let base = error.offsetBase {
            place.append("byte \(offset) of the \(base == .binary ? "binary receipt" : base.rawValue)")
        }
        if let path = error.path { place.append(path) }
        if let part = error.part { place.append(part.rawValue) }
        if let form = error.inputForm { place.append("what looked like \(form.text)") }
        // What stands where a signature or a certificate begins tells nobody anything.
        let isTelling = ![.signature, .chain].contains(error.stage)
        let refusal = Refusal(
            code: error.code, explanation: error.explanation, found: error.found, expected: error.expected,
            place: place, excerpt: isTelling ? error.excerpt(of: bytes) : nil,
            // Where nothing is verified, what to do is for the caller to know.
            advice: verification == nil ? nil : error.commandAdvice)
        print(refusal, of: input, to: &console)
    }

    func printVerified(_ input: FileInput, _ what: String, to console: inout Console) {
        console.print("\(style(.green, "VERIFIED"))  \(style(.bold, input.name.printable)), \(what)")
    }

    /// The reason an input was refused.
    struct Refusal {
        let code: String
        let explanation: String
        /// The value that was found, and the value that is accepted instead.
        var found: String?
        var expected: String?
        /// The place of the fault, from the inside out.
        let place: [String]
        /// The input at that place.
        var excerpt: String?
        /// One or two sentences that say what to do.
        let advice: String?
    }

    func print(_ refusal: Refusal, of input: FileInput, to console: inout Console) {
        console.print("\(style(.red, "REFUSED"))  \(style(.bold, input.name.printable)): \(refusal.code)")
        console.print("  \(refusal.explanation)" + (refusal.excerpt.map { ": \($0.printable)" } ?? ""))
        if let found = refusal.found { console.print("  found \(found.shortened.printable)") }
        if let expected = refusal.expected { console.print("  expected \(expected.printable)") }
        if !refusal.place.isEmpty { console.print("  at \(refusal.place.joined(separator: ", in "))") }
        if let advice = refusal.advice { console.print("  \(advice)") }
    }

    func print(fields: [(label: String, value: String)], to console: inout Console) {
        // A stranger may give a name a million characters.
        let width = min(fields.map(\.label.count).max() ?? 0, 48)
        for field in fields {
            console.print("  \(style(.dim, field.label.padded(to: width)))  \(field.value.printable)")
        }
    }

    func printLimits(to console: inout Console) {
        guard let verification else { return }
        let unchecked = [
            verification.checksBundleID ? nil : "bundle id (--bundle-id)",
            verification.checksEnvironment ? nil : "environment (--environment)",
        ].compactMap(\.self)
        console.print()
        if !unchecked.isEmpty {
            console.print("  \(style(.yellow, "Not checked:")) \(unchecked.joined(separator: ", ")).")
        }
        console.print(
            style(.dim, "  It does not say what happened after it was signed (refunds, renewals), or who sent it."))
    }
}

extension String {
    /// The first 200 scalars, because a signed string can have any length.
    fileprivate var shortened: String {
        unicodeScalars.count > 200 ? String(String.UnicodeScalarView(unicodeScalars.prefix(200))) + "…" : self
    }
}

extension InputForm {
    fileprivate var text: String {
        switch self {
        case .binary: "a binary receipt"
        case .base64: "base64"
        case .pem: "PEM"
        case .json: "JSON"
        case .propertyList: "a property list"
        }
    }
}

// MARK: - Fields

extension Receipt {
    /// All fields except the purchases, with their labels.
    fileprivate var textFields: [(label: String, value: String)] {
        let fields: [(String, String?)] = [
            ("Bundle id", bundleID),
            ("App version", applicationVersion),
            ("App item id", appItemID),
            (
                "Environment",
                receiptType.map { type in
                    // `Production` alone; of `ProductionVPP` and the like, which environment they are.
                    ["Production", "Xcode"].contains { type.hasSameBytes(as: $0) }
                        ? type : "\(type) (\(environment?.rawValue ?? "unknown"))"
                }
            ),
            ("Created", creationDate?.text),
            ("Original receipt", originalCreationDate?.text),
            ("Originally bought", originalPurchaseDate?.text),
            ("Original version", originalApplicationVersion),
            ("Pre-ordered", preorderDate?.text),
            ("Expires", expirationDate?.text),
            ("Platform", platform.map { [2: "Mac", 3: "iOS"][$0].map { "\($0)" } ?? "\($0)" }),
            ("Client version", clientVersion.map(String.init)),
            ("Age rating", ageRating),
            ("Seller id", sellerID),
            ("Download id", downloadID),
            ("Version id", versionExternalIdentifier),
            ("Server build", serverBuild.map(String.init)),
            ("Opaque value", opaqueValue?.hexadecimal),
            ("SHA-1 hash", sha1Hash?.hexadecimal),
        ]
        return fields.compactMap { field in field.1.map { (field.0, $0) } }
    }
}

extension Verification.Authority {
    var text: String {
        switch self {
        case .apple: "signed by Apple"
        case .customRoot: "signed under the given root"
        case .storeKitTesting: "signed by StoreKit Testing, which authenticates nobody"
        }
    }
}

extension Verification {
    var textFields: [(label: String, value: String)] {
        [
            ("Signature", "\(digest.rawValue), certificates validated at \(validationDate.text)"),
            ("Signer", "\(signer), valid until \(signerExpiry.text)"),
            ("Trust anchor", rootName + anchor.description),
        ]
    }

    /// The name of Apple's root certificate and a comma; empty for another root.
    private var rootName: String {
        guard authority == .apple else { return "" }
        let roots: [(name: String, TrustAnchor)] = [
            ("Apple Root CA", .appleRootCA), ("Apple Root CA - G2", .appleRootCAG2),
            ("Apple Root CA - G3", .appleRootCAG3),
        ]
        return roots.first { (try? Fingerprint(of: $0.1.der.span)) == anchor }.map { "\($0.name), " } ?? ""
    }
}

extension Instant {
    /// `2020-04-01 04:07:39 UTC`
    var text: String { compactText + " UTC" }

    /// `2020-04-01 04:07:39`
    var compactText: String {
        String(description.dropLast().map { $0 == "T" ? " " : $0 })
    }
}

extension Sequence<UInt8> {
    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
