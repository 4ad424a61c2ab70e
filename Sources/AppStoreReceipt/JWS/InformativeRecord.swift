import StrictText

/// An object in a payload that decides nothing. Users read it as a ``JSONObject``; its members are known here for the
/// outputs, which show dates in RFC 3339, and for minting.
struct InformativeRecord<Member: JWSInformativeMember>: JWSRecord {
    let members: JWSMembers<Member>
}

// MARK: Commitments

/// The commitment of a subscription that is billed by the month, in a transaction.
package enum TransactionCommitmentMember: String, CaseIterable, JWSInformativeMember {
    case billingPeriodNumber, commitmentExpiresDate, commitmentPrice, totalBillingPeriods

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType { self == .commitmentExpiresDate ? .date : .integer }
}

/// The next commitment of a subscription that is billed by the month.
package enum RenewalCommitmentMember: String, CaseIterable, JWSInformativeMember {
    case commitmentAutoRenewProductId, commitmentAutoRenewStatus, commitmentRenewalBillingPlanType
    case commitmentRenewalDate, commitmentRenewalPrice

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .commitmentAutoRenewProductId, .commitmentRenewalBillingPlanType: .string
        case .commitmentAutoRenewStatus, .commitmentRenewalPrice: .integer
        case .commitmentRenewalDate: .date
        }
    }
}

// MARK: Advanced Commerce API

/// The part of a transaction that belongs to the Advanced Commerce API.
package enum CommerceTransactionMember: String, CaseIterable, JWSInformativeMember {
    case descriptors, estimatedTax, items, period, requestReferenceId, taxCode, taxExclusivePrice, taxRate

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .descriptors: .object(InformativeRecord<CommerceDescriptorMember>.self)
        case .items: .objects(InformativeRecord<CommerceItemMember>.self)
        case .estimatedTax, .taxExclusivePrice: .integer
        default: .string
        }
    }
}

/// The part of renewal information that belongs to the Advanced Commerce API.
package enum CommerceRenewalMember: String, CaseIterable, JWSInformativeMember {
    case consistencyToken, descriptors, items, period, requestReferenceId, taxCode

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .descriptors: .object(InformativeRecord<CommerceDescriptorMember>.self)
        case .items: .objects(InformativeRecord<CommerceItemMember>.self)
        default: .string
        }
    }
}

/// The names of a product that the customer sees.
package enum CommerceDescriptorMember: String, CaseIterable, JWSInformativeMember {
    case description, displayName

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType { .string }
}

/// A product that was bought, or one that renews.
package enum CommerceItemMember: String, CaseIterable, JWSInformativeMember {
    case sku = "SKU"
    case description, displayName, offer, price, priceIncreaseInfo, refunds, revocationDate

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .sku, .description, .displayName: .string
        case .offer: .object(InformativeRecord<CommerceOfferMember>.self)
        case .price: .integer
        case .priceIncreaseInfo: .object(InformativeRecord<CommercePriceIncreaseMember>.self)
        case .refunds: .objects(InformativeRecord<CommerceRefundMember>.self)
        case .revocationDate: .date
        }
    }
}

/// A discount on a subscription.
package enum CommerceOfferMember: String, CaseIterable, JWSInformativeMember {
    case period, periodCount, price, reason

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType { self == .period || self == .reason ? .string : .integer }
}

/// A refund of an item.
package enum CommerceRefundMember: String, CaseIterable, JWSInformativeMember {
    case refundAmount, refundDate, refundReason, refundType

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .refundAmount: .integer
        case .refundDate: .date
        case .refundReason, .refundType: .string
        }
    }
}

/// A future price increase.
package enum CommercePriceIncreaseMember: String, CaseIterable, JWSInformativeMember {
    case dependentSKUs, price, status

    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .dependentSKUs: .strings
        case .price: .integer
        case .status: .string
        }
    }
}
