import StrictText

/// The reason the ledger could not do what it was asked.
///
/// Whether an account is granted a purchase is no error: see ``Outcome``.
public struct LedgerError: Error, Hashable, Sendable {
    /// The stable names of the reasons.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The database cannot be reached, is full, or did not answer in time. Nothing was recorded, or it is not known
        /// whether it was; ask again.
        case storeUnavailable = "store-unavailable"
        /// The database refused a statement, or has contents that the ledger did not write. Ask an operator.
        case storeFailed = "store-failed"
        /// A newer version of this library has made or changed the tables.
        case newerSchema = "newer-schema"
        /// The tables are those of an older version, and are not to be changed.
        case olderSchema = "older-schema"
        /// The location is neither a file nor a `postgresql:` URI.
        case invalidLocation = "invalid-location"
        /// An account, or another text of the caller, is empty, too long, or has a character that the database cannot
        /// store.
        case invalidText = "invalid-text"
        /// The idempotency key belongs to another request of the account.
        case idempotencyKeyReused = "idempotency-key-reused"
        /// The account token is another account's.
        case tokenTaken = "token-taken"
        /// The account has as many tokens as it can have.
        case tooManyTokens = "too-many-tokens"
        /// The account has as many open orders as it can have.
        case tooManyOrders = "too-many-orders"
        /// The shop's identifier of an order belongs to an order of another account, or for something else.
        case shopOrderTaken = "shop-order-taken"
        /// Another import into the ledger is running.
        case importRunning = "import-running"
        /// An event could not be delivered, and will be tried again.
        case deliveryFailed = "delivery-failed"
        /// An event could not be delivered, and is a dead letter.
        case deadLetter = "dead-letter"
        /// An operator cannot set the quantity of the grant: Apple took it back, or another operator did in the
        /// database.
        case notAdjustable = "not-adjustable"
        /// There is no such account, purchase or event.
        case notFound = "not-found"
        /// There is no ledger at the location.
        case noLedger = "no-ledger"
        /// There is a ledger at the location, where a new one was to be made.
        case ledgerExists = "ledger-exists"
    }

    /// The reason.
    public let code: Code
    /// What the database said, or the name of the text; for an operator, not for a client.
    public let detail: String
    /// Whether the same work can succeed at once, because another transaction was in its way.
    package let isConflict: Bool
    /// Whether the connection was lost after a transaction had begun. If it was lost during the commit and this is no
    /// conflict, something may have been recorded: the database could not be asked.
    package let isLost: Bool

    package init(
        _ code: Code, _ detail: String, isConflict: Bool = false, isLost: Bool = false
    ) {
        self.code = code
        self.detail = detail
        self.isConflict = isConflict
        self.isLost = isLost
    }

    /// Another transaction changed what this one had read.
    package static let conflict = LedgerError(.storeUnavailable, "too many changes at the same time", isConflict: true)

    // Strings from outside are compared by their bytes.
    public static func == (lhs: LedgerError, rhs: LedgerError) -> Bool {
        lhs.code == rhs.code && lhs.detail.hasSameBytes(as: rhs.detail)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension LedgerError: CustomStringConvertible {
    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
