package import AppStoreReceipt

/// All that the ledger knows about a transaction, as of one moment. Lists are newest first, and have at most
/// ``maximumCount`` facts.
package struct TransactionStory: Sendable {
    package static let maximumCount = 100

    package let name: TransactionName
    package var productID: String?
    /// The owner of the purchase, and the date of the claim.
    package var owner: String?
    package var ownedSince: Instant?
    /// The other transactions of the purchase: renewals, restored ones, the first one.
    package var related: [String] = []
    package var evidence: [EvidenceFact] = []
    /// The access that the purchase gives now, by the evidence alone, and when it ends.
    package var access: String?
    package var until: Instant?
    /// Of the transaction, or of the one that it restores.
    package var grants: [GrantFact] = []
    package var refunds: [RefundFact] = []
    package var events: [EventFact] = []
    package var attempts: [AttemptFact] = []
    package var transfers: [TransferFact] = []
    package var acts: [ActFact] = []
    package var notifications: [NotificationFact] = []
    /// `nil` if Apple was not asked.
    package var confirmation: ConfirmationFact?
    /// The order that it is known to be of, and the shop's identifier of that.
    package var orderID: String?
    package var shopOrderID: String?
}

/// A part of what happened to an account, newest first.
package struct AccountHistory: Sendable {
    package struct Entry: Sendable {
        package enum Fact: Sendable {
            case grant(GrantFact)
            case event(EventFact)
            case attempt(AttemptFact)
            case transfer(TransferFact)
            case act(ActFact)
        }

        package let at: Instant
        package let fact: Fact
    }

    package let account: String
    package let entries: [Entry]
    /// What follows this part; `nil` if nothing does.
    package let next: String?
}

/// What a word of support's leads to.
package enum SupportFinding: Sendable {
    case transaction(TransactionName)
    /// An order of the ledger's.
    case order(id: String, account: String, transaction: TransactionName?)
    case account(String)
    case attempt(AttemptFact)
}
