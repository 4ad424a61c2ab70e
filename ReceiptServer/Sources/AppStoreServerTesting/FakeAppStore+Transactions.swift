import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import StrictText

// Requests about transactions and customers.

extension FakeAppStore {
    /// The maximum number of items on a page.
    static let pageSize = 20

    func transactionInfo(_ id: String, _ mint: Mint) throws(FakeRefusal) -> JSONValue {
        let (_, history) = try found(id)
        let made = history.transactions(signedAt: now)
        guard let builder = made.first(where: { $0.transactionID?.hasSameBytes(as: id) ?? false }) else {
            // Only an app transaction's id finds a customer but no transaction.
            throw FakeRefusal(4_000_048, "Invalid request. App transaction id is not supported.")
        }
        return .object([.init("signedTransactionInfo", try mint.sign(builder))])
    }

    func subscriptionStatuses(_ id: String, _ request: FakeRequest, _ mint: Mint) throws(FakeRefusal) -> JSONValue {
        let date = now
        var wanted: [SubscriptionStatus] = []
        for text in request.values("status") {
            guard let number = Int64(text), 1...5 ~= number else { throw FakeRefusal(4_000_031, "Invalid status.") }
            wanted.append(SubscriptionStatus(rawValue: number))
        }
        let (_, history) = try found(id)
        var groups: [(id: String, items: [JSONValue])] = []
        for subscription in history.subscriptions {
            guard let renewalInfo = history.renewalInfo(of: subscription, signedAt: date),
                let status = history.status(of: subscription, at: date), wanted.isEmpty || wanted.contains(status)
            else { continue }
            let periods = history.periods(of: subscription).compactMap { history.transaction($0, signedAt: date) }
            guard let last = periods.last(where: { $0.purchaseDate.map { $0 <= date } ?? false }) ?? periods.first
            else {
                continue
            }
            let item: JSONValue = [
                "originalTransactionId": .string(subscription.originalTransactionID),
                "status": .integer(status.rawValue), "signedTransactionInfo": try mint.sign(last),
                "signedRenewalInfo": try mint.sign(renewalInfo),
            ]
            if let index = groups.firstIndex(where: { $0.id.hasSameBytes(as: subscription.subscriptionGroupID) }) {
                groups[index].items.append(item)
            } else {
                groups.append((subscription.subscriptionGroupID, [item]))
            }
        }
        var answer = app
        answer["data"] = .array(
            groups.map { ["subscriptionGroupIdentifier": .string($0.id), "lastTransactions": .array($0.items)] })
        return answer
    }

    func transactionHistory(
        _ id: String, _ request: FakeRequest, _ mint: Mint, omitsFinishedConsumables: Bool = false
    ) throws(FakeRefusal) -> JSONValue {
        let filter = try TransactionFilter(request)
        let (_, history) = try found(id)
        // A receipt omits finished consumables.
        let unfinished = Set(
            history.receipt(signedAt: now).purchases.compactMap { $0.transactionID.map(UTF8Bytes.init) })
        let changed = history.transactions(signedAt: now).filter(filter.accepts).filter { builder in
            !omitsFinishedConsumables || builder.productType != .consumable
                || builder.transactionID.map { unfinished.contains(UTF8Bytes($0)) } ?? false
        }.map { builder in
            Changed(
                builder, at: max(builder.purchaseDate ?? .distantPast, builder.revocationDate ?? .distantPast))
        }
        return try page(of: changed, request, isDescending: filter.isDescending, mint)
    }

    func refundHistory(_ id: String, _ request: FakeRequest, _ mint: Mint) throws(FakeRefusal) -> JSONValue {
        let (_, history) = try found(id)
        let refunds = history.transactions(signedAt: now).compactMap { builder -> Changed? in
            guard let date = builder.revocationDate,
                ![.familyRevoke, .assignmentRevoke].contains(builder.revocationType)
            else { return nil }
            return Changed(builder, at: date)
        }
        return try page(of: refunds, request, isDescending: false, mint)
    }

    func order(_ id: String, _ mint: Mint) throws(FakeRefusal) -> JSONValue {
        let found = histories.sorted { $0.key < $1.key }.flatMap { $0.value.transactions(signedAt: now) }
            .filter { builder in builder.transactionID.map { Self.orderID(of: $0).hasSameBytes(as: id) } ?? false }
        return [
            "status": found.isEmpty ? 1 : 0,
            "signedTransactions": .array(try found.map { (builder) throws(FakeRefusal) in try mint.sign(builder) }),
        ]
    }

    func found(_ id: String) throws(FakeRefusal) -> (customer: Int, history: PurchaseHistory) {
        let (histories, date) = state.withLock { ($0.histories, $0.now) }
        return try Self.history(ofAnyID: id, in: histories, at: date)
    }

    /// Returns the customer who has a transaction that was made by the date, or an app transaction, with this id.
    static func history(
        ofAnyID id: String, in histories: [Int: PurchaseHistory], at date: Instant
    ) throws(FakeRefusal) -> (customer: Int, history: PurchaseHistory) {
        for (customer, history) in histories.sorted(by: { $0.key < $1.key }) {
            let isFound = history.transactions(signedAt: date).contains { builder in
                [builder.transactionID, builder.originalTransactionID, builder.appTransactionID].contains {
                    $0?.hasSameBytes(as: id) ?? false
                }
            }
            if isFound { return (customer, history) }
        }
        throw id.isNumber ? .transactionIDNotFound : .invalidTransactionID
    }

    /// The members that name the app, in the answers that have them.
    private var app: JSONValue {
        var app: JSONValue = ["environment": .string(environment.name), "bundleId": .string(options.bundleID)]
        if environment == .production { app["appAppleId"] = .integer(options.appAppleID) }
        return app
    }

    // MARK: Pages

    /// A transaction, and its position in the order of changes.
    private struct Changed {
        let builder: JWSBuilder
        let revision: Revision

        init(_ builder: JWSBuilder, at date: Instant) {
            self.builder = builder
            revision = Revision(date: date, id: builder.transactionID ?? "")
        }
    }

    /// The position of the last transaction on a page. A later request with it finds what has changed since.
    private struct Revision: Comparable {
        let date: Instant
        let id: String

        init(date: Instant, id: String) {
            self.date = date
            self.id = id
        }

        init?(_ text: String) {
            guard let bytes = try? Base64.decode(Array(text.utf8).span, as: .jws) else { return nil }
            let parts = String(decoding: bytes, as: UTF8.self).utf8.split(separator: UInt8(ascii: "_"))
            guard parts.count == 2, let date = Int64(Substring(parts[0])) else { return nil }
            self.init(date: Instant(millisecondsSince1970: date), id: String(Substring(parts[1])))
        }

        var text: String { JWSBuilder.base64URL(Array("\(date.millisecondsSince1970)_\(id)".utf8)) }

        static func < (lhs: Revision, rhs: Revision) -> Bool {
            if lhs.date != rhs.date { return lhs.date < rhs.date }
            if lhs.id.utf8.count != rhs.id.utf8.count { return lhs.id.utf8.count < rhs.id.utf8.count }
            return lhs.id.utf8.lexicographicallyPrecedes(rhs.id.utf8)
        }

        static func == (lhs: Revision, rhs: Revision) -> Bool {
            lhs.date == rhs.date && lhs.id.hasSameBytes(as: rhs.id)
        }
    }

    private func page(
        of changed: [Changed], _ request: FakeRequest, isDescending: Bool, _ mint: Mint
    ) throws(FakeRefusal) -> JSONValue {
        let sorted = changed.sorted { isDescending ? $0.revision > $1.revision : $0.revision < $1.revision }
        var asked: Revision?
        if let text = request.value("revision") {
            guard let revision = Revision(text) else { throw FakeRefusal(4_000_005, "Invalid request revision.") }
            asked = revision
        }
        var rest = sorted[...]
        if let asked, mint.fault != .pageRepeated {
            rest = rest.drop { isDescending ? $0.revision >= asked : $0.revision <= asked }
        }
        let page = PageOfItems(Array(rest), all: sorted, isFirst: asked == nil, mint.fault)
        var answer = app
        // An empty page ends where the previous page did or, without transactions, at the beginning.
        var revision = page.last?.revision ?? asked ?? Revision(date: Instant(millisecondsSince1970: 0), id: "0")
        if mint.fault == .tokenLooped, let asked { revision = asked }
        if mint.fault == .pageRepeated { revision = Revision(date: revision.date, id: revision.id + "0") }
        answer["revision"] = .string(revision.text)
        answer["hasMore"] = .boolean(page.hasMore)
        answer["signedTransactions"] = .array(
            try page.items.map { (item) throws(FakeRefusal) in try mint.sign(item.builder) })
        return answer
    }
}

/// A page, with its fault applied.
struct PageOfItems<Item> {
    private(set) var items: [Item]
    /// The last item before faults changed the page.
    let last: Item?
    let hasMore: Bool

    /// - Parameters:
    ///   - rest: The items that haven't been on a page.
    ///   - all: All items.
    init(_ rest: [Item], all: [Item], isFirst: Bool, _ fault: FakeFault?) {
        let rest = fault == .pageLost && !isFirst ? Array(rest.dropFirst(FakeAppStore.pageSize)) : rest
        items = Array(rest.prefix(FakeAppStore.pageSize))
        last = items.last
        hasMore = rest.count > items.count || fault == .tokenLooped || fault == .pageRepeated
        if fault == .reversed { items.reverse() }
        if fault == .windowChanging, !isFirst, let first = all.first { items.insert(first, at: 0) }
    }
}

/// The filters of Get Transaction History.
private struct TransactionFilter {
    private var start: Instant?
    private var end: Instant?
    private let productIDs: [String]
    private let groups: [String]
    private var types: [ProductType] = []
    private var ownership: OwnershipType?
    private var isRevoked: Bool?
    private(set) var isDescending = false

    init(_ request: FakeRequest) throws(FakeRefusal) {
        func date(_ name: String, _ code: Int64) throws(FakeRefusal) -> Instant? {
            guard let text = request.value(name) else { return nil }
            guard let number = Int64(text), number >= 0 else { throw FakeRefusal(code, "Invalid \(name).") }
            return Instant(millisecondsSince1970: number)
        }
        start = try date("startDate", 4_000_015)
        end = try date("endDate", 4_000_016)
        if let start, let end, start >= end { throw FakeRefusal(4_000_013, "The start date is after the end date.") }
        productIDs = request.values("productId")
        groups = request.values("subscriptionGroupIdentifier")
        for text in request.values("productType") {
            switch TransactionHistoryQuery.ProductKind(rawValue: text) {
            case .autoRenewable: types.append(.autoRenewableSubscription)
            case .nonRenewable: types.append(.nonRenewingSubscription)
            case .consumable: types.append(.consumable)
            case .nonConsumable: types.append(.nonConsumable)
            case nil: throw FakeRefusal(4_000_022, "Invalid product type.")
            }
        }
        if let text = request.value("sort") {
            guard let sort = TransactionHistoryQuery.Sort(rawValue: text) else {
                throw FakeRefusal(4_000_021, "Invalid sort.")
            }
            isDescending = sort == .descending
        }
        if let text = request.value("inAppOwnershipType") {
            let type = OwnershipType(rawValue: text)
            guard type == .purchased || type == .familyShared else {
                throw FakeRefusal(4_000_026, "Invalid in-app ownership type.")
            }
            ownership = type
        }
        if let text = request.value("revoked") {
            // Apple's library for Python writes `True`.
            switch text {
            case "true", "True": isRevoked = true
            case "false", "False": isRevoked = false
            default: throw FakeRefusal(4_000_030, "Invalid revoked.")
            }
        }
    }

    func accepts(_ builder: JWSBuilder) -> Bool {
        let date = builder.purchaseDate ?? .distantPast
        if let start, date < start { return false }
        if let end, date >= end { return false }
        if !productIDs.isEmpty, !productIDs.contains(where: { builder.productID?.hasSameBytes(as: $0) ?? false }) {
            return false
        }
        if !groups.isEmpty, !groups.contains(where: { builder.subscriptionGroupID?.hasSameBytes(as: $0) ?? false }) {
            return false
        }
        if !types.isEmpty, !types.contains(where: { $0 == builder.productType }) { return false }
        if let ownership, builder.ownershipType != ownership { return false }
        if let isRevoked, isRevoked != (builder.revocationDate != nil) { return false }
        return true
    }
}
