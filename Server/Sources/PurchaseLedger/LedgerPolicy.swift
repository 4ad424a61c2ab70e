public import AppStoreReceipt
public import SpanASN1
import ServerText

/// What the ledger grants.
public struct LedgerPolicy: Sendable {
    /// The products that are for sale; `nil` for all. They are compared byte for byte.
    public var productIDs: [String]? {
        didSet { forSale = productIDs.map { Set($0.map(UTF8Bytes.init)) } }
    }
    /// How far a purchase date may be in the future, for clocks that are slow.
    public var clockAllowance: Duration = .seconds(300)
    /// Returns the end of a non-renewing subscription; `nil` if it is not known. It then has no end, and is granted as a consumable is.
    public var endOfNonRenewing: @Sendable (Purchase) -> Instant? = { _ in nil }

    private var forSale: Set<UTF8Bytes>?

    /// Creates a policy under which every product is for sale.
    public init() {}

    func isForSale(_ productID: String) -> Bool { forSale?.contains(UTF8Bytes(productID)) ?? true }

    /// The one place that asks what purchases mean.
    func entitlements(_ evidence: FamilyEvidence, at date: Instant) -> Entitlements {
        Entitlements(
            trustingStored: evidence.purchases, renewals: evidence.renewals, at: date, clockAllowance: clockAllowance,
            endOfNonRenewing: endOfNonRenewing)
    }
}
