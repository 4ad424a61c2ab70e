@_spi(Surfaces) import AppStoreReceipt
import SpanASN1
import StrictText

// The table of purchases: what each gives at the date, and why.
extension Report {
    static let maximumRowCount = 1000

    func purchases(_ html: inout HTMLWriter) {
        let items = decision.entitlements.items
        html.element(.section, .style(.panel), .id(.purchases)) { html in
            html.element(.h2, phrase: .purchases)
            let incomplete = pieces.reduce(0) { $0 + ($1.verified?.incompletePurchaseCount ?? 0) }
            if incomplete > 0 { html.element(.p, .style(.note), phrase: .incompletePurchases, .number(incomplete)) }
            guard !items.isEmpty else { return html.element(.p, phrase: .noPurchases) }
            if items.count > Self.maximumRowCount {
                html.element(
                    .p, .style(.note), phrase: .rowsShown, .number(Self.maximumRowCount), .number(items.count),
                    .code("receipt entitlements"))
            } else {
                html.element(.p, .style(.note), phrase: .purchaseCount, .number(items.count))
            }
            let columns: [Phrase] = [.product, .gives, .why, .bought, .identifiers]
            html.element(.table, .style(.rows), .role(.table)) { html in
                html.element(.thead, .role(.rowgroup)) { html in
                    html.element(.tr, .role(.row)) { html in
                        for column in columns {
                            html.element(.th, .scope(.column), .role(.columnheader), phrase: column)
                        }
                    }
                }
                let heads = columns.map(html.plain)
                html.element(.tbody, .role(.rowgroup)) { html in
                    for item in items.suffix(Self.maximumRowCount).reversed() { row(item, heads, &html) }
                }
            }
        }
    }

    private func row(_ item: Entitlements.Item, _ heads: [String], _ html: inout HTMLWriter) {
        let purchase = item.purchase
        func cell(_ index: Int, _ html: inout HTMLWriter, content: (inout HTMLWriter) -> Void) {
            html.element(.td, .role(.cell), .column(heads[index])) { html in html.element(.div, content: content) }
        }
        html.element(.tr, .role(.row)) { html in
            cell(0, &html) { html in
                html.element(.strong) { $0.value(purchase.productID, limit: HTMLWriter.shortCount) }
                html.element(.small) { details(of: item, &$0) }
                let price = purchase.priceSentences
                if !price.isEmpty { html.element(.small) { $0.sentences(price) } }
            }
            cell(1, &html) { html in
                html.element(.span, .styles([.badge, item.access.style]), phrase: item.access.phrase)
            }
            cell(2, &html) { html in
                why(item, &html)
                notes(on: item, &html)
            }
            cell(3, &html) { $0.date(purchase.purchaseDate) }
            cell(4, &html) { html in
                html.element(.code) { $0.value(purchase.transactionID, limit: 48) }
                if !purchase.originalTransactionID.hasSameBytes(as: purchase.transactionID) {
                    html.element(.small) { html in
                        html.phrase(.originalTransactionID)
                        html.text(" ")
                        html.element(.code) { $0.value(purchase.originalTransactionID, limit: 48) }
                    }
                }
            }
        }
    }

    private func details(of item: Entitlements.Item, _ html: inout HTMLWriter) {
        let purchase = item.purchase
        productType(purchase.productType, &html)
        if let seats = item.seats, let periodSeats = item.periodSeats {
            html.text(" · ")
            html.phrase(.seatsOf, .number(seats), .number(periodSeats))
        } else if item.quantity != 1, let quantity = purchase.quantity, quantity != 1 {
            html.text(" · ")
            html.phrase(.quantityOf, .number(quantity))
        }
        if let offer = purchase.offer {
            html.text(" · ")
            self.offer(offer, &html)
        }
        let owners: [OwnershipType: Phrase] = [.familyShared: .familyShared, .assigned: .assigned]
        if let phrase = purchase.ownershipType.flatMap({ owners[$0] }) {
            html.text(" · ")
            html.phrase(phrase)
        }
    }

    private func productType(_ type: ProductType?, _ html: inout HTMLWriter) {
        let known: [ProductType: Phrase] = [
            .consumable: .typeConsumable, .nonConsumable: .typeNonConsumable,
            .nonRenewingSubscription: .typeNonRenewing, .autoRenewableSubscription: .typeAutoRenewable,
            .freeSubscription: .typeFree,
        ]
        guard let type else { return html.phrase(.typeUnknown) }
        if let phrase = known[type] { html.phrase(phrase) } else { html.inline(type.rawValue) }
    }

    func offer(_ offer: PurchaseOffer, _ html: inout HTMLWriter) {
        html.phrase(offer.phrase)
        if let id = offer.id {
            html.text(" ")
            html.inline(id, limit: 48)
        }
    }

    // MARK: Why

    private func why(_ item: Entitlements.Item, _ html: inout HTMLWriter) {
        let purchase = item.purchase
        let statement = Slot.code(
            VerifierSetting.productTypes.name(on: audience.surface) ?? VerifierSetting.productTypes.rawValue)
        switch item.access {
        case .active(let end):
            if let expires = purchase.expiresDate, expires <= decision.entitlements.date, expires < end {
                html.phrase(.whyActiveGrace, .date(expires), .date(end))
            } else {
                html.phrase(.whyActive, .date(end))
            }
        case .owned: html.phrase(.whyOwned)
        case .consumable(let quantity):
            if let purchased = item.purchasedQuantity, quantity < purchased {
                html.phrase(.whyConsumablePart, .number(quantity), .number(purchased))
            } else {
                html.phrase(.whyConsumable, .number(quantity))
            }
        case .notYet(let start): html.phrase(.whyNotYet, .date(start))
        case .expired(let end):
            html.phrase(purchase.evidenceExpirationDate == end ? .whyEvidenceExpired : .whyExpired, .date(end))
        case .revoked(let date?):
            let causes: [RevocationType: Phrase] = [
                .familyRevoke: .whyFamilyRevoked, .assignmentRevoke: .whyAssignmentRevoked,
            ]
            html.phrase(purchase.revocationType.flatMap { causes[$0] } ?? .whyRevoked, .date(date))
        case .revoked(nil): html.phrase(.whyRevokedUndated)
        case .upgraded(let date?): html.phrase(.whyUpgraded, .date(date))
        case .upgraded(nil): html.phrase(.whyUpgradedUndated)
        case .lengthUnknown: html.phrase(.whyLengthUnknown, statement)
        case .undetermined:
            switch item.reason {
            case .environmentMissing: html.phrase(.whyEnvironmentMissing)
            case .bundleIDMissing: html.phrase(.whyAppMissing)
            case .quantityMissing, .quantityInvalid: html.phrase(.whyQuantity)
            case .unknownType, .unknownOwnership: html.phrase(.whyUnknownValue)
            default: html.phrase(.whyUndetermined, statement)
            }
        }
    }

    private func notes(on item: Entitlements.Item, _ html: inout HTMLWriter) {
        let purchase = item.purchase
        func note(_ phrase: Phrase, _ slots: Slot..., html: inout HTMLWriter) {
            html.element(.small) { $0.phrase(phrase, slots) }
        }
        if purchase.isRevoked == true {
            if purchase.revocationReason == .appIssue { note(.reasonAppIssue, html: &html) }
            if purchase.revocationType == .fullRefund { note(.refundFull, html: &html) }
            if purchase.revocationType == .proratedRefund, let part = purchase.revocationPercentage {
                note(.refundPart, .number(Int(clamping: part / 1000)), html: &html)
            }
        }
        if !item.firstTransactionID.hasSameBytes(as: purchase.transactionID) {
            note(.restoredCopy, .text(item.firstTransactionID), html: &html)
        }
        if let type = item.statedType { note(.statedType, .code(type.description), html: &html) }
        if let type = item.contradictedType { note(.contradictedType, .code(type.description), html: &html) }
    }
}

extension Entitlements.Access {
    var phrase: Phrase {
        switch self {
        case .active: .active
        case .owned: .owned
        case .consumable: .consumable
        case .notYet: .notYet
        case .expired: .expired
        case .revoked: .revoked
        case .upgraded: .upgraded
        case .lengthUnknown: .lengthUnknown
        case .undetermined: .undetermined
        }
    }

    var style: Style {
        switch self {
        case .active, .owned, .consumable: .good
        case .revoked: .bad
        case .lengthUnknown, .undetermined: .warn
        case .notYet, .expired, .upgraded: .unknown
        }
    }
}

extension PurchaseOffer {
    var phrase: Phrase {
        if isFreeTrial { return .offerTrial }
        return switch type {
        case .introductory: .offerIntroductory
        case .promotional: .offerPromotional
        case .offerCode: .offerCode
        case .winBack: .offerWinBack
        case .retention: .offerRetention
        default: .offerOther
        }
    }
}
