import AppStoreReceipt
import AppStoreServerAPI
import HTTPService
import PurchaseLedger
import Reconciliation
import StrictText

/// `POST /v1/recover`: asks the App Store about one purchase, and records what it signed.
struct RecoverRoute: Sendable {
    let askApple: AskApple
    /// Where requests for an account are recorded, as those to redeem are; `nil` for nowhere.
    let attempts: AttemptLog?
    let clock: @Sendable () -> Instant

    func recover(_ request: Request) throws -> Reconciler.RecoveryResult {
        let asked = try RecoverRequest(request.body.span)
        // Before Apple is asked: if the account is deleted meanwhile, its attempt is not recorded.
        let now = clock()
        func attempted(_ code: String, _ outcomes: [TransactionOutcome] = []) {
            guard let account = asked.account else { return }
            // Its digest is that of the id. There is no evidence to keep.
            var attempt = Attempt(
                request.id, of: account, Array(asked.subject.id.utf8), code: code, outcomes, at: now)
            attempt?.evidence = nil
            attempts?.add(attempt)
        }
        do {
            let result = try recover(asked)
            attempted("ok", result.outcomes)
            return result
        } catch {
            if let refusal = error as? any Refusal { attempted(refusal.response.code) }
            throw error
        }
    }

    private func recover(_ asked: RecoverRequest) throws -> Reconciler.RecoveryResult {
        let apps = askApple.askedApps
        // An id names neither app nor environment. Apple looks orders up in production only.
        let production = apps.filter { $0.environment == .production }
        // What one app cannot say, because its key is refused, another one may.
        var fault = LedgerFault.unknownToApple
        for app in asked.isOrder && !production.isEmpty ? production : apps {
            do throws(Reconciler.RecoveryError) {
                return try askApple.reconciler.recover(asked.subject, of: app, for: asked.account)
            } catch {
                switch error {
                case .notFound, .otherApp: continue
                case .ledger(let error): throw error
                case .refused: fault = .appleRefused
                case .error(let error) where error.reason == .invalidArgument(.id):
                    throw RequestFault.invalid("an id has 1 to 128 letters, digits, '-', '_' and '.'")
                case .error, .unavailable, .budgetSpent: fault = .appleUnavailable
                }
            }
        }
        throw RequestFault(fault)
    }

    static func response(_ result: Reconciler.RecoveryResult) -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("transactions")
        writer.beginArray()
        for id in result.transactionIDs { writer.string(id) }
        writer.endArray()
        writer.name("refused")
        writer.integer(Int64(result.refusedCount))
        writer.outcomes(result.outcomes)
        writer.name("sequence")
        if let sequence = result.sequence { writer.integer(sequence) } else { writer.null() }
        writer.endObject()
        return Response(body: writer.bytes)
    }
}

extension RecoverRequest {
    fileprivate var isOrder: Bool {
        if case .order = subject { true } else { false }
    }
}

extension Reconciler.Recovery {
    fileprivate var id: String {
        switch self {
        case .transaction(let id), .order(let id): id
        }
    }
}
