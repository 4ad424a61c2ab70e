@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// What the ledger grants.
public struct LedgerPolicy: Sendable {
    /// The products that are for sale, compared byte for byte, or `nil` for all.
    public var productIDs: [String]? {
        didSet { forSale = productIDs.map { Set($0.map(UTF8Bytes.init)) } }
    }
    /// How far in the future a purchase date may be, if the clock is slow.
    public var clockAllowance: Duration = .seconds(300)
    /// The types of products, for evidence that doesn't contain the type. A non-renewing subscription whose length is
    /// missing here has no end, and is granted like a consumable.
    ///
    /// The ledger stores the type with each granted purchase, so a change doesn't affect existing grants.
    public var productTypes: ProductCatalog = [:]

    /// The rules for claiming purchases by their tokens, or `nil` to let the first account that submits a purchase own
    /// it.
    public var orders: OrderPolicy?
    /// Whether to post events about subscription lifecycles and refund requests, too. They change no quantity.
    public var lifecycleEvents = false
    /// The inquiries to make, or `nil` for none.
    package var inquiries: InquiryPolicy?
    /// The ledger's clock and random numbers.
    package var surroundings = Surroundings()
    /// The number of transactions above which a subscription is divided, so that not all of them are loaded.
    var wholeLineageLimit = 24

    private var forSale: Set<UTF8Bytes>?

    /// Creates a policy under which every product is for sale.
    public init() {}

    var rules: LedgerRules {
        LedgerRules(
            forSale: forSale, clockAllowance: clockAllowance, productTypes: productTypes, usesTokens: orders != nil,
            requiresTokenSince: orders?.requiresTokenSince, notifiesLifecycles: lifecycleEvents,
            wholeLineageLimit: wholeLineageLimit)
    }
}
