package import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger

/// Something that an operator may want to know.
package enum Finding: Sendable {
    /// Something in an answer was refused: by the verifier's code, or as `other-app`, `other-environment` or
    /// `other-transaction`.
    case refused(AskedApp, code: String, id: String?)
    /// Apple does not know a transaction that is signed.
    case unknown(UnknownTransaction)
    /// Key, issuer, app or clock seem wrong: the first such answer. The app is asked about again in five minutes.
    case misconfigured(AskedApp, AppStoreServerError)
    /// The same, the third time. The app is asked about once an hour until that ends.
    case stopped(AskedApp, AppStoreServerError)
    case resumed(AskedApp)
    /// Apple has no more what was not asked for in time.
    case gap(AskedApp, from: Instant, until: Instant)
    /// The ledger did not have a notification of the history.
    case recovered(AskedApp, type: String, uuid: String?)
    /// The same, and a server has taken it, as Apple says: something in front of this one answers for it.
    case swallowed(AskedApp, type: String, uuid: String?)
    /// The ledger does not have a notification of the history, and a dry run does not record it. It would tell these
    /// kinds of events.
    case missing(AskedApp, type: String, uuid: String?, events: [String])
    /// A period of an owned subscription began and ended, and nothing was heard of it. Nothing is granted for it.
    case endedUnheard(AskedApp, transactionID: String)
    /// A question is given up.
    case failed(Question, String)
    /// The number of lowest-priority questions that were dropped, because there were too many.
    case dropped(AskedApp, Int)
    /// How far Apple's clock is ahead of this one.
    case clockSkew(AskedApp, Duration)
    /// What Apple says of a subscription without signing it differs from what the ledger decides.
    case statusMismatch(AskedApp, originalTransactionID: String)
    /// A run for one account could not ask about a purchase of it.
    case leftOver(AskedApp, id: String, reason: String)
    case ledger(LedgerError)
}
