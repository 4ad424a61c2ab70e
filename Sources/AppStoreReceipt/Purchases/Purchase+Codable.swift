import SpanASN1

/// The JSON of a purchase, in version 1 of its schema:
///
/// ```json
/// {
///   "schema": 1, "product_id": "com.example.app.monthly", "product_type": "Auto-Renewable Subscription", "quantity": 1,
///   "subscription_group_id": "20500001", "offer": {"type": 1, "id": null, "discount_type": "FREE_TRIAL", "period": "P1W"},
///   "transaction_id": "70001", "original_transaction_id": "70001", "previous_original_transaction_id": null,
///   "web_order_line_item_id": "80001", "purchase_date": 1748770200000, "original_purchase_date": 1748770200000,
///   "expires_date": 1751362200000, "signed_date": 1748770201000, "evidence_expiration_date": null, "revoked": false,
///   "revocation_date": null, "revocation_reason": null, "revocation_type": null, "revocation_percentage": null,
///   "upgraded": false, "ownership_type": "PURCHASED", "app_account_token": null,
///   "bundle_id": "com.example.app", "environment": "production"
/// }
/// ```
///
/// Dates are milliseconds since 1970, as in Apple's JWS. A key whose value is `nil` is missing. Later versions of the library read this version.
extension Purchase: Codable {
    private enum Key: String, CodingKey {
        case schema, quantity, offer, revoked, upgraded, environment
        case productID = "product_id"
        case productType = "product_type"
        case subscriptionGroupID = "subscription_group_id"
        case transactionID = "transaction_id"
        case originalTransactionID = "original_transaction_id"
        case previousOriginalTransactionID = "previous_original_transaction_id"
        case webOrderLineItemID = "web_order_line_item_id"
        case purchaseDate = "purchase_date"
        case originalPurchaseDate = "original_purchase_date"
        case expiresDate = "expires_date"
        case signedDate = "signed_date"
        case evidenceExpirationDate = "evidence_expiration_date"
        case revocationDate = "revocation_date"
        case revocationReason = "revocation_reason"
        case revocationType = "revocation_type"
        case revocationPercentage = "revocation_percentage"
        case ownershipType = "ownership_type"
        case appAccountToken = "app_account_token"
        case bundleID = "bundle_id"
    }

    /// Decodes a purchase.
    ///
    /// This verifies nothing: anyone who can write to the storage can change the purchase.
    ///
    /// - Throws: `DecodingError` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        try values.requireSchema(forKey: .schema)
        self.init(
            productID: try values.decode(String.self, forKey: .productID),
            transactionID: try values.decode(String.self, forKey: .transactionID),
            originalTransactionID: try values.decode(String.self, forKey: .originalTransactionID),
            quantity: try values.decode(Int.self, forKey: .quantity),
            purchaseDate: try values.decode(Instant.self, forKey: .purchaseDate),
            signedDate: try values.decode(Instant.self, forKey: .signedDate))
        productType = try values.decodeIfPresent(ProductType.self, forKey: .productType)
        subscriptionGroupID = try values.decodeIfPresent(String.self, forKey: .subscriptionGroupID)
        offer = try values.decodeIfPresent(PurchaseOffer.self, forKey: .offer)
        previousOriginalTransactionID = try values.decodeIfPresent(String.self, forKey: .previousOriginalTransactionID)
        webOrderLineItemID = try values.decodeIfPresent(String.self, forKey: .webOrderLineItemID)
        originalPurchaseDate = try values.decodeIfPresent(Instant.self, forKey: .originalPurchaseDate)
        expiresDate = try values.decodeIfPresent(Instant.self, forKey: .expiresDate)
        evidenceExpirationDate = try values.decodeIfPresent(Instant.self, forKey: .evidenceExpirationDate)
        isRevoked = try values.decodeIfPresent(Bool.self, forKey: .revoked)
        revocationDate = try values.decodeIfPresent(Instant.self, forKey: .revocationDate)
        revocationReason = try values.decodeIfPresent(RevocationReason.self, forKey: .revocationReason)
        revocationType = try values.decodeIfPresent(RevocationType.self, forKey: .revocationType)
        revocationPercentage = try values.decodeIfPresent(Int64.self, forKey: .revocationPercentage)
        isUpgraded = try values.decodeIfPresent(Bool.self, forKey: .upgraded)
        ownershipType = try values.decodeIfPresent(OwnershipType.self, forKey: .ownershipType)
        appAccountToken = try values.decodeIfPresent(AppAccountToken.self, forKey: .appAccountToken)
        bundleID = try values.decodeIfPresent(String.self, forKey: .bundleID)
        environment = try values.decodeIfPresent(AppStoreEnvironment.self, forKey: .environment)
    }

    /// Encodes the purchase.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(storedSchema, forKey: .schema)
        try values.encode(productID, forKey: .productID)
        try values.encodeIfPresent(productType, forKey: .productType)
        try values.encode(quantity, forKey: .quantity)
        try values.encodeIfPresent(subscriptionGroupID, forKey: .subscriptionGroupID)
        try values.encodeIfPresent(offer, forKey: .offer)
        try values.encode(transactionID, forKey: .transactionID)
        try values.encode(originalTransactionID, forKey: .originalTransactionID)
        try values.encodeIfPresent(previousOriginalTransactionID, forKey: .previousOriginalTransactionID)
        try values.encodeIfPresent(webOrderLineItemID, forKey: .webOrderLineItemID)
        try values.encode(purchaseDate, forKey: .purchaseDate)
        try values.encodeIfPresent(originalPurchaseDate, forKey: .originalPurchaseDate)
        try values.encodeIfPresent(expiresDate, forKey: .expiresDate)
        try values.encode(signedDate, forKey: .signedDate)
        try values.encodeIfPresent(evidenceExpirationDate, forKey: .evidenceExpirationDate)
        try values.encodeIfPresent(isRevoked, forKey: .revoked)
        try values.encodeIfPresent(revocationDate, forKey: .revocationDate)
        try values.encodeIfPresent(revocationReason, forKey: .revocationReason)
        try values.encodeIfPresent(revocationType, forKey: .revocationType)
        try values.encodeIfPresent(revocationPercentage, forKey: .revocationPercentage)
        try values.encodeIfPresent(isUpgraded, forKey: .upgraded)
        try values.encodeIfPresent(ownershipType, forKey: .ownershipType)
        try values.encodeIfPresent(appAccountToken, forKey: .appAccountToken)
        try values.encodeIfPresent(bundleID, forKey: .bundleID)
        try values.encodeIfPresent(environment, forKey: .environment)
    }
}

/// The version of the schema of stored purchases and renewals.
let storedSchema = 1

extension KeyedDecodingContainer {
    func requireSchema(forKey key: Key) throws {
        let schema = try decode(Int.self, forKey: key)
        guard schema == storedSchema else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "version \(schema) of the schema is not known")
        }
    }
}

extension AppAccountToken: Codable {
    /// Decodes the token from a string.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the token as a string in lowercase.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension OfferType: Codable {}
extension OfferDiscountType: Codable {}
extension OwnershipType: Codable {}
extension RevocationReason: Codable {}
extension RevocationType: Codable {}
