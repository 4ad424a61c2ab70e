@_spi(Surfaces) import AppStoreReceipt
@_spi(Surfaces) import ReceiptReport
import StrictText

/// `receipt entitlements`
struct EntitlementsCommand: Command {
    static let syntax = CommandSyntax(
        name: "entitlements",
        summary: "Verifies evidence of one customer and says what it entitles to at a date",
        operands: "[FILE|-]...",
        options: CustomerEvidence.options + [
            .init(
                "--format", "text|json", "'json' prints one object with all items and all refusals."),
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

    private let evidence: CustomerEvidence
    private let isJSON: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        evidence = try CustomerEvidence(arguments)
        isJSON = arguments["--format"].map { $0.hasSameBytes(as: "json") } ?? false
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let (decision, bytes, verifier) = evidence.decision(&console) else { return .unusable }
        let outcomes = zip(evidence.inputs, zip(decision.pieces.map(\.outcome), bytes))
        for case (let input, (.verified(let evidence), _)) in outcomes {
            report(recordsWithoutPurchase: evidence.incompletePurchaseCount, in: input, &console)
        }
        if isJSON {
            var writer = JSONWriter()
            writer.decision(decision, for: evidence.options.audience)
            console.print(utf8: writer.bytes)
        } else {
            print(decision.entitlements, &console)
            let report = TextReport(console.style, of: verifier, evidence.options)
            report.printUnchecked(to: &console)
            for case (let input, (.refused(let error), let bytes)) in outcomes {
                report.separate(&console)
                report.print(error, of: input, bytes, to: &console)
            }
        }
        return ExitStatus(decision)
    }

    private func report(recordsWithoutPurchase count: Int, in input: FileInput, _ console: inout Console) {
        guard count > 0 else { return }
        console.report(
            "\(input.name.printable): \(count) record\(count == 1 ? "" : "s") without a product, a transaction id or a purchase date, or of a receipt without a quantity: no item"
        )
    }

    private func print(_ entitlements: Entitlements, _ console: inout Console) {
        let count = entitlements.items.count
        let nothing = entitlements.nothing.map { " (\($0.rawValue))" } ?? ""
        console.print("\(count) transaction\(count == 1 ? "" : "s")\(nothing) at \(entitlements.date)")
        let lines = entitlements.items.map { ("  \($0.access.code)", $0.text) } + renewals(entitlements)
        let column = (lines.map(\.0.columnCount).max() ?? 0) + 2
        for (label, words) in lines {
            for line in words.lines(
                width: console.style.width, after: label.padded(to: column), column, indent: column)
            {
                console.print(line)
            }
        }
    }

    /// A line for each subscription of whose renewal something is known.
    private func renewals(_ entitlements: Entitlements) -> [(label: String, words: String)] {
        entitlements.subscriptions.compactMap { subscription in
            let sentences = subscription.renewalSentences().map { $0.text(in: .english) }
            guard !sentences.isEmpty else { return nil }
            let name = "\(subscription.productID.printable) (\(subscription.originalTransactionID.printable))"
            return ("  renewal", "\(name): \(sentences.joined(separator: " "))")
        }
    }
}

extension Entitlements.Item {
    fileprivate var text: String {
        var words = [purchase.productID.printable]
        if let environment = purchase.environment, environment != .production { words.append(environment.rawValue) }
        if case .consumable = access {
            words.append("quantity \(quantity)")
        } else if let seats, let periodSeats {
            words.append("\(seats) of \(periodSeats) seats")
        } else if purchasedQuantity ?? 1 != 1, quantity != 1 {
            words.append("quantity \(quantity)")
        }
        switch access {
        case .active(let end): words.append("until \(end)")
        case .notYet(let start): words.append("from \(start)")
        case .expired(let end): words.append("since \(end)")
        case .revoked(let end), .upgraded(let end): words += [end].compactMap { $0.map { "since \($0)" } }
        case .undetermined: words += [reason?.rawValue].compactMap(\.self)
        case .owned, .consumable, .lengthUnknown: break
        }
        words.append("transaction \(purchase.transactionID.printable)")
        if let statedType { words.append("by --product-type \(statedType)") }
        if let contradictedType { words.append("--product-type \(contradictedType) contradicts the evidence") }
        let facts = words.joined(separator: ", ")
        let price = purchase.priceSentences.map { $0.text(in: .english) }
        return price.isEmpty ? facts : facts + ". " + price.joined(separator: " ")
    }
}
