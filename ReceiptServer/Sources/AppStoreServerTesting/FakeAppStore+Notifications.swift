import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import StrictText

/// Receives a notification as a `signedPayload`, and returns the result, such as ``SendAttemptResult/success``.
public typealias NotificationReceiver = @Sendable (_ signedPayload: String) -> SendAttemptResult

/// The result of an attempt to send a notification, with Apple's names.
@nonexhaustive
public enum SendAttemptResult: String, Sendable, CaseIterable {
    /// The receiver answered with a status from 200 to 206.
    case success = "SUCCESS"
    /// The receiver didn't answer in time.
    case timedOut = "TIMED_OUT"
    /// No TLS connection could be established.
    case tlsIssue = "TLS_ISSUE"
    /// The receiver redirects in a circle.
    case circularRedirect = "CIRCULAR_REDIRECT"
    /// The receiver accepted the connection and ended it without an answer.
    case noResponse = "NO_RESPONSE"
    /// The connection failed.
    case socketIssue = "SOCKET_ISSUE"
    /// The answer has a character set that Apple doesn't know.
    case unsupportedCharset = "UNSUPPORTED_CHARSET"
    /// The answer isn't HTTP.
    case invalidResponse = "INVALID_RESPONSE"
    /// The receiver ended the connection before its answer was complete.
    case prematureClose = "PREMATURE_CLOSE"
    /// The receiver answered with another status.
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    /// Another error occurred.
    case other = "OTHER"
}

/// The notifications that were sent, are being sent, or will be sent again.
struct NotificationLog {
    struct Key: Hashable {
        let customer: Int
        let notification: PurchaseHistory.Notification
    }

    struct Entry {
        enum Content {
            case purchase(Key)
            /// A test notification, by its token.
            case test(String)
        }

        let content: Content
        let signedDate: Instant
        /// The payload that was sent: Apple keeps a notification unchanged.
        var signedPayload: String?
        var attempts: [(date: Instant, result: SendAttemptResult)] = []
        /// The date of the next attempt, or `nil` if there is none.
        var nextAttempt: Instant?

        var isDelivered: Bool { attempts.contains { $0.result == .success } }
    }

    /// The notifications in the order in which Apple first sent them. Their indexes are their numbers.
    var entries: [Entry] = []
    private var known: Set<Key> = []
    /// By customer, in order: the notifications that aren't in the log yet, whatever their date. A customer whose
    /// history changed has no entry until the history is searched again.
    private var coming: [Int: [PurchaseHistory.Notification]] = [:]

    /// Records that the history of a customer has changed.
    mutating func change(of customer: Int) { coming[customer] = nil }

    /// Adds the notifications that are due according to the histories.
    ///
    /// - Parameter isSent: Whether there is a receiver to send them to.
    mutating func update(_ histories: [Int: PurchaseHistory], at now: Instant, isSent: Bool) {
        var new: [Key] = []
        for (customer, history) in histories.sorted(by: { $0.key < $1.key }) {
            // Searching a history takes time.
            var coming =
                self.coming[customer]
                ?? history.notifications(through: .distantFuture).filter {
                    !known.contains(Key(customer: customer, notification: $0))
                }
            let due = coming.prefix { $0.signedDate <= now }.map { Key(customer: customer, notification: $0) }
            coming.removeFirst(due.count)
            self.coming[customer] = coming
            new += due.filter { known.insert($0).inserted }
        }
        guard isSent else { return }
        for key in new.sorted(by: { $0.notification.signedDate < $1.notification.signedDate }) {
            let date = key.notification.signedDate
            entries.append(Entry(content: .purchase(key), signedDate: date, nextAttempt: date))
        }
    }

    /// Returns the entry whose next attempt has been due for the longest time.
    func due(at now: Instant) -> Int? {
        entries.indices.filter { entries[$0].nextAttempt.map { $0 <= now } ?? false }
            .min { (entries[$0].nextAttempt ?? now) < (entries[$1].nextAttempt ?? now) }
    }

    /// The hours to wait after each failed attempt (Apple, "Responding to App Store Server Notifications").
    static let retryHours: [Int64] = [1, 12, 24, 48, 72]

    mutating func record(_ result: SendAttemptResult, of index: Int, _ signedPayload: String?, retries: Bool) {
        guard let date = entries[index].nextAttempt else { return }
        entries[index].signedPayload = signedPayload
        entries[index].attempts.append((date, result))
        let count = entries[index].attempts.count
        let isOver = result == .success || !retries || count > Self.retryHours.count
        entries[index].nextAttempt = isOver ? nil : date + .seconds(Self.retryHours[count - 1] * 3600)
    }
}

extension FakeAppStore {
    /// Sends the notifications that are due by ``now``: new ones and, in production, those that no receiver has
    /// accepted, 1, 12, 24, 48 and 72 hours after the previous attempt.
    ///
    /// An attempt gets the date it was due, even if the clock is later. ``FakeAppStoreServer`` calls this method a few
    /// times a second.
    ///
    /// - Returns: The number of attempts.
    @discardableResult
    public func deliverNotifications() -> Int {
        sending.withLock { _ in
            var count = 0
            while let (index, payload) = nextDelivery() {
                // A payload that cannot be signed cannot be sent.
                let result = payload.flatMap { payload in options.receiver?(payload) } ?? .other
                state.withLock { state in
                    state.notifications.record(result, of: index, payload, retries: environment == .production)
                }
                count += 1
            }
            return count
        }
    }

    /// The number of notifications that were accepted, and of those that will be sent or sent again.
    public var notificationCounts: (delivered: Int, pending: Int) {
        state.withLock { state in
            let entries = state.notifications.entries
            return (entries.count(where: \.isDelivered), entries.count { $0.nextAttempt != nil })
        }
    }

    private func nextDelivery() -> (Int, String?)? {
        let next = state.withLock { state -> (Int, NotificationLog.Entry, [Int: PurchaseHistory])? in
            state.notifications.update(state.histories, at: state.now, isSent: options.receiver != nil)
            return state.notifications.due(at: state.now).map {
                ($0, state.notifications.entries[$0], state.histories)
            }
        }
        guard let (index, entry, histories) = next else { return nil }
        do throws(FakeRefusal) {
            let signed = try payload(of: entry, histories, Mint(store: self, fault: nil))
            guard case .string(let text) = signed else { return (index, nil) }
            return (index, text)
        } catch {
            return (index, nil)
        }
    }

    private func payload(
        of entry: NotificationLog.Entry, _ histories: [Int: PurchaseHistory], _ mint: Mint
    ) throws(FakeRefusal) -> JSONValue {
        if let payload = entry.signedPayload, mint.fault == nil { return .string(payload) }
        switch entry.content {
        case .purchase(let key):
            guard let history = histories[key.customer] else { throw .internalError }
            var builder: JWSBuilder
            do throws(MintingError) {
                builder = try history.builder(for: key.notification, partsSignedBy: authority)
            } catch {
                throw .internalError
            }
            if environment == .production { builder.payload["data"]?["appAppleId"] = .integer(options.appAppleID) }
            return try mint.signNotification(builder)
        case .test(let token):
            var builder = JWSBuilder.notification(
                .test, bundleID: options.bundleID,
                appAppleID: environment == .production ? "\(options.appAppleID)" : nil, environment: environment,
                signedDate: entry.signedDate)
            builder.notificationUUID = String(decoding: token.utf8.prefix(36), as: UTF8.self)
            return try mint.signNotification(builder)
        }
    }

    // MARK: Answers

    func requestTestNotification() throws(FakeRefusal) -> JSONValue {
        guard options.receiver != nil else {
            throw FakeRefusal(4_040_007, "No App Store Server Notification URL found.")
        }
        let token = state.withLock { state in
            let date = state.now
            state.tokenCount += 1
            let number = String(state.tokenCount, radix: 16)
            let digits = String(repeating: "0", count: 12 - number.utf8.count) + number
            let token = "00000000-0000-4000-8000-\(digits)_\(date.millisecondsSince1970)"
            state.notifications.entries.append(
                NotificationLog.Entry(content: .test(token), signedDate: date, nextAttempt: date))
            return token
        }
        return ["testNotificationToken": .string(token)]
    }

    func testNotificationStatus(_ token: String, _ mint: Mint) throws(FakeRefusal) -> JSONValue {
        guard token.utf8.contains(UInt8(ascii: "_")) else {
            throw FakeRefusal(4_000_020, "Invalid request. The test notification token is invalid.")
        }
        let entry = state.withLock { state in
            state.notifications.entries.first { entry in
                guard case .test(let known) = entry.content else { return false }
                return known.hasSameBytes(as: token) && !entry.attempts.isEmpty
            }
        }
        guard let entry else {
            throw FakeRefusal(
                4_040_008,
                "Either the test notification token is expired or the notification and status are not yet available.")
        }
        return try item(entry, [:], mint)
    }

    private func item(
        _ entry: NotificationLog.Entry, _ histories: [Int: PurchaseHistory], _ mint: Mint
    ) throws(FakeRefusal) -> JSONValue {
        let attempts = entry.attempts.map { attempt -> JSONValue in
            [
                "attemptDate": .integer(attempt.date.millisecondsSince1970),
                "sendAttemptResult": .string(attempt.result.rawValue),
            ]
        }
        return ["signedPayload": try payload(of: entry, histories, mint), "sendAttempts": .array(attempts)]
    }

    func notificationHistory(_ request: FakeRequest, _ mint: Mint) throws(FakeRefusal) -> JSONValue {
        let (log, histories, now) = state.withLock { ($0.notifications, $0.histories, $0.now) }
        let filter = try NotificationFilter(
            request.body, now: now, keptDays: environment == .production ? 180 : 30, histories)
        var after = -1
        if let text = request.value("paginationToken") {
            after = try place(of: text, at: now)
        }
        let numbers = log.entries.indices.filter { filter.accepts(log.entries[$0]) }
        let rest = mint.fault == .pageRepeated ? numbers : numbers.filter { $0 > after }
        let page = PageOfItems(rest, all: numbers, isFirst: after < 0, mint.fault)
        var answer: JSONValue = [
            "hasMore": .boolean(page.hasMore),
            "notificationHistory": .array(
                try page.items.map { (number) throws(FakeRefusal) in try item(log.entries[number], histories, mint) }),
        ]
        if page.hasMore {
            let isLooped = mint.fault == .tokenLooped && after >= 0
            // A different date makes a different token.
            let date = mint.fault == .pageRepeated ? now + .milliseconds(1 + Int64(after)) : now
            answer["paginationToken"] =
                isLooped
                ? request.value("paginationToken").map { .string($0) }
                : .string(token(after: page.last ?? after, at: date))
        }
        return answer
    }

    private func token(after number: Int, at date: Instant) -> String {
        JWSBuilder.base64URL(Array("\(number)_\(date.millisecondsSince1970)".utf8))
    }

    private func place(of token: String, at now: Instant) throws(FakeRefusal) -> Int {
        let bytes = (try? Base64.decode(Array(token.utf8).span, as: .jws)) ?? []
        let parts = String(decoding: bytes, as: UTF8.self).utf8.split(separator: UInt8(ascii: "_"))
        guard parts.count == 2, let number = Int(Substring(parts[0])), let date = Int64(Substring(parts[1])) else {
            throw FakeRefusal(4_000_014, "Invalid request. The pagination token is invalid.")
        }
        guard now < Instant(millisecondsSince1970: date) + options.paginationTokenLifetime else {
            throw FakeRefusal(4_000_017, "Invalid request. The pagination token is expired.")
        }
        return number
    }
}

/// The filters of Get Notification History.
private struct NotificationFilter {
    private let start: Instant
    private let end: Instant
    private let type: NotificationType?
    private let subtype: NotificationSubtype?
    private var customer: Int?
    private let onlyFailures: Bool

    init(
        _ body: [UInt8], now: Instant, keptDays: Int64, _ histories: [Int: PurchaseHistory]
    ) throws(FakeRefusal) {
        guard let members = FlatJSON(body) else { throw .badRequest }
        guard let first = members.integer("startDate"), first > 0 else {
            throw FakeRefusal(
                4_000_015, "Invalid request. The start date is not a timestamp value represented in milliseconds.")
        }
        guard let last = members.integer("endDate"), last > 0 else {
            throw FakeRefusal(
                4_000_016, "Invalid request. The end date is not a timestamp value represented in milliseconds.")
        }
        start = Instant(millisecondsSince1970: first)
        end = min(Instant(millisecondsSince1970: last), now)
        guard first < last else {
            throw FakeRefusal(4_000_013, "Invalid request. The end date precedes the start date.")
        }
        guard now - .seconds(keptDays * 86_400) <= start else {
            throw FakeRefusal(4_000_012, "Invalid request. The start date is earlier than the allowed start date.")
        }
        let typeName = members.string("notificationType")
        let transactionID = members.string("transactionId")
        if typeName != nil, transactionID != nil {
            throw FakeRefusal(
                4_000_019, "Invalid request. Supply either a transaction id or a notification type, but not both.")
        }
        if let typeName, !Self.isName(typeName) {
            throw FakeRefusal(4_000_018, "Invalid request. The notification type or subtype is invalid.")
        }
        type = typeName.map(NotificationType.init(rawValue:))
        subtype = members.string("notificationSubtype").map(NotificationSubtype.init(rawValue:))
        if subtype != nil, type == nil {
            throw FakeRefusal(4_000_018, "Invalid request. The notification type or subtype is invalid.")
        }
        onlyFailures = members.boolean("onlyFailures") ?? false
        if let transactionID {
            customer = try FakeAppStore.history(ofAnyID: transactionID, in: histories, at: now).customer
        }
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "_") }
    }

    func accepts(_ entry: NotificationLog.Entry) -> Bool {
        guard !entry.attempts.isEmpty, start <= entry.signedDate, entry.signedDate <= end,
            !onlyFailures || !entry.isDelivered
        else { return false }
        switch entry.content {
        case .test: return customer == nil && (type == nil || type == .test) && subtype == nil
        case .purchase(let key):
            if let customer, customer != key.customer { return false }
            if let type, type != key.notification.type { return false }
            return subtype == nil || subtype == key.notification.subtype
        }
    }
}
