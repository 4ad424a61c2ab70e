public import AppStoreReceipt

// Notifications that are not about a purchase. For those about purchases, see `PurchaseHistory`.

extension JWSBuilder {
    /// Returns a builder for `RESCIND_CONSENT`: a guardian withdrew consent to a child's use of the app.
    ///
    /// - Parameters:
    ///   - bundleID: The app's bundle id.
    ///   - appTransaction: The signed app transaction; `nil` for none.
    ///   - appAppleID: The app's Apple id; `nil` for none.
    ///   - environment: The environment.
    ///   - signedDate: The signing date.
    public static func rescindConsent(
        bundleID: String, appTransaction: String?, appAppleID: String? = "1234567890",
        environment: AppStoreEnvironment = .production, signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        typealias Member = NotificationAppData.Member
        return notification(
            .rescindConsent, about: AppStoreNotification.Member.appData.rawValue,
            object([
                (Member.appAppleId.rawValue, appAppleID.map { .identifier($0) }),
                (Member.bundleId.rawValue, .string(bundleID)),
                (Member.environment.rawValue, .string(environment.signedName)),
                (Member.signedAppTransactionInfo.rawValue, appTransaction.map { .string($0) }),
            ]), signedDate: signedDate)
    }

    /// Returns a builder for `RENEWAL_EXTENSION` with the subtype `SUMMARY`: a request to extend many subscriptions has
    /// ended.
    ///
    /// - Parameters:
    ///   - productID: The product of the subscriptions.
    ///   - bundleID: The app's bundle id.
    ///   - succeeded: The number of subscriptions that were extended.
    ///   - failed: The number of subscriptions that were not extended.
    ///   - storefronts: The countries and regions; `nil` for all.
    ///   - requestIdentifier: The UUID of the request.
    ///   - appAppleID: The app's Apple id; `nil` for none.
    ///   - environment: The environment.
    ///   - signedDate: The signing date.
    public static func renewalExtensionSummary(
        productID: String, bundleID: String, succeeded: Int, failed: Int = 0, storefronts: [String]? = nil,
        requestIdentifier: String = "00000000-0000-4000-8000-000000000003", appAppleID: String? = "1234567890",
        environment: AppStoreEnvironment = .production, signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        typealias Member = NotificationSummary.Member
        var builder = notification(
            .renewalExtension, about: AppStoreNotification.Member.summary.rawValue,
            object([
                (Member.requestIdentifier.rawValue, .string(requestIdentifier)),
                (Member.environment.rawValue, .string(environment.signedName)),
                (Member.appAppleId.rawValue, appAppleID.map { .identifier($0) }),
                (Member.bundleId.rawValue, .string(bundleID)), (Member.productId.rawValue, .string(productID)),
                (Member.storefrontCountryCodes.rawValue, storefronts.map { .array($0.map { .string($0) }) }),
                (Member.succeededCount.rawValue, .integer(Int64(succeeded))),
                (Member.failedCount.rawValue, .integer(Int64(failed))),
            ]), signedDate: signedDate)
        builder.notificationSubtype = .summary
        return builder
    }

    /// Returns a builder for `EXTERNAL_PURCHASE_TOKEN`, about a token for purchases outside the App Store.
    ///
    /// - Parameters:
    ///   - id: The token's identifier. In the sandbox, it begins with `SANDBOX`.
    ///   - subtype: The subtype: `created`, `activeTokenReminder` or `unreported`.
    ///   - bundleID: The app's bundle id.
    ///   - kind: The purpose of a custom link token; `nil` for other tokens.
    ///   - creationDate: The date Apple made the token.
    ///   - expirationDate: The date the token expires; `nil` for tokens other than custom link tokens.
    ///   - appAppleID: The app's Apple id; `nil` for none.
    ///   - signedDate: The signing date.
    public static func externalPurchaseToken(
        _ id: String, subtype: NotificationSubtype, bundleID: String, kind: ExternalPurchaseToken.Kind? = nil,
        creationDate: Instant = defaultDate, expirationDate: Instant? = nil, appAppleID: String? = "1234567890",
        signedDate: Instant = defaultDate
    ) -> JWSBuilder {
        typealias Member = ExternalPurchaseToken.Member
        var builder = notification(
            .externalPurchaseToken, about: AppStoreNotification.Member.externalPurchaseToken.rawValue,
            object([
                (Member.externalPurchaseId.rawValue, .string(id)),
                (Member.tokenCreationDate.rawValue, .integer(creationDate.millisecondsSince1970)),
                (Member.tokenExpirationDate.rawValue, expirationDate.map { .integer($0.millisecondsSince1970) }),
                (Member.tokenType.rawValue, kind.map { .string($0.rawValue) }),
                (Member.appAppleId.rawValue, appAppleID.map { .identifier($0) }),
                (Member.bundleId.rawValue, .string(bundleID)),
            ]), signedDate: signedDate)
        builder.notificationSubtype = subtype
        return builder
    }

    private static func object(_ members: [(String, JSONValue?)]) -> JSONValue {
        .object(members.compactMap { name, value in value.map { JSONValue.Member(name, $0) } })
    }
}
