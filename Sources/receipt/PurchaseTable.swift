import AppStoreReceipt
import StrictText

extension TextReport {
    func print(purchases: InAppPurchases, to console: inout Console) {
        console.print()
        guard !purchases.isEmpty else {
            console.print("  No purchases")
            return
        }
        console.print("  \(purchases.count) purchase\(purchases.count == 1 ? "" : "s")")
        // Columns in which nothing stands are left out. A row is made twice, so that not all of them are in memory.
        var widths = PurchaseColumn.allCases.map { _ in 0 }
        for purchase in purchases {
            for (index, column) in PurchaseColumn.allCases.enumerated() {
                // App Store Connect gives a product's id 100 characters; a stranger may give it a million.
                let text = column.cell(of: purchase).keepingEnd(of: 120)
                widths[index] = max(widths[index], text.count)
            }
        }
        for (index, column) in PurchaseColumn.allCases.enumerated() where widths[index] > 0 {
            widths[index] = max(widths[index], column.title.count)
        }
        if let total = style.width {
            let used = 2 + widths.filter { $0 > 0 }.reduce(0) { $0 + $1 + 2 } - 2
            // The product's id is the one to be cut.
            if used > total { widths[0] = min(widths[0], max(12, widths[0] - (used - total))) }
        }
        func line(_ cell: (PurchaseColumn) -> String) -> String {
            var line = ""
            for (column, width) in zip(PurchaseColumn.allCases, widths) where width > 0 {
                let text = cell(column)
                line += "  " + (column == .notes ? text : text.keepingEnd(of: width).padded(to: width))
            }
            // Not its last character: an offer's may be of any number of scalars, and to compare it is to normalise them.
            while line.utf8.last == UInt8(ascii: " ") { line.unicodeScalars.removeLast() }
            return line
        }
        console.print(style(.dim, line(\.title)))
        for purchase in purchases { console.print(line { $0.cell(of: purchase) }) }
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

extension String {
    /// Returns the text or, if it is longer than `width` (at least 1), its end after an ellipsis, because ids differ at their ends.
    ///
    /// Finding character boundaries takes time in the square of the examined length (regional indicators, joiners), and a character can have any number of
    /// scalars. Therefore only the last scalars are examined, 16 for each character.
    fileprivate func keepingEnd(of width: Int) -> String {
        let limit = 16 * width
        if utf8.count <= limit, count <= width { return self }
        return "\u{2026}" + String(unicodeScalars.suffix(limit)).suffix(width - 1)
    }
}
