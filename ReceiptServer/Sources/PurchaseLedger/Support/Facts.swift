package import AppStoreReceipt

/// Signed evidence of a transaction.
package struct EvidenceFact: Sendable {
    package let signedDate: Instant
    /// The SHA-256 of the certificate that signed it first, in hexadecimal.
    package let signer: String?
    package let purchase: Purchase
}

/// A grant, and what no decision reads of it.
@dynamicMemberLookup
package struct GrantFact: Sendable {
    let grant: Grant
    package let grantedQuantity: Int64
    package let changedAt: Instant
    /// The date when an operator revoked it in the database.
    package let takenBackAt: Instant?

    package var name: TransactionName { TransactionName(grant.transaction) }

    package subscript<Value>(dynamicMember member: KeyPath<Grant, Value>) -> Value { grant[keyPath: member] }
}

/// A refund or a revocation, as Apple signed it.
package struct RefundFact: Sendable {
    package let date: Instant?
    package let type: RevocationType?
    package let reason: RevocationReason?
    /// The refunded part of the price, in thousandths of a percent.
    package let percentage: Int64?
    package let signedDate: Instant
}

/// An event that was or will be sent to the backend.
package struct EventFact: Sendable {
    package enum Delivery: String, Sendable { case pending, delivered, dead }

    package let id: String
    package let account: String
    package let sequence: Int64
    package let kind: String
    package let cause: String
    package let name: TransactionName
    package let productID: String
    package let quantity: Int64
    package let previousQuantity: Int64
    package let seats: Int64?
    package let madeAt: Instant
    package let state: Delivery
    /// When the backend acknowledged it, by the database's clock; `nil` before, and for events that versions before
    /// 0.4.0 delivered.
    package let deliveredAt: Instant?
    package let attempts: Int64
    package let failure: String?
}

/// A request to redeem evidence, and its answer.
package struct AttemptFact: Sendable {
    package let requestID: String
    package let account: String
    package let at: Instant
    /// The number of times that the account submitted the same evidence within a second and got the same answer.
    package let times: Int64
    /// The ``EvidenceDigest`` of the submitted bytes.
    package let digest: String
    /// The digest of the evidence within them.
    package let evidenceDigest: String
    /// `ok`, or the code of the refusal.
    package let code: String
    /// The outcomes, at most ``Attempt/maximumOutcomeCount``.
    package let outcomes: [Attempt.Outcome]
    /// The number of transactions in the evidence.
    package let transactionCount: Int64
    package let isEvidenceKept: Bool
}

/// A change of owner.
package struct TransferFact: Sendable {
    package let id: Int64
    package let from: String
    package let to: String
    package let reason: String
    package let at: Instant
}

/// An operator's action.
package struct ActFact: Sendable {
    package enum Kind: String, Sendable {
        /// The quantity of a grant was set, or follows the evidence again.
        case adjust
        /// Support granted a product.
        case grant
        /// An event was sent again.
        case send
        /// Apple was asked.
        case recover
    }

    package let id: Int64
    package let kind: Kind
    package let account: String
    package let name: TransactionName?
    package let productID: String?
    package let eventID: String?
    package let previousQuantity: Int64?
    package let quantity: Int64?
    package let reason: String
    /// Apple's answer.
    package let answer: String?
    package let at: Instant
}

/// Whether Apple knows a transaction, according to its last answer.
package struct ConfirmationFact: Sendable {
    package let askedAt: Instant
    package let confirmedAt: Instant?
    /// The date when it was concluded that Apple doesn't know it. That isn't proof of a forgery.
    package let unknownSince: Instant?
}

/// A notification from Apple's server.
package struct NotificationFact: Sendable {
    package let type: String
    package let subtype: String?
    package let signedDate: Instant?
    package let receivedAt: Instant
}
