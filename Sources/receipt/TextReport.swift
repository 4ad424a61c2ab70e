@_spi(Surfaces) import AppStoreReceipt
import SignatureTrust
import SpanASN1
import StrictText

/// The verdict on a receipt, as text.
struct TextReport {
    let style: Style
    /// The checks of the verification; `nil` if nothing was verified.
    let verification: Verification?

    struct Verification {
        /// The checks that were not made, in words.
        let unchecked: [String]
        let audience: Audience
        let verifier: AppStoreVerifier

        /// The app and the environment of evidence that was refused; empty if they are not known to be signed.
        ///
        /// Only evidence that a policy refused is known to be genuine. It is verified again, and then accepted whatever
        /// its app.
        func subject(of bytes: [UInt8], refused error: VerificationError) -> [(label: String, value: String)] {
            guard error.stage == .policy || error.code == .noAppAppleID,
                let lenient = try? verifier.acceptingEveryApp(), let evidence = try? lenient.verify(bytes)
            else { return [] }
            let fields = [("Bundle id", evidence.bundleID), ("Environment", evidence.environment?.rawValue)]
            return fields.compactMap { field in field.1.map { (field.0, $0) } }
        }
    }

    func print(_ receipt: VerifiedReceipt, of input: FileInput, to console: inout Console) {
        printVerified(input, receipt.verification.authority.text, to: &console)
        print(fields: receipt.receipt.textFields + receipt.verification.textFields, to: &console)
        print(purchases: receipt.inAppPurchases, to: &console)
        printLimits(to: &console)
    }

    /// - Parameter bytes: The bytes of `input`.
    func print(
        _ result: Result<UnverifiedEvidence, VerificationError>, of input: FileInput, _ bytes: [UInt8],
        to console: inout Console
    ) {
        switch result {
        case .success(let evidence):
            print(.yellow, "UNVERIFIED", input, ": anyone can have written this", to: &console)
            if let receipt = evidence.receipt {
                print(fields: receipt.receipt.textFields, to: &console)
                print(purchases: receipt.inAppPurchases, to: &console)
                return
            }
            if let jws = evidence.jws { printHeader(of: jws, to: &console) }
            for part in evidence.parts {
                if evidence.jws != nil { console.print("\n  \(style(.bold, part.title))") }
                print(fields: part.fields.map(\.text), to: &console)
            }
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
        if !error.unwrapped.isEmpty { place.append("what was in \(error.unwrapped.joined(separator: ", in "))") }
        if let armor = error.armor { place.append("what looked like \(armor.text)") }
        // No excerpt: the bytes of signatures and certificates are opaque.
        let excerpt = [.signature, .chain].contains(error.stage) ? nil : error.excerpt(of: bytes)
        let subject = verification?.subject(of: bytes, refused: error) ?? []
        print(.red, "REFUSED", input, ": \(error.code)", to: &console)
        print(error.explanation + (excerpt.map { ": \($0.printable)" } ?? ""), to: &console)
        if let found = error.found { print("found \(shortened(found).printable)", to: &console) }
        if let expected = error.expected { print("expected \(expected.printable)", to: &console) }
        if !place.isEmpty { print("at \(place.joined(separator: ", in "))", to: &console) }
        print(fields: subject.map { ($0.label, shortened($0.value)) }, to: &console)
        // A command that verifies nothing does not know what the input is for.
        if let audience = verification?.audience { print(error.advice(for: audience), to: &console) }
        if let page = error.fault.page { print("See \(page).", .dim, to: &console) }
    }

    /// Prints an empty line between two reports.
    func separate(_ console: inout Console) {
        if console.hasOutput { console.print() }
    }

    func printVerified(_ input: FileInput, _ what: String, to console: inout Console) {
        print(.green, "VERIFIED", input, ", \(what)", to: &console)
    }

    /// Prints the verdict on an input. The text after the name has a line of its own if it does not fit.
    private func print(
        _ ink: Style.Ink, _ verdict: String, _ input: FileInput, _ rest: String, to console: inout Console
    ) {
        let name = input.name.printable
        let head = "\(style(ink, verdict))  \(style(.bold, name))"
        guard let width = style.width, "\(verdict)  \(name)\(rest)".columnCount > width,
            let start = rest.unicodeScalars.firstIndex(of: " ")
        else { return console.print(head + rest) }
        console.print(head + rest[..<start])
        print(String(rest.unicodeScalars[start...].dropFirst()), to: &console)
    }

    /// Prints a paragraph.
    private func print(_ text: String, _ ink: Style.Ink? = nil, to console: inout Console) {
        for line in text.lines(width: style.width, after: "  ", 2, indent: 2) {
            console.print(ink.map { style($0, line) } ?? line)
        }
    }

    func print(fields: [(label: String, value: String)], to console: inout Console) {
        // An attacker can write a name of a million characters.
        let labelWidth = min(fields.map(\.label.columnCount).max() ?? 0, 48)
        for field in fields {
            let label = field.label.padded(to: labelWidth)
            let column = label.columnCount + 4
            let lines = field.value.printable.lines(
                width: style.width, after: "  \(style(.dim, label))  ", column, indent: labelWidth + 4)
            for line in lines { console.print(line) }
        }
    }

    func printLimits(to console: inout Console) {
        guard verification != nil else { return }
        console.print()
        printUnchecked(to: &console)
        print(
            "It does not say what happened after it was signed (refunds, renewals), or who sent it.", .dim,
            to: &console)
    }

    /// Prints what was not checked, if anything was not.
    func printUnchecked(to console: inout Console) {
        guard let unchecked = verification?.unchecked, !unchecked.isEmpty else { return }
        let label = "Not checked:"
        let lines = "\(unchecked.joined(separator: ", ")).".lines(
            width: style.width, after: "  \(style(.yellow, label)) ", label.count + 3, indent: 2)
        for line in lines { console.print(line) }
    }

    /// The first 200 scalars, because a signed string can have any length.
    private func shortened(_ text: String) -> String {
        guard !style.isWide, text.unicodeScalars.count > 200 else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(200))) + "…"
    }
}

extension Armor {
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
                    // `Production` alone; for `ProductionVPP` and others, also the environment.
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
            ("Opaque value", opaqueValue.map { Hexadecimal.text($0.span) }),
            ("SHA-1 hash", sha1Hash.map { Hexadecimal.text($0.span) }),
        ]
        return fields.compactMap { field in field.1.map { (field.0, $0) } }
    }
}

extension SignerVerification.Authority {
    var text: String {
        switch self {
        case .apple: "signed by Apple"
        case .customRoot: "signed under the given root"
        case .storeKitTesting: "signed by StoreKit Testing, which authenticates nobody"
        }
    }
}

extension SignerVerification {
    var textFields: [(label: String, value: String)] {
        [
            ("Signature", "\(digest.rawValue), certificates validated at \(validationDate.text)"),
            ("Signer", signer.description),
            ("Signer expires", signerExpirationDate.text),
            ("Trust anchor", rootName + anchor.description),
        ] + (unwrapped.isEmpty ? [] : [("Unwrapped from", unwrapped.joined(separator: ", "))])
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

extension AppStoreVerifier {
    /// Returns a verifier whose trust and dates are the same, and which accepts every app and every environment of its
    /// trust.
    fileprivate func acceptingEveryApp() throws(VerificationError) -> AppStoreVerifier {
        var policy = policy
        (policy.bundleIDs, policy.appAppleID, policy.environments) = (nil, nil, nil)
        return try AppStoreVerifier(policy: policy, trust: trust)
    }
}
