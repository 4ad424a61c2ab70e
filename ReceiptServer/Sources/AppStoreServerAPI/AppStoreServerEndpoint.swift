/// The endpoints of the App Store Server API that this package uses. The raw values are stable names for metrics.
@nonexhaustive
public enum AppStoreServerEndpoint: String, Hashable, Sendable, CaseIterable {
    /// Get Transaction Info.
    case transactionInfo = "transaction-info"
    /// Get All Subscription Statuses.
    case subscriptionStatuses = "subscription-statuses"
    /// Get Transaction History, version 2.
    case transactionHistory = "transaction-history"
    /// Get Refund History, version 2.
    case refundHistory = "refund-history"
    /// Look Up Order ID.
    case orderLookup = "order-lookup"
    /// Get Notification History.
    case notificationHistory = "notification-history"
    /// Request a Test Notification.
    case requestTestNotification = "request-test-notification"
    /// Get Test Notification Status.
    case testNotificationStatus = "test-notification-status"
    /// Get Transaction History, version 1.
    case transactionHistoryV1 = "transaction-history-v1"
    /// Get App Transaction Info.
    case appTransactionInfo = "app-transaction-info"
    /// Set App Account Token.
    case setAppAccountToken = "set-app-account-token"
    /// Finish Transaction.
    case finishTransaction = "finish-transaction"
    /// Send Consumption Information, version 2.
    case sendConsumptionInformation = "send-consumption-information"
    /// Send Consumption Information, version 1.
    case sendConsumptionInformationV1 = "send-consumption-information-v1"
    /// Extend a Subscription Renewal Date.
    case extendRenewalDate = "extend-renewal-date"
    /// Extend Subscription Renewal Dates for All Active Subscribers.
    case extendAllRenewalDates = "extend-all-renewal-dates"
    /// Get Status of Subscription Renewal Date Extensions.
    case renewalExtensionStatus = "renewal-extension-status"
    /// All calls of the Retention Messaging API.
    case retentionMessaging = "retention-messaging"
}
