public import AppStoreReceipt
import StrictText

extension AppStoreServerClient {
    /// Sets the account token of transactions (Set App Account Token). **It replaces an existing token.**
    ///
    /// For a subscription, it applies to the current period and later ones; for other products, to all transactions.
    /// Apple refuses transactions of family members and assigned seats. If the answer is lost, send the request again.
    ///
    /// - Parameters:
    ///   - token: A UUID, as the app sets it in `appAccountToken`.
    ///   - originalTransactionID: The original transaction id.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` if the token isn't a UUID.
    public func setAppAccountToken(
        _ token: String, ofOriginalTransaction originalTransactionID: String
    ) throws(AppStoreServerError) {
        try Self.checkID(originalTransactionID)
        try AppStoreServerError.check(.uuid, token.isUUID)
        let body = JSONWriter.object { $0.member("appAccountToken", token) }
        try send(
            .put, ["inApps", "v1", "transactions", originalTransactionID, "appAccountToken"], Body(json: body))
    }

    /// Requests the app transaction of a customer (Get App Transaction Info).
    ///
    /// - Parameter id: Any transaction id, original transaction id or app transaction id of the customer.
    public func appTransactionInfo(of id: String) throws(AppStoreServerError) -> AppTransactionInfoAnswer {
        try Self.checkID(id)
        return try ask(Inquiry(path: ["inApps", "v1", "transactions", "appTransactions", id])) {
            (body) throws(JSONError) in try AppTransactionInfoAnswer(body, verifier)
        }
    }

    /// Finishes a transaction on behalf of the app (Finish Transaction). **It can't be undone**: the App Store doesn't
    /// deliver the transaction to the app again.
    ///
    /// Call it only after the grant is durable. If the answer is lost, send the request again.
    ///
    /// - Parameter transactionID: The transaction id.
    public func finishTransaction(_ transactionID: String) throws(AppStoreServerError) {
        try Self.checkID(transactionID)
        // This is a POST without a body.
        try send(.post, ["inApps", "v1", "transactions", transactionID, "finish"], Body(bytes: []))
    }

    /// Answers a `CONSUMPTION_REQUEST` (Send Consumption Information, version 2). If the answer is lost, send it again.
    ///
    /// - Parameters:
    ///   - request: The consumption information.
    ///   - transactionID: The transaction id in the notification, not the original transaction id.
    ///   - productType: The type, which determines the rule for the percentage, or `nil` to leave that to Apple.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` if the request breaks one of Apple's rules.
    public func sendConsumptionInformation(
        _ request: ConsumptionRequest, of transactionID: String, productType: ProductType?
    ) throws(AppStoreServerError) {
        try Self.checkID(transactionID)
        try request.check(for: productType)
        try send(.put, ["inApps", "v2", "transactions", "consumption", transactionID], Body(json: request.json))
    }

    /// Answers a `CONSUMPTION_REQUEST` about a purchase that uses the Advanced Commerce API (Send Consumption
    /// Information, version 1). If the answer is lost, send the request again.
    ///
    /// - Parameters:
    ///   - request: The consumption information.
    ///   - transactionID: The transaction id in the notification, not the original transaction id.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` if the request breaks one of Apple's rules.
    public func sendConsumptionInformationV1(
        _ request: ConsumptionRequestV1, of transactionID: String
    ) throws(AppStoreServerError) {
        try Self.checkID(transactionID)
        try request.check()
        try send(.put, ["inApps", "v1", "transactions", "consumption", transactionID], Body(json: request.json))
    }
}

/// The answer to Get App Transaction Info.
public struct AppTransactionInfoAnswer: Hashable, Sendable {
    /// `signedAppTransactionInfo`, or `nil` if the answer has none.
    public let appTransaction: SignedItem<Verified<AppTransaction>>?
}
