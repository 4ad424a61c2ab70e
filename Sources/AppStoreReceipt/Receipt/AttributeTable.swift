// The table of all attributes that have a field, from which they are decoded, printed, written and minted. A new attribute is a line here and an accessor in
// `ReceiptContents` or `InAppPurchase`. `AttributeTableTests` find what else is missing.

extension AttributeType {
    /// The properties of an attribute.
    package struct Row: Sendable {
        package let type: AttributeType
        /// Its name in words.
        let name: StaticString
        /// The key of its field in JSON: verifyReceipt's if there is one.
        package let jsonKey: StaticString
        package let form: Form
        let source: Source

        init(_ type: AttributeType, _ name: StaticString, _ jsonKey: StaticString, _ form: Form, _ source: Source) {
            (self.type, self.name, self.jsonKey, self.form, self.source) = (type, name, jsonKey, form, source)
        }
    }

    /// The forms of the values of attributes.
    package enum Form: Sendable { case utf8String, date, integer, boolean, ia5String, octets, purchase }

    /// The sources of the meaning of an attribute.
    enum Source: Sendable {
        /// Apple's documentation ("Receipt Fields").
        case documented
        /// Apple's answers to verifyReceipt for receipts that have it.
        case answers
        /// The meaning is inferred. If its value has another form, the field is `nil`, and the receipt is not refused.
        case inferred
    }

    /// The attributes of a receipt, by number. (Apple has no name for attribute 8, the creation date of the original receipt.)
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

    /// The form of an attribute with a field; `nil` for one without.
    var form: Form? { row?.form }
}
