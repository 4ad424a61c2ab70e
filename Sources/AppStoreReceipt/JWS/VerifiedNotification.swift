/// A verified notification with its verified parts.
///
/// You can read all properties of the notification through it, such as `verified.type`.
@dynamicMemberLookup
public struct VerifiedNotification: Hashable, Sendable {
    /// The verified payload of the notification.
    public let notification: Verified<AppStoreNotification>
    /// The transaction of ``NotificationData`` (`signedTransactionInfo`), whose own signature was verified; `nil` if
    /// there is none.
    public let transactionInfo: Verified<TransactionInfo>?
    /// The renewal information of ``NotificationData`` (`signedRenewalInfo`), whose own signature was verified; `nil`
    /// if there is none.
    public let renewalInfo: Verified<RenewalInfo>?
    /// The app transaction of ``NotificationAppData`` (`signedAppTransactionInfo`), whose own signature was verified;
    /// `nil` if there is none.
    public let appTransaction: Verified<AppTransaction>?

    /// Accesses a property of the notification, such as `verified.type`.
    public subscript<Value>(dynamicMember field: KeyPath<AppStoreNotification, Value>) -> Value {
        notification.payload[keyPath: field]
    }
}
