package import SpanASN1

/// The type of a receipt attribute, which is a number.
///
/// Apple documents some types ("Receipt Fields"). The meaning of others is inferred from receipts and Apple's answers
/// to verifyReceipt for them. Attributes of unknown types are available, undecoded, in ``ReceiptContents/attributes``
/// and ``InAppPurchase/attributes``.
public struct AttributeType: RawRepresentable, Codable, Hashable, Sendable {
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
    /// The type of a purchase in ``ReceiptContents/inAppPurchases``. Its value is a SET of the attributes from 1701 on.
    /// Documented by Apple.
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
    /// The type of ``InAppPurchase/revocationReason`` (not among Apple's receipt fields, but in verifyReceipt's
    /// answer).
    public static let revocationReason = AttributeType(rawValue: 1720)
    /// The type of ``InAppPurchase/promotionalOfferID`` (not among Apple's receipt fields, but in verifyReceipt's
    /// answer).
    public static let promotionalOfferID = AttributeType(rawValue: 1721)
}

// MARK: - The table

// The table of all attributes that have a field, from which they are decoded, printed, written and minted. A new
// attribute is a constant above, a line here, and an accessor in `ReceiptContents` or `InAppPurchase`.
// `AttributeTableTests` find what else is missing.

extension AttributeType {
    /// The properties of an attribute.
    package struct Row: Sendable {
        package let type: AttributeType
        /// Its name in words.
        let name: StaticString
        /// The key of its field in JSON: verifyReceipt's if there is one.
        package let jsonKey: StaticString
        package let valueType: ValueType
        let source: Source

        init(
            _ type: AttributeType, _ name: StaticString, _ jsonKey: StaticString, _ valueType: ValueType,
            _ source: Source
        ) {
            (self.type, self.name, self.jsonKey, self.valueType, self.source) = (type, name, jsonKey, valueType, source)
        }
    }

    /// The types of the values of attributes.
    package enum ValueType: Sendable { case utf8String, date, integer, boolean, ia5String, octets, purchase }

    /// The sources of the meaning of an attribute.
    enum Source: Sendable {
        /// Apple's documentation ("Receipt Fields").
        case documented
        /// Apple's answers to verifyReceipt for receipts that have it.
        case answers
        /// The meaning is inferred. If its value has another type, the field is `nil`, and the receipt is not refused.
        case inferred
    }

    /// The attributes of a receipt, by number. (Apple has no name for attribute 8, the creation date of the original
    /// receipt.)
    package static let receiptRows: [Row] = [
        Row(.receiptType, "receipt type", "receipt_type", .utf8String, .answers),
        Row(.appItemID, "app item id", "app_item_id", .integer, .answers),
        Row(.bundleID, "bundle id", "bundle_id", .utf8String, .documented),
        Row(.applicationVersion, "application version", "application_version", .utf8String, .documented),
        Row(.opaqueValue, "opaque value", "opaque_value", .octets, .documented),
        Row(.sha1Hash, "SHA-1 hash", "sha1_hash", .octets, .documented),
        Row(.originalCreationDate, "original creation date", "original_receipt_creation_date", .date, .answers),
        Row(.serverBuild, "server build", "server_build", .integer, .inferred),
        Row(.ageRating, "age rating", "age_rating", .ia5String, .inferred),
        Row(.sellerID, "seller id", "seller_id", .integer, .inferred),
        Row(.creationDate, "creation date", "receipt_creation_date", .date, .documented),
        Row(.clientVersion, "client version", "client_version", .integer, .inferred),
        Row(.downloadID, "download id", "download_id", .integer, .answers),
        Row(
            .versionExternalIdentifier, "version external identifier", "version_external_identifier", .integer, .answers
        ),
        Row(.inAppPurchase, "in-app purchase", "in_app", .purchase, .documented),
        Row(.originalPurchaseDate, "original purchase date", "original_purchase_date", .date, .answers),
        Row(
            .originalApplicationVersion, "original application version", "original_application_version", .utf8String,
            .documented),
        Row(.expirationDate, "expiration date", "expiration_date", .date, .documented),
        Row(.platform, "platform", "platform", .integer, .inferred),
        Row(.preorderDate, "pre-order date", "preorder_date", .date, .inferred),
    ]

    /// The attributes of a purchase, by number.
    package static let purchaseRows: [Row] = [
        Row(.quantity, "quantity", "quantity", .integer, .documented),
        Row(.productID, "product id", "product_id", .utf8String, .documented),
        Row(.transactionID, "transaction id", "transaction_id", .utf8String, .documented),
        Row(.purchaseDate, "purchase date", "purchase_date", .date, .documented),
        Row(.originalTransactionID, "original transaction id", "original_transaction_id", .utf8String, .documented),
        Row(.purchaseOriginalPurchaseDate, "original purchase date", "original_purchase_date", .date, .documented),
        Row(.productType, "product type", "product_type", .integer, .inferred),
        Row(.expiresDate, "expires date", "expires_date", .date, .documented),
        Row(.itemID, "item id", "item_id", .integer, .inferred),
        Row(.webOrderLineItemID, "web order line item id", "web_order_line_item_id", .integer, .documented),
        Row(.revocationDate, "cancellation date", "cancellation_date", .date, .documented),
        Row(.isTrialPeriod, "trial period", "is_trial_period", .boolean, .answers),
        Row(
            .isInIntroOfferPeriod, "introductory offer period", "is_in_intro_offer_period", .boolean, .documented),
        Row(.revocationReason, "cancellation reason", "cancellation_reason", .integer, .answers),
        Row(.promotionalOfferID, "promotional offer id", "promotional_offer_id", .utf8String, .answers),
    ]

    /// How ``PurchaseField`` stores the values of ``purchaseRows``: three bits for each attribute, from 1721 down to
    /// 1701. A value for 1722 or later needs a wider word.
    ///
    /// It is a word because a table or a switch makes the hot loop a tenth slower. `AttributeTableTests` compares it
    /// with the rows.
    @inline(__always)
    static var purchaseStorage: UInt64 {
        0b010_001_100_000_000_000_000_000_100_011_001_001_000_011_001_011_010_011_010_010_001
    }

    /// The line of an attribute; `nil` for one without a field.
    var row: Row? {
        switch rawValue {
        case 0..<Int64(Self.receiptRowsByNumber.count): Self.receiptRowsByNumber[Int(rawValue)]
        case 1701..<1701 + Int64(Self.purchaseRowsByNumber.count): Self.purchaseRowsByNumber[Int(rawValue) - 1701]
        default: nil
        }
    }

    private static let receiptRowsByNumber = byNumber(receiptRows, from: 0)
    private static let purchaseRowsByNumber = byNumber(purchaseRows, from: 1701)

    private static func byNumber(_ rows: [Row], from first: Int64) -> [Row?] {
        var byNumber: [Row?] = []
        for row in rows {
            while byNumber.count < row.type.rawValue - first { byNumber.append(nil) }
            byNumber.append(row)
        }
        return byNumber
    }

    /// The type of the value of an attribute with a field; `nil` for one without.
    package var valueType: ValueType? { row?.valueType }
}

extension AttributeType {
    /// The name of the attribute in words; `nil` if it is not known.
    public var name: String? { row.map { "\($0.name)" } }
}

extension ASN1Field {
    /// An attribute whose type is larger than all known types.
    static let unknownAttribute = ASN1Field(rawValue: 59_999)

    /// The type of the attribute that contains the fault; `nil` if the field is one of the container's.
    package var attributeType: AttributeType? {
        rawValue < Self.unknownAttribute.rawValue ? AttributeType(rawValue: Int64(rawValue)) : nil
    }
}
