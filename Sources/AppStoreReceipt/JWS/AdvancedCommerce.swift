import StrictText

// What signed data says of purchases by the Advanced Commerce API. Prices are in thousandths of the currency's unit.

/// The part of a transaction that belongs to the Advanced Commerce API.
public struct AdvancedCommerceTransactionInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case descriptors, estimatedTax, items, period, requestReferenceId, taxCode, taxExclusivePrice, taxRate
    }

    /// The names of the subscription that the customer sees.
    public var descriptors: AdvancedCommerceDescriptors? { members.object(.descriptors) }
    /// The estimated tax, in thousandths of the currency's unit.
    public var estimatedTax: Int64? { members.integer(.estimatedTax) }
    /// The products that were bought.
    public var items: [AdvancedCommerceTransactionItem]? { members.objects(.items) }
    /// The duration of a period of the subscription, in ISO 8601.
    public var period: String? { members.string(.period) }
    /// The UUID of the developer's request.
    public var requestReferenceID: String? { members.string(.requestReferenceId) }
    /// Apple's code for the tax.
    public var taxCode: String? { members.string(.taxCode) }
    /// The price without tax, in thousandths of the currency's unit.
    public var taxExclusivePrice: Int64? { members.integer(.taxExclusivePrice) }
    /// The tax rate, as a decimal number.
    public var taxRate: String? { members.string(.taxRate) }
}

extension AdvancedCommerceTransactionInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .descriptors: .object(AdvancedCommerceDescriptors.self)
        case .items: .objects(AdvancedCommerceTransactionItem.self)
        case .estimatedTax, .taxExclusivePrice: .integer
        default: .string
        }
    }
}

/// The part of renewal information that belongs to the Advanced Commerce API.
public struct AdvancedCommerceRenewalInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case consistencyToken, descriptors, items, period, requestReferenceId, taxCode
    }

    /// A token that your next request about this subscription must contain.
    public var consistencyToken: String? { members.string(.consistencyToken) }
    /// The names of the subscription that the customer sees.
    public var descriptors: AdvancedCommerceDescriptors? { members.object(.descriptors) }
    /// The products that renew.
    public var items: [AdvancedCommerceRenewalItem]? { members.objects(.items) }
    /// The duration of a period of the subscription, in ISO 8601.
    public var period: String? { members.string(.period) }
    /// The UUID of the developer's request.
    public var requestReferenceID: String? { members.string(.requestReferenceId) }
    /// Apple's code for the tax.
    public var taxCode: String? { members.string(.taxCode) }
}

extension AdvancedCommerceRenewalInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .descriptors: .object(AdvancedCommerceDescriptors.self)
        case .items: .objects(AdvancedCommerceRenewalItem.self)
        default: .string
        }
    }
}

/// The names of a product that the customer sees.
public struct AdvancedCommerceDescriptors: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>
    package enum Member: String, CaseIterable, Sendable { case description, displayName }

    /// The description of the product (`description`).
    public var productDescription: String? { members.string(.description) }
    /// The name of the product.
    public var displayName: String? { members.string(.displayName) }
}

extension AdvancedCommerceDescriptors.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm { .string }
}

/// A product that was bought.
public struct AdvancedCommerceTransactionItem: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case sku = "SKU"
        case description, displayName, offer, price, refunds, revocationDate
    }

    /// The developer's identifier of the product.
    public var sku: String? { members.string(.sku) }
    /// The description of the product (`description`).
    public var productDescription: String? { members.string(.description) }
    /// The name of the product.
    public var displayName: String? { members.string(.displayName) }
    /// The discount on the purchase.
    public var offer: AdvancedCommerceOffer? { members.object(.offer) }
    /// The price of the item, in thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// The refunds of the item. There can be several.
    public var refunds: [AdvancedCommerceRefund]? { members.objects(.refunds) }
    /// The date access to the item was revoked.
    public var revocationDate: Instant? { members.date(.revocationDate) }
}

extension AdvancedCommerceTransactionItem.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .sku, .description, .displayName: .string
        case .offer: .object(AdvancedCommerceOffer.self)
        case .price: .integer
        case .refunds: .objects(AdvancedCommerceRefund.self)
        case .revocationDate: .date
        }
    }
}

/// A product that renews.
public struct AdvancedCommerceRenewalItem: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case sku = "SKU"
        case description, displayName, offer, price, priceIncreaseInfo
    }

    /// The developer's identifier of the product.
    public var sku: String? { members.string(.sku) }
    /// The description of the product (`description`).
    public var productDescription: String? { members.string(.description) }
    /// The name of the product.
    public var displayName: String? { members.string(.displayName) }
    /// The discount on the renewal.
    public var offer: AdvancedCommerceOffer? { members.object(.offer) }
    /// The price of the item, in thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// A future price increase.
    public var priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo? { members.object(.priceIncreaseInfo) }
}

extension AdvancedCommerceRenewalItem.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .sku, .description, .displayName: .string
        case .offer: .object(AdvancedCommerceOffer.self)
        case .price: .integer
        case .priceIncreaseInfo: .object(AdvancedCommercePriceIncreaseInfo.self)
        }
    }
}

/// A discount on a subscription.
public struct AdvancedCommerceOffer: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>
    package enum Member: String, CaseIterable, Sendable { case period, periodCount, price, reason }

    /// The reasons for an offer.
    public struct Reason: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// To acquire a new customer.
        public static let acquisition = Reason(rawValue: "ACQUISITION")
        /// To win back a former customer.
        public static let winBack = Reason(rawValue: "WIN_BACK")
        /// To keep a customer.
        public static let retention = Reason(rawValue: "RETENTION")
    }

    /// The duration of one of ``periodCount`` periods, in ISO 8601.
    public var period: String? { members.string(.period) }
    /// The number of periods of the offer.
    public var periodCount: Int? { members.integer(.periodCount).map { Int($0) } }
    /// The price of one period, in thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// The reason for the offer.
    public var reason: Reason? { members.value(.reason) }
}

extension AdvancedCommerceOffer.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm { self == .period || self == .reason ? .string : .integer }
}

/// A refund of an item.
public struct AdvancedCommerceRefund: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable { case refundAmount, refundDate, refundReason, refundType }

    /// The reasons for a refund.
    public struct Reason: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer did not intend the purchase.
        public static let unintendedPurchase = Reason(rawValue: "UNINTENDED_PURCHASE")
        /// The customer did not receive the product, or could not use it.
        public static let fulfillmentIssue = Reason(rawValue: "FULFILLMENT_ISSUE")
        /// The customer was not satisfied.
        public static let unsatisfiedWithPurchase = Reason(rawValue: "UNSATISFIED_WITH_PURCHASE")
        /// The customer has a legal reason.
        public static let legal = Reason(rawValue: "LEGAL")
        /// The customer has another reason.
        public static let other = Reason(rawValue: "OTHER")
        /// The items of the subscription were changed.
        public static let modifyItemsRefund = Reason(rawValue: "MODIFY_ITEMS_REFUND")
        /// In the sandbox, the reason for a simulated declined refund.
        public static let simulateRefundDecline = Reason(rawValue: "SIMULATE_REFUND_DECLINE")
    }

    /// The types of refunds.
    public struct Kind: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A refund of the whole price.
        public static let full = Kind(rawValue: "FULL")
        /// A refund for the rest of the period.
        public static let prorated = Kind(rawValue: "PRORATED")
        /// A refund of an amount that the developer chose.
        public static let custom = Kind(rawValue: "CUSTOM")
    }

    /// The refunded amount, in thousandths of the currency's unit.
    public var amount: Int64? { members.integer(.refundAmount) }
    /// The date of the refund.
    public var date: Instant? { members.date(.refundDate) }
    /// The reason for the refund.
    public var reason: Reason? { members.value(.refundReason) }
    /// The type of the refund.
    public var type: Kind? { members.value(.refundType) }
}

extension AdvancedCommerceRefund.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .refundAmount: .integer
        case .refundDate: .date
        case .refundReason, .refundType: .string
        }
    }
}

/// A future price increase.
public struct AdvancedCommercePriceIncreaseInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JWSObject { members.object }
    package let members: JWSMembers<Member>
    package enum Member: String, CaseIterable, Sendable { case dependentSKUs, price, status }

    /// The statuses of a price increase.
    public struct Status: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The increase is scheduled, and the customer was not asked yet.
        public static let scheduled = Status(rawValue: "SCHEDULED")
        /// The customer was asked and has not answered.
        public static let pending = Status(rawValue: "PENDING")
        /// The customer agreed.
        public static let accepted = Status(rawValue: "ACCEPTED")
    }

    /// The items whose price increases only together with this item's.
    public var dependentSKUs: [String]? { members.strings(.dependentSKUs) }
    /// The new price, in thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// The status of the price increase.
    public var status: Status? { members.value(.status) }
}

extension AdvancedCommercePriceIncreaseInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .dependentSKUs: .strings
        case .price: .integer
        case .status: .string
        }
    }
}
