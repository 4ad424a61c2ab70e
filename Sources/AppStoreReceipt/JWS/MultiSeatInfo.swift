import StrictText

/// The seats of a transaction of an auto-renewable subscription
/// ([`transactionMultiSeatInfo`](https://developer.apple.com/documentation/appstoreserverapi/transactionmultiseatinfo)).
///
/// The number of seats that the transaction bought is its ``TransactionInfo/quantity``.
public struct MultiSeatInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case invitationManagement, priceTiers, revokedSeatQuantity
    }

    /// The party that can invite members.
    public var invitationManagement: InvitationManagement? { members.value(.invitationManagement) }
    /// The prices of the seats, which depend on their number.
    public var priceTiers: [SeatPriceTier]? { members.objects(.priceTiers) }
    /// The number of seats that Apple refunded; `nil` for none. It never ends the buyer's access
    /// ([`revokedSeatQuantity`](https://developer.apple.com/documentation/appstoreserverapi/revokedseatquantity)).
    public var revokedSeatQuantity: Int? { members.integer(.revokedSeatQuantity).map { Int($0) } }
}

extension MultiSeatInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .invitationManagement: .string
        case .priceTiers: .objects(SeatPriceTier.self)
        case .revokedSeatQuantity: .integer
        }
    }
    var isInformative: Bool { self != .revokedSeatQuantity }
}

/// The prices of the seats of a subscription from the next renewal on (`multiSeatInfo` of renewal information).
public struct RenewalMultiSeatInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case renewalPriceTiers
    }

    /// The prices of the seats at the next renewal.
    public var renewalPriceTiers: [SeatPriceTier]? { members.objects(.renewalPriceTiers) }
}

extension RenewalMultiSeatInfo.Member: JWSInformativeMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType { .objects(SeatPriceTier.self) }
}

/// The price of each of a number of seats.
public struct SeatPriceTier: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case price, quantity
    }

    /// The price of one seat, in thousandths of the unit of the payload's currency.
    public var price: Int64? { members.integer(.price) }
    /// The number of seats at this price.
    public var quantity: Int? { members.integer(.quantity).map { Int($0) } }
}

extension SeatPriceTier.Member: JWSInformativeMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType { .integer }
}
