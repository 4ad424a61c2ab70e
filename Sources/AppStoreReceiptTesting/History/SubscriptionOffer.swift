public import AppStoreReceipt

/// An offer for a period of a subscription.
public struct SubscriptionOffer: Hashable, Sendable {
    /// The type of the offer.
    public var type: OfferType
    /// The way the offer is paid.
    public var discountType: OfferDiscountType
    /// The code of the offer, or the identifier of a promotional or win-back offer. Introductory offers have none.
    public var id: String?

    /// Creates an offer of any type.
    public init(type: OfferType, discountType: OfferDiscountType, id: String? = nil) {
        self.type = type
        self.discountType = discountType
        self.id = id
    }

    /// A free trial for new customers.
    public static let freeTrial = introductory(.freeTrial)

    /// Returns an introductory offer.
    public static func introductory(_ discountType: OfferDiscountType) -> SubscriptionOffer {
        SubscriptionOffer(type: .introductory, discountType: discountType)
    }

    /// Returns a promotional offer. Receipts contain its identifier.
    public static func promotional(
        _ id: String, _ discountType: OfferDiscountType = .payAsYouGo
    ) -> SubscriptionOffer {
        SubscriptionOffer(type: .promotional, discountType: discountType, id: id)
    }

    /// Returns an offer code. Receipts do not contain it.
    public static func code(_ code: String, _ discountType: OfferDiscountType = .payAsYouGo) -> SubscriptionOffer {
        SubscriptionOffer(type: .offerCode, discountType: discountType, id: code)
    }

    /// Returns a win-back offer. Receipts do not contain it.
    public static func winBack(_ id: String, _ discountType: OfferDiscountType = .payAsYouGo) -> SubscriptionOffer {
        SubscriptionOffer(type: .winBack, discountType: discountType, id: id)
    }
}
