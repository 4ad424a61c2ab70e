package import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger

/// Something that an operator may want to know.
package enum Finding: Sendable {
    /// A part of an answer was refused, with the verifier's code, or with `other-app`, `other-environment` or
    /// `other-transaction`.
    case refused(AskedApp, code: String, id: String?)
    /// Apple doesn't know a signed transaction.
    case unknown(UnknownTransaction)
    /// The key, issuer, app or clock seems wrong: the first such answer. The app is queried again in five minutes.
    case misconfigured(AskedApp, AppStoreServerError)
    /// The third such answer. The app is queried once an hour until this is fixed.
    case stopped(AskedApp, AppStoreServerError)
    case resumed(AskedApp)
    /// Apple no longer has the notifications of a period, because they were not requested in time.
    case gap(AskedApp, from: Instant, until: Instant)
    /// The ledger lacked a notification in Apple's history.
    case recovered(AskedApp, type: String, uuid: String?)
    /// The same, but Apple says that it was delivered: something in front of this server answers in its place.
    case swallowed(AskedApp, type: String, uuid: String?)
    /// The ledger lacks a notification in Apple's history, and a dry run doesn't record it. Recording it would post
    /// these kinds of events.
    case missing(AskedApp, type: String, uuid: String?, events: [String])
    /// A period of an owned subscription began and ended without a notification. Nothing is granted for it.
    case endedUnnotified(AskedApp, transactionID: String)
    /// An inquiry was abandoned.
    case failed(Inquiry, String)
    /// The number of lowest-priority inquiries that were dropped because there were too many.
    case dropped(AskedApp, Int)
    /// The time by which Apple's clock is ahead of this one.
    case clockSkew(AskedApp, Duration)
    /// Apple's unsigned status of a subscription differs from the ledger's decision.
    case statusMismatch(AskedApp, originalTransactionID: String)
    /// A run for one account could not query one of its purchases.
    case leftOver(AskedApp, id: String, reason: String)
    case ledger(LedgerError)
}
