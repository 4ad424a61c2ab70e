import AppStoreReceipt
import StrictText

extension TransactionReceiptBuilder {
    /// Creates a builder from JSON with the keys of `TransactionReceipt.json`, at once or as the member
    /// `transaction_receipt`.
    ///
    /// ```json
    /// {"transaction_receipt": {
    ///   "bundle_id": "com.example.app", "product_id": "pro", "transaction_id": "10000000000001"}}
    /// ```
    ///
    /// Dates are RFC 3339. A field that is `null` is not written. A missing field that Apple always writes has a
    /// default: the version is 4, the quantity 1, the application version 1.0, the item id 500000001, the purchase date
    /// ``ReceiptBuilder/defaultCreationDate``, the original purchase date the purchase date, and the original
    /// transaction id the transaction id. A period of a subscription without the key `web_order_line_item_id` gets one
    /// made from its original transaction id, its product and its end. Other missing fields are not written. The
    /// environment follows from the transaction id; `environment` and `environment_is_inferred` are ignored. The keys
    /// in `unknown_keys` are written last.
    ///
    /// - Parameter json: The JSON text.
    /// - Throws: The first fault in the text.
    public init(json: [UInt8]) throws(ReceiptSpecificationError) { try self.init(json: json, defaultBundleID: nil) }

    /// Creates a builder from JSON.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - defaultBundleID: The bundle id for a text without the key `bundle_id`.
    package init(json: [UInt8], defaultBundleID: String?) throws(ReceiptSpecificationError) {
        self.init(bundleID: "", productID: "", transactionID: "")
        (bundleID, applicationVersion, productID, itemID) = (defaultBundleID, nil, nil, nil)
        (transactionID, originalTransactionID, originalPurchaseDate, uniqueIdentifier) = (nil, nil, nil, nil)
        var builder = self
        var unknownKeyOffset: Int?
        var expected: String?
        var seen: Set<UTF8Bytes> = []
        do throws(JSONError) {
            let start = try Self.offset(json.span) ?? 0
            try JSONCursor.decode(json.span) { (cursor) throws(JSONError) in _ = try cursor.skipValue() }
            var cursor = JSONCursor(json.span, from: start)
            try cursor.readObject { (cursor, name) throws(JSONError) in
                let key = UTF8Bytes(name.bytes[...])
                let field = Self.fields[key]
                guard field != nil || Self.otherKeys.contains(key) else {
                    unknownKeyOffset = name.offset
                    throw JSONError(.unexpectedValue, offset: name.offset)
                }
                guard seen.insert(key).inserted else { throw JSONError(.duplicateMember, offset: name.offset) }
                guard try !cursor.readIfNull() else {
                    if name == "bundle_id" { builder.bundleID = nil }
                    return
                }
                if let field {
                    expected = field.expectation
                    try field.read(&cursor, into: &builder)
                } else if name == "version" {
                    expected = "2, 3 or 4"
                    try builder.readVersion(&cursor)
                } else if name == "unknown_keys" {
                    expected = "an object of strings"
                    try builder.readUnknownKeys(&cursor)
                } else {
                    _ = try cursor.skipValue()
                }
                expected = nil
            }
        } catch {
            if let unknownKeyOffset { throw ReceiptSpecificationError(.unknownKey, offset: unknownKeyOffset) }
            throw ReceiptSpecificationError(error, expected: expected)
        }
        self = builder
        func isMissing(_ key: String) -> Bool { !seen.contains(UTF8Bytes(key)) }
        originalTransactionID = originalTransactionID ?? transactionID
        if isMissing("application_version") { applicationVersion = "1.0" }
        if isMissing("item_id") { itemID = "500000001" }
        if isMissing("original_purchase_date") { originalPurchaseDate = purchaseDate }
        // Of these receipts, only those of subscriptions have an end.
        if isMissing("web_order_line_item_id"), let expiresDate, let original = originalTransactionID,
            let productID
        {
            webOrderLineItemID = WebOrderLineItem.identifier(
                original: original, productID: productID, end: expiresDate)
        }
    }

    /// Returns whether a JSON text is the specification of a transaction receipt as the member `transaction_receipt`.
    package static func isSpecified(by json: [UInt8]) -> Bool {
        // Text that is not JSON specifies nothing; the builder that reads it reports the fault.
        (try? offset(json.span)) != nil
    }

    /// The position of the value of `transaction_receipt`, if there is one.
    private static func offset(_ json: Span<UInt8>) throws(JSONError) -> Int? {
        var cursor = JSONCursor(json)
        var offset: Int?
        try cursor.readObject { (cursor, name) throws(JSONError) in
            guard name == "transaction_receipt" else { return }
            offset = try cursor.skipValue().lowerBound
        }
        return offset
    }

    /// The properties by their keys.
    private static let fields: [UTF8Bytes: BuilderField<TransactionReceiptBuilder>] = {
        let fields: [(String, BuilderField<TransactionReceiptBuilder>)] = [
            ("quantity", .integer(\.quantityNumber)), ("bundle_id", .text(\.bundleID)),
            ("application_version", .text(\.applicationVersion)), ("app_item_id", .text(\.appItemID)),
            ("version_external_identifier", .text(\.versionExternalIdentifier)), ("product_id", .text(\.productID)),
            ("item_id", .text(\.itemID)), ("transaction_id", .text(\.transactionID)),
            ("original_transaction_id", .text(\.originalTransactionID)), ("purchase_date", .date(\.purchaseDate)),
            ("original_purchase_date", .date(\.originalPurchaseDate)), ("expires_date", .date(\.expiresDate)),
            ("web_order_line_item_id", .text(\.webOrderLineItemID)),
            ("subscription_group_identifier", .text(\.subscriptionGroupID)),
            ("is_trial_period", .flag(\.isTrialPeriod)), ("is_in_intro_offer_period", .flag(\.isInIntroOfferPeriod)),
            ("in_app_ownership_type", .text(\.ownershipTypeText)), ("unique_identifier", .text(\.uniqueIdentifier)),
            ("unique_vendor_identifier", .text(\.uniqueVendorIdentifier)),
        ]
        return Dictionary(uniqueKeysWithValues: fields.map { (UTF8Bytes($0), $1) })
    }()

    /// What outputs show beside the properties.
    private static let otherKeys = Set(
        ["version", "environment", "environment_is_inferred", "unknown_keys"].map { UTF8Bytes($0) })

    private var quantityNumber: Int64? {
        get { quantity.map(Int64.init) }
        set { quantity = newValue.map { Int(clamping: $0) } }
    }

    private var ownershipTypeText: String? {
        get { ownershipType?.rawValue }
        set { ownershipType = newValue.map(OwnershipType.init(rawValue:)) }
    }

    private mutating func readVersion(_ cursor: inout JSONCursor) throws(JSONError) {
        let offset = cursor.offset
        guard let version = TransactionReceipt.Version(rawValue: Int(clamping: try cursor.readInt64())) else {
            throw JSONError(.unexpectedValue, offset: offset)
        }
        self.version = version
    }

    private mutating func readUnknownKeys(_ cursor: inout JSONCursor) throws(JSONError) {
        var values: [Value] = []
        try cursor.readObject { (cursor, name) throws(JSONError) in
            values.append(Value(name.value, try cursor.readString().value))
        }
        additionalValues = values
    }
}
