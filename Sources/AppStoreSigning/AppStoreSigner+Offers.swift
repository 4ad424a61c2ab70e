import StrictText

extension AppStoreSigner {
    /// Signs a promotional offer for a subscriber, as a JWS.
    ///
    /// The app passes it to `Product.PurchaseOption.promotionalOffer(_:compactJWS:)`. For an answer to Apple's
    /// retention request, the transaction id is the request's `originalTransactionId`.
    ///
    /// - Parameters:
    ///   - productID: The subscription that the customer is offered.
    ///   - offerID: The id of the promotional offer in App Store Connect.
    ///   - transactionID: Any transaction id of the customer, or the id of the app transaction: then the offer is for
    ///     this customer alone. `nil` signs it for **whoever has the signature**.
    /// - Returns: The JWS in compact form.
    /// - Throws: ``SigningError/Reason-swift.enum/invalidArgument(_:)``;
    ///   ``SigningError/Reason-swift.enum/signingFailed``.
    public func signPromotionalOffer(
        productID: String, offerID: String, transactionID: String?
    ) throws(SigningError) -> String {
        try Self.check(productID, .productID)
        try Self.check(offerID, .offerID)
        if let transactionID { try Self.check(transactionID, .transactionID) }
        return try signRequest(for: "promotional-offer", at: System.now) { writer in
            writer.member("productId", productID)
            writer.member("offerIdentifier", offerID)
            writer.member("transactionId", ifAny: transactionID)
        }
    }

    /// Signs whether a customer may have an introductory offer, as a JWS.
    ///
    /// The app passes it to `Product.PurchaseOption.introductoryOfferEligibility(compactJWS:)`. With `true`, a customer
    /// who had the offer gets it again.
    ///
    /// - Parameters:
    ///   - productID: The subscription with the introductory offer.
    ///   - allowIntroductoryOffer: Whether the customer may have it. It takes the place of Apple's decision.
    ///   - transactionID: Any transaction id of the customer, or the id of the app transaction.
    /// - Returns: The JWS in compact form.
    /// - Throws: ``SigningError/Reason-swift.enum/invalidArgument(_:)``;
    ///   ``SigningError/Reason-swift.enum/signingFailed``.
    public func signIntroductoryOfferEligibility(
        productID: String, allowIntroductoryOffer: Bool, transactionID: String
    ) throws(SigningError) -> String {
        try Self.check(productID, .productID)
        try Self.check(transactionID, .transactionID)
        return try signRequest(for: "introductory-offer-eligibility", at: System.now) { writer in
            writer.member("productId", productID)
            writer.member("allowIntroductoryOffer", allowIntroductoryOffer)
            writer.member("transactionId", transactionID)
        }
    }
}

// MARK: The original form

/// The signature of a promotional offer in its original form, with what the app passes to StoreKit beside it.
public struct PromotionalOfferSignature: Sendable {
    /// The id of the key.
    public let keyID: String
    /// A UUID in lower case, new for each signature.
    public let nonce: String
    /// When it was signed, in milliseconds since 1970. It is valid for 24 hours.
    public let timestamp: Int64
    /// The signature in DER, as base64.
    public let signature: String

    /// `{"key_id":…,"nonce":…,"timestamp":…,"signature":…}`
    public var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("key_id", keyID)
        writer.member("nonce", nonce)
        writer.member("timestamp", timestamp)
        writer.member("signature", signature)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension AppStoreSigner {
    /// Signs a promotional offer in the original form (StoreKit 1, and
    /// `promotionalOffer(offerID:keyID:nonce:signature:timestamp:)` of StoreKit 2), for the account of an
    /// `appAccountToken`.
    ///
    /// - Parameters:
    ///   - productID: The subscription that the customer is offered.
    ///   - offerID: The id of the promotional offer in App Store Connect.
    ///   - appAccountToken: The UUID that the app passes as `appAccountToken`, in any case: it is signed in lower case.
    ///     `nil` if the app passes none; then the signature serves **whoever has it**.
    /// - Throws: ``SigningError/Reason-swift.enum/invalidArgument(_:)``;
    ///   ``SigningError/Reason-swift.enum/signingFailed``.
    public func signOriginalPromotionalOffer(
        productID: String, offerID: String, appAccountToken: String?
    ) throws(SigningError) -> PromotionalOfferSignature {
        var token = ""
        if let appAccountToken {
            guard let uuid = UUIDText.lowercased(appAccountToken) else {
                throw SigningError(.invalidArgument(.appAccountToken))
            }
            token = uuid
        }
        return try signOriginal(productID, offerID, token)
    }

    /// Signs a promotional offer in the original form, for the user of an `applicationUsername`.
    ///
    /// Apple's own libraries sign its lower case, which is not the text that the app passes.
    ///
    /// - Parameters:
    ///   - productID: The subscription that the customer is offered.
    ///   - offerID: The id of the promotional offer in App Store Connect.
    ///   - applicationUsername: The text that the app passes as `applicationUsername`, byte for byte.
    /// - Throws: ``SigningError/Reason-swift.enum/invalidArgument(_:)``;
    ///   ``SigningError/Reason-swift.enum/signingFailed``.
    public func signOriginalPromotionalOffer(
        productID: String, offerID: String, applicationUsername: String
    ) throws(SigningError) -> PromotionalOfferSignature {
        try Self.check(applicationUsername, .applicationUsername)
        return try signOriginal(productID, offerID, applicationUsername)
    }

    private func signOriginal(
        _ productID: String, _ offerID: String, _ token: String
    ) throws(SigningError) -> PromotionalOfferSignature {
        try Self.check(productID, .productID)
        try Self.check(offerID, .offerID)
        let (nonce, timestamp) = (UUIDText.random(), System.now.millisecondsSince1970)
        let message = originalMessage(productID, offerID, token, nonce: nonce, timestamp: timestamp)
        let signature = try key.derSignature(of: message.span)
        return PromotionalOfferSignature(
            keyID: keyID, nonce: nonce, timestamp: timestamp, signature: Base64.encode(signature.span))
    }

    /// The bytes that the original form signs: seven parts, also if the token is empty.
    ///
    /// Source: Apple, "Generating a signature for promotional offers".
    func originalMessage(
        _ productID: String, _ offerID: String, _ token: String, nonce: String, timestamp: Int64
    ) -> [UInt8] {
        Array(
            [bundleID, keyID, productID, offerID, token, nonce, String(timestamp)].map { Array($0.utf8) }
                .joined(separator: Self.separator))
    }
}
