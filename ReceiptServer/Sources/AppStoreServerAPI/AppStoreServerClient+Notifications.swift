public import AppStoreReceipt
import StrictText

extension AppStoreServerClient {
    /// Asks for a page of the notifications that Apple has sent (Get Notification History).
    ///
    /// Apple keeps them for 180 days, in the sandbox for 30, and only those that it tried to send: without a URL in App
    /// Store Connect there are none.
    ///
    /// - Parameters:
    ///   - query: Which notifications. It must be the same for all pages.
    ///   - paginationToken: The token of the page before; `nil` for the first page.
    public func notificationHistory(
        _ query: NotificationHistoryQuery, paginationToken: String? = nil
    ) throws(AppStoreServerError) -> NotificationPage {
        let question = Question(
            path: ["inApps", "v1", "notifications", "history"],
            query: paginationToken.map { [(name: "paginationToken", value: $0)] } ?? [], method: .post,
            body: Body(json: query.body))
        return try ask(question) { (body) throws(JSONError) in try NotificationPage(body, verifier) }
    }

    /// Asks Apple to send a notification of the type `TEST` (Request a Test Notification).
    ///
    /// - Throws: ``AppStoreServerErrorCode/notificationURLNotFound`` if App Store Connect has no URL.
    public func requestTestNotification() throws(AppStoreServerError) -> UnsignedTestNotification {
        // A POST without a body.
        let question = Question(
            path: ["inApps", "v1", "notifications", "test"], method: .post, body: Body(bytes: []))
        return try ask(question) { (body) throws(JSONError) in try UnsignedTestNotification(body) }
    }

    /// Asks what became of a test notification (Get Test Notification Status).
    ///
    /// - Parameter token: The token that `requestTestNotification()` returned.
    /// - Throws: ``AppStoreServerErrorCode/testNotificationNotFound`` also if Apple has not sent it yet. Ask again a
    ///   few times.
    public func testNotificationStatus(_ token: String) throws(AppStoreServerError) -> SentNotification {
        try Self.checkID(token)
        return try ask(Question(path: ["inApps", "v1", "notifications", "test", token])) { (body) throws(JSONError) in
            try SentNotification(body, verifier)
        }
    }
}

/// Which notifications to ask for.
public struct NotificationHistoryQuery: Hashable, Sendable {
    /// The earliest date.
    public var startDate: Instant
    /// The latest date, later than ``startDate``. Apple replaces one in the future by the current date.
    public var endDate: Instant
    /// One customer, or one type; `nil` for all. Apple refuses both at once.
    public var filter: Filter?
    /// Whether to ask only for notifications that no server has taken yet.
    public var onlyFailures = false

    /// What Apple can select.
    public enum Filter: Hashable, Sendable {
        /// A type and, if it is not `nil`, a subtype.
        case type(NotificationType, NotificationSubtype? = nil)
        /// The customer with this transaction id.
        case transaction(String)
    }

    /// Creates a query for all notifications of a time.
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
