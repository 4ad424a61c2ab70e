public import AppStoreReceipt
import StrictText

extension AppStoreServerClient {
    /// Requests one transaction (Get Transaction Info).
    ///
    /// - Parameter id: A transaction id or an original transaction id.
    /// - Throws: ``AppStoreServerErrorCode/transactionIDNotFound``, among others, which doesn't prove a forgery:
    ///   according to Apple, known ids can disappear, and new ones can be late.
    public func transactionInfo(of id: String) throws(AppStoreServerError) -> TransactionInfoAnswer {
        try Self.checkID(id)
        return try ask(Inquiry(path: ["inApps", "v1", "transactions", id])) { (body) throws(JSONError) in
            try TransactionInfoAnswer(body, askedID: id, verifier)
        }
    }

    /// Requests all subscriptions of a customer (Get All Subscription Statuses).
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - statuses: The statuses to include. If empty, all are included.
    public func subscriptionStatuses(
        of id: String, statuses: [SubscriptionStatus] = []
    ) throws(AppStoreServerError) -> SubscriptionStatusesAnswer {
        try Self.checkID(id)
        let query = statuses.map { (name: "status", value: "\($0.rawValue)") }
        return try ask(Inquiry(path: ["inApps", "v1", "subscriptions", id], query: query)) {
            (body) throws(JSONError) in try SubscriptionStatusesAnswer(body, verifier)
        }
    }

    /// Requests a page of a customer's transactions (Get Transaction History, version 2).
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - query: The transactions to return. It must be the same for all pages.
    ///   - revision: The revision from the previous page, or `nil` for the first page.
    public func transactionHistory(
        of id: String, _ query: TransactionHistoryQuery = TransactionHistoryQuery(), revision: String? = nil
    ) throws(AppStoreServerError) -> TransactionPage {
        try transactionHistory("v2", of: id, query, revision)
    }

    private func transactionHistory(
        _ version: String, of id: String, _ query: TransactionHistoryQuery, _ revision: String?
    ) throws(AppStoreServerError) -> TransactionPage {
        try Self.checkID(id)
        let members = query.members + (revision.map { [(name: "revision", value: $0)] } ?? [])
        return try ask(Inquiry(path: ["inApps", version, "history", id], query: members)) {
            (body) throws(JSONError) in try TransactionPage(body, verifier)
        }
    }

    /// Requests a page of a customer's transactions in the older form (Get Transaction History, version 1), which Apple
    /// has deprecated. **It omits finished consumables**, so a missing transaction proves nothing. Use
    /// `transactionHistory(of:_:revision:)`.
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - query: The transactions to return. It must be the same for all pages.
    ///   - revision: The revision from the previous page, or `nil` for the first page.
    public func transactionHistoryV1(
        of id: String, _ query: TransactionHistoryQuery = TransactionHistoryQuery(), revision: String? = nil
    ) throws(AppStoreServerError) -> TransactionPage {
        try transactionHistory("v1", of: id, query, revision)
    }

    /// Requests a page of a customer's refunded transactions (Get Refund History, version 2), in order of their refund
    /// dates.
    ///
    /// - Parameters:
    ///   - id: Any transaction id, original transaction id or app transaction id of the customer.
    ///   - revision: The revision from the previous page; or from the last page of an earlier call, to return only
    ///     later refunds; or `nil` for the first page.
    public func refundHistory(of id: String, revision: String? = nil) throws(AppStoreServerError) -> TransactionPage {
        try Self.checkID(id)
        let query = revision.map { [(name: "revision", value: $0)] } ?? []
        return try ask(Inquiry(path: ["inApps", "v2", "refund", "lookup", id], query: query)) {
            (body) throws(JSONError) in try TransactionPage(body, verifier)
        }
    }

    /// Requests the transactions of an order (Look Up Order ID). Apple documents no URL for the sandbox.
    ///
    /// - Parameter id: The order id from the customer's invoice, such as `MX1234567A`.
    public func order(_ id: String) throws(AppStoreServerError) -> OrderLookupAnswer {
        try Self.checkID(id)
        return try ask(Inquiry(path: ["inApps", "v1", "lookup", id])) { (body) throws(JSONError) in
            try OrderLookupAnswer(body, verifier)
        }
    }
}

/// The transactions of a customer to request.
public struct TransactionHistoryQuery: Hashable, Sendable {
    /// The earliest purchase date, inclusive.
    public var startDate: Instant?
    /// The end of the purchase dates, exclusive.
    public var endDate: Instant?
    /// The products, or empty for all.
    public var productIDs: [String] = []
    /// The types of products, or empty for all.
    public var productTypes: [ProductKind] = []
    /// The subscription groups, or empty for all.
    public var subscriptionGroupIDs: [String] = []
    /// The buyer, which is the customer or a family member, or `nil` for both.
    public var ownershipType: OwnershipType?
    /// Whether to return only revoked transactions or only the others, or `nil` for both.
    public var isRevoked: Bool?
    /// The order by the date of the last change, or `nil` for Apple's default.
    public var sort: Sort?

    /// The types of products in the API.
    @nonexhaustive
    public enum ProductKind: String, Hashable, Sendable, CaseIterable {
        /// Subscriptions that renew automatically.
        case autoRenewable = "AUTO_RENEWABLE"
        /// Subscriptions that don't renew automatically.
        case nonRenewable = "NON_RENEWABLE"
        /// Products that are used up, such as coins.
        case consumable = "CONSUMABLE"
        /// Products that are bought once and kept.
        case nonConsumable = "NON_CONSUMABLE"
    }

    /// The orders.
    public enum Sort: String, Hashable, Sendable, CaseIterable {
        /// The oldest change first.
        case ascending = "ASCENDING"
        /// The newest change first.
        case descending = "DESCENDING"
    }

    /// Creates a query for all transactions.
    public init() {}

    var members: [(name: String, value: String)] {
        var members: [(name: String, value: String)] = []
        if let startDate { members.append(("startDate", "\(startDate.millisecondsSince1970)")) }
        if let endDate { members.append(("endDate", "\(endDate.millisecondsSince1970)")) }
        members += productIDs.map { ("productId", $0) }
        members += productTypes.map { ("productType", $0.rawValue) }
        if let sort { members.append(("sort", sort.rawValue)) }
        members += subscriptionGroupIDs.map { ("subscriptionGroupIdentifier", $0) }
        if let ownershipType { members.append(("inAppOwnershipType", ownershipType.rawValue)) }
        if let isRevoked { members.append(("revoked", isRevoked ? "true" : "false")) }
        return members
    }
}
