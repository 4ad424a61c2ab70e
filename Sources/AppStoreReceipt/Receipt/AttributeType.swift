public import SpanASN1

/// The type of a receipt attribute, which is a number.
///
/// Apple documents some types ("Receipt Fields"). The meaning of others is inferred from receipts and Apple's answers to verifyReceipt for them. Attributes
/// of unknown types are available, undecoded, in ``ReceiptContents/attributes`` and ``InAppPurchase/attributes``.
public struct AttributeType: RawRepresentable, Hashable, Sendable {
    /// The number of the attribute type.
    public let rawValue: Int64
    /// Creates an attribute type, known or not, from its number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The type of ``ReceiptContents/receiptType``.
    public static let receiptType = AttributeType(rawValue: 0)
    /// The type of ``ReceiptContents/appItemID``.
    public static let appItemID = AttributeType(rawValue: 1)
    /// The type of ``ReceiptContents/bundleID``, whose encoding is part of the device hash. Documented by Apple.
    public static let bundleID = AttributeType(rawValue: 2)
    /// The type of ``ReceiptContents/applicationVersion``. Documented by Apple.
    public static let applicationVersion = AttributeType(rawValue: 3)
    /// The type of ``ReceiptContents/opaqueValue``, which is part of the device hash. Documented by Apple.
    public static let opaqueValue = AttributeType(rawValue: 4)
    /// The type of ``ReceiptContents/sha1Hash``, the device hash. Documented by Apple.
    public static let sha1Hash = AttributeType(rawValue: 5)
    /// The type of ``ReceiptContents/originalCreationDate``.
    public static let originalCreationDate = AttributeType(rawValue: 8)
    /// The type of ``ReceiptContents/serverBuild`` (inferred).
    public static let serverBuild = AttributeType(rawValue: 9)
    /// The type of ``ReceiptContents/ageRating`` (inferred).
    public static let ageRating = AttributeType(rawValue: 10)
    /// The type of ``ReceiptContents/sellerID`` (inferred).
    public static let sellerID = AttributeType(rawValue: 11)
    /// The type of ``ReceiptContents/creationDate``. Documented by Apple.
    public static let creationDate = AttributeType(rawValue: 12)
    /// The type of ``ReceiptContents/clientVersion`` (inferred).
    public static let clientVersion = AttributeType(rawValue: 13)
    /// The type of ``ReceiptContents/downloadID``.
    public static let downloadID = AttributeType(rawValue: 15)
    /// The type of ``ReceiptContents/versionExternalIdentifier``.
    public static let versionExternalIdentifier = AttributeType(rawValue: 16)
    /// The type of a purchase in ``ReceiptContents/inAppPurchases``. Its value is a SET of the attributes from 1701 on. Documented by Apple.
    public static let inAppPurchase = AttributeType(rawValue: 17)
    /// The type of ``ReceiptContents/originalPurchaseDate``.
    public static let originalPurchaseDate = AttributeType(rawValue: 18)
    /// The type of ``ReceiptContents/originalApplicationVersion``. Documented by Apple.
    public static let originalApplicationVersion = AttributeType(rawValue: 19)
    /// The type of ``ReceiptContents/expirationDate``. Documented by Apple.
    public static let expirationDate = AttributeType(rawValue: 21)
    /// The type of ``ReceiptContents/platform`` (inferred).
    public static let platform = AttributeType(rawValue: 25)
    /// The type of ``ReceiptContents/preorderDate`` (inferred).
    public static let preorderDate = AttributeType(rawValue: 32)

    /// The type of ``InAppPurchase/quantity``. Documented by Apple, like those below without a note.
    public static let quantity = AttributeType(rawValue: 1701)
    /// The type of ``InAppPurchase/productID``.
    public static let productID = AttributeType(rawValue: 1702)
    /// The type of ``InAppPurchase/transactionID``.
    public static let transactionID = AttributeType(rawValue: 1703)
    /// The type of ``InAppPurchase/purchaseDate``.
    public static let purchaseDate = AttributeType(rawValue: 1704)
    /// The type of ``InAppPurchase/originalTransactionID``.
    public static let originalTransactionID = AttributeType(rawValue: 1705)
    /// The type of ``InAppPurchase/originalPurchaseDate``.
    public static let purchaseOriginalPurchaseDate = AttributeType(rawValue: 1706)
    /// The type of ``InAppPurchase/productType`` (inferred).
    public static let productType = AttributeType(rawValue: 1707)
    /// The type of ``InAppPurchase/expiresDate``.
    public static let expiresDate = AttributeType(rawValue: 1708)
    /// The type of ``InAppPurchase/itemID`` (inferred).
    public static let itemID = AttributeType(rawValue: 1710)
    /// The type of ``InAppPurchase/webOrderLineItemID``.
    public static let webOrderLineItemID = AttributeType(rawValue: 1711)
    /// The type of ``InAppPurchase/revocationDate``.
    public static let revocationDate = AttributeType(rawValue: 1712)
    /// The type of ``InAppPurchase/isTrialPeriod`` (not among Apple's receipt fields, but in verifyReceipt's answer).
    public static let isTrialPeriod = AttributeType(rawValue: 1713)
    /// The type of ``InAppPurchase/isInIntroOfferPeriod``.
    public static let isInIntroOfferPeriod = AttributeType(rawValue: 1719)
    /// The type of ``InAppPurchase/revocationReason`` (not among Apple's receipt fields, but in verifyReceipt's answer).
    public static let revocationReason = AttributeType(rawValue: 1720)
    /// The type of ``InAppPurchase/promotionalOfferID`` (not among Apple's receipt fields, but in verifyReceipt's answer).
    public static let promotionalOfferID = AttributeType(rawValue: 1721)
}

extension AttributeType {
    /// The name of the attribute in words; `nil` if it is not known.
    public var name: String? { row.map { "\($0.name)" } }
}

extension ASN1Field {
    /// An attribute whose type is larger than all known types.
    static let unknownAttribute = ASN1Field(rawValue: 59_999)

    /// The type of the attribute that contains the fault; `nil` if the field is one of the container's.
    public var attributeType: AttributeType? {
        rawValue < Self.unknownAttribute.rawValue ? AttributeType(rawValue: Int64(rawValue)) : nil
    }
}
