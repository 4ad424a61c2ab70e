/// What of the App Store Server API this package asks. The raw values are stable names for metrics.
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
}
