import AppStoreReceipt
import AppStoreServerAPI
import AppStoreSigning
import Foundation

// Our client in compare-with-apple: asks the server that its first line names what each further line says, and prints a
// line of JSON for each answer.

struct Server: Decodable {
    var url: String
    var root: Data
    var key: Data
    var keyID: String
    var issuerID: String
    var bundleID: String
    /// Production without it.
    var environment: String?
}

struct Inquiry: Decodable {
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
    /// What other calls are made with.
    var texts: [String]?
    var numbers: [Int]?
    var bytes: Data?
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

func answer(_ client: AppStoreServerClient, _ inquiry: Inquiry) throws -> [Any] {
    let id = inquiry.id ?? ""
    switch inquiry.call {
    case "transaction-info":
        let answer = try client.transactionInfo(of: id)
        return [transaction(answer.transaction), answer.isOfAskedID]
    case "subscription-statuses":
        let statuses = (inquiry.statuses ?? []).map { SubscriptionStatus(rawValue: $0) }
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
        query.startDate = inquiry.startDate.map(Instant.init(millisecondsSince1970:))
        query.endDate = inquiry.endDate.map(Instant.init(millisecondsSince1970:))
        query.productIDs = inquiry.productIDs ?? []
        query.productTypes = (inquiry.productTypes ?? []).compactMap { .init(rawValue: $0) }
        query.subscriptionGroupIDs = inquiry.subscriptionGroupIDs ?? []
        query.ownershipType = inquiry.ownershipType.map(OwnershipType.init(rawValue:))
        query.isRevoked = inquiry.isRevoked
        query.sort = inquiry.sort.flatMap { .init(rawValue: $0) }
        let answer = try client.transactionHistory(of: id, query, revision: inquiry.page)
        return page(answer) + [app(answer.unsigned.app)]
    case "refund-history": return page(try client.refundHistory(of: id, revision: inquiry.page))
    case "order-lookup":
        let answer = try client.order(id)
        return [orNull(answer.unsigned.status), answer.transactions.map { transaction($0) }]
    case "notification-history":
        var query = NotificationHistoryQuery(
            from: Instant(millisecondsSince1970: inquiry.startDate ?? 0),
            to: Instant(millisecondsSince1970: inquiry.endDate ?? 0))
        if let type = inquiry.notificationType {
            query.filter = .type(
                NotificationType(rawValue: type), inquiry.notificationSubtype.map(NotificationSubtype.init(rawValue:)))
        } else if let id = inquiry.transactionID {
            query.filter = .transaction(id)
        }
        query.onlyFailures = inquiry.onlyFailures ?? false
        let page = try client.notificationHistory(query, paginationToken: inquiry.page)
        return [orNull(page.unsigned.paginationToken), page.unsigned.hasMore, page.notifications.map { sent($0) }]
    case "request-test-notification": return [try client.requestTestNotification().token]
    case "test-notification-status": return sent(try client.testNotificationStatus(id))
    default: return try request(client, inquiry)
    }
}

/// Calls that send something beside an inquiry, and what belongs to them.
func request(_ client: AppStoreServerClient, _ inquiry: Inquiry) throws -> [Any] {
    let (id, texts, numbers) = (inquiry.id ?? "", inquiry.texts ?? [], inquiry.numbers ?? [])
    var change: RenewalExtension {
        .init(days: numbers[0], reason: .init(rawValue: numbers[1]), requestIdentifier: texts[0])
    }
    switch inquiry.call {
    case "app-transaction-info": return [verdict(try client.appTransactionInfo(of: id).appTransaction) { $0.bundleID }]
    case "transaction-history-v1": return page(try client.transactionHistoryV1(of: id, revision: inquiry.page))
    case "set-app-account-token": try client.setAppAccountToken(texts[0], ofOriginalTransaction: id)
    case "finish-transaction": try client.finishTransaction(id)
    case "send-consumption-information":
        var request = ConsumptionRequest(
            customerConsented: true, sampleContentProvided: false, deliveryStatus: .init(rawValue: texts[0]))
        request.consumptionPercentage = numbers.first
        request.refundPreference = texts.dropFirst().first.map { .init(rawValue: $0) }
        try client.sendConsumptionInformation(request, of: id, productType: nil)
    case "send-consumption-information-v1":
        var request = ConsumptionRequestV1(
            customerConsented: true, sampleContentProvided: true, deliveryStatus: numbers[0])
        (request.consumptionStatus, request.platform, request.accountTenure) = (numbers[1], numbers[2], numbers[3])
        (request.playTime, request.lifetimeDollarsRefunded) = (numbers[4], numbers[5])
        (request.lifetimeDollarsPurchased, request.userStatus) = (numbers[6], numbers[7])
        request.refundPreference = numbers[8]
        request.appAccountToken = texts.first
        try client.sendConsumptionInformationV1(request, of: id)
    case "extend-renewal-date":
        let answer = try client.extendRenewalDate(ofOriginalTransaction: id, change)
        return [
            orNull(answer.originalTransactionID), orNull(answer.webOrderLineItemID), orNull(answer.isSuccessful),
            orNull(answer.effectiveDate?.millisecondsSince1970),
        ]
    case "extend-all-renewal-dates":
        let storefronts = texts.count > 2 ? Array(texts[2...]) : nil
        return [
            orNull(
                try client.extendRenewalDates(ofAllSubscribersOf: texts[1], change, storefronts: storefronts)
                    .requestIdentifier)
        ]
    case "renewal-extension-status":
        let status = try client.statusOfRenewalDateExtensions(of: texts[1], requestIdentifier: texts[0])
        return [
            orNull(status.requestIdentifier), orNull(status.isComplete), orNull(status.succeededCount),
            orNull(status.failedCount),
        ]
    case "upload-image":
        let image = RetentionImage(png: Array(inquiry.bytes ?? Data()), size: .init(rawValue: texts[0]))
        try client.uploadImage(image, identifier: id)
    case "delete-image": try client.deleteImage(id)
    case "images":
        return try client.images().map { [orNull($0.identifier), orNull($0.state), orNull($0.size?.rawValue)] }
    case "upload-message":
        var message = RetentionMessage(header: texts[0], body: texts[1])
        message.image = .init(identifier: texts[2], altText: texts[3])
        message.headerPosition = .aboveImage
        message.bulletPoints = [.init(text: texts[4], image: .init(identifier: texts[5], altText: texts[3]))]
        try client.uploadMessage(message, identifier: id)
    case "delete-message": try client.deleteMessage(id)
    case "messages": return try client.messages().map { [orNull($0.identifier), orNull($0.state)] }
    case "set-default-message": try client.setDefaultMessage(id, of: texts[0], locale: texts[1])
    case "default-message": return [orNull(try client.defaultMessage(of: texts[0], locale: texts[1]))]
    case "delete-default-message": try client.deleteDefaultMessage(of: texts[0], locale: texts[1])
    case "set-realtime-url": try client.setRealtimeURL(texts[0])
    case "realtime-url": return [orNull(try client.realtimeURL())]
    case "delete-realtime-url": try client.deleteRealtimeURL()
    case "start-performance-test":
        let test = try client.startPerformanceTest(originalTransactionID: id)
        return [orNull(test.requestID), orNull(test.configuration?.totalRequests)]
    case "performance-test-result":
        let result = try client.performanceTestResult(id)
        return [orNull(result.result), orNull(result.successRate), orNull(result.responseTimes?.p99)]
    default: fatalError("unknown call \(inquiry.call)")
    }
    return []
}

func line<Value: Decodable>(_ type: Value.Type) throws -> Value? {
    try readLine().map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
}

guard let server = try line(Server.self) else { fatalError("the first line names the server") }
let environment = server.environment.flatMap(AppStoreEnvironment.init(rawValue:)) ?? .production
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
while let inquiry = try line(Inquiry.self) {
    var result: [String: Any] = [:]
    do {
        result["answer"] = try answer(client, inquiry)
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
