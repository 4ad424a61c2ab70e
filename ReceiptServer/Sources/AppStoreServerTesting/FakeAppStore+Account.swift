import AppStoreReceipt
import AppStoreReceiptTesting
import StrictText

// Calls that change a transaction. Errors whose numbers Apple doesn't document have the number 4000000.

extension FakeAppStore {
    /// The changes that calls have made.
    struct Changes {
        /// The dates of extensions, by original transaction id.
        var extensions: [UTF8Bytes: [Instant]] = [:]
        /// The numbers of extended and failed subscriptions and the date, by product id and request identifier.
        var massExtensions: [[UTF8Bytes]: (succeeded: Int64, failed: Int64, date: Instant)] = [:]
        var retention = RetentionState()
    }

    // MARK: Reading

    func appTransactionInfo(_ id: String, _ mint: Mint) throws(FakeRefusal) -> JSONValue {
        let (_, history) = try found(id)
        guard let appTransactionID = history.transactions(signedAt: now).compactMap(\.appTransactionID).first else {
            throw FakeRefusal(4_040_019, "No AppTransaction exists for the customer.")
        }
        var builder = JWSBuilder.appTransaction(
            bundleID: options.bundleID, appAppleID: "\(options.appAppleID)", environment: environment, signedDate: now)
        builder.payload["appTransactionId"] = .string(appTransactionID)
        return ["signedAppTransactionInfo": try mint.sign(builder)]
    }

    /// Returns the transaction with an id, as it is signed now.
    private func transaction(
        _ id: String
    ) throws(FakeRefusal) -> (customer: Int, PurchaseHistory.Transaction, JWSBuilder) {
        let (customer, history) = try found(id)
        guard let transaction = history.transactions.first(where: { $0.transactionID.hasSameBytes(as: id) }),
            let builder = history.transaction(transaction, signedAt: now)
        else { throw FakeRefusal(4_000_048, "Invalid request. App transaction id is not supported.") }
        return (customer, transaction, builder)
    }

    /// Returns the transaction with an original transaction id, as it is signed now.
    func originalTransaction(
        _ id: String
    ) throws(FakeRefusal) -> (customer: Int, PurchaseHistory.Transaction, JWSBuilder) {
        do throws(FakeRefusal) {
            return try transaction(id)
        } catch {
            throw error.code == FakeRefusal.transactionIDNotFound.code
                ? FakeRefusal(4_040_005, "Original transaction id not found.") : error
        }
    }

    private static func checkOwnership(of builder: JWSBuilder) throws(FakeRefusal) {
        if builder.ownershipType == .familyShared {
            throw FakeRefusal(4_000_185, "Invalid request. Family Sharing transactions aren't supported.")
        }
        if builder.ownershipType == .assigned {
            throw FakeRefusal(4_000_227, "Invalid request. Assigned transactions aren't supported.")
        }
    }

    // MARK: Consumption

    func sendConsumptionInformation(_ id: String, _ request: FakeRequest) throws(FakeRefusal) {
        let (_, transaction, builder) = try transaction(id)
        try Self.checkOwnership(of: builder)
        let body = try request.json()
        try FakeRefusal.check(
            4_000_035, "Invalid request. Customer consented must be true.", body.boolean("customerConsented") == true)
        try FakeRefusal.check(
            4_000_041, "Invalid request. The sample content provided value is invalid.",
            body.boolean("sampleContentProvided") != nil)
        let statuses = [
            "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
            "UNDELIVERED_OTHER",
        ]
        guard let status = body.string("deliveryStatus"), statuses.contains(where: status.hasSameBytes) else {
            throw FakeRefusal(4_000_036, "Invalid request. The delivery status value is invalid.")
        }
        let preference = body.string("refundPreference")
        try FakeRefusal.check(
            4_000_044, "Invalid request. The refund preference value is invalid.",
            body["refundPreference"] == nil
                || ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"].contains { preference?.hasSameBytes(as: $0) ?? false })
        let percentage = body.integer("consumptionPercentage")
        if body["consumptionPercentage"] != nil {
            try FakeRefusal.check(
                4_000_209, "Invalid request. Auto-renewable subscriptions have no consumption percentage.",
                transaction.productType != .autoRenewableSubscription)
            guard let percentage, 0...100_000 ~= percentage, percentage == 0 || status.hasSameBytes(as: "DELIVERED")
            else { throw .badRequest }
        }
        if preference?.hasSameBytes(as: "GRANT_PRORATED") ?? false,
            transaction.productType != .autoRenewableSubscription
        {
            guard let percentage, 1..<100_000 ~= percentage else { throw .badRequest }
        }
    }

    func sendConsumptionInformationV1(_ id: String, _ request: FakeRequest) throws(FakeRefusal) {
        let (_, _, builder) = try transaction(id)
        try Self.checkOwnership(of: builder)
        let body = try request.json()
        try FakeRefusal.check(
            4_000_035, "Invalid request. Customer consented must be true.", body.boolean("customerConsented") == true)
        try FakeRefusal.check(
            4_000_041, "Invalid request. The sample content provided value is invalid.",
            body.boolean("sampleContentProvided") != nil)
        let token = body.string("appAccountToken")
        try FakeRefusal.check(
            4_000_033, "Invalid request. The app account token value is invalid.",
            token.map { $0.isEmpty || $0.isUUID } ?? false)
        let numbers: [(String, ClosedRange<Int64>, Int64)] = [
            ("accountTenure", 0...7, 4_000_032), ("consumptionStatus", 0...3, 4_000_034),
            ("deliveryStatus", 0...5, 4_000_036), ("lifetimeDollarsPurchased", 0...7, 4_000_037),
            ("lifetimeDollarsRefunded", 0...7, 4_000_038), ("platform", 0...2, 4_000_039),
            ("playTime", 0...7, 4_000_040), ("userStatus", 0...4, 4_000_042),
        ]
        for (name, range, code) in numbers {
            try FakeRefusal.check(
                code, "Invalid request. The value of \(name) is invalid.",
                body.integer(name).map { range ~= $0 } ?? false)
        }
        try FakeRefusal.check(
            4_000_044, "Invalid request. The refund preference value is invalid.",
            body["refundPreference"] == nil || body.integer("refundPreference").map { 0...3 ~= $0 } ?? false)
    }

    // MARK: Tokens and finishing

    func setAppAccountToken(_ id: String, _ request: FakeRequest) throws(FakeRefusal) {
        let (customer, transaction, builder) = try originalTransaction(id)
        try Self.checkOwnership(of: builder)
        try FakeRefusal.check(
            4_000_187, "Invalid request. The transaction id is not an original transaction id.",
            transaction.transactionID.hasSameBytes(as: transaction.originalTransactionID))
        guard let token = try request.json().string("appAccountToken"), token.isUUID else {
            throw FakeRefusal(4_000_183, "Invalid request. The app account token must be a UUID.")
        }
        let date = now
        change(customer: customer) { $0.setAppAccountToken(token, of: transaction, at: date) }
    }

    func finishTransaction(_ id: String) throws(FakeRefusal) {
        let (customer, transaction, _) = try transaction(id)
        let date = now
        change(customer: customer) { $0.finish(transaction, at: date) }
    }

    // MARK: Extensions

    func extendRenewalDate(_ id: String, _ request: FakeRequest) throws(FakeRefusal) -> JSONValue {
        guard id.isNumber else {
            throw FakeRefusal(4_000_008, "Invalid request. The original transaction id is invalid.")
        }
        let body = try request.json()
        let days = try Self.extensionDays(body)
        for (customer, history) in histories.sorted(by: { $0.key < $1.key }) {
            guard
                let subscription = history.subscriptions.first(where: { $0.originalTransactionID.hasSameBytes(as: id) })
            else { continue }
            let period = try extend(subscription, of: customer, history, days: days)
            return [
                "originalTransactionId": .string(id), "webOrderLineItemId": .string(period.webOrderLineItemID ?? ""),
                "success": true,
                "effectiveDate": .integer(
                    histories[customer].flatMap { $0.transaction(period, signedAt: now)?.expiresDate }?
                        .millisecondsSince1970 ?? 0),
            ]
        }
        throw FakeRefusal(4_040_005, "Original transaction id not found.")
    }

    private static func extensionDays(_ body: JSONValue) throws(FakeRefusal) -> Int64 {
        guard let days = body.integer("extendByDays"), 1...90 ~= days else {
            throw FakeRefusal(4_000_009, "Invalid request. The extend by days value is invalid.")
        }
        try FakeRefusal.check(
            4_000_010, "Invalid request. The extend reason code is invalid.",
            body.integer("extendReasonCode").map { 0...3 ~= $0 } ?? false)
        try FakeRefusal.check(
            4_000_011, "Invalid request. The request identifier is invalid.",
            body.string("requestIdentifier").map { 1...128 ~= $0.unicodeScalars.count } ?? false)
        return days
    }

    /// Returns the identifier of a mass extension, which must be a UUID.
    private static func requestIdentifier(_ text: String) throws(FakeRefusal) -> String {
        try FakeRefusal.check(4_000_011, "Invalid request. The request identifier is invalid.", text.isUUID)
        return text
    }

    private func extend(
        _ subscription: PurchaseHistory.Subscription, of customer: Int, _ history: PurchaseHistory, days: Int64
    ) throws(FakeRefusal) -> PurchaseHistory.Transaction {
        let date = now
        if subscription.firstPeriod.ownershipType == .familyShared {
            throw FakeRefusal(4_030_007, "Family shared subscriptions can't be extended.")
        }
        if subscription.firstPeriod.ownershipType == .assigned {
            throw FakeRefusal(4_030_028, "Assigned subscriptions can't be extended.")
        }
        let period = history.periods(of: subscription).last { $0.purchaseDate <= date } ?? subscription.firstPeriod
        guard history.status(of: subscription, at: date) == .active, period.price > 0 else {
            throw FakeRefusal(4_030_004, "The subscription isn't eligible for an extension.")
        }
        let key = UTF8Bytes(subscription.originalTransactionID)
        let isAllowed = state.withLock { state in
            let recent = (state.changes.extensions[key] ?? []).filter { date - .seconds(365 * 86_400) < $0 }
            guard recent.count < 2 else { return false }
            state.changes.extensions[key] = recent + [date]
            return true
        }
        guard isAllowed else { throw FakeRefusal(4_030_005, "The subscription was extended twice in 365 days.") }
        change(customer: customer) { $0.extend(subscription, by: .seconds(days * 86_400), at: date) }
        return period
    }

    func extendAllRenewalDates(_ request: FakeRequest) throws(FakeRefusal) -> JSONValue {
        let body = try request.json()
        let days = try Self.extensionDays(body)
        let productID = body.string("productId") ?? ""
        let subscriptions = histories.values.flatMap { history in
            history.subscriptions.map { history.latestPeriod(of: $0).productID }
        }
        try FakeRefusal.check(
            4_000_023, "Invalid request. The product id is invalid.",
            subscriptions.contains(where: productID.hasSameBytes))
        if let storefronts = body.array("storefrontCountryCodes") {
            try FakeRefusal.check(
                4_000_027, "Invalid request. The list of storefront country codes is empty.", !storefronts.isEmpty)
            for storefront in storefronts {
                guard case .string(let code) = storefront, code.utf8.count == 3 else {
                    throw FakeRefusal(4_000_028, "Invalid request. A storefront country code is invalid.")
                }
            }
        }
        let identifier = try Self.requestIdentifier(body.string("requestIdentifier") ?? "")
        let key = [productID, identifier].map(UTF8Bytes.init)
        guard state.withLock({ $0.changes.massExtensions[key] }) == nil else {
            return ["requestIdentifier": .string(identifier)]
        }
        var counts: (succeeded: Int64, failed: Int64) = (0, 0)
        let date = now
        for (customer, history) in histories.sorted(by: { $0.key < $1.key }) {
            // Subscribers are buyers, not family members or holders of a seat.
            for subscription in history.subscriptions
            where subscription.firstPeriod.ownershipType == .purchased
                && history.status(of: subscription, at: date) == .active
                && history.latestPeriod(of: subscription).productID.hasSameBytes(as: productID)
            {
                do throws(FakeRefusal) {
                    _ = try extend(subscription, of: customer, history, days: days)
                    counts.succeeded += 1
                } catch {
                    guard error.isIneligible else { throw error }
                    counts.failed += 1
                }
            }
        }
        let result = counts
        state.withLock { $0.changes.massExtensions[key] = (result.succeeded, result.failed, $0.now) }
        return ["requestIdentifier": .string(identifier)]
    }

    func renewalExtensionStatus(_ productID: String, _ identifier: String) throws(FakeRefusal) -> JSONValue {
        let key = [productID, try Self.requestIdentifier(identifier)].map(UTF8Bytes.init)
        guard let status = state.withLock({ $0.changes.massExtensions[key] }) else {
            throw FakeRefusal(4_040_009, "The status request is not found.")
        }
        return [
            "requestIdentifier": .string(identifier), "complete": true,
            "completeDate": .integer(status.date.millisecondsSince1970), "succeededCount": .integer(status.succeeded),
            "failedCount": .integer(status.failed),
        ]
    }
}
