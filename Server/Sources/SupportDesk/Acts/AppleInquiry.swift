package import AppStoreReceipt
package import PurchaseLedger
package import Reconciliation

/// Asks the App Store about a purchase, and records what Apple signed.
package typealias AppleInquiry = @Sendable (AppleQuestion) throws(LedgerError) -> AppleAnswer

/// What the App Store is asked about.
package enum AppleQuestion: Sendable {
    case transaction(TransactionName)
    /// The order id of Apple's e-mail, such as `MX1A2B3C4D`.
    case order(String, environment: AppStoreEnvironment, bundleID: String)
}

/// What came of a question.
package enum AppleAnswer: Sendable {
    /// The transactions of which Apple signed something.
    case recorded([TransactionName])
    case unknown
    case unavailable
    /// The verifier refused what came.
    case refused(code: String)
    /// The key of the server is wrong, or there is none for the app.
    case misconfigured
}

extension Reconciler {
    /// Asks at once, by the budget of what somebody waits for. What Apple signed is recorded, and becomes nobody's who does not own it.
    package var inquiry: AppleInquiry {
        { (question) throws(LedgerError) in
            let (what, app) = question.recovery
            do throws(RecoveryError) {
                let ids = try self.recover(what, of: app).transactionIDs
                return .recorded(
                    ids.map {
                        TransactionName(environment: app.environment, bundleID: app.bundleID, transactionID: $0)
                    })
            } catch {
                switch error {
                case .notFound: return .unknown
                case .budgetSpent, .unavailable: return .unavailable
                case .otherApp, .error: return .misconfigured
                case .refused(let code): return .refused(code: code)
                case .ledger(let error): throw error
                }
            }
        }
    }
}

extension AppleQuestion {
    fileprivate var recovery: (Reconciler.Recovery, AskedApp) {
        switch self {
        case .transaction(let name): (.transaction(name.transactionID), AskedApp(name.environment, name.bundleID))
        case .order(let id, let environment, let bundleID): (.order(id), AskedApp(environment, bundleID))
        }
    }
}
