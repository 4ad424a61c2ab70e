import StrictText

// What signed data says of purchases by the Advanced Commerce API. Prices are in thousandths of the currency's unit.

/// The Advanced Commerce part of a transaction.
public struct AdvancedCommerceTransactionInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case descriptors, estimatedTax, items, period, requestReferenceId, taxCode, taxExclusivePrice, taxRate
    }

    /// What the subscription is called, to the customer.
    public var descriptors: AdvancedCommerceDescriptors? { members.object(.descriptors) }
    /// In thousandths of the currency's unit.
    public var estimatedTax: Int64? { members.integer(.estimatedTax) }
    /// The products bought.
    public var items: [AdvancedCommerceTransactionItem]? { members.objects(.items) }
    /// How long a period of the subscription lasts, by ISO 8601.
    public var period: String? { members.string(.period) }
    /// The UUID of the request that led to this.
    public var requestReferenceID: String? { members.string(.requestReferenceId) }
    /// Which tax applies, by Apple's code.
    public var taxCode: String? { members.string(.taxCode) }
    /// Without tax, in thousandths of the currency's unit.
    public var taxExclusivePrice: Int64? { members.integer(.taxExclusivePrice) }
    /// A decimal number.
    public var taxRate: String? { members.string(.taxRate) }

    init(members: JWSMembers<Member>) { self.members = members }
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

/// The Advanced Commerce part of a renewal.
public struct AdvancedCommerceRenewalInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case consistencyToken, descriptors, items, period, requestReferenceId, taxCode
    }

    /// What the developer's next request about this subscription has to bring along.
    public var consistencyToken: String? { members.string(.consistencyToken) }
    /// What the subscription is called, to the customer.
    public var descriptors: AdvancedCommerceDescriptors? { members.object(.descriptors) }
    /// The products that renew.
    public var items: [AdvancedCommerceRenewalItem]? { members.objects(.items) }
    /// How long a period of the subscription lasts, by ISO 8601.
    public var period: String? { members.string(.period) }
    /// The UUID of the request that led to this.
    public var requestReferenceID: String? { members.string(.requestReferenceId) }
    /// Which tax applies, by Apple's code.
    public var taxCode: String? { members.string(.taxCode) }

    init(members: JWSMembers<Member>) { self.members = members }
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

/// What a product is called, to the customer.
public struct AdvancedCommerceDescriptors: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>
    package enum Member: String, CaseIterable, Sendable { case description, displayName }

    /// A sentence about it (`description`).
    public var productDescription: String? { members.string(.description) }
    /// Its name.
    public var displayName: String? { members.string(.displayName) }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension AdvancedCommerceDescriptors.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm { .string }
}

/// A product bought, by the developer's own number.
public struct AdvancedCommerceTransactionItem: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case sku = "SKU"
        case description, displayName, offer, price, refunds, revocationDate
    }

    /// The developer's own number of it.
    public var sku: String? { members.string(.sku) }
    /// A sentence about it (`description`).
    public var productDescription: String? { members.string(.description) }
    /// Its name.
    public var displayName: String? { members.string(.displayName) }
    /// The discount it was bought with.
    public var offer: AdvancedCommerceOffer? { members.object(.offer) }
    /// In thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// Its refunds; there can be several.
    public var refunds: [AdvancedCommerceRefund]? { members.objects(.refunds) }
    /// When access to this item was revoked.
    public var revocationDate: Instant? { members.date(.revocationDate) }

    init(members: JWSMembers<Member>) { self.members = members }
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
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case sku = "SKU"
        case description, displayName, offer, price, priceIncreaseInfo
    }

    /// The developer's own number of it.
    public var sku: String? { members.string(.sku) }
    /// A sentence about it (`description`).
    public var productDescription: String? { members.string(.description) }
    /// Its name.
    public var displayName: String? { members.string(.displayName) }
    /// The discount it renews with.
    public var offer: AdvancedCommerceOffer? { members.object(.offer) }
    /// In thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// A price increase to come.
    public var priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo? { members.object(.priceIncreaseInfo) }

    init(members: JWSMembers<Member>) { self.members = members }
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
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>
    package enum Member: String, CaseIterable, Sendable { case period, periodCount, price, reason }

    /// Why the offer is made.
    public struct Reason: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// To win a new customer.
        public static let acquisition = Reason(rawValue: "ACQUISITION")
        /// To win back one who has left.
        public static let winBack = Reason(rawValue: "WIN_BACK")
        /// To keep one.
        public static let retention = Reason(rawValue: "RETENTION")
    }

    /// How long one of ``periodCount`` periods lasts, by ISO 8601.
    public var period: String? { members.string(.period) }
    /// How many periods the offer lasts.
    public var periodCount: Int64? { members.integer(.periodCount) }
    /// Of one period, in thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// Why the offer is made.
    public var reason: Reason? { members.value(.reason) }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension AdvancedCommerceOffer.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm { self == .period || self == .reason ? .string : .integer }
}

/// A refund of an item.
public struct AdvancedCommerceRefund: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable { case refundAmount, refundDate, refundReason, refundType }

    /// Why the customer was refunded.
    public struct Reason: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer did not mean to buy.
        public static let unintendedPurchase = Reason(rawValue: "UNINTENDED_PURCHASE")
        /// The customer did not get what was bought, or could not use it.
        public static let fulfillmentIssue = Reason(rawValue: "FULFILLMENT_ISSUE")
        /// The customer was not satisfied.
        public static let unsatisfiedWithPurchase = Reason(rawValue: "UNSATISFIED_WITH_PURCHASE")
        /// For a legal reason.
        public static let legal = Reason(rawValue: "LEGAL")
        /// For any other reason.
        public static let other = Reason(rawValue: "OTHER")
        /// The items of the subscription were changed.
        public static let modifyItemsRefund = Reason(rawValue: "MODIFY_ITEMS_REFUND")
        /// In the sandbox: simulates a refund that is declined.
        public static let simulateRefundDecline = Reason(rawValue: "SIMULATE_REFUND_DECLINE")
    }

    /// How much of the price was refunded.
    public struct Kind: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// All of it.
        public static let full = Kind(rawValue: "FULL")
        /// For the part of the period that was left.
        public static let prorated = Kind(rawValue: "PRORATED")
        /// An amount of its own.
        public static let custom = Kind(rawValue: "CUSTOM")
    }

    /// In thousandths of the currency's unit.
    public var amount: Int64? { members.integer(.refundAmount) }
    /// When it was refunded.
    public var date: Instant? { members.date(.refundDate) }
    /// Why it was refunded.
    public var reason: Reason? { members.value(.refundReason) }
    /// How much of the price it is.
    public var type: Kind? { members.value(.refundType) }

    init(members: JWSMembers<Member>) { self.members = members }
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

/// A price increase to come.
public struct AdvancedCommercePriceIncreaseInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>
    package enum Member: String, CaseIterable, Sendable { case dependentSKUs, price, status }

    /// What the customer has said to it.
    public struct Status: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It is fixed, and the customer was not asked yet.
        public static let scheduled = Status(rawValue: "SCHEDULED")
        /// The customer was asked and has not answered.
        public static let pending = Status(rawValue: "PENDING")
        /// The customer has agreed.
        public static let accepted = Status(rawValue: "ACCEPTED")
    }

    /// The items whose price rises only together with this one's.
    public var dependentSKUs: [String]? { members.strings(.dependentSKUs) }
    /// The new price, in thousandths of the currency's unit.
    public var price: Int64? { members.integer(.price) }
    /// Where it stands.
    public var status: Status? { members.value(.status) }

    init(members: JWSMembers<Member>) { self.members = members }
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
