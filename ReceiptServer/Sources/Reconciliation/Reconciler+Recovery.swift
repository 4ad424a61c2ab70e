import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger
import StrictText

/// Asks about one purchase now, for whoever helps a customer.
extension [Reconciler.RefusedItem] {
    /// The most items that a message names.
    private static let maximumNamedCount = 20

    /// The ids that they claim, with the reasons they were refused.
    package var names: String {
        let named = prefix(Self.maximumNamedCount).map { "\($0.id ?? "an item without an id") (\($0.code))" }
        let rest = count - named.count
        return (named + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: ", ")
    }
}

extension Reconciler {
    /// What is asked about.
    package enum Recovery: Sendable {
        case transaction(String)
        /// The order id of the customer's invoice, such as `MX1234567A`.
        case order(String)
    }

    /// The reason there is no answer.
    package enum RecoveryError: Error, Sendable {
        /// Apple does not know the transaction or order.
        case notFound
        /// The app is none of those that are asked about.
        case otherApp
        /// The budget of this hour is spent.
        case budgetSpent
        /// Apple wants to be left alone, or did not answer.
        case unavailable
        /// Apple refused the question.
        case error(AppStoreServerError)
        /// Something of the answer is not genuine, and nothing was recorded.
        case refused([RefusedItem])
        /// Something of the answer was refused and skipped, and not all of the rest was bought for the account: the
        /// rest is recorded, and the account claims nothing of it.
        case incomplete(RecoveryResult)
        case ledger(LedgerError)
    }

    /// Something in an answer that was refused.
    package struct RefusedItem: Sendable {
        /// The verifier's code, or `other-app`, `other-environment` or `other-transaction`.
        package let code: String
        /// The transaction id that it claims, which nothing proves; `nil` if it claims none.
        package let id: String?
    }

    package struct RecoveryResult: Sendable {
        /// The transactions that were recorded.
        package internal(set) var transactionIDs: [String] = []
        /// What was refused.
        package internal(set) var refused: [RefusedItem] = []
        /// How the history of support's acts says that something was refused and the rest recorded.
        package static let partialAnswer = "partial"
        /// The answer to the account, if one was named: the outcome of each requested transaction, and the number of
        /// the last answer.
        package internal(set) var outcomes: [TransactionOutcome] = []
        package internal(set) var sequence: Int64?
    }

    /// The priority of what somebody waits for.
    static let recoveryPriority = 1
    /// Somebody waits.
    private static let maximumTime = Duration.seconds(60)

    /// Asks about one purchase, and records what Apple signed.
    ///
    /// A history that takes longer than a minute is `unavailable`. The pages read are kept for ten minutes, and the
    /// same request continues from there.
    ///
    /// - Parameters:
    ///   - account: The account that submits the purchase and becomes its owner as by `redeem`; `nil` to only record
    ///     it.
    ///   - skipsRefused: Whether the rest is recorded if something of the answer is refused. The account then claims it
    ///     only if each transaction of the rest has a token of the account.
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
            try ledger.record(answered: all, about: app, at: now)
        }
        guard let account else {
            try Self.onLedger(record)
            return result
        }
        if skipsRefused, !result.refused.isEmpty {
            // What was refused can be what says whose the purchase is.
            let isTheirs = try Self.onLedger { () throws(LedgerError) in
                try ledger.areBought(all, for: account)
            }
            guard isTheirs else {
                try Self.onLedger(record)
                throw .incomplete(result)
            }
        }
        // The account claims what was asked about, and not the rest, which can be another's; but the tokens of all of
        // it decide.
        let redemption = try Self.onLedger { () throws(LedgerError) in
            try ledger.redeem(found, with: related, for: account, at: now)
        }
        result.outcomes = redemption.outcomes
        result.sequence = redemption.sequence
        do throws(LedgerError) {
            // Grants make questions. These are answered.
            try record()
        } catch {
            // The account has what it was granted.
            options.onFinding(.ledger(error))
        }
        return result
    }

    /// Counts and tells what was refused.
    private func refused(
        _ items: [SignedItem<Verified<TransactionInfo>>], _ ids: [String?], of app: AskedApp
    ) -> [RefusedItem] {
        let refused = zip(items.compactMap(\.refusal), ids).map { RefusedItem(code: $0.code, id: $1) }
        for item in refused { refuse(item.code, item.id, of: app) }
        return refused
    }

    /// All other transactions of the subscriptions' groups, such as renewals. A missing one can name the owner of a
    /// subscription.
    private func history(
        of found: [Verified<TransactionInfo>], _ apple: AppleApp, until end: Instant,
        skippingRefused skipsRefused: Bool
    ) throws(RecoveryError) -> HistoryReading {
        let subscriptions = found.filter { $0.productType == .autoRenewableSubscription }
        guard let id = subscriptions.first?.transactionID else { return HistoryReading() }
        var query = TransactionHistoryQuery()
        query.productTypes = [.autoRenewable]
        let groups = subscriptions.compactMap(\.subscriptionGroupID).map(UTF8Bytes.init)
        // Without the group of one of them, all groups are asked for.
        if groups.count == subscriptions.count { query.subscriptionGroupIDs = Set(groups).sorted().map(\.string) }
        let asked = Set(subscriptions.compactMap(\.transactionID).map(UTF8Bytes.init))
        let subject = HistoryReading.Subject(
            app: apple.app, asked: asked.sorted(), groups: query.subscriptionGroupIDs.map(UTF8Bytes.init))
        var reading = state.withLock { $0.histories.take(subject, at: now) } ?? HistoryReading()
        // What was refused may be genuine this time.
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
                // Apple knows the purchase.
                case .notFound: throw .unavailable
                // Where it went on may be no place any more.
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

    /// Makes a request within the budget.
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
