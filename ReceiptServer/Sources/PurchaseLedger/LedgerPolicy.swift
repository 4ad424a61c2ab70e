@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// What the ledger grants.
public struct LedgerPolicy: Sendable {
    /// The products that are for sale; `nil` for all. They are compared byte for byte.
    public var productIDs: [String]? {
        didSet { forSale = productIDs.map { Set($0.map(UTF8Bytes.init)) } }
    }
    /// How far a purchase date may be in the future, for clocks that are slow.
    public var clockAllowance: Duration = .seconds(300)
    /// The types of products, for purchases whose evidence does not say the type. A non-renewing subscription whose
    /// length is not among them has no end, and is granted as a consumable is.
    ///
    /// The ledger stores with a purchase the type by which it granted it. Grants stay as they are if this changes.
    public var productTypes: ProductCatalog = [:]

    /// How purchases reach accounts by the tokens with which they were made; `nil` to grant each to whoever submits
    /// it first.
    public var orders: OrderPolicy?
    /// Whether events report what becomes of subscriptions and of requests for refunds, too. They change no quantity.
    public var lifecycleEvents = false
    /// What the App Store is asked about, by whoever does so; `nil` for nothing.
    package var inquiries: InquiryPolicy?
    /// What the ledger takes from the machine.
    package var surroundings = Surroundings()
    /// A subscription with more transactions in the tables is divided, so that not all of them are loaded each time.
    var wholeLineageLimit = 24

    private var forSale: Set<UTF8Bytes>?

    /// Creates a policy under which every product is for sale.
    public init() {}

    /// What decides about purchases.
    var rules: LedgerRules {
        LedgerRules(
            forSale: forSale, clockAllowance: clockAllowance, productTypes: productTypes, usesTokens: orders != nil,
            requiresTokenSince: orders?.requiresTokenSince, notifiesLifecycles: lifecycleEvents,
            wholeLineageLimit: wholeLineageLimit)
    }
}
