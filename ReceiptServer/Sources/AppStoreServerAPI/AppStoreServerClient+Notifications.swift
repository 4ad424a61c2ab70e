public import AppStoreReceipt
import StrictText

extension AppStoreServerClient {
    /// Requests a page of the notifications that Apple has sent (Get Notification History).
    ///
    /// Apple keeps notifications for 180 days, or 30 days in the sandbox, and only those that it tried to send: without
    /// a URL in App Store Connect, there are none.
    ///
    /// - Parameters:
    ///   - query: The notifications to return. It must be the same for all pages.
    ///   - paginationToken: The token from the previous page, or `nil` for the first page.
    public func notificationHistory(
        _ query: NotificationHistoryQuery, paginationToken: String? = nil
    ) throws(AppStoreServerError) -> NotificationPage {
        let inquiry = Inquiry(
            path: ["inApps", "v1", "notifications", "history"],
            query: paginationToken.map { [(name: "paginationToken", value: $0)] } ?? [], method: .post,
            body: Body(json: query.body))
        return try ask(inquiry) { (body) throws(JSONError) in try NotificationPage(body, verifier) }
    }

    /// Requests a notification of the type `TEST` (Request a Test Notification).
    ///
    /// - Throws: ``AppStoreServerErrorCode/notificationURLNotFound`` if App Store Connect has no URL.
    public func requestTestNotification() throws(AppStoreServerError) -> UnsignedTestNotification {
        // This is a POST without a body.
        let inquiry = Inquiry(
            path: ["inApps", "v1", "notifications", "test"], method: .post, body: Body(bytes: []))
        return try ask(inquiry) { (body) throws(JSONError) in try UnsignedTestNotification(body) }
    }

    /// Requests the status of a test notification (Get Test Notification Status).
    ///
    /// - Parameter token: The token that `requestTestNotification()` returned.
    /// - Throws: ``AppStoreServerErrorCode/testNotificationNotFound``, among others, if Apple hasn't sent it yet. Retry
    ///   a few times.
    public func testNotificationStatus(_ token: String) throws(AppStoreServerError) -> SentNotification {
        try Self.checkID(token)
        return try ask(Inquiry(path: ["inApps", "v1", "notifications", "test", token])) { (body) throws(JSONError) in
            try SentNotification(body, verifier)
        }
    }
}

/// The notifications to request.
public struct NotificationHistoryQuery: Hashable, Sendable {
    /// The earliest date.
    public var startDate: Instant
    /// The latest date, which must be later than ``startDate``. Apple replaces a future date with the current one.
    public var endDate: Instant
    /// One customer or one type, or `nil` for all. Apple refuses both at once.
    public var filter: Filter?
    /// Whether to request only notifications that no server has accepted yet.
    public var onlyFailures = false

    /// The filters that Apple supports.
    public enum Filter: Hashable, Sendable {
        /// A type and, unless `nil`, a subtype.
        case type(NotificationType, NotificationSubtype? = nil)
        /// The customer with this transaction id.
        case transaction(String)
    }

    /// Creates a query for all notifications in a period.
    public init(from startDate: Instant, to endDate: Instant) {
        self.startDate = startDate
        self.endDate = endDate
    }

    var body: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("startDate")
        writer.integer(startDate.millisecondsSince1970)
        writer.name("endDate")
        writer.integer(endDate.millisecondsSince1970)
        switch filter {
        case .type(let type, let subtype):
            writer.name("notificationType")
            writer.string(type.rawValue)
            if let subtype {
                writer.name("notificationSubtype")
                writer.string(subtype.rawValue)
            }
        case .transaction(let id):
            writer.name("transactionId")
            writer.string(id)
        case nil: break
        }
        if onlyFailures {
            writer.name("onlyFailures")
            writer.bool(true)
        }
        writer.endObject()
        return writer.bytes
    }
}
