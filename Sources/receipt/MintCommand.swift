import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText

/// `receipt mint`
struct MintCommand: Command {
    static let syntax = CommandSyntax(
        name: "mint",
        summary: "Makes a receipt or a JWS for tests",
        operands: "[SPEC.json|-]",
        maximumOperandCount: 1,
        options: [
            .init(
                "--ca", "DIR",
                "Sign with the authority that 'receipt ca --out DIR' made. Without it, sign with an authority that is not stored."
            ),
            .init(
                "--purchases", "N|SPEC.json",
                "Mint a receipt with N purchases of invented products, or what SPEC.json specifies."),
            .init(
                "--bundle-id", "ID", "The app's bundle id, instead of that of SPEC.json or 'com.example.app'."),
            .init(
                "--out", "FILE", "Write to FILE instead of standard output. No file is overwritten."),
            .init(
                "--format", "der|base64",
                "The format of a receipt. The default is 'der' with --out, and 'base64' without."),
            .init(
                "--lines",
                "Each line of SPEC.json is a specification. Print a line for each: a receipt in base64, or a JWS. All processors work."
            ),
        ],
        notes: """
            Without SPEC.json and --purchases, the specification is read from standard input. Empty input
            is an error. On a terminal, a receipt with one purchase is minted.

            SPEC.json has the keys of 'receipt decode --format json', whose output can be edited and minted
            again. A receipt with products of all types, for 'receipt entitlements --root':
              {"in_app":[
                {"product_id":"coins","transaction_id":"1","product_type":"consumable","quantity":2,
                 "purchase_date":"2025-06-15"},
                {"product_id":"pro","transaction_id":"2","product_type":"non-consumable","quantity":1,
                 "purchase_date":"2025-06-15"},
                {"product_id":"monthly","transaction_id":"3","product_type":"auto-renewable","quantity":1,
                 "purchase_date":"2025-06-15","expires_date":"2035-06-15"},
                {"product_id":"pass","transaction_id":"4","product_type":"non-renewing","quantity":1,
                 "purchase_date":"2025-06-15"}]}

            A purchase without one of these keys grants nothing, except for expires_date.

            Small examples of the others:
              {"transaction":{"productId":"pro","transactionId":"1"}}
              {"notification":{"notificationType":"REFUND"},"transaction":{"revocationDate":"2025-06-15T12:00:00Z"}}
              {"transaction_receipt":{"bundle_id":"com.example.app","product_id":"pro","transaction_id":"10000000000001"}}
            There are also "renewal_info", "app_transaction" and "realtime_request". A missing member of a
            JWS has a default, and one that is null is not written. A JWS needs an authority that
            'receipt ca --key ec' made.

            A date is written as 2025-06-15T12:00:00Z, or as 2025-06-15. Without a signing date (signedDate,
            receipt_creation_date), evidence is signed at its latest date of a purchase or a revocation, and at
            2025-06-15T12:00:00Z at the earliest. Without a purchase date, a refunded purchase was made before
            its refund. If it is about a purchase that other evidence is about, too,
            what was signed later counts. A notification without a notificationUUID has one that is made from
            SPEC.json.

            A period of an auto-renewable subscription has a web order line item, by which its restored copies
            are known. Without webOrderLineItemId (web_order_line_item_id), it is made from the original
            transaction id, the product and the end: to mint a copy, change only the transaction id.

            The same authority and specification of a receipt always produce the same bytes, if its keys
            are RSA keys.
            """)

    enum Content {
        case purchases(Int)
        case specification(FileInput)
    }

    /// What is signed.
    enum Specification {
        case receipt(ReceiptBuilder)
        case jws(JWSSpecification)
        case transactionReceipt(TransactionReceiptBuilder)
    }

    let content: Content
    let authority: String?
    let bundleID: String?
    private let output: String?
    private let format: String?
    private let hasLines: Bool

    /// The number that a verifier accepts by default.
    private static let maximumPurchaseCount = VerificationLimits().maximumPurchaseCount
    static let defaultBundleID = "com.example.app"

    init(_ arguments: Arguments) throws(UsageError) {
        let operand = arguments.operands.first
        let purchases = arguments["--purchases"]
        if let purchases {
            guard operand == nil else { throw .conflictingOptions("--purchases", "SPEC.json") }
            if let count = Int(purchases) {
                guard 0...Self.maximumPurchaseCount ~= count else {
                    throw .invalidValue(
                        option: "--purchases", value: purchases,
                        expected: "0 to \(Self.maximumPurchaseCount), or a file",
                        suggestion: nil)
                }
                content = .purchases(count)
            } else {
                content = .specification(FileInput(purchases))
            }
        } else if let operand {
            content = .specification(FileInput(operand))
        } else {
            content = System.isTerminal(System.standardInput) ? .purchases(1) : .specification(.standardInput)
        }
        authority = arguments["--ca"]
        bundleID = arguments["--bundle-id"]
        output = arguments["--out"]
        format = arguments["--format"]
        hasLines = arguments["--lines"] != nil
        guard hasLines else { return }
        for option in ["--out", "--format"] where arguments[option] != nil {
            throw .conflictingOptions("--lines", option)
        }
        if case .purchases = content { throw .conflictingOptions("--lines", "--purchases") }
    }

    func run(_ console: inout Console) -> ExitStatus {
        if hasLines, case .specification(let file) = content { return mintLines(of: file, &console) }
        guard let specification = specification(&console), let bytes = sign(specification, &console) else {
            return .unusable
        }
        do throws(SystemError) {
            if let output {
                try System.write(bytes.span, toNewFileOrDevice: output)
            } else {
                console.write(bytes.span)
            }
        } catch {
            console.report("\((output ?? "-").printable): \(error)")
            return .unusable
        }
        return .passed
    }

    /// Returns what to sign; `nil` if there is none, which is reported.
    private func specification(_ console: inout Console) -> Specification? {
        let file: FileInput
        switch content {
        case .purchases(let count):
            return .receipt(
                ReceiptBuilder(
                    bundleID: bundleID ?? Self.defaultBundleID,
                    purchases: (0..<count).map { index in
                        let product = "com.example.app.product.\(index % 10)"
                        return .consumable(product, transactionID: String(200_000_000_000_001 + index))
                    }))
        case .specification(let given): file = given
        }
        let name = file.name.printable
        let text: [UInt8]
        do throws(SystemError) {
            text = try file.read()
        } catch {
            console.report("\(name): \(error)")
            return nil
        }
        guard text.contains(where: { !$0.isWhitespace }) else {
            console.report(
                "\(name): the specification is empty. Pass SPEC.json, or --purchases N to mint invented purchases.")
            return nil
        }
        do throws(ReceiptSpecificationError) {
            let specification = try Specification(json: text, bundleID: bundleID)
            guard case .jws(let jws) = specification else { return specification }
            for (member, offset) in jws.unknownMembers {
                console.report(
                    "\(name): written as it is, but Apple documents no such member: '\(member.printable)' at byte \(offset)"
                )
            }
            guard format == nil else {
                console.report("--format is for receipts: a JWS has one format")
                return nil
            }
            return specification
        } catch {
            console.report("\(name): \(error.description(in: text))")
            return nil
        }
    }

    /// A receipt in the format that was asked for.
    private func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let isBinary = format.map { $0 == "der" } ?? (output != nil)
        return isBinary ? bytes : Array((Base64.encode(bytes.span) + "\n").utf8)
    }

    /// Returns the bytes to write; `nil` if they cannot be made, which is reported.
    private func sign(_ specification: Specification, _ console: inout Console) -> [UInt8]? {
        var stored: TestCertificateAuthority?
        if let authority {
            stored = .load(authority, &console)
            guard stored != nil else { return nil }
        }
        do throws(MintingError) {
            let authority =
                if let stored { stored } else {
                    try TestCertificateAuthority(specification.isJWS ? .ellipticCurve : .init())
                }
            let bytes = try specification.signed(by: authority)
            return specification.isJWS ? bytes + [.lineFeed] : encoded(bytes)
        } catch {
            console.report(specification.description(of: error))
            return nil
        }
    }
}

extension MintCommand.Specification {
    init(json text: [UInt8], bundleID: String?) throws(ReceiptSpecificationError) {
        if TransactionReceiptBuilder.isSpecified(by: text) {
            var builder = try TransactionReceiptBuilder(json: text, defaultBundleID: MintCommand.defaultBundleID)
            if let bundleID { builder.bundleID = bundleID }
            self = .transactionReceipt(builder)
        } else if var jws = try JWSSpecification(json: text) {
            jws.bundleID = bundleID
            self = .jws(jws)
        } else {
            var builder = try ReceiptBuilder(json: text, defaultBundleID: MintCommand.defaultBundleID)
            if let bundleID { builder.bundleID = bundleID }
            self = .receipt(builder)
        }
    }

    var isJWS: Bool { if case .jws = self { true } else { false } }

    /// The binary receipt, the property list, or the JWS.
    func signed(by authority: TestCertificateAuthority) throws(MintingError) -> [UInt8] {
        switch self {
        case .receipt(let builder): try builder.signed(by: authority)
        case .transactionReceipt(let builder): try builder.signed(by: authority)
        case .jws(let jws): Array(try jws.signed(by: authority).utf8)
        }
    }

    func description(of error: MintingError) -> String {
        let advice = isJWS && error.code == .unsuitableKey ? ". 'receipt ca --key ec' makes an authority for JWS." : ""
        return "cannot mint: \(error.code.rawValue)\(advice)"
    }
}

extension ReceiptSpecificationError {
    /// What is wrong, and the place in the text.
    func description(in text: [UInt8]) -> String {
        let isObject = text.first { !$0.isWhitespace } == UInt8(ascii: "{")
        let fault = isObject ? "\(self)" : "the specification is not a JSON object at byte \(offset)"
        let rest = text.dropFirst(offset)
        guard !rest.isEmpty else { return "\(fault), where the text ends" }
        let place = rest.isText ? String(decoding: rest.prefix(40), as: UTF8.self).printable : rest.excerpt
        let meant = code == .unknownKey ? Self.key(like: rest) : nil
        return fault + (place.map { ": \($0)" } ?? "") + (meant.map { "; did you mean '\($0)'?" } ?? "")
    }

    /// The key that was meant, for a text that begins with an unknown one in quotation marks.
    private static func key(like text: ArraySlice<UInt8>) -> String? {
        let name = text.dropFirst().prefix(64).prefix { $0 != UInt8(ascii: "\"") }
        let rows = AttributeType.receiptRows + AttributeType.purchaseRows
        let keys = rows.map { "\($0.jsonKey)" } + JWSKind.allCases.map(\.rawValue) + ["receipt", "transaction_receipt"]
        return nearest(to: String(decoding: name, as: UTF8.self), in: keys)
    }
}
