public import Instants
import StrictText

/// The record of a purchase in a receipt.
///
/// A record grants nothing: see ``VerifiedPurchase``. It refers to its receipt, and makes strings on access. A field is
/// `nil` if its attribute is missing or an empty string. A field whose meaning is inferred is also `nil` if its value
/// has an unexpected type. The numbers in brackets are attribute types. Two records are equal if they are equal byte
/// for byte.
public struct InAppPurchase: Sendable {
    let storage: Receipt.Storage
    /// The index of the purchase in the receipt, from 0.
    public let index: Int

    private var entry: PurchaseEntry { storage.table.purchases[index] }

    /// The quantity that was bought [1701].
    public var quantity: Int? { entry.number(.quantity).map { Int($0) } }
    /// The product's identifier [1702].
    public var productID: String? { string(.productID) }
    /// The transaction's identifier [1703].
    public var transactionID: String? { string(.transactionID) }
    /// The date the product was bought, renewed or restored [1704].
    public var purchaseDate: Instant? { date(.purchaseDate) }
    /// The identifier of the first transaction of a subscription or of a restored purchase; missing in some records
    /// from Xcode [1705].
    public var originalTransactionID: String? { string(.originalTransactionID) }
    /// The purchase date of the first transaction; missing in some records from Xcode [1706].
    public var originalPurchaseDate: Instant? { date(.purchaseOriginalPurchaseDate) }
    /// The product's type (inferred) [1707].
    public var productType: ProductType? { entry.number(.productType).map(ProductType.init(receiptNumber:)) }
    /// The date this period of a subscription ends [1708].
    public var expiresDate: Instant? { date(.expiresDate) }
    /// The product's Apple id; 0 in the sandbox (inferred) [1710].
    public var itemID: String? { id(.itemID) }
    /// The identifier of this period of a subscription; `nil` if it is missing or 0, as for other products [1711].
    public var webOrderLineItemID: String? { entry.number(.webOrderLineItemID) == 0 ? nil : id(.webOrderLineItemID) }
    /// The date Apple refunded or revoked the purchase [1712].
    public var revocationDate: Instant? { date(.revocationDate) }
    /// A Boolean value that indicates whether this period is a free trial [1713].
    public var isTrialPeriod: Bool? { flag(.isTrialPeriod) }
    /// A Boolean value that indicates whether this period has an introductory price [1719].
    public var isInIntroOfferPeriod: Bool? { flag(.isInIntroOfferPeriod) }
    /// The reason Apple refunded or revoked the purchase [1720].
    public var revocationReason: RevocationReason? {
        entry.number(.revocationReason).map(RevocationReason.init(rawValue:))
    }
    /// The identifier of the promotional offer [1721].
    public var promotionalOfferID: String? { string(.promotionalOfferID) }

    /// All attributes of the purchase, undecoded, in its order.
    public var attributes: some Sequence<ReceiptAttribute> & Sendable {
        ReceiptAttributes(storage: storage, range: entry.record.range.shifted(by: storage.payload.lowerBound))
    }

    /// The attributes for which this type has no field, undecoded, in the purchase's order.
    public var unknownAttributes: [ReceiptAttribute] {
        let entry = entry
        return attributes.filter { !entry.shows($0.type) }
    }

    /// A Boolean value that indicates whether the record has a product, a transaction id, a purchase date and a
    /// quantity.
    var isComplete: Bool { entry.present & PurchaseField.required == PurchaseField.required }

    /// The required values of a complete record.
    var requiredValues: (productID: String, transactionID: String, purchaseDate: Instant, quantity: Int) {
        let entry = entry
        return (
            storage.string(ByteRange(bits: entry[.productID])), storage.string(ByteRange(bits: entry[.transactionID])),
            Instant(millisecondsSince1970: Int64(bitPattern: entry[.purchaseDate])),
            Int(truncatingIfNeeded: entry[.quantity])
        )
    }

    private func id(_ type: AttributeType) -> String? { entry.number(type).map { String(decimal: $0) } }

    // Inlined, since otherwise each call copies the entry.
    @inline(__always)
    private func string(_ type: AttributeType) -> String? { entry.bytes(type).map(storage.string) }

    /// A string of the purchase, for comparisons.
    func key(_ type: AttributeType) -> UTF8Bytes? { octets(type).map { UTF8Bytes($0) } }

    /// The UTF-8 of a string of the purchase.
    func octets(_ type: AttributeType) -> ArraySlice<UInt8>? { entry.bytes(type).map(storage.octets) }

    private func date(_ type: AttributeType) -> Instant? { entry.date(type) }

    private func flag(_ type: AttributeType) -> Bool? { entry.number(type).map { $0 != 0 } }
}

extension InAppPurchase: Hashable {
    public static func == (lhs: InAppPurchase, rhs: InAppPurchase) -> Bool {
        lhs.record == rhs.record
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(record.span) }

    private var record: ArraySlice<UInt8> { storage.octets(entry.record) }
}

/// The records of the purchases in a receipt, in its order. It is a view, which copies nothing.
public struct InAppPurchases: RandomAccessCollection, Sendable {
    let storage: Receipt.Storage

    public var startIndex: Int { 0 }
    public var endIndex: Int { storage.table.purchases.count }
    public subscript(position: Int) -> InAppPurchase {
        precondition(indices.contains(position), "index out of range")
        return InAppPurchase(storage: storage, index: position)
    }
}
