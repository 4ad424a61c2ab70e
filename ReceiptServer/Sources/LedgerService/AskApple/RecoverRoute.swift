@_spi(Surfaces) import AppStoreReceipt
import AppStoreServerAPI
import HTTPService
import PurchaseLedger
import Reconciliation
import StrictText

/// The route `POST /v1/recover`: asks the App Store about one purchase, and records the signed answer.
struct RecoverRoute: Sendable {
    let askApple: AskApple
    let ledger: PurchaseLedger
    /// The apps and environments of the server.
    let accepted: VerificationPolicy
    /// The log for requests that name an account, as for requests to redeem, or `nil` to record none.
    let attempts: AttemptLog?
    let clock: @Sendable () -> Instant

    func recover(_ request: Request) throws -> Reconciler.RecoveryResult {
        let asked = try RecoverRequest(request.body.span)
        if let account = asked.account { try LedgerText.check(account, "account") }
        // The same id can belong to different purchases in the two environments.
        let environment = try accepted.environment(asked.environment)
        let now = clock()
        // Read before Apple is queried: if the account is deleted meanwhile, its attempt isn't recorded.
        let floor = attempts?.lastFloor
        func attempted(_ code: String, _ outcomes: [TransactionOutcome] = []) {
            guard let account = asked.account else { return }
            // The digest is that of the id. There is no evidence to keep.
            var attempt = Attempt(
                request.id, of: account, Array(asked.subject.id.utf8), code: code, outcomes, at: now)
            attempt?.evidence = nil
            attempt?.order = floor
            attempts?.add(attempt)
        }
        do {
            let result = try recover(asked, in: environment, at: now)
            attempted("ok", result.outcomes)
            return result
        } catch {
            if let refusal = error as? any Refusal { attempted(refusal.response.code) }
            throw error
        }
    }

    private func recover(
        _ asked: RecoverRequest, in environment: AppStoreEnvironment, at now: Instant
    ) throws -> Reconciler.RecoveryResult {
        if let reason = asked.reasonToSkip { try LedgerText.check(reason, "reason") }
        // An id doesn't contain the app, but it is unique within an environment.
        let apps = askApple.askedApps.filter { $0.environment == environment }
        guard !apps.isEmpty else {
            throw RequestFault.invalid("'environment' is none in which the server asks the App Store")
        }
        // If Apple refuses the key of one app, another app may still have the answer.
        var fault = RequestFault(LedgerFault.unknownToApple)
        for app in apps {
            do throws(Reconciler.RecoveryError) {
                let result = try askApple.reconciler.recover(
                    asked.subject, of: app, for: asked.account, skippingRefused: asked.reasonToSkip != nil)
                try record(result, asked, app, at: now)
                return result
            } catch {
                switch error {
                case .notFound, .otherApp: continue
                case .ledger(let error): throw error
                case .refused(let items): fault = RequestFault(LedgerFault.appleRefused, items.names)
                case .incomplete(let result):
                    try record(result, asked, app, at: now)
                    throw RequestFault(LedgerFault.recoveryIncomplete, result.refused.names)
                case .error(let error) where error.reason == .invalidArgument(.id):
                    throw RequestFault.invalid("an id has 1 to 128 letters, digits, '-', '_' and '.'")
                case .error, .unavailable, .budgetSpent: fault = RequestFault(LedgerFault.appleUnavailable)
                }
            }
        }
        throw fault
    }

    /// If refused items were skipped, records that with the reason for each transaction.
    private func record(
        _ result: Reconciler.RecoveryResult, _ asked: RecoverRequest, _ app: AskedApp, at now: Instant
    ) throws(Reconciler.RecoveryError) {
        guard let reason = asked.reasonToSkip, !result.refused.isEmpty else { return }
        do throws(LedgerError) {
            let ids = (result.transactionIDs + result.refused.compactMap(\.id)).filter(LedgerText.isStorable)
            try ledger.recordAsking(
                about: ids.map {
                    TransactionName(environment: app.environment, bundleID: app.bundleID, transactionID: $0)
                }, reason: reason, answer: Reconciler.RecoveryResult.partialAnswer, at: now)
        } catch {
            throw .ledger(error)
        }
    }

    static func response(_ result: Reconciler.RecoveryResult) -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("transactions")
        writer.beginArray()
        for id in result.transactionIDs { writer.string(id) }
        writer.endArray()
        writer.name("refused")
        writer.integer(Int64(result.refused.count))
        writer.name("refused_items")
        writer.beginArray()
        for item in result.refused {
            writer.beginObject()
            writer.member("transaction_id", item.id)
            writer.member("code", item.code)
            writer.endObject()
        }
        writer.endArray()
        writer.outcomes(result.outcomes)
        writer.name("sequence")
        if let sequence = result.sequence { writer.integer(sequence) } else { writer.null() }
        writer.endObject()
        return Response(body: writer.bytes)
    }
}

extension Reconciler.Recovery {
    fileprivate var id: String {
        switch self {
        case .transaction(let id), .order(let id): id
        }
    }
}
