import AppStoreReceipt
import AppStoreServerAPI
import PurchaseLedger
import StrictText

/// Inquiries, and the effects of their answers.
extension Reconciler {
    /// Sends an inquiry, and records its result.
    func ask(_ inquiry: Inquiry, _ apple: AppleApp) throws(LedgerError) {
        // Skip it if its lease would expire before an answer can arrive.
        guard now + AppleApp.maximumAnswerTime < inquiry.leasedUntil,
            isAllowed(inquiry.kind.endpoint, about: apple.app)
        else {
            try ledger.finish(
                inquiry, .again(at: inquiry.dueAt, attempts: inquiry.attempts, failure: nil), isUnspent: true,
                at: now)
            return
        }
        switch inquiry.kind {
        case .transaction: try askTransaction(inquiry, apple)
        case .statuses: try askStatuses(inquiry, apple)
        case .history: try askHistory(inquiry, apple)
        case .refunds: try askRefunds(inquiry, apple)
        }
    }

    // MARK: Transactions

    private func askTransaction(_ inquiry: Inquiry, _ apple: AppleApp) throws(LedgerError) {
        let answer: TransactionInfoAnswer
        do throws(AppStoreServerError) {
            answer = try request(apple, .transactionInfo, inquiry.priority) { (client) throws(AppStoreServerError) in
                try client.transactionInfo(of: inquiry.subject)
            }
        } catch {
            if error.code == .transactionIDNotFound {
                try notFound(inquiry, apple)
            } else {
                try postpone(inquiry, error)
            }
            return
        }
        switch answer.transaction {
        // The answer has no transaction.
        case nil: try tomorrow(inquiry, "empty")
        case .refused(let refusal):
            refuse(refusal.code, inquiry.subject, of: apple.app)
            try tomorrow(inquiry, refusal.code)
        case .verified(let transaction):
            guard try isAbout(inquiry.subject, transaction, apple.app, isAsked: answer.isOfAskedID) else {
                refuse(Self.otherTransaction, inquiry.subject, of: apple.app)
                return try tomorrow(inquiry, Self.otherTransaction)
            }
            try ledger.record(answered: [transaction], confirming: inquiry.subject, about: apple.app, at: evidenceDate)
            try ledger.finish(inquiry, .ended, at: now)
        }
    }

    static let otherTransaction = "other-transaction"

    /// Returns whether a transaction is the requested one or belongs to its lineage. For old receipts, Apple can answer
    /// with another transaction of the same purchase.
    func isAbout(
        _ id: String, _ transaction: Verified<TransactionInfo>, _ app: AskedApp, isAsked: Bool = false
    ) throws(LedgerError) -> Bool {
        if isAsked { return true }
        let ids = [transaction.transactionID, transaction.originalTransactionID].compactMap(\.self)
        return try ledger.isRelated(ids, to: id, in: app)
    }

    private func notFound(_ inquiry: Inquiry, _ apple: AppleApp) throws(LedgerError) {
        var step = try ledger.recordNotFound(inquiry, at: now)
        if case .control(let id) = step {
            try askControl(id, apple)
            step = try ledger.recordNotFound(inquiry, isRepeated: true, at: now)
        }
        switch step {
        case .again(let date, let attempts):
            try ledger.finish(inquiry, .again(at: date, attempts: attempts, failure: "not-found"), at: now)
        case .ended: try ledger.finish(inquiry, .ended, at: now)
        case .failed, .control: try fail(inquiry, "not-found")
        case .unknown(let unknown):
            try ledger.finish(inquiry, .unknown, at: now)
            state.withLock { $0.counts.unknown[apple.app, default: 0] += 1 }
            options.onFinding(.unknown(unknown))
        }
    }

    /// Requests a transaction that Apple knows, to check that the key, app and host are right.
    private func askControl(_ id: String, _ apple: AppleApp) throws(LedgerError) {
        guard
            try ledger.takeRequest(
                about: apple.app, priority: Inquiry.lowPriority, requestsPerHour: apple.requestsPerHour, at: now)
        else { return }
        do throws(AppStoreServerError) {
            let answer = try request(apple, .transactionInfo, Inquiry.lowPriority) {
                (client) throws(AppStoreServerError) in
                try client.transactionInfo(of: id)
            }
            guard answer.transaction?.value != nil else { return }
        } catch {
            return
        }
        try ledger.noteControl(of: apple.app, at: now)
    }

    // MARK: Subscriptions

    private func askStatuses(_ inquiry: Inquiry, _ apple: AppleApp) throws(LedgerError) {
        let id = inquiry.subject
        switch try ledger.subscriptionStep(of: id, in: apple.app, isAnswered: false, at: now).step {
        case .ask: break
        case .wait(let date):
            return try ledger.finish(inquiry, .again(at: date, attempts: 0, failure: nil), isUnspent: true, at: now)
        case .drop: return try ledger.finish(inquiry, .ended, isUnspent: true, at: now)
        }
        let answer: SubscriptionStatusesAnswer
        do throws(AppStoreServerError) {
            answer = try request(apple, .subscriptionStatuses, inquiry.priority) {
                (client) throws(AppStoreServerError) in
                try client.subscriptionStatuses(of: id)
            }
        } catch {
            guard error.class == .final else { return try postpone(inquiry, error) }
            return try finishStatuses(inquiry, apple, failure: error.failure)
        }
        let refused = try record(answer, about: id, apple)
        try finishStatuses(inquiry, apple, failure: refused)
    }

    /// Records the signed parts of an answer about a customer's subscriptions.
    ///
    /// - Returns: The code of the last refused part, or `nil` if none was refused.
    func record(
        _ answer: SubscriptionStatusesAnswer, about id: String, _ apple: AppleApp
    ) throws(LedgerError) -> String? {
        var refused: String?
        var transactions: [Verified<TransactionInfo>] = []
        var renewals: [Verified<RenewalInfo>] = []
        var isAnswered = answer.subscriptions.isEmpty
        for subscription in answer.subscriptions {
            for refusal in [subscription.transaction?.refusal, subscription.renewalInfo?.refusal] {
                guard let refusal else { continue }
                refused = refusal.code
                refuse(refusal.code, id, of: apple.app)
            }
            if let transaction = subscription.transaction?.value {
                transactions.append(transaction)
                if try isAbout(id, transaction, apple.app) { isAnswered = true }
            }
            if let renewal = subscription.renewalInfo?.value { renewals.append(renewal) }
        }
        guard isAnswered || transactions.isEmpty else {
            refuse(Self.otherTransaction, id, of: apple.app)
            return Self.otherTransaction
        }
        // Renewal information doesn't name an app. It belongs to this one if one of its transactions does.
        let originals = Set(transactions.compactMap { $0.originalTransactionID.map(UTF8Bytes.init) })
        renewals = renewals.filter { renewal in
            renewal.originalTransactionID.map { originals.contains(UTF8Bytes($0)) } ?? false
        }
        try ledger.record(answered: transactions, renewals, about: apple.app, at: evidenceDate)
        for subscription in answer.subscriptions { try compare(subscription, apple.app) }
        return refused
    }

    /// Compares Apple's unsigned status with the ledger's decision.
    private func compare(
        _ subscription: SubscriptionStatusesAnswer.Subscription, _ app: AskedApp
    ) throws(LedgerError) {
        guard let status = subscription.unsigned.status, let id = subscription.unsigned.originalTransactionID,
            let isActive = try ledger.subscriptionStep(of: id, in: app, isAnswered: true, at: evidenceDate).isActive,
            isActive != (status == .active || status == .inGracePeriod)
        else { return }
        state.withLock { $0.counts.statusMismatches[app, default: 0] += 1 }
        options.onFinding(.statusMismatch(app, originalTransactionID: id))
    }

    private func finishStatuses(_ inquiry: Inquiry, _ apple: AppleApp, failure: String?) throws(LedgerError) {
        let step = try ledger.subscriptionStep(of: inquiry.subject, in: apple.app, isAnswered: true, at: now).step
        let attempts = failure == nil ? 0 : inquiry.attempts + 1
        if case .wait(let date) = step {
            return try ledger.finish(inquiry, .again(at: date, attempts: attempts, failure: failure), at: now)
        }
        guard let failure else { return try ledger.finish(inquiry, .ended, at: now) }
        try tomorrow(inquiry, failure)
    }

    // MARK: Refunds

    /// The maximum number of consecutive pages without new refunds.
    private static let maximumBarrenRefundPages: Int64 = 50

    /// Returns whether a revision or pagination token from Apple can be stored and sent.
    static func isPlace(_ text: String) -> Bool { 1...4096 ~= text.utf8.count && !text.utf8.contains(0) }

    /// Requests a page of a customer's refunds since the last page that was read.
    private func askRefunds(_ inquiry: Inquiry, _ apple: AppleApp) throws(LedgerError) {
        guard try ledger.isRefundable(inquiry.subject, in: apple.app, at: now) else {
            return try ledger.finish(inquiry, .ended, isUnspent: true, at: now)
        }
        let page: TransactionPage
        do throws(AppStoreServerError) {
            page = try request(apple, .refundHistory, inquiry.priority) { (client) throws(AppStoreServerError) in
                try client.refundHistory(of: inquiry.subject, revision: inquiry.cursor)
            }
        } catch {
            guard error.class == .restartPaging else { return try postpone(inquiry, error) }
            return try ledger.finish(inquiry, .goesOn(at: now + .seconds(86_400), cursor: nil, attempts: 0), at: now)
        }
        for refusal in page.transactions.compactMap(\.refusal) {
            refuse(refusal.code, inquiry.subject, of: apple.app)
        }
        try ledger.record(answered: page.transactions.compactMap(\.value), about: apple.app, at: evidenceDate)
        let revision = page.unsigned.revision.flatMap { Self.isPlace($0) ? UTF8Bytes($0) : nil }
        let last = inquiry.cursor.map(UTF8Bytes.init)
        let subject = PageReadings.Subject(inquiry)
        let ids = page.transactions.compactMap(\.value?.transactionID).map(UTF8Bytes.init)
        let isNew = state.withLock { state in
            if inquiry.attempts == 0 { state.readings.end(subject) }
            return state.readings.add(ids, of: subject)
        }
        // One more than the number of consecutive pages without new refunds, or 0 before the run begins.
        let barrenCount = isNew ? 0 : max(inquiry.attempts, 1)
        // A page that leads nowhere, or to endless pages, is the last one of this week.
        let isMore =
            page.unsigned.hasMore && revision != nil && revision != last
            && (isNew || barrenCount <= Self.maximumBarrenRefundPages && allowsBarrenPage(apple))
        if !isMore { state.withLock { $0.readings.end(subject) } }
        try ledger.finish(
            inquiry,
            .goesOn(
                at: isMore ? now : now + InquiryPolicy.refundInterval, cursor: (revision ?? last)?.string,
                attempts: isMore ? barrenCount + 1 : 0), at: now)
    }

    // MARK: Failures

    /// Asks again tomorrow, a limited number of times.
    private func tomorrow(_ inquiry: Inquiry, _ failure: String) throws(LedgerError) {
        guard inquiry.attempts + 1 < PurchaseLedger.maximumAttempts else { return try fail(inquiry, failure) }
        try ledger.finish(
            inquiry, .again(at: now + .seconds(86_400), attempts: inquiry.attempts + 1, failure: failure), at: now)
    }

    func fail(_ inquiry: Inquiry, _ failure: String) throws(LedgerError) {
        try ledger.finish(inquiry, .failed(failure), at: now)
        state.withLock { $0.counts.failed[inquiry.app, default: 0] += 1 }
        options.onFinding(.failed(inquiry, failure))
    }

    /// Asks again after a failed request.
    private func postpone(_ inquiry: Inquiry, _ error: AppStoreServerError) throws(LedgerError) {
        switch error.class {
        case .configuration:
            // This error says nothing about the inquiry itself.
            let date = max(pausedUntil(inquiry.app), now + .seconds(60))
            try ledger.finish(
                inquiry, .again(at: date, attempts: inquiry.attempts, failure: error.failure), at: now)
        case .final: try fail(inquiry, error.failure)
        case .fault where error.code != nil: try fail(inquiry, error.failure)
        case .retry where error.status == 429:
            let date = now + (error.retryAfter ?? .seconds(60))
            try ledger.finish(
                inquiry, .again(at: date, attempts: inquiry.attempts, failure: error.failure), at: now)
        case .retry, .restartPaging, .shortenWindow, .fault:
            let attempts = inquiry.attempts + 1
            guard attempts < PurchaseLedger.maximumAttempts else { return try fail(inquiry, error.failure) }
            let date = now + delay(afterAttempts: inquiry.attempts)
            try ledger.finish(inquiry, .again(at: date, attempts: attempts, failure: error.failure), at: now)
        }
    }

    func pausedUntil(_ app: AskedApp) -> Instant { state.withLock { $0.states[app]?.pausedUntil ?? .distantPast } }
}
