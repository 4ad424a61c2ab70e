import StrictText

extension AppStoreServerClient {
    /// Extends the renewal date of a subscription (Extend a Subscription Renewal Date). **It can't be undone**, and the
    /// customer gets an e-mail.
    ///
    /// Apple allows two extensions in 365 days, and none for a subscription that is free, expired or unpaid. If the
    /// answer is lost, request the renewal date before you send the request again: Apple doesn't document that a
    /// repeated request has no effect.
    ///
    /// - Parameters:
    ///   - originalTransactionID: The original transaction id.
    ///   - renewalExtension: The number of days and the reason.
    /// - Returns: The answer, which can say that nothing was extended.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` if the request breaks one of Apple's rules.
    public func extendRenewalDate(
        ofOriginalTransaction originalTransactionID: String, _ renewalExtension: RenewalExtension
    ) throws(AppStoreServerError) -> UnsignedRenewalExtension {
        try Self.checkID(originalTransactionID)
        try renewalExtension.check(ofAll: false)
        let inquiry = Inquiry(
            path: ["inApps", "v1", "subscriptions", "extend", originalTransactionID], method: .put,
            body: Body(json: JSONWriter.object(renewalExtension.write)))
        return try ask(inquiry) { (body) throws(JSONError) in try UnsignedRenewalExtension(body) }
    }

    /// Extends the renewal dates of all active subscribers (Extend Subscription Renewal Dates for All Active
    /// Subscribers). **It can't be undone**, and every customer gets an e-mail.
    ///
    /// Apple answers immediately, but takes hours to days. If the answer is lost, repeat it with the same identifier.
    ///
    /// - Parameters:
    ///   - productID: The product id of the subscription.
    ///   - renewalExtension: The number of days and the reason.
    ///   - storefronts: The country codes of storefronts (ISO 3166-1 alpha-3), or `nil` for all of them.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` if the request breaks one of Apple's rules.
    public func extendRenewalDates(
        ofAllSubscribersOf productID: String, _ renewalExtension: RenewalExtension, storefronts: [String]? = nil
    ) throws(AppStoreServerError) -> UnsignedMassExtension {
        try Self.checkID(productID)
        try renewalExtension.check(ofAll: true)
        if let storefronts {
            let areCodes = storefronts.allSatisfy { code in
                code.utf8.count == 3 && code.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
            }
            try AppStoreServerError.check(.storefrontCountryCodes, areCodes && !storefronts.isEmpty)
        }
        let body = JSONWriter.object { writer in
            renewalExtension.write(to: &writer)
            writer.member("productId", productID)
            if let storefronts { writer.member("storefrontCountryCodes", storefronts) }
        }
        let inquiry = Inquiry(
            path: ["inApps", "v1", "subscriptions", "extend", "mass"], method: .post, body: Body(json: body))
        return try ask(inquiry) { (body) throws(JSONError) in try UnsignedMassExtension(body) }
    }

    /// Requests the status of a mass extension (Get Status of Subscription Renewal Date Extensions).
    ///
    /// - Parameters:
    ///   - productID: The product id of the subscription.
    ///   - requestIdentifier: The identifier of the request, a UUID.
    public func statusOfRenewalDateExtensions(
        of productID: String, requestIdentifier: String
    ) throws(AppStoreServerError) -> UnsignedMassExtensionStatus {
        try Self.checkID(productID)
        try AppStoreServerError.check(.requestIdentifier, requestIdentifier.isUUID)
        let path = ["inApps", "v1", "subscriptions", "extend", "mass", productID, requestIdentifier]
        return try ask(Inquiry(path: path)) { (body) throws(JSONError) in try UnsignedMassExtensionStatus(body) }
    }
}
