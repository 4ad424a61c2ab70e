package import AppStoreReceipt

/// Everything that the ledger knows about a transaction at one moment. Lists are newest first, and have at most
/// ``maximumCount`` facts.
package struct TransactionStory: Sendable {
    package static let maximumCount = 100

    package let name: TransactionName
    package var productID: String?
    /// The owner of the purchase, and the date of the claim.
    package var owner: String?
    package var ownedSince: Instant?
    /// The other transactions of the purchase, such as renewals, restored ones, and the first one.
    package var related: [String] = []
    package var evidence: [EvidenceFact] = []
    /// The access that the purchase now gives according to the evidence alone, and its end.
    package var access: String?
    package var until: Instant?
    /// The grants of the transaction, or of the one that it restores.
    package var grants: [GrantFact] = []
    package var refunds: [RefundFact] = []
    package var events: [EventFact] = []
    package var attempts: [AttemptFact] = []
    package var transfers: [TransferFact] = []
    package var acts: [ActFact] = []
    package var notifications: [NotificationFact] = []
    /// The result of asking Apple, or `nil` if it wasn't asked.
    package var confirmation: ConfirmationFact?
    /// The order that it is known to belong to, and the shop's identifier for that order.
    package var orderID: String?
    package var shopOrderID: String?
}

/// A page of an account's history, newest first.
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
    /// The cursor of the next page, or `nil` if there is none.
    package let next: String?
}

/// Something that a word in support's search refers to.
package enum SupportFinding: Sendable {
    case transaction(TransactionName)
    /// An order in the ledger.
    case order(id: String, account: String, transaction: TransactionName?)
    case account(String)
    case attempt(AttemptFact)
}
