import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText

/// `receipt mint`
struct MintCommand: Command {
    static let syntax = CommandSyntax(
        name: "mint",
        summary: "Makes a receipt for tests",
        operands: "[SPEC.json|-]",
        maximumOperandCount: 1,
        options: [
            .init(
                name: "--ca", value: "DIR",
                help:
                    "Sign with the authority that 'receipt ca --out DIR' made. Without it, sign\nwith an authority that is not stored."
            ),
            .init(
                name: "--purchases", value: "N|SPEC.json",
                help: "Mint N purchases of invented products (1 by default), or the receipt\nthat SPEC.json specifies."),
            .init(name: "--bundle-id", value: "ID", help: "The app's bundle id; 'com.example.app' by default."),
            .init(name: "--out", value: "FILE", help: "Write the receipt to FILE instead of standard output."),
            .init(
                name: "--format", value: "der|base64",
                help: "The default is 'der' with --out, and 'base64' without."),
        ],
        notes: """
            SPEC.json has the keys of 'receipt decode --format json'. The output of that command, or
            its member 'receipt', can be edited and minted again. A small example:
              {"bundle_id":"com.example.app","in_app":[{"product_id":"pro","transaction_id":"1"}]}
            With the member 'transaction_receipt', a transaction receipt of version 3 or 4 is made:
              {"transaction_receipt":{"bundle_id":"com.example.app","product_id":"pro",
               "transaction_id":"10000000000001"}}
            The same authority and specification always produce the same bytes.
            """)

    private enum Content {
        case purchases(Int)
        case specification(FileInput)
    }

    private let content: Content
    private let authority: String?
    private let bundleID: String?
    private let output: String?
    private let isBinary: Bool

    /// The number that a verifier accepts by default.
    private static let maximumPurchaseCount = VerificationLimits().maximumPurchaseCount

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
        } else {
            content = operand.map { .specification(FileInput($0)) } ?? .purchases(1)
        }
        authority = arguments["--ca"]
        bundleID = arguments["--bundle-id"]
        output = arguments["--out"]
        isBinary = arguments["--format"].map { $0 == "der" } ?? (output != nil)
    }

    /// What is minted.
    private enum Builder {
        case receipt(ReceiptBuilder)
        case transactionReceipt(TransactionReceiptBuilder)

        func signed(by authority: TestCertificateAuthority) throws(MintingError) -> [UInt8] {
            switch self {
            case .receipt(let builder): try builder.signed(by: authority)
            case .transactionReceipt(let builder): try builder.signed(by: authority)
            }
        }
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let builder = makeBuilder(&console), let bytes = sign(builder, &console) else { return .unusable }
        do throws(SystemError) {
            let encoded = isBinary ? bytes : Array((Base64.encode(bytes.span) + "\n").utf8)
            if let output {
                try System.write(encoded.span, toFile: output)
            } else {
                console.write(encoded[...])
            }
        } catch {
            console.report("\((output ?? "-").printable): \(error)")
            return .unusable
        }
        return .passed
    }

    private func makeBuilder(_ console: inout Console) -> Builder? {
        var builder: ReceiptBuilder
        switch content {
        case .purchases(let count):
            builder = ReceiptBuilder(
                bundleID: bundleID ?? "com.example.app",
                purchases: (0..<count).map { index in
                    let product = "com.example.app.product.\(index % 10)"
                    return .consumable(product, transactionID: String(200_000_000_000_001 + index))
                })
        case .specification(let file):
            do throws(SystemError) {
                let text = try file.read()
                do throws(ReceiptSpecificationError) {
                    if TransactionReceiptBuilder.isSpecified(by: text) {
                        var builder = try TransactionReceiptBuilder(json: text)
                        if let bundleID { builder.bundleID = bundleID }
                        return .transactionReceipt(builder)
                    }
                    builder = try ReceiptBuilder(json: text)
                } catch {
                    let place = String(decoding: text.dropFirst(error.offset).prefix(40), as: UTF8.self)
                    console.report("\(file.name.printable): \(error): \(place.printable)")
                    return nil
                }
            } catch {
                console.report("\(file.name.printable): \(error)")
                return nil
            }
        }
        if let bundleID { builder.bundleID = bundleID }
        return .receipt(builder)
    }

    private func sign(_ builder: Builder, _ console: inout Console) -> [UInt8]? {
        do throws(MintingError) {
            if let authority {
                guard let authority = TestCertificateAuthority.load(authority, &console) else { return nil }
                return try builder.signed(by: authority)
            }
            return try builder.signed(by: TestCertificateAuthority())
        } catch {
            console.report("cannot mint: \(error.rawValue)")
            return nil
        }
    }
}
