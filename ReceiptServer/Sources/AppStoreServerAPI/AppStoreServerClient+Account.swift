public import AppStoreReceipt
import StrictText

extension AppStoreServerClient {
    /// Gives transactions the token of an account (Set App Account Token). **It replaces a token that is there.**
    ///
    /// It applies to all transactions of a product that is no subscription, and of a subscription to the current period
    /// and later ones. Apple refuses transactions of family members and assigned seats. If the answer is lost, send it
    /// again.
    ///
    /// - Parameters:
    ///   - token: A UUID, as the app passes it in `appAccountToken`.
    ///   - originalTransactionID: The original transaction id.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` for what is no UUID.
    public func setAppAccountToken(
        _ token: String, ofOriginalTransaction originalTransactionID: String
    ) throws(AppStoreServerError) {
        try Self.checkID(originalTransactionID)
        try AppStoreServerError.check(.uuid, token.isUUID)
        let body = JSONWriter.object { $0.member("appAccountToken", token) }
        try send(
            .put, ["inApps", "v1", "transactions", originalTransactionID, "appAccountToken"], Body(json: body))
    }

    /// Asks for the app transaction of a customer (Get App Transaction Info).
    ///
    /// - Parameter id: Any transaction id, original transaction id or app transaction id of the customer.
    public func appTransactionInfo(of id: String) throws(AppStoreServerError) -> AppTransactionInfoAnswer {
        try Self.checkID(id)
        return try ask(Question(path: ["inApps", "v1", "transactions", "appTransactions", id])) {
            (body) throws(JSONError) in try AppTransactionInfoAnswer(body, verifier)
        }
    }

    /// Finishes a transaction in place of the app (Finish Transaction). **It cannot be undone**: the App Store does not
    /// deliver the transaction to the app again.
    ///
    /// Call it only after the grant is durable. If the answer is lost, send it again.
    ///
    /// - Parameter transactionID: The transaction id.
    public func finishTransaction(_ transactionID: String) throws(AppStoreServerError) {
        try Self.checkID(transactionID)
        // A POST without a body.
        try send(.post, ["inApps", "v1", "transactions", transactionID, "finish"], Body(bytes: []))
    }

    /// Answers a `CONSUMPTION_REQUEST` (Send Consumption Information, version 2). If the answer is lost, send it again.
    ///
    /// - Parameters:
    ///   - request: What is sent.
    ///   - transactionID: The id of the notification's transaction; not its original id.
    ///   - productType: The type of the product, which decides about the percentage; `nil` leaves that to Apple.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` for a request that Apple documents to refuse.
    public func sendConsumptionInformation(
        _ request: ConsumptionRequest, of transactionID: String, productType: ProductType?
    ) throws(AppStoreServerError) {
        try Self.checkID(transactionID)
        try request.check(for: productType)
        try send(.put, ["inApps", "v2", "transactions", "consumption", transactionID], Body(json: request.json))
    }

    /// Answers a `CONSUMPTION_REQUEST` about a purchase that uses the Advanced Commerce API (Send Consumption
    /// Information, version 1). If the answer is lost, send it again.
    ///
    /// - Parameters:
    ///   - request: What is sent.
    ///   - transactionID: The id of the notification's transaction; not its original id.
    /// - Throws: ``AppStoreServerError/Reason-swift.enum/brokenRule(_:)`` for a request that Apple documents to refuse.
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
    /// `signedAppTransactionInfo`; `nil` if the answer has none.
    public let appTransaction: SignedItem<Verified<AppTransaction>>?
}
