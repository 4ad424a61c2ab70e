import AppStoreReceipt
import StrictText

extension TextReport {
    func print(purchases: InAppPurchases, to console: inout Console) {
        console.print()
        guard !purchases.isEmpty else {
            console.print("  No purchases (empty-in-app): refresh the receipt once, then retry")
            return
        }
        console.print("  \(purchases.count) purchase\(purchases.count == 1 ? "" : "s")")
        let table = PurchaseTable(purchases, style)
        console.print(style(.dim, table.head))
        for purchase in purchases { table.print(purchase, to: &console) }
    }
}

/// The columns of a table of purchases. If they do not fit in one line, each purchase has several, and so has the head.
private struct PurchaseTable {
    private let lines: [[(column: PurchaseColumn, width: Int)]]
    private let style: Style

    /// App Store Connect gives a product's id 100 characters; an attacker can write one of a million.
    private static let maximumCellWidth = 120
    private static let indents = (first: 2, other: 6)

    /// Columns without a value are omitted. Each cell is made twice, so that not all of them are in memory.
    init(_ purchases: InAppPurchases, _ style: Style) {
        self.style = style
        var widths = PurchaseColumn.allCases.map { _ in 0 }
        for purchase in purchases {
            for (index, column) in PurchaseColumn.allCases.enumerated() {
                let count = column.cell(of: purchase).keepingEnd(of: Self.maximumCellWidth).columnCount
                widths[index] = max(widths[index], count)
            }
        }
        var lines: [[(column: PurchaseColumn, width: Int)]] = [[]]
        var used = 0
        for (column, width) in zip(PurchaseColumn.allCases, widths) where width > 0 {
            let width = max(width, column.title.count)
            if let total = style.width, used > 0, used + 2 + width > total {
                lines.append([])
                used = 0
            }
            used += (used > 0 ? 2 : lines.count > 1 ? Self.indents.other : Self.indents.first) + width
            lines[lines.count - 1].append((column, width))
        }
        self.lines = lines
    }

    var head: String { texts(\.title).joined(separator: "\n") }

    func print(_ purchase: InAppPurchase, to console: inout Console) {
        for line in texts({ $0.cell(of: purchase) }) { console.print(line) }
    }

    private func texts(_ cell: (PurchaseColumn) -> String) -> [String] {
        var texts: [String] = []
        for (index, columns) in lines.enumerated() {
            let indent = index == 0 ? Self.indents.first : Self.indents.other
            var text = ""
            for (column, width) in columns {
                let value = style.isWide ? cell(column) : cell(column).keepingEnd(of: Self.maximumCellWidth)
                text += String(repeating: " ", count: text.isEmpty ? indent : 2) + value.padded(to: width)
            }
            // By bytes: a character can have any number of scalars, and comparing characters normalizes them.
            while text.utf8.last == UInt8(ascii: " ") { text.unicodeScalars.removeLast() }
            guard !text.isEmpty else { continue }
            // A column that is alone in its line can be too wide.
            let value = String(text.unicodeScalars.dropFirst(indent))
            texts += value.lines(
                width: style.width, after: String(repeating: " ", count: indent), indent, indent: indent)
        }
        return texts
    }
}

private enum PurchaseColumn: CaseIterable {
    case product, kind, quantity, transaction, original, purchased, expires, notes

    var title: String {
        switch self {
        case .product: "PRODUCT"
        case .kind: "KIND"
        case .quantity: "QUANTITY"
        case .transaction: "TRANSACTION"
        case .original: "ORIGINAL"
        case .purchased: "PURCHASED (UTC)"
        case .expires: "EXPIRES (UTC)"
        case .notes: "NOTES"
        }
    }

    func cell(of purchase: InAppPurchase) -> String {
        switch self {
        case .product: purchase.productID?.printable ?? "-"
        case .kind: purchase.productType.map { $0.text } ?? ""
        case .quantity: purchase.quantity.map { $0 == 1 ? "" : "\($0)" } ?? ""
        case .transaction: purchase.transactionID?.printable ?? "-"
        case .original:
            purchase.originalTransactionID.map { original in
                purchase.transactionID?.hasSameBytes(as: original) == true ? "" : original.printable
            } ?? ""
        case .purchased: purchase.purchaseDate?.compactText ?? "-"
        case .expires: purchase.expiresDate?.compactText ?? ""
        case .notes: notes(on: purchase)
        }
    }

    private func notes(on purchase: InAppPurchase) -> String {
        var notes: [String] = []
        if let date = purchase.revocationDate {
            let reason = purchase.revocationReason.map { reason in
                reason == .appIssue ? " (problem with the app)" : " (reason \(reason.rawValue))"
            }
            notes.append("CANCELLED \(date.compactText)\(reason ?? "")")
        }
        if purchase.isTrialPeriod == true { notes.append("trial") }
        if purchase.isInIntroOfferPeriod == true { notes.append("introductory offer") }
        if let offer = purchase.promotionalOfferID { notes.append("offer \(offer.printable)") }
        return notes.joined(separator: ", ")
    }
}

extension ProductType {
    fileprivate var text: String {
        switch self {
        case .nonConsumable: "non-consumable"
        case .consumable: "consumable"
        case .nonRenewingSubscription: "non-renewing"
        case .autoRenewableSubscription: "auto-renewable"
        case .freeSubscription: "free subscription"
        default: "type \(rawValue)"
        }
    }
}
