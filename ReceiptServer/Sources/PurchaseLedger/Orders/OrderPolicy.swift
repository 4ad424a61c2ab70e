public import Instants

/// How purchases reach accounts by the tokens with which they were made. `ORDERS.md` has the rules R1 to R15.
public struct OrderPolicy: Sendable {
    /// The date from which a purchase without a token is not granted to whoever brings it (R4); `nil` for never.
    public var requiresTokenSince: Instant?
    /// How long an order stays open.
    public var orderTime: Duration = .seconds(72 * 3600)

    /// Creates a policy that requires no token.
    public init() {}
}

extension LedgerPolicy {
    /// How long an order stays open, also one of a ledger without ``orders``.
    var orderTime: Duration { (orders ?? OrderPolicy()).orderTime }
}
