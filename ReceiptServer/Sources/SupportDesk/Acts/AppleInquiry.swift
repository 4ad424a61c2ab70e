import AppStoreServerAPI
package import PurchaseLedger
package import Reconciliation

/// Asks the App Store about a transaction or an Apple order, and records the signed answer. If a part of it is refused,
/// the rest is recorded only with `skipsRefused`.
package typealias AppleInquiry = @Sendable (TransactionName, _ skipsRefused: Bool) throws(LedgerError) -> AppleAnswer

/// The result of an inquiry.
package struct AppleAnswer: Sendable {
    /// The kind of result. Its raw value is recorded.
    package enum Kind: String, CaseIterable, Sendable {
        case recorded, unknown, unavailable
        /// The verifier refused a part of the answer, and nothing was recorded.
        case refused
        /// The verifier refused a part of the answer, and the rest was recorded.
        case partial
        /// The server's key is wrong, or there is none for the app.
        case misconfigured
        /// The id doesn't have the form of Apple's ids, so Apple was not asked.
        case invalid
    }

    let kind: Kind
    /// The transactions in Apple's signed answer.
    var transactions: [TransactionName] = []
    var refused: [Reconciler.RefusedItem] = []
}

extension Reconciler {
    /// Asks Apple now, from the interactive budget, and records the answer. No owner changes; with
    /// `--orders`, the account of a token becomes the owner of a purchase without one.
    package var inquiry: AppleInquiry {
        { (name, skipsRefused) throws(LedgerError) in
            let (id, app) = (name.transactionID, AskedApp(name.environment, name.bundleID))
            guard name.isAppleOrder || TransactionIDForm.isApples(id, in: name.environment) else {
                return AppleAnswer(kind: .invalid)
            }
            do throws(RecoveryError) {
                let result = try self.recover(
                    name.isAppleOrder ? .order(id) : .transaction(id), of: app, skippingRefused: skipsRefused)
                return AppleAnswer(
                    kind: result.refused.isEmpty ? .recorded : .partial,
                    transactions: result.transactionIDs.map {
                        TransactionName(environment: name.environment, bundleID: name.bundleID, transactionID: $0)
                    }, refused: result.refused)
            } catch {
                switch error {
                case .notFound: return AppleAnswer(kind: .unknown)
                case .budgetSpent, .unavailable: return AppleAnswer(kind: .unavailable)
                case .error(let error) where error.reason == .invalidArgument(.id): return AppleAnswer(kind: .invalid)
                case .otherApp, .error: return AppleAnswer(kind: .misconfigured)
                case .refused(let items): return AppleAnswer(kind: .refused, refused: items)
                // Never thrown without an account.
                case .incomplete(let result): return AppleAnswer(kind: .partial, refused: result.refused)
                case .ledger(let error): throw error
                }
            }
        }
    }
}

extension AppleAnswer.Kind {
    var words: SupportPhrase {
        switch self {
        case .recorded: .appleAnswered
        case .unknown: .appleUnknown
        case .unavailable: .appleUnavailable
        case .refused: .appleRefused
        case .partial: .applePartial
        case .misconfigured: .appleSettings
        case .invalid: .appleInvalid
        }
    }
}
