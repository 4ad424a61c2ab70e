import SpanASN1
import StrictText

extension Purchase {
    /// Orders purchases by purchase date, then by end, then by identifiers, so that the order of the evidence decides nothing.
    func isBefore(_ other: Purchase) -> Bool {
        func dates(_ purchase: Purchase) -> (Instant, Instant) {
            (purchase.purchaseDate, purchase.expiresDate ?? .distantFuture)
        }
        let (mine, others) = (dates(self), dates(other))
        guard mine == others else { return mine < others }
        return key.lexicographicallyPrecedes(other.key)
    }

    private var key: [UInt8] {
        [transactionID, bundleID ?? "", environment?.rawValue ?? ""].flatMap { Array($0.utf8) + [0] }
    }

    /// Orders what was signed by its date. What was signed together is ordered so that a revocation, the larger part of
    /// two, an upgrade and the larger values count.
    func isSignedBefore(_ other: Purchase) -> Bool {
        guard signedDate == other.signedDate else { return signedDate < other.signedDate }
        func flags(_ purchase: Purchase) -> (Int64, Int, Instant, Instant) {
            (
                purchase.revokedPart ?? -1, purchase.isUpgraded == true ? 1 : 0,
                purchase.expiresDate ?? .distantPast, purchase.purchaseDate
            )
        }
        let (mine, others) = (flags(self), flags(other))
        guard mine == others else { return mine < others }
        return values.lexicographicallyPrecedes(other.values)
    }

    /// What two pieces of evidence of one transaction could still contradict each other about, for an order that is the same on every day.
    private var values: [UInt8] {
        [
            productID, "\(quantity)", productType?.rawValue, originalTransactionID, webOrderLineItemID,
            subscriptionGroupID, appAccountToken?.description, ownershipType?.rawValue, offer?.id,
            offer?.discountType?.rawValue, "\(offer?.type?.rawValue ?? 0)", offer?.period,
            previousOriginalTransactionID, revocationDate?.description, revocationReason.map { "\($0.rawValue)" },
            revocationType?.rawValue, revocationPercentage.map { "\($0)" }, originalPurchaseDate?.description,
            isRevoked.map { "\($0)" },
        ].flatMap { Array(($0 ?? "").utf8) + [0] }
    }

    /// Takes what a later signature says, and keeps what it cannot say.
    mutating func merge(_ later: Purchase) {
        productID = later.productID
        productType = later.productType ?? productType
        quantity = later.quantity
        subscriptionGroupID = later.subscriptionGroupID ?? subscriptionGroupID
        offer = PurchaseOffer(merging: offer, later.offer)
        // Its own id stands where a source has no original transaction id.
        if !later.originalTransactionID.hasSameBytes(as: later.transactionID)
            || originalTransactionID.hasSameBytes(as: transactionID)
        {
            originalTransactionID = later.originalTransactionID
        }
        previousOriginalTransactionID = later.previousOriginalTransactionID ?? previousOriginalTransactionID
        webOrderLineItemID = later.webOrderLineItemID ?? webOrderLineItemID
        purchaseDate = later.purchaseDate
        originalPurchaseDate = later.originalPurchaseDate ?? originalPurchaseDate
        expiresDate = later.expiresDate ?? expiresDate
        signedDate = later.signedDate
        // Evidence that does not expire proves the purchase when other evidence has expired.
        evidenceExpirationDate = evidenceExpirationDate.flatMap { date in
            later.evidenceExpirationDate.map { max($0, date) }
        }
        if later.isRevoked == false {
            isRevoked = false
            (revocationDate, revocationReason, revocationType, revocationPercentage) = (nil, nil, nil, nil)
        } else if later.isRevoked == true {
            if isRevoked == true, later.revocationDate == revocationDate, !later.saysRevokedPart {
                // The same revocation, from a receipt.
                revocationReason = later.revocationReason ?? revocationReason
            } else {
                (revocationDate, revocationReason) = (later.revocationDate, later.revocationReason)
                (revocationType, revocationPercentage) = (later.revocationType, later.revocationPercentage)
            }
            isRevoked = true
        }
        isUpgraded = later.isUpgraded ?? isUpgraded
        ownershipType = later.ownershipType ?? ownershipType
        appAccountToken = later.appAccountToken ?? appAccountToken
    }
}

extension Purchase {
    /// Whether the evidence would say that only a part was revoked. A receipt, which does not say whether the purchase was upgraded either, would not.
    private var saysRevokedPart: Bool { isUpgraded != nil || revocationType != nil || revocationPercentage != nil }
}

extension PurchaseOffer {
    /// Merges what two signatures say, of which the second is the later.
    fileprivate init?(merging first: PurchaseOffer?, _ later: PurchaseOffer?) {
        guard let first, let later else {
            guard let offer = later ?? first else { return nil }
            self = offer
            return
        }
        self.init(
            type: later.type ?? first.type, id: later.id ?? first.id,
            discountType: later.discountType ?? first.discountType, period: later.period ?? first.period)
    }
}

extension SubscriptionRenewal {
    /// Orders what was signed by its date, and what was signed together so that the order of the evidence decides nothing.
    func isSignedBefore(_ other: SubscriptionRenewal) -> Bool {
        func order(_ renewal: SubscriptionRenewal) -> (Instant, Instant, Int64, Instant) {
            (
                renewal.signedDate, renewal.gracePeriodExpiresDate ?? .distantPast,
                renewal.autoRenewStatus?.rawValue ?? -1, renewal.renewalDate ?? .distantPast
            )
        }
        let (mine, others) = (order(self), order(other))
        guard mine == others else { return mine < others }
        return values.lexicographicallyPrecedes(other.values)
    }
    /// What two pieces of renewal information could still contradict each other about.
    private var values: [UInt8] {
        [
            productID, nextProductID, isInBillingRetryPeriod.map { "\($0)" }, expirationIntent.map { "\($0.rawValue)" },
            priceIncreaseStatus.map { "\($0.rawValue)" }, originalTransactionID,
        ].flatMap { Array(($0 ?? "").utf8) + [0] }
    }
}
