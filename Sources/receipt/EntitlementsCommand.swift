import AppStoreReceipt
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
        ] + VerifierOptions.options.filter { !$0.name.hasSameBytes(as: "--at") } + [
            .init(
                name: "--format", value: "text|json", help: "'json' prints one object with all items and all refusals."),
            Style.wideOption,
        ] + Style.options,
        notes: """
            All evidence is taken together: receipts, transactions, renewal information, notifications and
            transaction receipts, in any order. Each transaction is one item. Its access is active, owned,
            consumable, not-yet, expired, revoked, upgraded, length-unknown or undetermined.

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

    /// An input that says nothing, and why.
    private struct Refusal {
        enum Reason {
            case unreadable(SystemError)
            case refused(VerificationError, [UInt8])
        }

        let input: FileInput
        let reason: Reason
    }

    func run(_ console: inout Console) -> ExitStatus {
        guard let verifier = verifierOptions.makeVerifier(&console) else { return .unusable }
        var status = ExitStatus.passed
        var evidence: [VerifiedEvidence] = []
        var refusals: [Refusal] = []
        for input in inputs {
            let bytes: [UInt8]
            do throws(SystemError) {
                bytes = try input.read()
            } catch {
                input.report(error, asJSON: false, &console)
                refusals.append(Refusal(input: input, reason: .unreadable(error)))
                status.formMaximum(.unusable)
                continue
            }
            do throws(VerificationError) {
                let verified = try verifier.verify(bytes)
                report(recordsWithoutPurchase: verified.incompletePurchaseCount, in: input, &console)
                evidence.append(verified)
            } catch {
                refusals.append(Refusal(input: input, reason: .refused(error, bytes)))
                status.formMaximum(ExitStatus(amongOthers: error))
            }
        }
        let entitlements = Entitlements(evidence, at: date)
        if isJSON {
            console.print(utf8: json(entitlements, refusals))
        } else {
            print(entitlements, refusals, verifier, &console)
        }
        return status
    }

    private func report(recordsWithoutPurchase count: Int, in input: FileInput, _ console: inout Console) {
        guard count > 0 else { return }
        console.report(
            "\(input.name.printable): \(count) record\(count == 1 ? "" : "s") without a product, a transaction id, a purchase date or a quantity: no item"
        )
    }

    private func json(_ entitlements: Entitlements, _ refusals: [Refusal]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginEntitlements(entitlements)
        writer.name("refused")
        writer.beginArray()
        for refusal in refusals {
            writer.beginObject()
            writer.name("file")
            writer.string(refusal.input.name)
            writer.name("error")
            switch refusal.reason {
            case .refused(let error, _): writer.error(error, advice: error.commandAdvice(verifierOptions.given))
            case .unreadable(let error): writer.error(code: "unreadable-file", message: error.description)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    private func print(
        _ entitlements: Entitlements, _ refusals: [Refusal], _ verifier: AppStoreVerifier, _ console: inout Console
    ) {
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
        let report = TextReport(console.style, of: verifier, verifierOptions)
        for case (let input, .refused(let error, let bytes)) in refusals.map({ ($0.input, $0.reason) }) {
            report.separate(&console)
            report.print(error, of: input, bytes, to: &console)
        }
    }
}

extension VerifiedEvidence {
    /// The number of records that are no purchase because they lack something.
    fileprivate var incompletePurchaseCount: Int {
        switch self {
        case .receipt(let receipt): receipt.incompletePurchases.count
        case .transaction: purchases.isEmpty ? 1 : 0
        case .notification(let notification): notification.transactionInfo != nil && purchases.isEmpty ? 1 : 0
        case .renewalInfo, .appTransaction, .realtimeRequest, .transactionReceipt: 0
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
        return words.joined(separator: ", ")
    }
}
