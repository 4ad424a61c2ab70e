@_spi(Surfaces) import AppStoreReceipt
import StrictText

/// `receipt entitlements`
struct EntitlementsCommand: Command {
    static let syntax = CommandSyntax(
        name: "entitlements",
        summary: "Verifies evidence of one customer and says what it entitles to at a date",
        operands: "[FILE|-]...",
        options: [
            .init(
                name: "--at", value: "DATE",
                help:
                    "Decide for this date, such as 2025-01-31T12:00:00Z; now without it. 2025-01-31 is its first moment in UTC."
            )
        ] + VerifierOptions.options.filter { !$0.name.hasSameBytes(as: "--at") }
            + VerifierOptions.decisionOptions + [
                .init(
                    name: "--format", value: "text|json",
                    help: "'json' prints one object with all items and all refusals."),
                Style.wideOption,
            ] + Style.options,
        notes: """
            All evidence is taken together: receipts, transactions, renewal information, notifications and
            transaction receipts, in any order. Each transaction is one item. Its access is active, owned,
            consumable, not-yet, expired, revoked, upgraded, length-unknown or undetermined.

            Transaction receipts and receipts before 2013 do not say what kind of product was bought: they are
            undetermined unless --product-type says it.

            Evidence does not say whose it is: pass that of one customer.

            Exit status: 0 if all inputs were verified, 1 if one was refused (the items of the others are
            printed), 2 for wrong usage, an unreadable file, or a host whose libcrypto cannot verify receipts.
            """)

    private let inputs: [FileInput]
    private let verifierOptions: VerifierOptions
    private let date: Instant
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        verifierOptions = try VerifierOptions(arguments, hasValidationDate: false)
        date =
            try arguments["--at"].map { text throws(UsageError) in
                try Instant(option: "--at", text, orOneOf: [])
            } ?? .now
        isJSON = arguments["--format"].map { $0.hasSameBytes(as: "json") } ?? false
        inputs = try arguments.inputs()
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let verifier = verifierOptions.makeVerifier(&console) else { return .unusable }
        var pieces: [Decision.Piece] = []
        /// What the text shows a place in.
        var refused: [(input: FileInput, error: VerificationError, bytes: [UInt8])] = []
        for input in inputs {
            let outcome: Decision.Piece.Outcome
            do throws(SystemError) {
                let bytes = try input.read()
                outcome = .init(verifying: bytes, by: verifier)
                switch outcome {
                case .verified(let evidence):
                    report(recordsWithoutPurchase: evidence.incompletePurchaseCount, in: input, &console)
                case .refused(let error): refused.append((input, error, bytes))
                case .unreadable: break
                }
            } catch {
                input.report(error, asJSON: false, &console)
                outcome = .unreadable(message: error.description)
            }
            pieces.append(Decision.Piece(.file(input.name), outcome))
        }
        let decision = Decision(pieces, at: date, productTypes: verifierOptions.productTypes)
        if isJSON {
            var writer = JSONWriter()
            writer.decision(decision, for: verifierOptions.audience)
            console.print(utf8: writer.bytes)
        } else {
            print(decision.entitlements, &console)
            let report = TextReport(console.style, of: verifier, verifierOptions)
            report.printUnchecked(to: &console)
            for (input, error, bytes) in refused {
                report.separate(&console)
                report.print(error, of: input, bytes, to: &console)
            }
        }
        return ExitStatus(decision)
    }

    private func report(recordsWithoutPurchase count: Int, in input: FileInput, _ console: inout Console) {
        guard count > 0 else { return }
        console.report(
            "\(input.name.printable): \(count) record\(count == 1 ? "" : "s") without a product, a transaction id, a purchase date or a quantity: no item"
        )
    }

    private func print(_ entitlements: Entitlements, _ console: inout Console) {
        let count = entitlements.items.count
        console.print("\(count) transaction\(count == 1 ? "" : "s") at \(entitlements.date)")
        let labels = entitlements.items.map { "  \($0.access.code)" }
        let column = (labels.map(\.columnCount).max() ?? 0) + 2
        for (item, label) in zip(entitlements.items, labels) {
            let words = item.text
            for line in words.lines(
                width: console.style.width, after: label.padded(to: column), column, indent: column)
            {
                console.print(line)
            }
        }
    }
}

extension Entitlements.Item {
    fileprivate var text: String {
        var words = [purchase.productID.printable]
        if case .consumable(let quantity) = access {
            words.append("quantity \(quantity)")
        } else if purchase.quantity != 1 {
            words.append("quantity \(purchase.quantity)")
        }
        switch access {
        case .active(let end): words.append("until \(end)")
        case .notYet(let start): words.append("from \(start)")
        case .expired(let end): words.append("since \(end)")
        case .revoked(let end), .upgraded(let end): words += [end].compactMap { $0.map { "since \($0)" } }
        case .owned, .consumable, .lengthUnknown, .undetermined: break
        }
        words.append("transaction \(purchase.transactionID.printable)")
        if let statedType { words.append("by --product-type \(statedType)") }
        if let contradictedType { words.append("--product-type \(contradictedType) contradicts the evidence") }
        return words.joined(separator: ", ")
    }
}
