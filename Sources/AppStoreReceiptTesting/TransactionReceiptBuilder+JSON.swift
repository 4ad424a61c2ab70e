import AppStoreReceipt
import SpanASN1
import StrictText

extension TransactionReceiptBuilder {
    /// Creates a builder from JSON with the keys of `TransactionReceipt.json`, at once or as the member `transaction_receipt`.
    ///
    /// ```json
    /// {"transaction_receipt": {"bundle_id": "com.example.app", "product_id": "pro", "transaction_id": "10000000000001"}}
    /// ```
    ///
    /// Dates are RFC 3339. A field that is missing or `null` is not written, except that the version is 4, the quantity 1, the purchase date
    /// ``ReceiptBuilder/defaultCreationDate`` and the original transaction id the transaction id by default. A period of a subscription without the key `web_order_line_item_id` has
    /// one that is made from its original transaction id, its product and its end. The environment follows from the transaction id;
    /// `environment` and `environment_is_inferred` are ignored. The keys in `unknown_keys` are written last.
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
        var seen: Set<Member> = []
        do throws(JSONError) {
            let start = try Self.offset(json.span) ?? 0
            try JSONCursor.decode(json.span) { (cursor) throws(JSONError) in _ = try cursor.skipValue() }
            var cursor = JSONCursor(json.span, from: start)
            try cursor.readObject { (cursor, name) throws(JSONError) in
                guard let member = Self.members.member(of: name) else {
                    unknownKeyOffset = name.offset
                    throw JSONError(.unexpectedValue, offset: name.offset)
                }
                guard seen.insert(member).inserted else { throw JSONError(.duplicateMember, offset: name.offset) }
                guard try !cursor.readIfNull() else {
                    if member == .bundleID { builder.bundleID = nil }
                    return
                }
                expected = member.expectation
                try builder.read(member, &cursor)
                expected = nil
            }
        } catch {
            if let unknownKeyOffset { throw ReceiptSpecificationError(kind: .unknownKey, offset: unknownKeyOffset) }
            throw ReceiptSpecificationError(error, expected: expected)
        }
        self = builder
        originalTransactionID = originalTransactionID ?? transactionID
        // Of these receipts, only those of subscriptions have an end.
        if !seen.contains(.webOrderLineItemID), let expiresDate, let original = originalTransactionID, let productID {
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

    private enum Member: String, CaseIterable {
        case version, environment, quantity
        case environmentIsInferred = "environment_is_inferred"
        case bundleID = "bundle_id"
        case applicationVersion = "application_version"
        case appItemID = "app_item_id"
        case versionExternalIdentifier = "version_external_identifier"
        case productID = "product_id"
        case itemID = "item_id"
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case purchaseDate = "purchase_date"
        case originalPurchaseDate = "original_purchase_date"
        case expiresDate = "expires_date"
        case webOrderLineItemID = "web_order_line_item_id"
        case subscriptionGroupID = "subscription_group_identifier"
        case isTrialPeriod = "is_trial_period"
        case isInIntroOfferPeriod = "is_in_intro_offer_period"
        case ownershipType = "in_app_ownership_type"
        case uniqueIdentifier = "unique_identifier"
        case uniqueVendorIdentifier = "unique_vendor_identifier"
        case unknownKeys = "unknown_keys"

        /// What a specification can have for it.
        var expectation: String {
            switch self {
            case .version: "2, 3 or 4"
            case .quantity: "an integer"
            case .purchaseDate, .originalPurchaseDate, .expiresDate: Instant.specifiedSyntax
            case .isTrialPeriod, .isInIntroOfferPeriod: "true or false"
            case .unknownKeys: "an object of strings"
            case .environment, .environmentIsInferred, .bundleID, .applicationVersion, .appItemID,
                .versionExternalIdentifier, .productID, .itemID, .transactionID, .originalTransactionID,
                .webOrderLineItemID, .subscriptionGroupID, .ownershipType, .uniqueIdentifier, .uniqueVendorIdentifier:
                "a string"
            }
        }
    }

    private static let members = JSONMembers<Member>()

    private mutating func read(_ member: Member, _ cursor: inout JSONCursor) throws(JSONError) {
        switch member {
        case .version:
            let offset = cursor.offset
            guard let version = TransactionReceipt.Version(rawValue: Int(clamping: try cursor.readInt64())) else {
                throw JSONError(.unexpectedValue, offset: offset)
            }
            self.version = version
        case .environment, .environmentIsInferred: _ = try cursor.skipValue()
        case .quantity: quantity = Int(clamping: try cursor.readInt64())
        case .bundleID: bundleID = try cursor.readString().value
        case .applicationVersion: applicationVersion = try cursor.readString().value
        case .appItemID: appItemID = try cursor.readString().value
        case .versionExternalIdentifier: versionExternalIdentifier = try cursor.readString().value
        case .productID: productID = try cursor.readString().value
        case .itemID: itemID = try cursor.readString().value
        case .transactionID: transactionID = try cursor.readString().value
        case .originalTransactionID: originalTransactionID = try cursor.readString().value
        case .purchaseDate: purchaseDate = try cursor.readRFC3339()
        case .originalPurchaseDate: originalPurchaseDate = try cursor.readRFC3339()
        case .expiresDate: expiresDate = try cursor.readRFC3339()
        case .webOrderLineItemID: webOrderLineItemID = try cursor.readString().value
        case .subscriptionGroupID: subscriptionGroupID = try cursor.readString().value
        case .isTrialPeriod: isTrialPeriod = try cursor.readBool()
        case .isInIntroOfferPeriod: isInIntroOfferPeriod = try cursor.readBool()
        case .ownershipType: ownershipType = OwnershipType(rawValue: try cursor.readString().value)
        case .uniqueIdentifier: uniqueIdentifier = try cursor.readString().value
        case .uniqueVendorIdentifier: uniqueVendorIdentifier = try cursor.readString().value
        case .unknownKeys:
            var values: [Value] = []
            try cursor.readObject { (cursor, name) throws(JSONError) in
                values.append(Value(name.value, try cursor.readString().value))
            }
            additionalValues = values
        }
    }
}
