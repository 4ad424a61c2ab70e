public import AppStoreReceipt

// The contents of Apple's answers. Types whose names begin with `Unsigned` contain values that only TLS protects. These
// control paging and metrics, and never grant or revoke anything.

/// The answer to Get Transaction Info.
public struct TransactionInfoAnswer: Hashable, Sendable {
    /// `signedTransactionInfo`, or `nil` if the answer has none.
    public let transaction: SignedItem<Verified<TransactionInfo>>?
    /// Whether the transaction is the requested one: its transaction id or its original transaction id is the id in the
    /// request.
    ///
    /// For old receipts, and for non-consumables that were bought again, Apple answers with another transaction of the
    /// same product. If neither applies, the transaction isn't this customer's.
    public let isOfAskedID: Bool
}

/// The answer to Get All Subscription Statuses.
public struct SubscriptionStatusesAnswer: Hashable, Sendable {
    /// The subscriptions in all groups.
    public let subscriptions: [Subscription]
    /// The unsigned part of the answer.
    public let unsigned: UnsignedApp

    /// The last transaction and the renewal information of a subscription.
    public struct Subscription: Hashable, Sendable {
        /// `signedTransactionInfo`, or `nil` if there is none.
        public let transaction: SignedItem<Verified<TransactionInfo>>?
        /// `signedRenewalInfo`, or `nil` if there is none.
        public let renewalInfo: SignedItem<Verified<RenewalInfo>>?
        /// The unsigned part of the element.
        public let unsigned: UnsignedSubscription
    }
}

/// The unsigned information about a subscription.
public struct UnsignedSubscription: Hashable, Sendable {
    /// `status`. Compare it, but don't base decisions on it.
    public let status: SubscriptionStatus?
    /// `originalTransactionId`.
    public let originalTransactionID: String?
    /// `subscriptionGroupIdentifier`.
    public let subscriptionGroupID: String?
}

/// The app that an answer names, unsigned.
public struct UnsignedApp: Hashable, Sendable {
    /// `environment`, spelled as Apple does, such as `Production`.
    public let environment: String?
    /// `bundleId`.
    public let bundleID: String?
    /// `appAppleId`.
    public let appAppleID: Int64?
}

/// A page of Get Transaction History or Get Refund History.
public struct TransactionPage: Hashable, Sendable {
    /// `signedTransactions`, at most 20.
    public let transactions: [SignedItem<Verified<TransactionInfo>>]
    /// The position of the next page.
    public let unsigned: UnsignedTransactionPage
    /// The transaction ids that the refused items claim to have, in order.
    package let refusedIDs: [String?]
}

/// The unsigned position within the pages of a customer's transactions.
public struct UnsignedTransactionPage: Hashable, Sendable {
    /// `revision`, where the next page begins. Use the revision of the last page to request later changes.
    public let revision: String?
    /// `hasMore`, or `false` if it is missing.
    public let hasMore: Bool
    /// The app that the answer names.
    public let app: UnsignedApp
}

/// The answer to Look Up Order ID.
public struct OrderLookupAnswer: Hashable, Sendable {
    /// `signedTransactions`.
    public let transactions: [SignedItem<Verified<TransactionInfo>>]
    /// The unsigned part of the answer.
    public let unsigned: UnsignedOrder
    /// The transaction ids that the refused items claim to have, in order.
    package let refusedIDs: [String?]
}

/// The unsigned information about an order.
public struct UnsignedOrder: Hashable, Sendable {
    /// `status`: 0 for a valid order id, 1 for an invalid one, or `nil` if it is missing.
    public let status: Int64?
    /// Whether Apple knows the order id.
    public var isValid: Bool { status == 0 }
}

/// A page of Get Notification History.
public struct NotificationPage: Hashable, Sendable {
    /// `notificationHistory`, at most 20, in no documented order.
    public let notifications: [SentNotification]
    /// The position of the next page.
    public let unsigned: UnsignedNotificationPage
}

/// The unsigned position within the pages of notifications.
public struct UnsignedNotificationPage: Hashable, Sendable {
    /// `paginationToken`, which requests the next page.
    public let paginationToken: String?
    /// `hasMore`, or `false` if it is missing.
    public let hasMore: Bool
}

/// A notification that Apple sent, and the results of the attempts.
public struct SentNotification: Hashable, Sendable {
    /// `signedPayload`, or `nil` if there is none.
    public let notification: SignedItem<VerifiedNotification>?
    /// `sendAttempts`.
    public let sendAttempts: [UnsignedSendAttempt]
}

/// An attempt by Apple to send a notification.
public struct UnsignedSendAttempt: Hashable, Sendable {
    /// `attemptDate`.
    public let date: Instant?
    /// `sendAttemptResult`, such as `SUCCESS` or `TIMED_OUT`.
    public let result: String?
    /// Whether Apple's attempt was answered with success. The answer may be from a proxy.
    public var isSuccess: Bool { result.map { $0.utf8.elementsEqual("SUCCESS".utf8) } ?? false }
}

/// The answer to Request a Test Notification.
public struct UnsignedTestNotification: Hashable, Sendable {
    /// `testNotificationToken`, which requests the status of the notification.
    public let token: String
}
