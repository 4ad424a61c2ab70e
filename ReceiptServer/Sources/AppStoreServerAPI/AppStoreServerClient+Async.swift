public import AppStoreReceipt
import ServerThreads

// The calls for asynchronous code. They wait on threads of the client, and never on Swift's own thread pool. A canceled
// task still waits for the answer, because the request can't be withdrawn.

extension AppStoreServerClient {
    private func onThread<Answer: Sendable>(
        _ call: @escaping @Sendable (AppStoreServerClient) throws(AppStoreServerError) -> Answer
    ) async throws(AppStoreServerError) -> Answer {
        try await CallThreads.shared.result { [self] in Result { () throws(AppStoreServerError) in try call(self) } }
            .get()
    }

    /// The same as the call without `await`.
    public func transactionInfo(of id: String) async throws(AppStoreServerError) -> TransactionInfoAnswer {
        try await onThread { (client) throws(AppStoreServerError) in try client.transactionInfo(of: id) }
    }

    /// The same as the call without `await`.
    public func subscriptionStatuses(of id: String, statuses: [SubscriptionStatus] = [])
        async throws(AppStoreServerError) -> SubscriptionStatusesAnswer
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.subscriptionStatuses(of: id, statuses: statuses)
        }
    }

    /// The same as the call without `await`.
    public func transactionHistory(
        of id: String, _ query: TransactionHistoryQuery = TransactionHistoryQuery(), revision: String? = nil
    ) async throws(AppStoreServerError) -> TransactionPage {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.transactionHistory(of: id, query, revision: revision)
        }
    }

    /// The same as the call without `await`.
    public func transactionHistoryV1(
        of id: String, _ query: TransactionHistoryQuery = TransactionHistoryQuery(), revision: String? = nil
    ) async throws(AppStoreServerError) -> TransactionPage {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.transactionHistoryV1(of: id, query, revision: revision)
        }
    }

    /// The same as the call without `await`.
    public func refundHistory(of id: String, revision: String? = nil) async throws(AppStoreServerError)
        -> TransactionPage
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.refundHistory(of: id, revision: revision)
        }
    }

    /// The same as the call without `await`.
    public func order(_ id: String) async throws(AppStoreServerError) -> OrderLookupAnswer {
        try await onThread { (client) throws(AppStoreServerError) in try client.order(id) }
    }

    /// The same as the call without `await`.
    public func notificationHistory(_ query: NotificationHistoryQuery, paginationToken: String? = nil)
        async throws(AppStoreServerError) -> NotificationPage
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.notificationHistory(query, paginationToken: paginationToken)
        }
    }

    /// The same as the call without `await`.
    public func requestTestNotification() async throws(AppStoreServerError) -> UnsignedTestNotification {
        try await onThread { (client) throws(AppStoreServerError) in try client.requestTestNotification() }
    }

    /// The same as the call without `await`.
    public func testNotificationStatus(_ token: String) async throws(AppStoreServerError) -> SentNotification {
        try await onThread { (client) throws(AppStoreServerError) in try client.testNotificationStatus(token) }
    }

    /// The same as the call without `await`.
    public func setAppAccountToken(_ token: String, ofOriginalTransaction originalTransactionID: String)
        async throws(AppStoreServerError)
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.setAppAccountToken(token, ofOriginalTransaction: originalTransactionID)
        }
    }

    /// The same as the call without `await`.
    public func appTransactionInfo(of id: String) async throws(AppStoreServerError) -> AppTransactionInfoAnswer {
        try await onThread { (client) throws(AppStoreServerError) in try client.appTransactionInfo(of: id) }
    }

    /// The same as the call without `await`.
    public func finishTransaction(_ transactionID: String) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in try client.finishTransaction(transactionID) }
    }

    /// The same as the call without `await`.
    public func sendConsumptionInformation(
        _ request: ConsumptionRequest, of transactionID: String, productType: ProductType?
    ) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.sendConsumptionInformation(request, of: transactionID, productType: productType)
        }
    }

    /// The same as the call without `await`.
    public func sendConsumptionInformationV1(_ request: ConsumptionRequestV1, of transactionID: String)
        async throws(AppStoreServerError)
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.sendConsumptionInformationV1(request, of: transactionID)
        }
    }

    /// The same as the call without `await`.
    public func extendRenewalDate(
        ofOriginalTransaction originalTransactionID: String, _ renewalExtension: RenewalExtension
    ) async throws(AppStoreServerError) -> UnsignedRenewalExtension {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.extendRenewalDate(ofOriginalTransaction: originalTransactionID, renewalExtension)
        }
    }

    /// The same as the call without `await`.
    public func extendRenewalDates(
        ofAllSubscribersOf productID: String, _ renewalExtension: RenewalExtension, storefronts: [String]? = nil
    ) async throws(AppStoreServerError) -> UnsignedMassExtension {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.extendRenewalDates(ofAllSubscribersOf: productID, renewalExtension, storefronts: storefronts)
        }
    }

    /// The same as the call without `await`.
    public func statusOfRenewalDateExtensions(of productID: String, requestIdentifier: String)
        async throws(AppStoreServerError) -> UnsignedMassExtensionStatus
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.statusOfRenewalDateExtensions(of: productID, requestIdentifier: requestIdentifier)
        }
    }

    /// The same as the call without `await`.
    public func uploadImage(_ image: RetentionImage, identifier: String) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.uploadImage(image, identifier: identifier)
        }
    }

    /// The same as the call without `await`.
    public func deleteImage(_ identifier: String) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in try client.deleteImage(identifier) }
    }

    /// The same as the call without `await`.
    public func images() async throws(AppStoreServerError) -> [UnsignedRetentionImage] {
        try await onThread { (client) throws(AppStoreServerError) in try client.images() }
    }

    /// The same as the call without `await`.
    public func uploadMessage(_ message: RetentionMessage, identifier: String) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.uploadMessage(message, identifier: identifier)
        }
    }

    /// The same as the call without `await`.
    public func deleteMessage(_ identifier: String) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in try client.deleteMessage(identifier) }
    }

    /// The same as the call without `await`.
    public func messages() async throws(AppStoreServerError) -> [UnsignedRetentionMessage] {
        try await onThread { (client) throws(AppStoreServerError) in try client.messages() }
    }

    /// The same as the call without `await`.
    public func setDefaultMessage(_ messageIdentifier: String, of productID: String, locale: String)
        async throws(AppStoreServerError)
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.setDefaultMessage(messageIdentifier, of: productID, locale: locale)
        }
    }

    /// The same as the call without `await`.
    public func defaultMessage(of productID: String, locale: String) async throws(AppStoreServerError) -> String? {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.defaultMessage(of: productID, locale: locale)
        }
    }

    /// The same as the call without `await`.
    public func deleteDefaultMessage(of productID: String, locale: String) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.deleteDefaultMessage(of: productID, locale: locale)
        }
    }

    /// The same as the call without `await`.
    public func setRealtimeURL(_ url: String) async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in try client.setRealtimeURL(url) }
    }

    /// The same as the call without `await`.
    public func realtimeURL() async throws(AppStoreServerError) -> String? {
        try await onThread { (client) throws(AppStoreServerError) in try client.realtimeURL() }
    }

    /// The same as the call without `await`.
    public func deleteRealtimeURL() async throws(AppStoreServerError) {
        try await onThread { (client) throws(AppStoreServerError) in try client.deleteRealtimeURL() }
    }

    /// The same as the call without `await`.
    public func startPerformanceTest(originalTransactionID: String) async throws(AppStoreServerError)
        -> UnsignedPerformanceTest
    {
        try await onThread { (client) throws(AppStoreServerError) in
            try client.startPerformanceTest(originalTransactionID: originalTransactionID)
        }
    }

    /// The same as the call without `await`.
    public func performanceTestResult(_ requestID: String) async throws(AppStoreServerError)
        -> UnsignedPerformanceTestResult
    {
        try await onThread { (client) throws(AppStoreServerError) in try client.performanceTestResult(requestID) }
    }
}
