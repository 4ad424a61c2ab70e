@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// What happened to a purchase of an account.
///
/// ``EventDelivery`` delivers events at least once, and those of an account in the order of ``sequence``. To apply one,
/// set what the account has under ``transactionID`` to ``quantity`` and ``until``, unless you know a greater number for
/// it: *Deliver* in the tutorial has the rule.
///
/// Its JSON is the body of the webhook. Decoding ignores members that it does not know, and keeps kinds and causes that
/// it does not know: a later version can have more of each.
public struct LedgerEvent: Sendable {
    /// What happened to a purchase. Ignore what you do not know.
    public struct Kind: EventWord {
        /// The word in JSON.
        public let rawValue: String

        /// Creates a kind, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The purchase was granted, for the first time to this account.
        public static let granted = Kind(rawValue: "granted")
        /// Apple refunded or revoked it, or it went to another account: the quantity is 0.
        public static let revoked = Kind(rawValue: "revoked")
        /// A refund was reversed.
        public static let restored = Kind(rawValue: "restored")
        /// A part was refunded, a part of a refund was reversed, or an operator set the quantity; or two grants turned
        /// out to be one, and this is the later.
        public static let adjusted = Kind(rawValue: "adjusted")
        /// Access ends at another date, or the number of seats is another, and the quantity is the same: a grace
        /// period, an extension, an upgrade, seats that were added or refunded.
        public static let changed = Kind(rawValue: "changed")
        /// A transaction of the purchase has the token of another account. The quantity is the same: an owner stays
        /// until the backend transfers the purchase.
        public static let conflict = Kind(rawValue: "conflict")
        /// The subscription will not renew.
        public static let cancelled = Kind(rawValue: "cancelled")
        /// The subscription will renew after all, or the customer subscribed again.
        public static let uncancelled = Kind(rawValue: "uncancelled")
        /// A charge failed, and Apple keeps trying.
        public static let billingIssue = Kind(rawValue: "billing-issue")
        /// A charge succeeded after one had failed, or the customer subscribed again.
        public static let recovered = Kind(rawValue: "recovered")
        /// The subscription ended.
        public static let expired = Kind(rawValue: "expired")
        /// A price increase waits for the customer's consent; or the customer agreed, or was notified.
        public static let priceIncrease = Kind(rawValue: "price-increase")
        /// The subscription renews as another product than before.
        public static let productChange = Kind(rawValue: "product-change")
        /// The developer extended the period.
        public static let renewalExtended = Kind(rawValue: "renewal-extended")
        /// The customer requested a refund, and Apple asks how much was consumed.
        public static let refundRequested = Kind(rawValue: "refund-requested")
        /// Apple declined a refund.
        public static let refundDeclined = Kind(rawValue: "refund-declined")
    }

    /// What led to an event.
    public struct Cause: EventWord {
        /// The word in JSON.
        public let rawValue: String

        /// Creates a cause, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Evidence was redeemed.
        public static let redeem = Cause(rawValue: "redeem")
        /// A notification was recorded.
        public static let notification = Cause(rawValue: "notification")
        /// The purchase was transferred to another account.
        public static let transfer = Cause(rawValue: "transfer")
        /// An operator set the quantity, or granted a product.
        public static let support = Cause(rawValue: "support")
        /// The App Store was asked, and said what it had signed.
        public static let reconciliation = Cause(rawValue: "reconciliation")
        /// The token of the purchase became the account's.
        public static let token = Cause(rawValue: "token")
        /// A renewal that Apple had signed before has begun.
        public static let beginning = Cause(rawValue: "beginning")
        /// A refund or revocation that Apple had dated in the future has come into effect.
        public static let revocation = Cause(rawValue: "revocation")
        /// A newer version of the ledger corrects what an older one reported.
        public static let migration = Cause(rawValue: "migration")
    }

    /// The id of the event, 32 hexadecimal digits. It is the same each time the event is delivered.
    public package(set) var id = ""
    /// The account that has the purchase, or had it.
    public let account: String
    /// The number of the event. It is greater than the numbers of everything that the account's earlier events and
    /// answers said: see ``PurchaseLedger``.
    public package(set) var sequence: Int64 = 0
    /// What happened.
    public let kind: Kind
    /// What led to it.
    public let cause: Cause
    /// The environment of the purchase.
    public let environment: AppStoreEnvironment
    /// The bundle id of the app.
    public let bundleID: String
    /// The product's identifier.
    public let productID: String
    /// The identifier of the transaction under which the account was granted the purchase.
    public let transactionID: String
    /// The identifier of the first transaction of the purchase; `nil` if the ledger has no evidence of it.
    public package(set) var originalTransactionID: String?
    /// What the account has of the purchase now: the quantity of a consumable, or 1; 0 if it has nothing.
    public let quantity: Int
    /// What it had before.
    public let previousQuantity: Int
    /// The number of seats of a subscription's period; `nil` if the evidence says none.
    public let seats: Int?
    /// The date access ends; `nil` if it has no end, or if it is not known. In JSON, dates are texts as of RFC 3339.
    public let until: Instant?
    /// The date of the purchase; `nil` without evidence.
    public let purchaseDate: Instant?
    /// How long a non-renewing subscription lasts: the code of an `Entitlements.Length`, such as `P30D`, or `unknown`;
    /// `nil` for other products.
    public let length: String?
    /// The date of the change.
    public let at: Instant
    /// The token that the transaction carries, which can be that of another account.
    package var token: AppAccountToken?
    /// The `appAccountToken` of the transaction, if it is one of the account's; `nil` without ``LedgerPolicy/orders``.
    public package(set) var accountToken: AppAccountToken?
    /// The id of the order of the purchase; `nil` if it is not known.
    public package(set) var orderID: String?
    /// The shop's own id of that order.
    public package(set) var shopOrderID: String?
    /// What lifecycle events say besides; `nil` for other events.
    public package(set) var lifecycle: Lifecycle?
}

/// A word of an event's JSON. Two are equal if their bytes are.
package protocol EventWord: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible
where RawValue == String {
    /// Creates the value of a word, known or not.
    init(rawValue: String)
}

extension EventWord {
    /// The word in JSON.
    public var description: String { rawValue }

    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.rawValue.hasSameBytes(as: rhs.rawValue) }

    public func hash(into hasher: inout Hasher) { hasher.combine(UTF8Bytes(rawValue)) }
}

// MARK: JSON

extension LedgerEvent: Codable {
    /// The members of the JSON, in their order.
    private enum Member: String, CodingKey, CaseIterable {
        case account
        case accountToken = "account_token"
        case at
        case bundleID = "bundle_id"
        case cause, deadline, environment
        case expirationIntent = "expiration_intent"
        case grantedAs = "granted_as"
        case happenedAt = "happened_at"
        case id, kind, length
        case orderID = "order_id"
        case originalTransactionID = "original_transaction_id"
        case previousQuantity = "previous_quantity"
        case priceIncrease = "price_increase"
        case productID = "product_id"
        case purchaseDate = "purchase_date"
        case quantity, reason
        case renewsAs = "renews_as"
        case requestID = "request_id"
        case seats, sequence
        case shopOrderID = "shop_order_id"
        case transactionID = "transaction_id"
        case until, version
    }

    private enum Value {
        case text(String?)
        case number(Int64?)
        /// The event has no such member.
        case absent
    }

    /// The version of the JSON.
    private static let version: Int64 = 2

    private func value(of member: Member) -> Value {
        switch member {
        // An event about a purchase without an owner has no account, id and number.
        case .account: .text(account.isEmpty ? nil : account)
        case .accountToken: .text(accountToken?.description)
        // Dates are written as in answers.
        case .at: .text(at.description)
        case .bundleID: .text(bundleID)
        case .cause: .text(cause.rawValue)
        case .deadline: lifecycle.map { .text($0.deadline?.description) } ?? .absent
        case .environment: .text(environment.rawValue)
        case .expirationIntent: lifecycle.map { .text($0.expirationReason?.rawValue) } ?? .absent
        case .grantedAs: lifecycle.map { .text($0.grantedAs) } ?? .absent
        case .happenedAt: lifecycle.map { .text($0.happenedAt.description) } ?? .absent
        case .id: .text(id.isEmpty ? nil : id)
        case .kind: .text(kind.rawValue)
        case .length: .text(length)
        case .orderID: .text(orderID)
        case .originalTransactionID: .text(originalTransactionID)
        case .previousQuantity: .number(Int64(previousQuantity))
        case .priceIncrease: lifecycle.map { .text($0.priceIncrease?.rawValue) } ?? .absent
        case .productID: .text(productID)
        case .purchaseDate: .text(purchaseDate?.description)
        case .quantity: .number(Int64(quantity))
        case .reason: lifecycle.map { .text($0.reason?.rawValue) } ?? .absent
        case .renewsAs: lifecycle.map { .text($0.renewsAs) } ?? .absent
        case .requestID: lifecycle.map { .text($0.requestID) } ?? .absent
        case .seats: .number(seats.map(Int64.init))
        case .sequence: .number(sequence == 0 ? nil : sequence)
        case .shopOrderID: .text(shopOrderID)
        case .transactionID: .text(transactionID)
        case .until: .text(until?.description)
        case .version: .number(Self.version)
        }
    }

    /// The event as one line of JSON, with all its members, even without a value.
    package var json: String {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        for member in Member.allCases {
            let value = value(of: member)
            if case .absent = value { continue }
            member.rawValue.withUTF8Bytes { writer.name(utf8: $0) }
            switch value {
            case .text(let text?): writer.string(text)
            case .number(let number?): writer.integer(number)
            case .text(nil), .number(nil), .absent: writer.null()
            }
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Encodes the members of the webhook's body, also those without a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Member.self)
        for member in Member.allCases {
            switch value(of: member) {
            case .text(let text): try container.encode(text, forKey: member)
            case .number(let number): try container.encode(number, forKey: member)
            case .absent: break
            }
        }
    }

    /// Decodes the body of a webhook, of this version of the ledger or another.
    ///
    /// - Throws: `DecodingError` if a member is missing that every version has, or has another type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Member.self)
        func text(_ member: Member) throws -> String? { try container.decodeIfPresent(String.self, forKey: member) }
        func date(_ member: Member) throws -> Instant? {
            guard let text = try text(member) else { return nil }
            guard let date = Instant(rfc3339: text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: member, in: container, debugDescription: "no date as of RFC 3339")
            }
            return date
        }
        id = try container.decode(String.self, forKey: .id)
        account = try container.decode(String.self, forKey: .account)
        sequence = try container.decode(Int64.self, forKey: .sequence)
        kind = try container.decode(Kind.self, forKey: .kind)
        cause = try container.decode(Cause.self, forKey: .cause)
        environment = try container.decode(AppStoreEnvironment.self, forKey: .environment)
        bundleID = try container.decode(String.self, forKey: .bundleID)
        productID = try container.decode(String.self, forKey: .productID)
        transactionID = try container.decode(String.self, forKey: .transactionID)
        originalTransactionID = try text(.originalTransactionID)
        quantity = try container.decode(Int.self, forKey: .quantity)
        previousQuantity = try container.decode(Int.self, forKey: .previousQuantity)
        seats = try container.decodeIfPresent(Int.self, forKey: .seats)
        until = try date(.until)
        purchaseDate = try date(.purchaseDate)
        length = try text(.length)
        guard let at = try date(.at) else {
            throw DecodingError.valueNotFound(
                Instant.self, .init(codingPath: container.codingPath + [Member.at], debugDescription: "no date"))
        }
        self.at = at
        accountToken = try text(.accountToken).map(AppAccountToken.init(signed:))
        orderID = try text(.orderID)
        shopOrderID = try text(.shopOrderID)
        if let happenedAt = try date(.happenedAt) {
            var facts = Lifecycle(at: happenedAt)
            facts.grantedAs = try text(.grantedAs)
            facts.renewsAs = try text(.renewsAs)
            facts.priceIncrease = try text(.priceIncrease).flatMap(Subscription.PriceIncrease.init)
            facts.expirationReason = try text(.expirationIntent).flatMap(Subscription.ExpirationReason.init)
            facts.requestID = try text(.requestID)
            facts.reason = try text(.reason).map(ConsumptionRequestReason.init)
            facts.deadline = try date(.deadline)
            lifecycle = facts
        }
    }
}
