import Instants
import StrictText

/// What all transactions of one purchase or period have in common: a restored transaction has a new id, but is for the
/// same period.
struct Period {
    /// How a purchase ended.
    enum Reason { case expired, revoked, upgraded }

    /// The indices of the transactions. The first was bought first.
    var transactions: [Int]
    /// The separate purchases if the buyer added seats, each with its restored copies.
    private var additions: [Period] = []
    /// The first transaction, for shared values.
    let purchase: Purchase
    /// The product, for comparisons.
    let product: UTF8Bytes
    /// The date access begins.
    let start: Instant
    /// The date the period ends if nothing else happens.
    var expires: Instant?
    /// The date the evidence expires. It doesn't change when the period itself ended.
    var evidenceEnd: Instant?
    /// The date Apple signed ``expires``.
    var expiresSigned: Instant
    /// The date access ends in a billing grace period.
    var graceEnd: Instant?
    /// The date of the revocation; `distantPast` if the date is not known.
    var revoked: Instant?
    /// The rest of a consumable after prorated refunds.
    var remainingQuantity: Int?
    /// The date Apple first signed that it was upgraded, as far as is known; `nil` if it was not.
    var upgradeSigned: Instant?
    /// The date a later period replaced this one; `distantPast` if the date is not known.
    var replaced: Instant?
    /// The date of the upgrade that replaced this renewal before it began.
    var replacedBeforeStart: Instant?

    /// The reason nothing can be decided. The period then replaces nothing.
    private var undecidable: Entitlements.Reason?

    /// Whether this is a period of a subscription that renews. A record without a type that has an end is one.
    var isOfSubscription: Bool {
        expires != nil && undecidable == nil && purchase.productType?.renews ?? true
    }

    /// Whether the signed quantity is the number of seats, and not of products.
    private var hasSeats: Bool { isOfSubscription || purchase.productType == .autoRenewableSubscription }

    /// The separate purchases, in order: several if the buyer added seats.
    var bought: [Period] { additions.isEmpty ? [self] : additions }

    /// Whether it was refunded or replaced before it began. It has replaced nothing.
    var neverBegan: Bool {
        replacedBeforeStart != nil || revoked.map { $0 > .distantPast && $0 <= start } ?? false
            || upgradeSigned.map { $0 <= start } ?? false
    }

    /// Whether it is a renewal that an upgrade cancelled before it began.
    var isCancelledRenewal: Bool { replacedBeforeStart != nil || isUpgraded && neverBegan }

    var isUpgraded: Bool { upgradeSigned != nil }

    /// The date Apple refunded or revoked the purchase, which takes it back even if it had ended before; `distantPast`
    /// if the date is not known.
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
        revoked = purchase.revocationMoment
        remainingQuantity = purchase.remainingQuantity
        upgradeSigned = purchase.upgradeSigned
        undecidable = purchase.undecidable
    }

    /// Adds another transaction of the period.
    mutating func add(_ purchase: Purchase, _ index: Int) {
        transactions.append(index)
        undecidable = undecidable ?? purchase.undecidable
        upgradeSigned = [upgradeSigned, purchase.upgradeSigned].compactMap(\.self).min()
        // A refund is signed for one transaction. Its copies say nothing of it.
        if let revocation = purchase.revocationMoment {
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

    /// Joins separate purchases for one period, to which the buyer added seats.
    ///
    /// A refund ends access only if all of it is refunded
    /// ([`revokedSeatQuantity`](https://developer.apple.com/documentation/appstoreserverapi/revokedseatquantity)).
    ///
    /// - Parameter bought: Periods that end, ordered by start.
    init(joining bought: [Period]) {
        self = bought[0]
        additions = bought
        transactions = bought.flatMap(\.transactions).sorted()
        upgradeSigned = bought.compactMap(\.upgradeSigned).min()
        replacedBeforeStart =
            bought.lazy.filter { $0.isCancelledRenewal }
            .map { $0.replacedBeforeStart ?? $0.revoked ?? .distantPast }.min()
        let revocations = bought.compactMap(\.revoked)
        revoked = revocations.count == bought.count ? revocations.max() : nil
        let evidenceEnds = bought.compactMap(\.evidenceEnd)
        evidenceEnd = evidenceEnds.count == bought.count ? evidenceEnds.max() : nil
        // The end is in the latest signature, with extensions. A refunded purchase gets no extension.
        let lasting = revoked == nil ? bought.filter { $0.revoked == nil } : bought
        let ends = lasting.compactMap { period in period.expires.map { (period.expiresSigned, $0) } }
        if let last = ends.max(by: <) { (expiresSigned, expires) = last }
    }

    func access(
        at moment: Moment, _ end: (date: Instant, reason: Reason)?
    ) -> Entitlements.Access {
        if let end, end.date <= moment.date {
            let date = end.date == .distantPast ? nil : end.date
            switch end.reason {
            case .expired where undecidable != nil, .upgraded where undecidable != nil: break
            case .expired: return .expired(at: end.date)
            case .upgraded: return .upgraded(at: date)
            case .revoked:
                guard purchase.productType == .consumable || undecidable != nil, let remainingQuantity,
                    remainingQuantity > 0
                else {
                    return .revoked(at: date)
                }
                guard moment.hasBegun(start) else { return .notYet(from: start) }
                return undecidable == nil ? .consumable(quantity: remainingQuantity) : .undetermined
            }
        }
        guard moment.hasBegun(start) else { return .notYet(from: start) }
        guard undecidable == nil else { return .undetermined }
        switch purchase.productType {
        case .consumable: return .consumable(quantity: purchase.quantity ?? 0)
        case .nonConsumable: return .owned
        case .nonRenewingSubscription:
            return expires.map { _ in .active(until: end?.date ?? .distantFuture) } ?? .lengthUnknown
        default: return expires.map { _ in .active(until: end?.date ?? .distantFuture) } ?? .undetermined
        }
    }

    /// Returns the reason an access gives nothing.
    func reason(for access: Entitlements.Access) -> Entitlements.Reason? {
        switch access {
        case .active, .owned, .consumable: nil
        case .notYet: .notYet
        case .expired: .expired
        case .revoked: .revoked
        case .upgraded: .upgraded
        case .lengthUnknown: .lengthUnknown
        case .undetermined: undecidable ?? (purchase.productType == nil ? .typeMissing : .endMissing)
        }
    }

    /// The remaining quantity. The end of a period does not reduce it; a refund does, even after the end.
    func quantity(at moment: Moment, _ access: Entitlements.Access) -> Int {
        switch access {
        case .consumable(let quantity): return max(0, quantity)
        case .revoked: return 0
        default:
            if takenBack.map({ $0 <= moment.date }) ?? false { return 0 }
            guard undecidable != .quantityMissing, undecidable != .quantityInvalid else { return 0 }
            return hasSeats ? 1 : purchase.quantity ?? 1
        }
    }

    /// The seats of each of ``bought``; `nil` if the evidence says none, and for members.
    ///
    /// - Parameter sources: All transactions.
    func seats(at moment: Moment, _ sources: [Source]) -> [Int]? {
        guard hasSeats, transactions.contains(where: { sources[$0].purchase.saysSeats }) else { return nil }
        return bought.map { period in
            if let revoked = period.revoked, revoked <= moment.date { return 0 }
            // Copies that were signed before a refund do not know of it.
            let signed = period.transactions.lazy.map { sources[$0].purchase }.filter { $0.multiSeatInfo != nil }
            return (signed.max { $0.signedDate < $1.signedDate } ?? period.purchase).seatCount
        }
    }

    /// The next date at which ``quantity(at:_:)`` or ``seats(at:_:)`` can change if Apple signs nothing more.
    func nextChange(after moment: Moment, saysSeats: Bool) -> Instant? {
        let begin = moment.hasBegun(start) ? nil : start
        let seatChanges = saysSeats ? bought.map(\.revoked) : []
        return ([begin, takenBack] + seatChanges).compactMap(\.self).filter { $0 > moment.date }.min()
    }
}

extension Purchase {
    /// The end of the period; `nil` for a consumable.
    fileprivate var periodEnd: Instant? { productType == .consumable ? nil : expiresDate }

    /// The end of the evidence, with which access ends.
    fileprivate var evidenceEnd: Instant? { productType == .consumable ? nil : evidenceExpirationDate }

    fileprivate var upgradeSigned: Instant? { isUpgraded == true ? signedDate : nil }

    /// The date of the revocation; `distantPast` if the date is not known.
    fileprivate var revocationMoment: Instant? { isRevoked == true ? revocationDate ?? .distantPast : nil }

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
        return Int((Int128(max(0, quantity ?? 0)) * Int128(100_000 - revokedPart) + 50_000) / 100_000)
    }
}
