import AppStoreReceipt
import StrictText

// Apple documents every member of an answer as optional. Unknown members are skipped, and `null` counts as missing. A
// repeated member or one of the wrong type makes the answer unreadable, and so does an object with none of the members,
// such as `{}` from a proxy: Apple sends empty members if it has nothing to report.

extension JSONCursor {
    mutating func optionalString() throws(JSONError) -> String? {
        try readIfNull() ? nil : try readString().value
    }

    mutating func optionalInt64() throws(JSONError) -> Int64? {
        try readIfNull() ? nil : try readInt64()
    }

    mutating func elements(
        _ body: (inout JSONCursor) throws(JSONError) -> Void
    ) throws(JSONError) {
        if try !readIfNull() { try readArray(body) }
    }

    mutating func strings() throws(JSONError) -> [String] {
        var strings: [String] = []
        try elements { (cursor) throws(JSONError) in strings.append(try cursor.readString().value) }
        return strings
    }

    /// Reads an object that makes up the whole text.
    static func readAnswer<Member>(
        _ body: [UInt8], of members: JSONMembers<Member>,
        _ read: (inout JSONCursor, Member) throws(JSONError) -> Void
    ) throws(JSONError) {
        var isAnswer = false
        try decode(body.span) { (cursor) throws(JSONError) in
            try cursor.readObject(of: members) { (cursor, member) throws(JSONError) in
                isAnswer = true
                try read(&cursor, member)
            }
        }
        guard isAnswer else { throw JSONError(.missingMember, offset: body.count) }
    }
}

/// An error from Apple.
struct ErrorBody {
    private enum Member: String, CaseIterable { case errorCode }
    private static let members = JSONMembers<Member>()

    private(set) var code: AppStoreServerErrorCode?

    /// Reads a body. If it isn't JSON, as with a status of 401 or an answer from a proxy, there is no code.
    init(_ body: [UInt8]) {
        var number: Int64?
        do throws(JSONError) {
            try JSONCursor.readAnswer(body, of: Self.members) { (cursor, _) throws(JSONError) in
                number = try cursor.optionalInt64()
            }
            code = number.map(AppStoreServerErrorCode.init(rawValue:))
        } catch {
            code = nil
        }
    }
}

extension TransactionInfoAnswer {
    private enum Member: String, CaseIterable { case signedTransactionInfo }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8], askedID: String, _ verifier: SignedItemVerifier) throws(JSONError) {
        var jws: String?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, _) throws(JSONError) in
            jws = try cursor.optionalString()
        }
        transaction = jws.map(verifier.transaction)
        let info = transaction?.value
        isOfAskedID = [info?.transactionID, info?.originalTransactionID].contains { id in
            id.map { $0.hasSameBytes(as: askedID) } ?? false
        }
    }
}

extension SubscriptionStatusesAnswer {
    private enum Member: String, CaseIterable { case environment, bundleId, appAppleId, data }
    private static let members = JSONMembers<Member>()
    private enum GroupMember: String, CaseIterable { case subscriptionGroupIdentifier, lastTransactions }
    private static let groupMembers = JSONMembers<GroupMember>()

    init(_ body: [UInt8], _ verifier: SignedItemVerifier) throws(JSONError) {
        var app = RawApp()
        var subscriptions: [Subscription] = []
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .environment: app.environment = try cursor.optionalString()
            case .bundleId: app.bundleID = try cursor.optionalString()
            case .appAppleId: app.appAppleID = try cursor.optionalInt64()
            case .data:
                try cursor.elements { (cursor) throws(JSONError) in
                    var group: String?
                    var items: [RawSubscription] = []
                    try cursor.readObject(of: Self.groupMembers) { (cursor, member) throws(JSONError) in
                        switch member {
                        case .subscriptionGroupIdentifier: group = try cursor.optionalString()
                        case .lastTransactions:
                            try cursor.elements { (cursor) throws(JSONError) in
                                items.append(try RawSubscription(&cursor))
                            }
                        }
                    }
                    subscriptions += items.map { $0.verified(by: verifier, group: group) }
                }
            }
        }
        self.subscriptions = subscriptions
        unsigned = app.value
    }
}

/// The members of ``UnsignedApp``.
private struct RawApp {
    var environment: String?
    var bundleID: String?
    var appAppleID: Int64?

    var value: UnsignedApp { UnsignedApp(environment: environment, bundleID: bundleID, appAppleID: appAppleID) }
}

private struct RawSubscription {
    private enum Member: String, CaseIterable {
        case status, originalTransactionId, signedTransactionInfo, signedRenewalInfo
    }
    private static let members = JSONMembers<Member>()

    private var status: Int64?
    private var originalTransactionID: String?
    private var transaction: String?
    private var renewalInfo: String?

    init(_ cursor: inout JSONCursor) throws(JSONError) {
        var raw = Self.empty
        try cursor.readObject(of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .status: raw.status = try cursor.optionalInt64()
            case .originalTransactionId: raw.originalTransactionID = try cursor.optionalString()
            case .signedTransactionInfo: raw.transaction = try cursor.optionalString()
            case .signedRenewalInfo: raw.renewalInfo = try cursor.optionalString()
            }
        }
        self = raw
    }

    private init() {}
    private static var empty: RawSubscription { RawSubscription() }

    func verified(by verifier: SignedItemVerifier, group: String?) -> SubscriptionStatusesAnswer.Subscription {
        .init(
            transaction: transaction.map(verifier.transaction), renewalInfo: renewalInfo.map(verifier.renewalInfo),
            unsigned: UnsignedSubscription(
                status: status.map(SubscriptionStatus.init(rawValue:)), originalTransactionID: originalTransactionID,
                subscriptionGroupID: group))
    }
}

extension TransactionPage {
    private enum Member: String, CaseIterable {
        case revision, hasMore, bundleId, appAppleId, environment, signedTransactions
    }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8], _ verifier: SignedItemVerifier) throws(JSONError) {
        var app = RawApp()
        var revision: String?
        var hasMore = false
        var signed: [String] = []
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .revision: revision = try cursor.optionalString()
            case .hasMore: hasMore = try cursor.readIfNull() ? false : try cursor.readBool()
            case .bundleId: app.bundleID = try cursor.optionalString()
            case .appAppleId: app.appAppleID = try cursor.optionalInt64()
            case .environment: app.environment = try cursor.optionalString()
            case .signedTransactions: signed = try cursor.strings()
            }
        }
        transactions = signed.map(verifier.transaction)
        refusedIDs = ClaimedID.transactions(signed, transactions)
        unsigned = UnsignedTransactionPage(revision: revision, hasMore: hasMore, app: app.value)
    }
}

extension OrderLookupAnswer {
    private enum Member: String, CaseIterable { case status, signedTransactions }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8], _ verifier: SignedItemVerifier) throws(JSONError) {
        var status: Int64?
        var signed: [String] = []
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .status: status = try cursor.optionalInt64()
            case .signedTransactions: signed = try cursor.strings()
            }
        }
        transactions = signed.map(verifier.transaction)
        refusedIDs = ClaimedID.transactions(signed, transactions)
        unsigned = UnsignedOrder(status: status)
    }
}

extension NotificationPage {
    private enum Member: String, CaseIterable { case notificationHistory, hasMore, paginationToken }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8], _ verifier: SignedItemVerifier) throws(JSONError) {
        var token: String?
        var hasMore = false
        var notifications: [SentNotification] = []
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            switch member {
            case .paginationToken: token = try cursor.optionalString()
            case .hasMore: hasMore = try cursor.readIfNull() ? false : try cursor.readBool()
            case .notificationHistory:
                try cursor.elements { (cursor) throws(JSONError) in
                    notifications.append(try SentNotification(&cursor, verifier))
                }
            }
        }
        self.notifications = notifications
        unsigned = UnsignedNotificationPage(paginationToken: token, hasMore: hasMore)
    }
}

extension SentNotification {
    private enum Member: String, CaseIterable { case signedPayload, sendAttempts }
    private static let members = JSONMembers<Member>()
    private enum AttemptMember: String, CaseIterable { case attemptDate, sendAttemptResult }
    private static let attemptMembers = JSONMembers<AttemptMember>()

    /// Reads a whole answer.
    init(_ body: [UInt8], _ verifier: SignedItemVerifier) throws(JSONError) {
        var raw = Raw()
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, member) throws(JSONError) in
            try raw.read(member, &cursor)
        }
        self.init(raw, verifier)
    }

    /// Reads an element of a page.
    fileprivate init(_ cursor: inout JSONCursor, _ verifier: SignedItemVerifier) throws(JSONError) {
        var raw = Raw()
        try cursor.readObject(of: Self.members) { (cursor, member) throws(JSONError) in
            try raw.read(member, &cursor)
        }
        self.init(raw, verifier)
    }

    private struct Raw {
        var jws: String?
        var attempts: [UnsignedSendAttempt] = []

        mutating func read(_ member: Member, _ cursor: inout JSONCursor) throws(JSONError) {
            switch member {
            case .signedPayload: jws = try cursor.optionalString()
            case .sendAttempts:
                try cursor.elements { (cursor) throws(JSONError) in
                    var date: Instant?
                    var result: String?
                    try cursor.readObject(of: SentNotification.attemptMembers) { (cursor, member) throws(JSONError) in
                        switch member {
                        case .attemptDate: date = try cursor.readIfNull() ? nil : try cursor.readInstant()
                        case .sendAttemptResult: result = try cursor.optionalString()
                        }
                    }
                    attempts.append(UnsignedSendAttempt(date: date, result: result))
                }
            }
        }
    }

    private init(_ raw: Raw, _ verifier: SignedItemVerifier) {
        notification = raw.jws.map(verifier.notification)
        sendAttempts = raw.attempts
    }
}

extension UnsignedTestNotification {
    private enum Member: String, CaseIterable { case testNotificationToken }
    private static let members = JSONMembers<Member>()

    init(_ body: [UInt8]) throws(JSONError) {
        var token: String?
        try JSONCursor.readAnswer(body, of: Self.members) { (cursor, _) throws(JSONError) in
            token = try cursor.optionalString()
        }
        guard let token else { throw JSONError(.missingMember, offset: body.count) }
        self.token = token
    }
}
