public import AppStoreReceipt

// What Apple's answers contain. A type whose name begins with `Unsigned` has what only TLS protects: it steers paging
// and metrics, and never grants or takes back anything.

/// The answer to Get Transaction Info.
public struct TransactionInfoAnswer: Hashable, Sendable {
    /// `signedTransactionInfo`; `nil` if the answer has none.
    public let transaction: SignedItem<Verified<TransactionInfo>>?
    /// Whether the transaction is the one asked about: its transaction id or its original transaction id is the id that
    /// was asked.
    ///
    /// Apple answers with another transaction of the same product for old receipts and for non-consumables that were
    /// bought again. A transaction that is neither is none of this customer's.
    public let isOfAskedID: Bool
}

/// The answer to Get All Subscription Statuses.
public struct SubscriptionStatusesAnswer: Hashable, Sendable {
    /// The subscriptions of all groups.
    public let subscriptions: [Subscription]
    /// What is not signed.
    public let unsigned: UnsignedApp

    /// The last transaction of a subscription, and its renewal information.
    public struct Subscription: Hashable, Sendable {
        /// `signedTransactionInfo`; `nil` if there is none.
        public let transaction: SignedItem<Verified<TransactionInfo>>?
        /// `signedRenewalInfo`; `nil` if there is none.
        public let renewalInfo: SignedItem<Verified<RenewalInfo>>?
        /// What is not signed.
        public let unsigned: UnsignedSubscription
    }
}

/// What Apple says of a subscription without signing it.
public struct UnsignedSubscription: Hashable, Sendable {
    /// `status`: compare it, but do not decide by it.
    public let status: SubscriptionStatus?
    /// `originalTransactionId`.
    public let originalTransactionID: String?
    /// `subscriptionGroupIdentifier`.
    public let subscriptionGroupID: String?
}

/// The app that an answer names without signing it.
public struct UnsignedApp: Hashable, Sendable {
    /// `environment`, as Apple writes it, such as `Production`.
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
    /// Where the next page begins.
    public let unsigned: UnsignedTransactionPage
    /// The transaction ids that the refused ones claim, in their order.
    package let refusedIDs: [String?]
}

/// What steers the pages of a customer's transactions.
public struct UnsignedTransactionPage: Hashable, Sendable {
    /// `revision`: the next page begins here. With the last one, Apple says later what is new.
    public let revision: String?
    /// `hasMore`; `false` if it is missing.
    public let hasMore: Bool
    /// The app that the answer names.
    public let app: UnsignedApp
}

/// The answer to Look Up Order ID.
public struct OrderLookupAnswer: Hashable, Sendable {
    /// `signedTransactions`.
    public let transactions: [SignedItem<Verified<TransactionInfo>>]
    /// What is not signed.
    public let unsigned: UnsignedOrder
    /// The transaction ids that the refused ones claim, in their order.
    package let refusedIDs: [String?]
}

/// What Apple says of an order without signing it.
public struct UnsignedOrder: Hashable, Sendable {
    /// `status`: 0 for a valid order id, 1 for one that is not; `nil` if it is missing.
    public let status: Int64?
    /// Whether Apple says that it knows the order id.
    public var isValid: Bool { status == 0 }
}

/// A page of Get Notification History.
public struct NotificationPage: Hashable, Sendable {
    /// `notificationHistory`, at most 20, in no documented order.
    public let notifications: [SentNotification]
    /// Where the next page begins.
    public let unsigned: UnsignedNotificationPage
}

/// What steers the pages of notifications.
public struct UnsignedNotificationPage: Hashable, Sendable {
    /// `paginationToken`, with which the next page is asked for.
    public let paginationToken: String?
    /// `hasMore`; `false` if it is missing.
    public let hasMore: Bool
}

/// A notification that Apple has sent, and what became of it.
public struct SentNotification: Hashable, Sendable {
    /// `signedPayload`; `nil` if there is none.
    public let notification: SignedItem<VerifiedNotification>?
    /// `sendAttempts`.
    public let sendAttempts: [UnsignedSendAttempt]
}

/// An attempt of Apple to send a notification.
public struct UnsignedSendAttempt: Hashable, Sendable {
    /// `attemptDate`.
    public let date: Instant?
    /// `sendAttemptResult`, such as `SUCCESS` or `TIMED_OUT`.
    public let result: String?
    /// Whether Apple says that a server took the notification. A proxy may have answered.
    public var isSuccess: Bool { result.map { $0.utf8.elementsEqual("SUCCESS".utf8) } ?? false }
}

/// The answer to Request a Test Notification.
public struct UnsignedTestNotification: Hashable, Sendable {
    /// `testNotificationToken`, with which its status is asked for.
    public let token: String
}
