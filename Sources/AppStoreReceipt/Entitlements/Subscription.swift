public import Instants

/// The state of a subscription at a date.
///
/// The periods of a subscription have the same original transaction id, which does not change with renewals, upgrades
/// and downgrades within a subscription group. (A migration changes it, and `previousOriginalTransactionID` joins the
/// two.)
public struct Subscription: Hashable, Sendable {
    /// All periods, ordered by purchase date. Those that begin after the date are among them.
    ///
    /// Restored transactions of a period, and those of seats that were added to it, are not listed again.
    public let periods: [Entitlements.Item]
    /// The period that decides: the one that is running or, if none is, the one that began last.
    public let currentPeriod: Entitlements.Item
    /// The date access ends or ended: the end of the last period that follows ``currentPeriod`` without a gap. If it is
    /// not known when access ended, it is the start of that period.
    public let expiresDate: Instant
    /// A Boolean value that indicates whether access continues after the end of the period, because Apple is still
    /// trying to charge.
    public let isInGracePeriod: Bool
    /// What Apple signed last about the next renewal; `nil` if it is not known what comes after ``expiresDate``, and
    /// for family members and for members to whom a seat is assigned, whose buyer renews.
    ///
    /// It is of the same environment, app and original transaction, whatever the order in which it arrived. It ages:
    /// see ``SubscriptionRenewal/signedDate``. Receipts and transactions do not contain it. Ask the App Store Server
    /// API (Get All Subscription Statuses), or pass renewal information and notifications.
    public let renewal: SubscriptionRenewal?

    /// The original transaction id; after a migration, the latest.
    public var originalTransactionID: String { periods[periods.count - 1].purchase.originalTransactionID }
    /// The environment of its purchases. Two subscriptions of different environments can have one original transaction
    /// id.
    public var environment: AppStoreEnvironment? { periods[periods.count - 1].purchase.environment }
    /// The bundle id of the app.
    public var bundleID: String? { periods[periods.count - 1].purchase.bundleID }
    /// The access that ``currentPeriod`` gives, or the reason it gives none.
    public var access: Entitlements.Access { currentPeriod.access }
    /// A Boolean value that indicates whether the subscription gives access.
    public var isActive: Bool { access.givesAccess }
    /// The product of ``currentPeriod``. After an upgrade, it is the new product.
    public var productID: String { currentPeriod.purchase.productID }
    /// The identifier of the subscription group; `nil` if no evidence contains it.
    public var groupID: String? {
        periods.lazy.reversed().compactMap { $0.purchase.subscriptionGroupID }.first
    }
    /// The seats of ``currentPeriod``: those of all its transactions. It is `nil` if the evidence says no seats, and
    /// for members.
    public var seats: Int? { currentPeriod.periodSeats }
    /// A Boolean value that indicates whether the subscription will renew; `nil` if it is not known.
    public var willRenew: Bool? {
        switch renewal?.autoRenewStatus {
        case .on?: true
        case .off?: false
        default: nil
        }
    }
}

extension Subscription {
    /// What ``renewal`` says of a price increase; `nil` if it is not known.
    public var priceIncrease: PriceIncrease? {
        guard let renewal else { return nil }
        return switch renewal.priceIncreaseStatus {
        case nil: PriceIncrease.none
        case .pending?: .pending
        case .accepted?: .agreedOrNotified
        default: nil
        }
    }

    /// The reason the subscription expired, as ``renewal`` says it; `nil` if it has not expired, or if it is not known.
    public var expirationReason: ExpirationReason? {
        switch renewal?.expirationIntent {
        case .cancelled?: .cancelled
        case .billingError?: .billingError
        case .priceIncreaseNotAccepted?: .priceIncreaseDeclined
        case .productUnavailable?: .productUnavailable
        case .other?: .other
        default: nil
        }
    }

    /// The states of a price increase
    /// ([`priceIncreaseStatus`](https://developer.apple.com/documentation/appstoreserverapi/priceincreasestatus)). The
    /// raw values are those of JSON.
    @nonexhaustive
    public enum PriceIncrease: String, Hashable, Sendable, CaseIterable {
        /// There is none.
        case none
        /// The customer has not answered.
        case pending
        /// The customer agreed, or was notified where no consent is required. Apple does not say which.
        case agreedOrNotified = "agreed-or-notified"
    }

    /// The reasons for which a subscription expired
    /// ([`expirationIntent`](https://developer.apple.com/documentation/appstoreserverapi/expirationintent)). The raw
    /// values are those of JSON.
    @nonexhaustive
    public enum ExpirationReason: String, Hashable, Sendable, CaseIterable {
        /// The customer turned renewal off.
        case cancelled
        /// Apple could not charge the customer.
        case billingError = "billing-error"
        /// The customer did not agree to a price increase, or to the price that follows an offer.
        case priceIncreaseDeclined = "price-increase-declined"
        /// The product was not available at the time of the renewal.
        case productUnavailable = "product-unavailable"
        /// Any other reason.
        case other
    }
}
