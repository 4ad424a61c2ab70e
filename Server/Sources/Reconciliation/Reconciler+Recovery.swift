import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger
import StrictText

/// Asks about one purchase now, for whoever helps a customer.
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
        /// Nothing of the answer is genuine: the verifier's code.
        case refused(String)
        case ledger(LedgerError)
    }

    package struct RecoveryResult: Sendable {
        /// The transactions that were recorded.
        package internal(set) var transactionIDs: [String] = []
        /// What was refused.
        package internal(set) var refusedCount = 0
        /// What the account was told, if one was named: the outcomes of each transaction that was asked about, and the number of the last answer.
        package internal(set) var outcomes: [TransactionOutcome] = []
        package internal(set) var sequence: Int64?
    }

    /// The priority of what somebody waits for.
    static let recoveryPriority = 1
    /// Of twenty transactions each: years of weekly periods.
    private static let maximumHistoryPages = 50
    /// Somebody waits.
    private static let maximumHistoryTime = Duration.seconds(60)

    /// Asks about one purchase, and records what Apple signed.
    ///
    /// - Parameters:
    ///   - account: Who brings the purchase: it becomes the owner as by `redeem`; `nil` only to record.
    package func recover(
        _ what: Recovery, of app: AskedApp, for account: String? = nil
    ) throws(RecoveryError) -> RecoveryResult {
        guard let apple = apps.first(where: { $0.app == app }) else { throw .otherApp }
        var result = RecoveryResult()
        var found: [Verified<TransactionInfo>] = []
        var items: [SignedItem<Verified<TransactionInfo>>] = []
        switch what {
        case .order(let id):
            let answer = try ask(apple, .orderLookup) { (client) throws(AppStoreServerError) in try client.order(id) }
            guard answer.unsigned.isValid else { throw .notFound }
            items = answer.transactions
        case .transaction(let id):
            let answer = try ask(apple, .transactionInfo) { (client) throws(AppStoreServerError) in
                try client.transactionInfo(of: id)
            }
            if let item = answer.transaction { items = [item] }
            if let transaction = answer.transaction?.value {
                let isRelated = try Self.onLedger { () throws(LedgerError) -> Bool in
                    try isAbout(id, transaction, app, isAsked: answer.isOfAskedID)
                }
                guard isRelated else {
                    refuse(Self.otherTransaction, id, of: app)
                    throw .refused(Self.otherTransaction)
                }
            }
        }
        for item in items {
            switch item {
            case .verified(let transaction): found.append(transaction)
            case .refused(let refusal):
                refuse(refusal.code, nil, of: app)
                result.refusedCount += 1
            }
        }
        if found.isEmpty {
            if let code = items.compactMap(\.refusal?.code).first { throw .refused(code) }
            throw .notFound
        }
        let related = try history(of: found, apple)
        result.transactionIDs = (found + related).compactMap(\.transactionID)
        let record = { [self] () throws(LedgerError) -> Void in
            try ledger.record(answered: found + related, about: app, at: now)
        }
        guard let account else {
            try Self.onLedger(record)
            return result
        }
        // The account claims what was asked about, and not the rest, which can be another's; but the tokens of all of it decide.
        let redemption = try Self.onLedger { () throws(LedgerError) in
            try ledger.redeem(found, with: related, for: account, at: now)
        }
        result.outcomes = redemption.outcomes
        result.sequence = redemption.sequence
        do throws(LedgerError) {
            // Grants make questions, of which these are answered.
            try record()
        } catch {
            // The account has what it was granted.
            options.onFinding(.ledger(error))
        }
        return result
    }

    /// All other transactions of the subscriptions' groups, such as renewals. What is missing can say whose a subscription is.
    private func history(
        of found: [Verified<TransactionInfo>], _ apple: AppleApp
    ) throws(RecoveryError) -> [Verified<TransactionInfo>] {
        let subscriptions = found.filter { $0.productType == .autoRenewableSubscription }
        guard let id = subscriptions.first?.transactionID else { return [] }
        var query = TransactionHistoryQuery()
        query.productTypes = [.autoRenewable]
        let groups = subscriptions.compactMap(\.subscriptionGroupID).map(UTF8Bytes.init)
        // Without the group of one of them, all groups are asked for.
        if groups.count == subscriptions.count { query.subscriptionGroupIDs = Set(groups).sorted().map(\.string) }
        let asked = Set(subscriptions.compactMap(\.transactionID).map(UTF8Bytes.init))
        var seen: Set<UTF8Bytes> = []
        var others: [Verified<TransactionInfo>] = []
        var revision: String?
        let end = now + Self.maximumHistoryTime
        for _ in 0..<Self.maximumHistoryPages {
            let page: TransactionPage
            do throws(RecoveryError) {
                page = try ask(apple, .transactionHistory) { [query, revision] (client) throws(AppStoreServerError) in
                    try client.transactionHistory(of: id, query, revision: revision)
                }
            } catch {
                // Apple knows the purchase.
                if case .notFound = error { throw .unavailable }
                throw error
            }
            for item in page.transactions {
                switch item {
                case .verified(let transaction):
                    guard let id = transaction.transactionID.map(UTF8Bytes.init), seen.insert(id).inserted,
                        !asked.contains(id)
                    else { continue }
                    others.append(transaction)
                case .refused(let refusal):
                    refuse(refusal.code, nil, of: apple.app)
                    throw .refused(refusal.code)
                }
            }
            if !page.unsigned.hasMore, asked.isSubset(of: seen) { return others }
            guard page.unsigned.hasMore, now < end, let next = page.unsigned.revision, Self.isPlace(next),
                revision.map({ !next.hasSameBytes(as: $0) }) ?? true
            else { break }
            revision = next
        }
        throw .unavailable
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
