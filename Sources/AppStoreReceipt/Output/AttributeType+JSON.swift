package import StrictText

extension AttributeType {
    /// The key of the attribute's typed field in JSON: verifyReceipt's word where it has one; `nil` for an attribute without a field.
    ///
    /// This is the one table of the keys, for what writes and what reads them. Attribute 12 is `receipt_creation_date`, which Apple documents;
    /// attribute 8, the creation date of the original receipt, has no word of Apple's.
    var jsonKey: StaticString? {
        switch rawValue {
        case 0: "receipt_type"
        case 1: "app_item_id"
        case 2: "bundle_id"
        case 3: "application_version"
        case 4: "opaque_value"
        case 5: "sha1_hash"
        case 8: "original_receipt_creation_date"
        case 9: "server_build"
        case 10: "age_rating"
        case 11: "seller_id"
        case 12: "receipt_creation_date"
        case 13: "client_version"
        case 15: "download_id"
        case 16: "version_external_identifier"
        case 17: "in_app"
        case 18: "original_purchase_date"
        case 19: "original_application_version"
        case 21: "expiration_date"
        case 25: "platform"
        case 32: "preorder_date"
        case 1701: "quantity"
        case 1702: "product_id"
        case 1703: "transaction_id"
        case 1704: "purchase_date"
        case 1705: "original_transaction_id"
        case 1706: "original_purchase_date"
        case 1707: "product_type"
        case 1708: "expires_date"
        case 1710: "item_id"
        case 1711: "web_order_line_item_id"
        case 1712: "cancellation_date"
        case 1713: "is_trial_period"
        case 1719: "is_in_intro_offer_period"
        case 1720: "cancellation_reason"
        case 1721: "promotional_offer_id"
        default: nil
        }
    }

    /// The attributes of a receipt by their keys.
    package static let receiptAttributesByJSONKey = attributes(numbered: 0..<64)
    /// The attributes of a purchase by their keys.
    package static let purchaseAttributesByJSONKey = attributes(numbered: 1701..<1733)

    private static func attributes(numbered numbers: Range<Int64>) -> [UTF8Bytes: AttributeType] {
        var attributes: [UTF8Bytes: AttributeType] = [:]
        for type in numbers.lazy.map(AttributeType.init) {
            if let key = type.jsonKey { attributes[UTF8Bytes("\(key)")] = type }
        }
        return attributes
    }
}
