import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger
import StrictText

extension [Reconciler.RefusedItem] {
    /// The maximum number of items that a message names.
    private static let maximumNamedCount = 20

    /// The ids that the items claim to have, with the reasons they were refused.
    package var names: String {
        let named = prefix(Self.maximumNamedCount).map { "\($0.id ?? "an item without an id") (\($0.code))" }
        let rest = count - named.count
        return (named + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: ", ")
    }
}

/// Immediate inquiries about one purchase, for support and for `POST /v1/recover`.
extension Reconciler {
    /// The subject of the inquiry.
    package enum Recovery: Sendable {
        case transaction(String)
        /// The order id of the customer's invoice, such as `MX1234567A`.
        case order(String)
    }

    /// The reason there is no answer.
    package enum RecoveryError: Error, Sendable {
        /// Apple does not know the transaction or order.
        case notFound
        /// Apple isn't queried about this app.
        case otherApp
        /// The budget for this hour is used up.
        case budgetSpent
        /// Apple asked for a pause or didn't answer.
        case unavailable
        /// Apple refused the request.
        case error(AppStoreServerError)
        /// A part of the answer is not genuine, and nothing was recorded.
        case refused([RefusedItem])
        /// A part of the answer was refused and skipped, and some of the rest was not bought for the account. The rest
        /// is recorded, but the account claims none of it.
        case incomplete(RecoveryResult)
        case ledger(LedgerError)
    }

    /// A part of an answer that was refused.
    package struct RefusedItem: Sendable {
        /// The verifier's code, or `other-app`, `other-environment` or `other-transaction`.
        package let code: String
        /// The transaction id that the part claims to have, which isn't proved, or `nil` if it has none.
        package let id: String?
    }

    package struct RecoveryResult: Sendable {
        /// The transactions that were recorded.
        package internal(set) var transactionIDs: [String] = []
        /// The refused parts.
        package internal(set) var refused: [RefusedItem] = []
        /// The answer recorded in support's history when a part was refused and the rest recorded.
        package static let partialAnswer = "partial"
        /// The answer to the account, if one was named: the outcome of each requested transaction, and the sequence
        /// number of the last answer.
        package internal(set) var outcomes: [TransactionOutcome] = []
        package internal(set) var sequence: Int64?
    }

    /// The priority of an inquiry that a person waits for.
    static let recoveryPriority = 1
    /// The maximum time that a person waits.
    private static let maximumTime = Duration.seconds(60)

    /// Asks Apple about one purchase, and records the signed answer.
    ///
    /// A history that takes longer than a minute is `unavailable`. The pages read are kept for ten minutes, and the
    /// same request continues from there.
    ///
    /// - Parameters:
    ///   - account: The account that submits the purchase and becomes its owner as with `redeem`, or `nil` to only
    ///     record it.
    ///   - skipsRefused: Whether to record the rest if a part of the answer is refused. The account then claims it only
    ///     if each of the other transactions has a token of the account.
    package func recover(
        _ what: Recovery, of app: AskedApp, for account: String? = nil, skippingRefused skipsRefused: Bool = false
    ) throws(RecoveryError) -> RecoveryResult {
        guard let apple = apps.first(where: { $0.app == app }) else { throw .otherApp }
        if let account { try Self.onLedger { () throws(LedgerError) in try LedgerText.check(account, "account") } }
        let end = now + Self.maximumTime
        var result = RecoveryResult()
        var found: [Verified<TransactionInfo>] = []
        var items: [SignedItem<Verified<TransactionInfo>>] = []
        var refusedIDs: [String?] = []
        switch what {
        case .order(let id):
            let answer = try ask(apple, .orderLookup) { (client) throws(AppStoreServerError) in try client.order(id) }
            guard answer.unsigned.isValid else { throw .notFound }
            (items, refusedIDs) = (answer.transactions, answer.refusedIDs)
        case .transaction(let id):
            let answer = try ask(apple, .transactionInfo) { (client) throws(AppStoreServerError) in
                try client.transactionInfo(of: id)
            }
            if let item = answer.transaction { (items, refusedIDs) = ([item], [id]) }
            if let transaction = answer.transaction?.value {
                let isRelated = try Self.onLedger { () throws(LedgerError) -> Bool in
                    try isAbout(id, transaction, app, isAsked: answer.isOfAskedID)
                }
                guard isRelated else {
                    refuse(Self.otherTransaction, id, of: app)
                    throw .refused([RefusedItem(code: Self.otherTransaction, id: id)])
                }
            }
        }
        found = items.compactMap(\.value)
        result.refused = refused(items, refusedIDs, of: app)
        if found.isEmpty { throw result.refused.isEmpty ? .notFound : .refused(result.refused) }
        let history = try history(of: found, apple, until: end, skippingRefused: skipsRefused)
        found = found.map(history.latest)
        let related = history.others(than: Set(found.compactMap(\.transactionID).map(UTF8Bytes.init)))
        result.refused += history.refused
        let all = found + related
        result.transactionIDs = all.compactMap(\.transactionID)
        let record = { [self] () throws(LedgerError) -> Void in
            try ledger.record(answered: all, about: app, at: evidenceDate)
        }
        guard let account else {
            try Self.onLedger(record)
            return result
        }
        if skipsRefused, !result.refused.isEmpty {
            // The refused part may be the one that names the owner.
            let isTheirs = try Self.onLedger { () throws(LedgerError) in
                try ledger.areBought(all, for: account)
            }
            guard isTheirs else {
                try Self.onLedger(record)
                throw .incomplete(result)
            }
        }
        // The account claims the requested transactions only, because the others may belong to another account. But the
        // tokens of all transactions are considered.
        let redemption = try Self.onLedger { () throws(LedgerError) in
            try ledger.redeem(found, with: related, for: account, at: evidenceDate)
        }
        result.outcomes = redemption.outcomes
        result.sequence = redemption.sequence
        do throws(LedgerError) {
            // Grants create inquiries, and these transactions answer them.
            try record()
        } catch {
            // The account keeps the grant.
            options.onFinding(.ledger(error))
        }
        return result
    }

    /// Counts and reports the refused parts.
    private func refused(
        _ items: [SignedItem<Verified<TransactionInfo>>], _ ids: [String?], of app: AskedApp
    ) -> [RefusedItem] {
        let refused = zip(items.compactMap(\.refusal), ids).map { RefusedItem(code: $0.code, id: $1) }
        for item in refused { refuse(item.code, item.id, of: app) }
        return refused
    }

    /// Returns all other transactions of the subscriptions' groups, such as renewals. One of them may name the owner of
    /// a subscription.
    private func history(
        of found: [Verified<TransactionInfo>], _ apple: AppleApp, until end: Instant,
        skippingRefused skipsRefused: Bool
    ) throws(RecoveryError) -> HistoryReading {
        let subscriptions = found.filter { $0.productType == .autoRenewableSubscription }
        guard let id = subscriptions.first?.transactionID else { return HistoryReading() }
        var query = TransactionHistoryQuery()
        query.productTypes = [.autoRenewable]
        let groups = subscriptions.compactMap(\.subscriptionGroupID).map(UTF8Bytes.init)
        // If one subscription's group is unknown, all groups are requested.
        if groups.count == subscriptions.count { query.subscriptionGroupIDs = Set(groups).sorted().map(\.string) }
        let asked = Set(subscriptions.compactMap(\.transactionID).map(UTF8Bytes.init))
        let subject = HistoryReading.Subject(
            app: apple.app, asked: asked.sorted(), groups: query.subscriptionGroupIDs.map(UTF8Bytes.init))
        var reading = state.withLock { $0.histories.take(subject, at: now) } ?? HistoryReading()
        // The parts that were refused may be genuine this time.
        if !skipsRefused, !reading.refused.isEmpty { reading = HistoryReading() }
        func keep() { state.withLock { $0.histories.keep(reading, of: subject, at: now) } }
        while true {
            let page: TransactionPage
            do throws(RecoveryError) {
                page = try ask(apple, .transactionHistory) {
                    [query, revision = reading.revision] (client) throws(AppStoreServerError) in
                    try client.transactionHistory(of: id, query, revision: revision)
                }
            } catch {
                switch error {
                case .unavailable, .budgetSpent: keep()
                // The purchase itself was found, so this isn't `notFound`.
                case .notFound: throw .unavailable
                // Drop the history: its revision may no longer be valid.
                default: break
                }
                throw error
            }
            let refused = refused(page.transactions, page.refusedIDs, of: apple.app)
            let isNew = reading.add(page.transactions.compactMap(\.value), refused)
            let next = page.unsigned.revision.flatMap { place in
                Self.isPlace(place) && !(reading.revision.map { place.hasSameBytes(as: $0) } ?? false) ? place : nil
            }
            let goesOn = page.unsigned.hasMore && next != nil
            if goesOn { reading.revision = next }
            if !skipsRefused, !refused.isEmpty {
                if goesOn { keep() }
                throw .refused(refused)
            }
            guard page.unsigned.hasMore else {
                guard reading.hasAll(asked) || !reading.refused.isEmpty else { throw .unavailable }
                return reading
            }
            guard goesOn else { throw .unavailable }
            guard isNew || allowsBarrenPage(apple), now < end else {
                keep()
                throw .unavailable
            }
        }
    }

    /// Makes a request, within the budget.
    func ask<Answer>(
        _ apple: AppleApp, _ endpoint: AppStoreServerEndpoint,
        _ body: (AppStoreServerClient) throws(AppStoreServerError) -> Answer
    ) throws(RecoveryError) -> Answer {
        guard isAllowed(endpoint, about: apple.app) else { throw .unavailable }
        let hasRequest = try Self.onLedger { () throws(LedgerError) in
            try ledger.takeRequest(
                about: apple.app, priority: Self.recoveryPriority, requestsPerHour: apple.requestsPerHour, at: now)
        }
        guard hasRequest else { throw .budgetSpent }
        do throws(AppStoreServerError) {
            return try request(apple, endpoint, Self.recoveryPriority, body)
        } catch {
            switch error.class {
            case .final: throw .notFound
            case .retry: throw .unavailable
            default: throw .error(error)
            }
        }
    }

    static func onLedger<Result>(
        _ body: () throws(LedgerError) -> Result
    ) throws(RecoveryError) -> Result {
        do throws(LedgerError) { return try body() } catch { throw .ledger(error) }
    }
}
