import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import StrictText

/// The paths under `/fake/` that tests in any language use to make purchases, set the clock and add faults. Each takes
/// a JSON object and answers with one.
struct FakeControl: Sendable {
    let store: FakeAppStore

    /// The reason a request is refused, as a message.
    private struct Problem: Error {
        let message: String

        init(_ message: String) { self.message = message }
    }

    func answer(_ request: FakeRequest) -> FakeAnswer {
        do throws(Problem) {
            let isPost = request.method.hasSameBytes(as: "POST")
            switch (isPost, request.path) {
            case (false, "/fake/state"): return FakeAnswer(state)
            case (true, "/fake/purchase"): return FakeAnswer(try purchase(body(request, Self.purchaseNames)))
            case (true, "/fake/seats"): return FakeAnswer(try seats(body(request, Self.seatNames)))
            case (true, "/fake/assign"): return FakeAnswer(try assign(body(request, Self.assignNames)))
            case (true, "/fake/consumption-request"):
                return FakeAnswer(try requestConsumption(body(request, Self.consumptionNames)))
            case (true, "/fake/retention-request"):
                return FakeAnswer(try requestRetention(body(request, Self.retentionNames)))
            case (true, "/fake/refund"): return FakeAnswer(try refund(body(request, Self.refundNames)))
            case (true, "/fake/renew"): return FakeAnswer(try renew(body(request, Self.renewNames)))
            case (true, "/fake/clock"): return FakeAnswer(try clock(body(request, Self.clockNames)))
            case (true, "/fake/fault"): return FakeAnswer(try fault(body(request, Self.faultNames)))
            default:
                return FakeAnswer(
                    status: 404,
                    [
                        "error":
                            "POST /fake/purchase, /fake/refund, /fake/renew, /fake/seats, /fake/assign, /fake/consumption-request, /fake/retention-request, /fake/clock or /fake/fault, or GET /fake/state"
                    ])
            }
        } catch {
            return FakeAnswer(status: 400, ["error": .string(error.message)])
        }
    }

    private func body(_ request: FakeRequest, _ names: [String]) throws(Problem) -> FlatJSON {
        guard let members = FlatJSON(request.body.isEmpty ? Array("{}".utf8) : request.body) else {
            throw Problem("the body must be a JSON object of strings, numbers, Booleans and arrays of strings")
        }
        for member in members.members where !names.contains(where: { $0.hasSameBytes(as: member.name) }) {
            throw Problem("unknown member; known are \(names.joined(separator: ", "))")
        }
        return members
    }

    private var state: JSONValue {
        let counts = store.notificationCounts
        return [
            "clock": .string(store.now.description), "customers": .integer(Int64(store.histories.count)),
            "transactions": .integer(
                Int64(store.histories.values.reduce(0) { $0 + $1.transactions(signedAt: store.now).count })),
            "notifications_delivered": .integer(Int64(counts.delivered)),
            "notifications_pending": .integer(Int64(counts.pending)),
        ]
    }

    /// Returns the date in a member, or the date of the store's clock if there is none.
    private func date(_ members: FlatJSON) throws(Problem) -> Instant {
        guard members.has("date") else { return store.now }
        guard let date = members.string("date").flatMap({ Instant(rfc3339: $0) }) else {
            throw Problem("'date' must be a date such as 2026-01-31T12:00:00Z")
        }
        return date
    }

    // MARK: Purchases

    private static let purchaseNames = [
        "product_id", "type", "customer", "quantity", "price", "group", "period", "seats", "invitation_management",
        "app_account_token", "date",
    ]

    private func purchase(_ members: FlatJSON) throws(Problem) -> JSONValue {
        guard let product = members.string("product_id"), !product.isEmpty else {
            throw Problem("'product_id' is required")
        }
        let customer = members.integer("customer") ?? 1
        guard 1...499 ~= customer else { throw Problem("'customer' must be 1 to 499") }
        let quantity = members.integer("quantity") ?? 1
        guard 1...10 ~= quantity else { throw Problem("'quantity' must be 1 to 10") }
        let price = members.integer("price") ?? PurchaseHistory.defaultPrice
        let type = members.string("type") ?? "consumable"
        let group = members.string("group") ?? "group"
        let period = try period(members)
        let date = try date(members)
        let token = members.string("app_account_token")
        guard
            ["consumable", "non-consumable", "non-renewing", "auto-renewable"].contains(where: {
                $0.hasSameBytes(as: type)
            })
        else { throw Problem("'type' must be consumable, non-consumable, non-renewing or auto-renewable") }
        let seats = try seatCount(members)
        let management = try invitationManagement(members)
        guard seats == nil && management == nil || type.hasSameBytes(as: "auto-renewable") else {
            throw Problem("only a product of the type auto-renewable has 'seats'")
        }
        let transaction = store.change(customer: Int(customer)) { history in
            history.appAccountToken = token
            switch type {
            case "non-consumable": return history.buyNonConsumable(product, at: date, price: price)
            case "non-renewing": return history.buyNonRenewing(product, at: date, price: price)
            case "auto-renewable" where seats != nil || management != nil:
                return history.subscribe(
                    to: product, in: group, for: period, seats: seats ?? 1, invitedBy: management ?? .apple, at: date,
                    price: price
                ).firstPeriod
            case "auto-renewable":
                return history.subscribe(to: product, in: group, for: period, at: date, price: price).firstPeriod
            default: return history.buyConsumable(product, quantity: Int(quantity), at: date, price: price)
            }
        }
        return try description(of: transaction, Int(customer))
    }

    private func period(_ members: FlatJSON) throws(Problem) -> BillingPeriod {
        guard let text = members.string("period") else { return .month }
        let units: [(String, (Int) -> BillingPeriod)] = [
            ("PT#M", { .minutes($0) }), ("P#D", { .days($0) }), ("P#W", { .weeks($0) }), ("P#M", { .months($0) }),
            ("P#Y", { .years($0) }),
        ]
        for (form, period) in units {
            let parts = form.utf8.split(separator: UInt8(ascii: "#"))
            guard text.utf8.starts(with: parts[0]), text.utf8.last == parts[1].last,
                let count = Int(Substring(text.utf8.dropFirst(parts[0].count).dropLast())), 1...999 ~= count
            else { continue }
            return period(count)
        }
        throw Problem("'period' must be a duration such as P1M, P1W, P1Y or PT5M")
    }

    /// Returns the members of a new transaction that a client of the fake needs.
    private func description(of transaction: PurchaseHistory.Transaction, _ customer: Int) throws(Problem) -> JSONValue
    {
        var answer: JSONValue = [
            "customer": .integer(Int64(customer)), "transaction_id": .string(transaction.transactionID),
            "original_transaction_id": .string(transaction.originalTransactionID),
            "apple_order_id": .string(FakeAppStore.orderID(of: transaction.transactionID)),
            "purchase_date": .string(transaction.purchaseDate.description),
        ]
        answer["expires_date"] = transaction.expiresDate.map { .string($0.description) }
        // The JWS that the app gets from StoreKit.
        guard let builder = store.histories[customer]?.transaction(transaction, signedAt: store.now) else {
            return answer
        }
        do throws(FakeRefusal) {
            answer["app_transaction_id"] = builder.appTransactionID.map { .string($0) }
            answer["signed_transaction"] = try Mint(store: store, fault: nil).sign(builder)
        } catch {
            throw Problem("the transaction cannot be signed")
        }
        return answer
    }

    /// Returns the transaction that a member names.
    private func transaction(_ members: FlatJSON) throws(Problem) -> (Int, PurchaseHistory.Transaction) {
        guard let id = members.string("transaction_id") else { throw Problem("'transaction_id' is required") }
        for (customer, history) in store.histories {
            if let found = history.transactions.first(where: { $0.transactionID.hasSameBytes(as: id) }) {
                return (customer, found)
            }
        }
        throw Problem("there is no transaction with this 'transaction_id'")
    }

    private static let refundNames = ["transaction_id", "percentage", "date"]

    private func refund(_ members: FlatJSON) throws(Problem) -> JSONValue {
        let (customer, transaction) = try transaction(members)
        let percentage = members.integer("percentage") ?? 100
        guard 1...100 ~= percentage else { throw Problem("'percentage' must be 1 to 100") }
        let date = try date(members)
        store.change(customer: customer) { $0.refund(transaction, at: date, percentage: percentage * 1000) }
        return ["transaction_id": .string(transaction.transactionID), "revocation_date": .string(date.description)]
    }

    // MARK: Seats

    private static let seatNames = ["transaction_id", "seats", "refund", "unclaim", "date"]

    private func seatCount(_ members: FlatJSON) throws(Problem) -> Int? {
        guard members.has("seats") else { return nil }
        guard let seats = members.integer("seats"), 1...10_000 ~= seats else {
            throw Problem("'seats' must be 1 to 10000")
        }
        return Int(seats)
    }

    private func invitationManagement(_ members: FlatJSON) throws(Problem) -> InvitationManagement? {
        guard members.has("invitation_management") else { return nil }
        for known in [InvitationManagement.apple, .developer]
        where members.string("invitation_management")?.hasSameBytes(as: known.rawValue) ?? false { return known }
        throw Problem("'invitation_management' must be APPLE or DEVELOPER")
    }

    /// The transaction of a buyer of seats, as signed at a date.
    private struct Seats {
        let customer: Int
        let history: PurchaseHistory
        let transaction: PurchaseHistory.Transaction
        let subscription: PurchaseHistory.Subscription
        let info: JSONValue

        /// The seats of the transaction that were not refunded.
        var left: Int { transaction.quantity - Int(info.integer("revokedSeatQuantity") ?? 0) }

        func isInvited(by management: InvitationManagement) -> Bool {
            info.string("invitationManagement")?.hasSameBytes(as: management.rawValue) ?? false
        }
    }

    private func seats(of members: FlatJSON, at date: Instant) throws(Problem) -> Seats {
        let (customer, transaction) = try transaction(members)
        let info = store.histories[customer]?.transaction(transaction, signedAt: date)?.payload["multiSeatInfo"]
        guard let history = store.histories[customer], let info, transaction.ownershipType == .purchased,
            let subscription = history.subscriptions.first(where: {
                $0.originalTransactionID.hasSameBytes(as: transaction.originalTransactionID)
            })
        else { throw Problem("the transaction is none of a buyer of seats at this date") }
        return Seats(
            customer: customer, history: history, transaction: transaction, subscription: subscription, info: info)
    }

    /// Lets the buyer add seats, change their number from the next period on, or get some refunded; or lets Apple end
    /// the claims of seats.
    private func seats(_ members: FlatJSON) throws(Problem) -> JSONValue {
        let date = try date(members)
        let seats = try seats(of: members, at: date)
        let (customer, subscription) = (seats.customer, seats.subscription)
        guard ["seats", "refund", "unclaim"].count(where: { members.has($0) }) == 1 else {
            throw Problem("one of 'seats', 'refund' and 'unclaim' is required")
        }
        if members.has("refund") {
            guard let count = members.integer("refund"), count > 0, count <= seats.left else {
                throw Problem("'refund' must be 1 to \(seats.left), the seats of the transaction")
            }
            store.change(customer: customer) { $0.refundSeats(Int(count), of: seats.transaction, at: date) }
            return try description(of: seats.transaction, customer)
        }
        if members.has("unclaim") {
            guard seats.isInvited(by: .developer) else {
                throw Problem("seats are claimed where the 'invitation_management' is DEVELOPER")
            }
            guard let ids = members.strings("unclaim"), !ids.isEmpty, ids.allSatisfy(\.isUUID) else {
                throw Problem("'unclaim' must be an array of UUIDs, at least one")
            }
            store.change(customer: customer) { $0.unclaimSeats(ids, of: subscription, at: date) }
            return [
                "transaction_id": .string(seats.transaction.transactionID), "unclaimed": .integer(Int64(ids.count)),
            ]
        }
        guard let count = try seatCount(members), seats.history.status(of: subscription, at: date) == .active,
            seats.history.latestPeriod(of: subscription).purchaseDate <= date
        else { throw Problem("the subscription must be active, and its last period have begun") }
        let added = count - seats.history.seats(of: subscription, at: date)
        guard added > 0 else {
            store.change(customer: customer) { $0.renewSeats(count, of: subscription, at: date) }
            return [
                "transaction_id": .string(seats.transaction.transactionID), "renewal_seats": .integer(Int64(count)),
            ]
        }
        let transaction = store.change(customer: customer) { $0.addSeats(added, to: subscription, at: date) }
        return try description(of: transaction, customer)
    }

    private static let assignNames = ["transaction_id", "customer", "revoke", "date"]

    /// Lets the buyer assign a seat to a member, or revoke it.
    private func assign(_ members: FlatJSON) throws(Problem) -> JSONValue {
        let date = try date(members)
        if members.boolean("revoke") ?? false {
            let (customer, transaction) = try transaction(members)
            guard transaction.ownershipType == .assigned else { throw Problem("the transaction is none of a member") }
            store.change(customer: customer) { $0.endAssignment(of: transaction, at: date) }
            return ["transaction_id": .string(transaction.transactionID), "revocation_date": .string(date.description)]
        }
        let seats = try seats(of: members, at: date)
        guard let member = members.integer("customer"), 1...499 ~= member, member != seats.customer else {
            throw Problem("'customer' must be 1 to 499, and not the buyer")
        }
        guard seats.isInvited(by: .apple) else {
            throw Problem("members have no transaction where the 'invitation_management' is DEVELOPER")
        }
        guard seats.history.status(of: seats.subscription, at: date) == .active else {
            throw Problem("the subscription must be active")
        }
        let transaction = store.change(customer: Int(member)) { history in
            history.assignSeat(of: seats.subscription, in: seats.history, at: date).firstPeriod
        }
        return try description(of: transaction, Int(member))
    }

    // MARK: Requests from Apple

    private static let consumptionNames = ["transaction_id", "reason", "date"]

    /// Lets the customer request a refund, so that Apple sends a `CONSUMPTION_REQUEST`.
    private func requestConsumption(_ members: FlatJSON) throws(Problem) -> JSONValue {
        let (customer, transaction) = try transaction(members)
        let date = try date(members)
        let reason = ConsumptionRequestReason(rawValue: members.string("reason") ?? "UNINTENDED_PURCHASE")
        store.change(customer: customer) { $0.requestRefund(of: transaction, at: date, reason: reason) }
        return [
            "transaction_id": .string(transaction.transactionID),
            "deadline": .string((date + .seconds(12 * 3600)).description),
        ]
    }

    private static let retentionNames = ["transaction_id", "locale"]

    /// Returns the request that Apple sends to the real-time URL when a customer is about to cancel. The test forwards
    /// it, because a test's URL seldom meets Apple's rules.
    private func requestRetention(_ members: FlatJSON) throws(Problem) -> JSONValue {
        let (_, transaction) = try transaction(members)
        guard transaction.productType == .autoRenewableSubscription else {
            throw Problem("the transaction is no subscription")
        }
        var builder = JWSBuilder.realtimeRequest(
            productID: transaction.productID, originalTransactionID: transaction.originalTransactionID,
            appAppleID: "\(store.options.appAppleID)", environment: store.environment, signedDate: store.now)
        if let locale = members.string("locale") { builder.payload["userLocale"] = .string(locale) }
        do throws(FakeRefusal) {
            return ["signedPayload": try Mint(store: store, fault: nil).sign(builder)]
        } catch {
            throw Problem("the request cannot be signed")
        }
    }

    private static let renewNames = ["transaction_id", "date"]

    private func renew(_ members: FlatJSON) throws(Problem) -> JSONValue {
        let (customer, transaction) = try transaction(members)
        let history = store.histories[customer]
        guard
            let subscription = history?.subscriptions.first(where: {
                $0.originalTransactionID.hasSameBytes(as: transaction.originalTransactionID)
            })
        else { throw Problem("the transaction is no subscription") }
        let date = members.has("date") ? try self.date(members) : nil
        let next = store.change(customer: customer) { $0.renew(subscription, at: date) }
        // Without a date, Apple charges when the period ends, so the clock must be past the end.
        if date == nil, store.now < next.purchaseDate { store.setClock(next.purchaseDate) }
        return try description(of: next, customer)
    }

    // MARK: Clock and faults

    private static let clockNames = ["date", "advance_seconds"]

    private func clock(_ members: FlatJSON) throws(Problem) -> JSONValue {
        var date = try date(members)
        if members.has("advance_seconds") {
            guard let seconds = members.integer("advance_seconds"), 0...4_000_000_000 ~= seconds else {
                throw Problem("'advance_seconds' must be a number of seconds, not negative")
            }
            date = date + .seconds(seconds)
        }
        store.setClock(date)
        return ["clock": .string(date.description)]
    }

    private static let faultNames = ["fault", "endpoint", "count", "seed", "percent", "faults", "clear"]

    private func fault(_ members: FlatJSON) throws(Problem) -> JSONValue {
        if members.boolean("clear") ?? false {
            store.endFaults()
            return ["faults": "none"]
        }
        func named(_ name: String) throws(Problem) -> FakeFault {
            if let fault = FakeFault(rawValue: name) { return fault }
            throw Problem("a fault must be one of \(FakeFault.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        if members.has("percent") {
            guard let percent = members.integer("percent"), 0...100 ~= percent, let seed = members.integer("seed")
            else {
                throw Problem("'percent' must be 0 to 100, and it needs a 'seed'")
            }
            var faults = FakeFault.allCases
            if let names = members.strings("faults") {
                faults = try names.map { (name) throws(Problem) in try named(name) }
            }
            store.injectRandomly(seed: UInt64(bitPattern: seed), percent: Int(percent), faults)
            return ["faults": "random"]
        }
        guard let name = members.string("fault") else { throw Problem("'fault', 'percent' or 'clear' is required") }
        var endpoint: FakeAppStore.Endpoint?
        if let text = members.string("endpoint") {
            guard let known = FakeAppStore.Endpoint(rawValue: text) else {
                let names = FakeAppStore.Endpoint.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem("'endpoint' must be one of \(names)")
            }
            endpoint = known
        }
        let count = members.integer("count") ?? 1
        guard 1...1_000_000 ~= count else { throw Problem("'count' must be 1 to 1000000") }
        store.inject(try named(name), into: endpoint, count: Int(count))
        return ["faults": "ordered"]
    }
}
