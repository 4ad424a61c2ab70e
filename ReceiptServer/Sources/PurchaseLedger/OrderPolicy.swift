public import Instants

/// The rules for claiming purchases by their tokens. `ORDERS.md` lists the rules R1 to R15.
public struct OrderPolicy: Sendable {
    /// The date from which a purchase without a token isn't granted to its submitter (R4), or `nil` for never.
    public var requiresTokenSince: Instant?
    /// The time that an order stays open, up to a year.
    public var orderTime: Duration = .seconds(72 * 3600)
    /// The longest time that orders can stay open, in hours.
    package static let maximumOrderHours = 8760

    /// Creates a policy that requires no token.
    public init() {}
}

extension LedgerPolicy {
    /// The time that an order stays open, even in a ledger without ``orders``.
    var orderTime: Duration { (orders ?? OrderPolicy()).orderTime }
}
