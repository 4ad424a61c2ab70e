import AppStoreReceipt
import HTTPService
import PurchaseLedger
import Reconciliation
import StrictText

/// `{"account":"…","evidence":"…","account_token":"…","idempotency_key":"…"}`
struct RedeemRequest {
    let account: String
    let evidence: [UInt8]
    let accountToken: AppAccountToken?
    let idempotencyKey: String?

    private enum Member: String, CaseIterable {
        case account, evidence
        case accountToken = "account_token"
        case idempotencyKey = "idempotency_key"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        let texts = try RequestTexts(body, Self.members)
        account = try texts.required(.account)
        evidence = try texts.requiredBytes(.evidence)
        idempotencyKey = texts[.idempotencyKey]
        accountToken = try texts[.accountToken].map { (text) throws(RequestFault) in
            guard let token = AppAccountToken(text) else { throw RequestFault(LedgerFault.invalidAccountToken) }
            return token
        }
    }
}

/// `{}` or `{"token":"…"}`
struct TokenRequest {
    let token: AppAccountToken?

    private enum Member: String, CaseIterable { case token }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        token = try RequestTexts(body, Self.members)[.token].map { (text) throws(RequestFault) in
            guard let token = AppAccountToken(uuid: text) else {
                throw RequestFault(LedgerFault.invalidAccountToken, "'token' must be a UUID that is not nil")
            }
            return token
        }
    }
}

/// `{"account":"…","transaction_id":"…"}` or `{"account":"…","apple_order_id":"…"}`, with `environment` if the server
/// has several, and optionally `"skip_refused":true,"reason":"…"`.
struct RecoverRequest {
    /// The account to redeem the recovered purchase for, or `nil` to only record it.
    let account: String?
    let subject: Reconciler.Recovery
    let environment: AppStoreEnvironment?
    /// The reason to record the rest if a part of Apple's answer is refused, or `nil` to record nothing then.
    let reasonToSkip: String?

    private enum Member: String, CaseIterable {
        case account, environment, reason
        case skipRefused = "skip_refused"
        case transactionID = "transaction_id"
        case appleOrderID = "apple_order_id"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        let texts = try RequestTexts(body, Self.members, flags: [.skipRefused]) { name in
            guard name.elementsEqual("order_id".utf8) else { return nil }
            return .invalid(
                "'order_id' is an order of this ledger, which Apple does not know; the order id of Apple's invoice (MX…) is 'apple_order_id'"
            )
        }
        account = texts[.account]
        reasonToSkip = texts[.reason]
        guard (reasonToSkip != nil) == texts.isTrue(.skipRefused) else {
            throw .invalid("'skip_refused' and 'reason' go together")
        }
        environment = try texts[.environment].map { (text) throws(RequestFault) in try .init(environment: text) }
        switch (texts[.transactionID], texts[.appleOrderID]) {
        case (let id?, nil):
            // Apple is queried only for environments whose ids have the form of production.
            guard TransactionIDForm.isApples(id, in: .production) else {
                throw .invalid("'transaction_id' must be \(TransactionIDForm.words)")
            }
            subject = .transaction(id)
        case (nil, let id?): subject = .order(id)
        default: throw .invalid("one of 'transaction_id' and 'apple_order_id' is required")
        }
    }
}

/// `{"account":"…","product_id":"…","environment":"…","bundle_id":"…","idempotency_key":"…","shop_order_id":"…"}`
struct OrderRequest {
    let account: String
    let productID: String
    let environment: AppStoreEnvironment?
    let bundleID: String?
    let idempotencyKey: String?
    let shopOrderID: String?

    private enum Member: String, CaseIterable {
        case account, environment
        case productID = "product_id"
        case bundleID = "bundle_id"
        case idempotencyKey = "idempotency_key"
        case shopOrderID = "shop_order_id"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        let texts = try RequestTexts(body, Self.members)
        account = try texts.required(.account)
        productID = try texts.required(.productID)
        bundleID = texts[.bundleID]
        idempotencyKey = texts[.idempotencyKey]
        shopOrderID = texts[.shopOrderID]
        environment = try texts[.environment].map { (text) throws(RequestFault) in try .init(environment: text) }
    }
}

extension AppStoreEnvironment {
    fileprivate init(environment text: String) throws(RequestFault) {
        guard let environment = AppStoreEnvironment(rawValue: text) else { throw .environment }
        self = environment
    }
}

/// `{"to":"…","reason":"…","transaction_id":"…","environment":"…","tokens":true}`
struct TransferRequest {
    let to: String
    let reason: String
    let transactionID: String?
    let environment: AppStoreEnvironment?
    let movesTokens: Bool

    private enum Member: String, CaseIterable {
        case to, reason, environment, tokens
        case transactionID = "transaction_id"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        let texts = try RequestTexts(body, Self.members, flags: [.tokens])
        to = try texts.required(.to)
        reason = try texts.required(.reason)
        transactionID = texts[.transactionID]
        environment = try texts[.environment].map { (text) throws(RequestFault) in try .init(environment: text) }
        movesTokens = texts.isTrue(.tokens)
    }
}

/// `{"transaction_id":"…","quantity":3,"reason":"…"}`, the same with `"as_signed":true` instead of the quantity, or
/// `{"product_id":"…","quantity":3,"reason":"…","idempotency_key":"…"}`. Each has `environment` and `bundle_id` if the
/// server has several.
struct AdjustRequest {
    let transactionID: String?
    let productID: String?
    let quantity: Int64?
    let environment: AppStoreEnvironment?
    let bundleID: String?
    let reason: String
    let idempotencyKey: String?

    private enum Member: String, CaseIterable {
        case quantity, environment, reason
        case transactionID = "transaction_id"
        case productID = "product_id"
        case asSigned = "as_signed"
        case bundleID = "bundle_id"
        case idempotencyKey = "idempotency_key"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        let texts = try RequestTexts(body, Self.members, flags: [.asSigned], numbers: [.quantity])
        (transactionID, productID) = (texts[.transactionID], texts[.productID])
        guard (transactionID == nil) != (productID == nil) else {
            throw .invalid("there must be either 'transaction_id' or 'product_id'")
        }
        quantity = texts.number(.quantity)
        let isAsSigned = transactionID != nil && texts.isTrue(.asSigned)
        guard (quantity == nil) == isAsSigned else {
            throw .invalid("there must be either 'quantity' or, with 'transaction_id', 'as_signed'")
        }
        environment = try texts[.environment].map { (text) throws(RequestFault) in try .init(environment: text) }
        bundleID = texts[.bundleID]
        reason = try texts.required(.reason)
        idempotencyKey = texts[.idempotencyKey]
    }
}

/// An empty body, `{}` or `{"reason":"…"}`
struct SendRequest {
    let reason: String?

    private enum Member: String, CaseIterable { case reason }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        reason = body.isEmpty ? nil : try RequestTexts(body, Self.members)[.reason]
    }
}

/// The members of a request: strings, except for some flags and numbers. An unknown member is refused, because a
/// misspelled `account_token` would not be compared. `unknown` can add details to that message.
private struct RequestTexts<Member: RawRepresentable<String> & CaseIterable & Hashable & Sendable> {
    private var values: [Member: [UInt8]] = [:]
    private var trueFlags: Set<Member> = []
    private var numbers: [Member: Int64] = [:]

    init(
        _ body: Span<UInt8>, _ members: JSONMembers<Member>, flags: Set<Member> = [], numbers: Set<Member> = [],
        unknown: ([UInt8]) -> RequestFault? = { _ in nil }
    ) throws(RequestFault) {
        var found: [Member: [UInt8]] = [:]
        var foundNumbers: [Member: Int64] = [:]
        var trueFlags: Set<Member> = []
        var seen: Set<Member> = []
        var fault: RequestFault?
        do throws(JSONError) {
            try JSONCursor.decode(body) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    guard let member = members.member(of: name) else {
                        fault = fault ?? unknown(name.bytes) ?? .unknownMember(of: Member.self)
                        return
                    }
                    guard seen.insert(member).inserted else {
                        throw JSONError(.duplicateMember, offset: name.offset)
                    }
                    switch try cursor.peekType() {
                    case .boolean where flags.contains(member):
                        if try cursor.readBool() { trueFlags.insert(member) }
                    case _ where flags.contains(member): fault = fault ?? .noFlag(member)
                    case .number where numbers.contains(member):
                        let number = try cursor.readNumber()
                        do throws(JSONError) {
                            foundNumbers[member] = try number.int64()
                        } catch {
                            fault = fault ?? .noNumber(member)
                        }
                    case .null where numbers.contains(member): break
                    case _ where numbers.contains(member): fault = fault ?? .noNumber(member)
                    case .string: found[member] = try cursor.readString().bytes
                    // `null` counts as missing.
                    case .null: break
                    default: fault = fault ?? .noString(member)
                    }
                }
            }
        } catch {
            throw RequestFault(HTTPFault.invalidJSON, "see byte \(error.offset)")
        }
        if let fault { throw fault }
        values = found
        self.trueFlags = trueFlags
        self.numbers = foundNumbers
    }

    func number(_ member: Member) -> Int64? { numbers[member] }

    func isTrue(_ flag: Member) -> Bool { trueFlags.contains(flag) }

    /// The text of an optional member.
    subscript(member: Member) -> String? { values[member].map { String(decoding: $0, as: UTF8.self) } }

    func required(_ member: Member) throws(RequestFault) -> String {
        String(decoding: try requiredBytes(member), as: UTF8.self)
    }

    func requiredBytes(_ member: Member) throws(RequestFault) -> [UInt8] {
        guard let bytes = values[member] else { throw .noString(member) }
        return bytes
    }
}

extension RequestFault {
    static let environment = RequestFault.invalid("'environment' must be 'production' or 'sandbox'")

    fileprivate static func noString(_ member: some RawRepresentable<String>) -> RequestFault {
        .invalid("'\(member.rawValue)' must be a string")
    }

    fileprivate static func noFlag(_ member: some RawRepresentable<String>) -> RequestFault {
        .invalid("'\(member.rawValue)' must be true or false")
    }

    fileprivate static func noNumber(_ member: some RawRepresentable<String>) -> RequestFault {
        .invalid("'\(member.rawValue)' must be a whole number")
    }

    fileprivate static func unknownMember<Member: RawRepresentable<String> & CaseIterable>(
        of _: Member.Type
    ) -> RequestFault {
        let known = Member.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return .invalid("the body has an unknown member; there are \(known)")
    }
}
