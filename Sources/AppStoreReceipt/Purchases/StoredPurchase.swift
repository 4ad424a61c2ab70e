/// A purchase that was verified before it was stored.
///
/// ```swift
/// try database.insert(StoredPurchase(verified).json)
/// let stored = try database.rows().map { try StoredPurchase(trusting: $0) }
/// let now = Entitlements(stored: stored, renewals: [], at: .now)
/// ```
///
/// It is made from a ``VerifiedPurchase``, or by an initializer that says what it trusts. It cannot be decoded: anyone
/// who can write to your storage can make a plain ``Purchase``.
@dynamicMemberLookup
public struct StoredPurchase: Hashable, Sendable {
    /// The purchase as a plain value.
    public let purchase: Purchase

    /// Trusts a plain value, such as one from the columns of your database. Use this for what you verified before you
    /// stored it.
    public init(trusting purchase: Purchase) { self.purchase = purchase }

    /// Trusts the ``json`` that your server stored.
    ///
    /// - Throws: `dataCorrupted` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(trusting json: String) throws(DecodingError) { purchase = try Purchase(storedJSON: json) }

    /// The purchase as one line of JSON, with the names in the order of their bytes. The same purchase has the same
    /// text.
    public var json: String { purchase.storedJSON }

    /// Accesses a property of the purchase, such as `stored.productID`.
    @inlinable
    public subscript<Value>(dynamicMember field: KeyPath<Purchase, Value>) -> Value { purchase[keyPath: field] }
}

/// Renewal information that was verified before it was stored. See ``StoredPurchase``.
@dynamicMemberLookup
public struct StoredRenewal: Hashable, Sendable {
    /// The renewal information as a plain value.
    public let renewal: SubscriptionRenewal

    /// Trusts a plain value, such as one from the columns of your database.
    public init(trusting renewal: SubscriptionRenewal) { self.renewal = renewal }

    /// Trusts the ``json`` that your server stored.
    ///
    /// - Throws: `dataCorrupted` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(trusting json: String) throws(DecodingError) { renewal = try SubscriptionRenewal(storedJSON: json) }

    /// The renewal information as one line of JSON. The same information has the same text.
    public var json: String { renewal.storedJSON }

    /// Accesses a property of the renewal information, such as `stored.gracePeriodExpiresDate`.
    @inlinable
    public subscript<Value>(dynamicMember field: KeyPath<SubscriptionRenewal, Value>) -> Value {
        renewal[keyPath: field]
    }
}
