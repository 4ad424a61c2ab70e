public import SpanASN1

/// The number of a receipt attribute.
///
/// Apple documents some of them ("Receipt Fields"); the rest is known by comparing receipts with Apple's answers for them. Types with no
/// known meaning are kept, raw and in order, in ``ReceiptContents/attributes`` and ``InAppPurchase/attributes``.
public struct AttributeType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// `Production`, `ProductionSandbox` and so on: ``ReceiptContents/receiptType``.
    public static let receiptType = AttributeType(rawValue: 0)
    /// The app's Apple id: ``ReceiptContents/appItemID``.
    public static let appItemID = AttributeType(rawValue: 1)
    /// ``ReceiptContents/bundleID``; as encoded, it enters the device hash. Documented by Apple.
    public static let bundleID = AttributeType(rawValue: 2)
    /// ``ReceiptContents/applicationVersion``. Documented by Apple.
    public static let applicationVersion = AttributeType(rawValue: 3)
    /// What enters the device hash: ``ReceiptContents/opaqueValue``. Documented by Apple.
    public static let opaqueValue = AttributeType(rawValue: 4)
    /// The device hash: ``ReceiptContents/sha1Hash``. Documented by Apple.
    public static let sha1Hash = AttributeType(rawValue: 5)
    /// When the original receipt was made: ``ReceiptContents/originalCreationDate``.
    public static let originalCreationDate = AttributeType(rawValue: 8)
    /// The version of Apple's server (inferred): ``ReceiptContents/serverBuild``.
    public static let serverBuild = AttributeType(rawValue: 9)
    /// ``ReceiptContents/ageRating`` (inferred).
    public static let ageRating = AttributeType(rawValue: 10)
    /// ``ReceiptContents/sellerID`` (inferred).
    public static let sellerID = AttributeType(rawValue: 11)
    /// When the receipt was made, and the date its chain is judged at: ``ReceiptContents/creationDate``. Documented by Apple.
    public static let creationDate = AttributeType(rawValue: 12)
    /// The system version of the device (inferred): ``ReceiptContents/clientVersion``.
    public static let clientVersion = AttributeType(rawValue: 13)
    /// ``ReceiptContents/downloadID``.
    public static let downloadID = AttributeType(rawValue: 15)
    /// ``ReceiptContents/versionExternalIdentifier``.
    public static let versionExternalIdentifier = AttributeType(rawValue: 16)
    /// One purchase, whose value is a SET of the attributes from 1701 on: ``ReceiptContents/inAppPurchases``. Documented by Apple.
    public static let inAppPurchase = AttributeType(rawValue: 17)
    /// When the app was first bought: ``ReceiptContents/originalPurchaseDate``.
    public static let originalPurchaseDate = AttributeType(rawValue: 18)
    /// The app's version when it was first bought: ``ReceiptContents/originalApplicationVersion``. Documented by Apple.
    public static let originalApplicationVersion = AttributeType(rawValue: 19)
    /// When the receipt expires: ``ReceiptContents/expirationDate``. Documented by Apple.
    public static let expirationDate = AttributeType(rawValue: 21)
    /// 2 for a Mac, 3 for iOS (inferred): ``ReceiptContents/platform``.
    public static let platform = AttributeType(rawValue: 25)
    /// ``ReceiptContents/preorderDate`` (inferred).
    public static let preorderDate = AttributeType(rawValue: 32)

    /// ``InAppPurchase/quantity``. Documented by Apple, as are those that follow where nothing else is said.
    public static let quantity = AttributeType(rawValue: 1701)
    /// ``InAppPurchase/productID``.
    public static let productID = AttributeType(rawValue: 1702)
    /// ``InAppPurchase/transactionID``.
    public static let transactionID = AttributeType(rawValue: 1703)
    /// ``InAppPurchase/purchaseDate``.
    public static let purchaseDate = AttributeType(rawValue: 1704)
    /// ``InAppPurchase/originalTransactionID``.
    public static let originalTransactionID = AttributeType(rawValue: 1705)
    /// ``InAppPurchase/originalPurchaseDate``, in a purchase.
    public static let purchaseOriginalPurchaseDate = AttributeType(rawValue: 1706)
    /// ``InAppPurchase/productType`` (inferred).
    public static let productType = AttributeType(rawValue: 1707)
    /// ``InAppPurchase/expiresDate``.
    public static let expiresDate = AttributeType(rawValue: 1708)
    /// ``InAppPurchase/itemID`` (inferred).
    public static let itemID = AttributeType(rawValue: 1710)
    /// ``InAppPurchase/webOrderLineItemID``.
    public static let webOrderLineItemID = AttributeType(rawValue: 1711)
    /// ``InAppPurchase/revocationDate``.
    public static let revocationDate = AttributeType(rawValue: 1712)
    /// ``InAppPurchase/isTrialPeriod`` (not among Apple's receipt fields, but in verifyReceipt's answer).
    public static let isTrialPeriod = AttributeType(rawValue: 1713)
    /// ``InAppPurchase/isInIntroOfferPeriod``.
    public static let isInIntroOfferPeriod = AttributeType(rawValue: 1719)
    /// ``InAppPurchase/revocationReason`` (not among Apple's receipt fields, but in verifyReceipt's answer).
    public static let revocationReason = AttributeType(rawValue: 1720)
    /// ``InAppPurchase/promotionalOfferID`` (not among Apple's receipt fields, but in verifyReceipt's answer).
    public static let promotionalOfferID = AttributeType(rawValue: 1721)
}

extension AttributeType {
    /// What the attribute is called in words; `nil` where nobody outside Apple knows.
    public var name: String? { row.map { "\($0.name)" } }
}

extension ASN1Field {
    /// An attribute whose type is too large to be one of the known ones.
    static let unknownAttribute = ASN1Field(rawValue: 59_999)

    /// The receipt attribute that an error is in; `nil` when this field is one of the container's.
    public var attributeType: AttributeType? {
        rawValue < Self.unknownAttribute.rawValue ? AttributeType(rawValue: Int64(rawValue)) : nil
    }
}
