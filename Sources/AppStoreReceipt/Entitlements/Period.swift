import SpanASN1
import StrictText

/// What all transactions of one purchase or period have in common: a restored transaction has a new id, but is for the same period.
struct Period {
    /// How a purchase ended.
    enum Reason { case expired, revoked, upgraded }

    /// The indices of the transactions. The first was bought first.
    var transactions: [Int]
    /// The first transaction, for what all have in common.
    let purchase: Purchase
    /// The product, for comparisons.
    let product: UTF8Bytes
    /// The date access begins.
    let start: Instant
    /// The date the period ends if nothing else happens.
    var expires: Instant?
    /// The date the evidence ends, which is no length: what has ended before has ended all the same.
    var evidenceEnd: Instant?
    /// The date Apple signed ``expires``.
    var expiresSigned: Instant
    /// The date access ends in a billing grace period.
    var graceEnd: Instant?
    /// The date of the revocation; `distantPast` if the date is not known.
    var revoked: Instant?
    /// What a prorated refund has left of a consumable.
    var remainingQuantity: Int?
    var isUpgraded: Bool
    /// The date a later period replaced this one; `distantPast` if the date is not known.
    var replaced: Instant?
    /// The date of the upgrade that replaced this renewal before it began.
    var replacedBeforeStart: Instant?

    /// Whether this is a period of a subscription that renews. A record without a type that has an end is one.
    var isOfSubscription: Bool {
        guard expires != nil, let type = purchase.productType else { return expires != nil }
        return type != .consumable && type != .nonConsumable && type != .nonRenewingSubscription
    }

    /// Whether it was refunded or replaced before it began. It has replaced nothing.
    var neverBegan: Bool {
        replacedBeforeStart != nil || revoked.map { $0 > .distantPast && $0 <= start } ?? false
    }

    /// The date Apple refunded or revoked the purchase, which takes it back even if it had ended before; `distantPast` if the date is not known.
    ///
    /// The cancellation of a period that was upgraded is no refund. Apple dates it within seconds of the upgrade.
    private var takenBack: Instant? {
        guard let revoked, let replaced else { return revoked }
        return max(replaced, revoked) - min(replaced, revoked) <= .seconds(60) ? nil : revoked
    }

    /// What ends the purchase first, and when.
    var end: (date: Instant, reason: Reason)? {
        var end = [graceEnd ?? expires, evidenceEnd].compactMap(\.self).min().map { (date: $0, reason: Reason.expired) }
        if let revoked, revoked < end?.date ?? .distantFuture { end = (revoked, .revoked) }
        guard let replaced, replaced < end?.date ?? .distantFuture || end?.reason == .revoked else { return end }
        switch end?.date {
        case let date? where date < replaced:
            // Apple dates the cancellation of the old period within seconds of the purchase of the new one.
            return replaced - date <= .seconds(60) ? (date, .upgraded) : end
        default: return (replaced, .upgraded)
        }
    }
}

/// The moment for which entitlements are decided.
struct Moment {
    let date: Instant
    let clockAllowance: Duration

    func hasBegun(_ start: Instant) -> Bool { start <= date + clockAllowance }
}

extension Period {
    init(_ purchase: Purchase, _ index: Int) {
        transactions = [index]
        self.purchase = purchase
        product = UTF8Bytes(purchase.productID)
        start = purchase.purchaseDate
        expires = purchase.periodEnd
        evidenceEnd = purchase.evidenceEnd
        expiresSigned = purchase.signedDate
        revoked = purchase.revocation
        remainingQuantity = purchase.remainingQuantity
        isUpgraded = purchase.isUpgraded ?? false
    }

    /// Adds another transaction of the period.
    mutating func add(_ purchase: Purchase, _ index: Int) {
        transactions.append(index)
        isUpgraded = isUpgraded || purchase.isUpgraded ?? false
        // A refund is signed for one transaction. Its copies say nothing of it.
        if let revocation = purchase.revocation {
            let remaining = purchase.remainingQuantity ?? 0
            // Of two refunds, the larger part counts, from the earlier date.
            remainingQuantity = revoked == nil ? remaining : min(remainingQuantity ?? 0, remaining)
            revoked = min(revoked ?? revocation, revocation)
        }
        // Evidence that does not end proves the period when other evidence has ended.
        evidenceEnd = evidenceEnd.flatMap { date in purchase.evidenceEnd.map { max($0, date) } }
        if let end = purchase.periodEnd, expires == nil || purchase.signedDate > expiresSigned {
            (expires, expiresSigned) = (end, purchase.signedDate)
        }
    }

    func access(
        at moment: Moment, _ end: (date: Instant, reason: Reason)?
    ) -> Entitlements.Access {
        if let end, end.date <= moment.date {
            let date = end.date == .distantPast ? nil : end.date
            switch end.reason {
            case .expired: return .expired(at: end.date)
            case .upgraded: return .upgraded(at: date)
            case .revoked:
                guard purchase.productType == .consumable, let remainingQuantity, remainingQuantity > 0 else {
                    return .revoked(at: date)
                }
                return moment.hasBegun(start) ? .consumable(quantity: remainingQuantity) : .notYet(from: start)
            }
        }
        guard moment.hasBegun(start) else { return .notYet(from: start) }
        switch purchase.productType {
        case .consumable: return .consumable(quantity: purchase.quantity)
        case .nonConsumable: return .owned
        case .nonRenewingSubscription:
            return expires.map { _ in .active(until: end?.date ?? .distantFuture) } ?? .lengthUnknown
        default: return expires.map { _ in .active(until: end?.date ?? .distantFuture) } ?? .undetermined
        }
    }

    /// What an owner has of the purchase. That a period has ended takes nothing back; a refund does, even after the end.
    func ownedQuantity(at moment: Moment, _ access: Entitlements.Access) -> Int? {
        switch access {
        case .consumable(let quantity): max(0, quantity)
        case .active, .owned, .lengthUnknown: max(1, purchase.quantity)
        case .revoked: 0
        case .expired, .upgraded: takenBack.map { $0 <= moment.date } ?? false ? 0 : max(1, purchase.quantity)
        case .notYet, .undetermined: nil
        }
    }

    /// The next date at which ``ownedQuantity(at:_:)`` can change if Apple signs nothing more.
    func nextChange(after moment: Moment) -> Instant? {
        let begin = moment.hasBegun(start) ? nil : start
        return [begin, takenBack].compactMap(\.self).filter { $0 > moment.date }.min()
    }
}

extension Purchase {
    /// The end of the period. Only what lasts can end.
    fileprivate var periodEnd: Instant? { productType == .consumable ? nil : expiresDate }

    /// The end of the evidence, with which access ends.
    fileprivate var evidenceEnd: Instant? { productType == .consumable ? nil : evidenceExpirationDate }

    /// The date of the revocation; `distantPast` if the date is not known.
    fileprivate var revocation: Instant? { isRevoked == true ? revocationDate ?? .distantPast : nil }

    /// The part that Apple revoked, in thousandths of a percent; `nil` if the purchase is not revoked.
    var revokedPart: Int64? {
        guard isRevoked == true else { return nil }
        guard revocationType == nil || revocationType == .proratedRefund, let revocationPercentage,
            0..<100_000 ~= revocationPercentage
        else { return 100_000 }
        return revocationPercentage
    }

    /// What a prorated refund leaves of the quantity, to the nearest whole; `nil` if the whole was refunded.
    fileprivate var remainingQuantity: Int? {
        guard let revokedPart, revokedPart < 100_000 else { return nil }
        return Int((Int128(quantity) * Int128(100_000 - revokedPart) + 50_000) / 100_000)
    }
}
