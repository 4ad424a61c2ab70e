import AppStoreReceipt
import AppStoreServerAPI
import AppStoreSigning
import Foundation

// Our client in compare-with-apple: asks the server that its first line names what each further line says, and prints a line of JSON for each answer.

struct Server: Decodable {
    var url: String
    var root: Data
    var key: Data
    var keyID: String
    var issuerID: String
    var bundleID: String
}

struct Question: Decodable {
    var call: String
    var id: String?
    var statuses: [Int64]?
    var startDate: Int64?
    var endDate: Int64?
    var productIDs: [String]?
    var productTypes: [String]?
    var subscriptionGroupIDs: [String]?
    var ownershipType: String?
    var isRevoked: Bool?
    var sort: String?
    var notificationType: String?
    var notificationSubtype: String?
    var transactionID: String?
    var onlyFailures: Bool?
    /// A revision or a pagination token.
    var page: String?
}

/// The id of what was verified, `refused`, or null where there is nothing.
func verdict<Value>(_ item: SignedItem<Value>?, _ id: (Value) -> String?) -> Any {
    switch item {
    case nil: NSNull()
    case .refused: "refused"
    case .verified(let value): id(value) ?? "verified"
    }
}

func transaction(_ item: SignedItem<Verified<TransactionInfo>>?) -> Any { verdict(item) { $0.transactionID } }

func orNull<Value>(_ value: Value?) -> Any { value ?? NSNull() }

func app(_ app: UnsignedApp) -> [Any] { [orNull(app.environment), orNull(app.bundleID), orNull(app.appAppleID)] }

func page(_ page: TransactionPage) -> [Any] {
    [orNull(page.unsigned.revision), page.unsigned.hasMore, page.transactions.map { transaction($0) }]
}

func sent(_ notification: SentNotification) -> [Any] {
    [
        verdict(notification.notification) { $0.notificationUUID },
        notification.sendAttempts.map { [orNull($0.date?.millisecondsSince1970), orNull($0.result)] },
    ]
}

func answer(_ client: AppStoreServerClient, _ question: Question) throws -> [Any] {
    let id = question.id ?? ""
    switch question.call {
    case "transaction-info":
        let answer = try client.transactionInfo(of: id)
        return [transaction(answer.transaction), answer.isOfAskedID]
    case "subscription-statuses":
        let statuses = (question.statuses ?? []).map { SubscriptionStatus(rawValue: $0) }
        let answer = try client.subscriptionStatuses(of: id, statuses: statuses)
        return [
            app(answer.unsigned),
            answer.subscriptions.map { subscription in
                [
                    orNull(subscription.unsigned.subscriptionGroupID), orNull(subscription.unsigned.status?.rawValue),
                    orNull(subscription.unsigned.originalTransactionID), transaction(subscription.transaction),
                    verdict(subscription.renewalInfo) { $0.originalTransactionID },
                ]
            },
        ]
    case "transaction-history":
        var query = TransactionHistoryQuery()
        query.startDate = question.startDate.map(Instant.init(millisecondsSince1970:))
        query.endDate = question.endDate.map(Instant.init(millisecondsSince1970:))
        query.productIDs = question.productIDs ?? []
        query.productTypes = (question.productTypes ?? []).compactMap { .init(rawValue: $0) }
        query.subscriptionGroupIDs = question.subscriptionGroupIDs ?? []
        query.ownershipType = question.ownershipType.map(OwnershipType.init(rawValue:))
        query.isRevoked = question.isRevoked
        query.sort = question.sort.flatMap { .init(rawValue: $0) }
        let answer = try client.transactionHistory(of: id, query, revision: question.page)
        return page(answer) + [app(answer.unsigned.app)]
    case "refund-history": return page(try client.refundHistory(of: id, revision: question.page))
    case "order-lookup":
        let answer = try client.order(id)
        return [orNull(answer.unsigned.status), answer.transactions.map { transaction($0) }]
    case "notification-history":
        var query = NotificationHistoryQuery(
            from: Instant(millisecondsSince1970: question.startDate ?? 0),
            to: Instant(millisecondsSince1970: question.endDate ?? 0))
        if let type = question.notificationType {
            query.filter = .type(
                NotificationType(rawValue: type), question.notificationSubtype.map(NotificationSubtype.init(rawValue:)))
        } else if let id = question.transactionID {
            query.filter = .transaction(id)
        }
        query.onlyFailures = question.onlyFailures ?? false
        let page = try client.notificationHistory(query, paginationToken: question.page)
        return [orNull(page.unsigned.paginationToken), page.unsigned.hasMore, page.notifications.map { sent($0) }]
    case "request-test-notification": return [try client.requestTestNotification().token]
    case "test-notification-status": return sent(try client.testNotificationStatus(id))
    default: fatalError("unknown call \(question.call)")
    }
}

func line<Value: Decodable>(_ type: Value.Type) throws -> Value? {
    try readLine().map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
}

guard let server = try line(Server.self) else { fatalError("the first line names the server") }
let environment = AppStoreEnvironment.production
let key = try InAppPurchaseKey(p8: Array(server.key))
var options = AppStoreServerClient.Options()
options.loopbackURL = server.url
let client = try AppStoreServerClient(
    AppStoreSigner(keyID: server.keyID, issuerID: server.issuerID, bundleID: server.bundleID, key: key),
    environment: environment,
    verifier: AppStoreVerifier(
        policy: VerificationPolicy(bundleIDs: [server.bundleID], environments: [environment]),
        trust: .roots([TrustAnchor(der: Array(server.root))])),
    options: options)
while let question = try line(Question.self) {
    var result: [String: Any] = [:]
    do {
        result["answer"] = try answer(client, question)
    } catch let error as AppStoreServerError {
        switch error.reason {
        case .answer(let status, let code): result["error"] = [status, orNull(code?.rawValue)]
        case .unreadable: result["error"] = "unreadable"
        default: result["error"] = error.description
        }
    }
    print(String(decoding: try JSONSerialization.data(withJSONObject: result), as: UTF8.self))
    fflush(nil)
}
