import AppStoreReceipt
import HTTPService
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
            guard Self.isUUID(text) else {
                throw RequestFault(
                    "'account_token' must be a UUID, as 'appAccountToken' is", code: "invalid-account-token")
            }
            return AppAccountToken(text)
        }
    }

    /// The account of a request; `nil` if it cannot be read, which its answer says.
    @Sendable static func account(of request: Request) -> String? {
        try? RedeemRequest(request.body.span).account
    }

    /// Whether a text is 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12 (RFC 9562, 4).
    private static func isUUID(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy {
                switch $0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    true
                default: false
                }
            }
    }
}

/// `{"to":"…","reason":"…","transaction_id":"…","environment":"…"}`
struct TransferRequest {
    let to: String
    let reason: String
    let transactionID: String?
    let environment: AppStoreEnvironment?

    private enum Member: String, CaseIterable {
        case to, reason, environment
        case transactionID = "transaction_id"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        let texts = try RequestTexts(body, Self.members)
        to = try texts.required(.to)
        reason = try texts.required(.reason)
        transactionID = texts[.transactionID]
        environment = try texts[.environment].map { (text) throws(RequestFault) in
            guard let environment = AppStoreEnvironment(rawValue: text) else { throw .environment }
            return environment
        }
    }
}

/// The members of a request, all of which are strings. A member with another name is a fault: a misspelt `account_token` would not be compared.
private struct RequestTexts<Member: RawRepresentable<String> & CaseIterable & Hashable & Sendable> {
    private var values: [Member: [UInt8]] = [:]

    init(_ body: Span<UInt8>, _ members: JSONMembers<Member>) throws(RequestFault) {
        var found: [Member: [UInt8]] = [:]
        var seen: Set<Member> = []
        var fault: RequestFault?
        do throws(JSONError) {
            try JSONCursor.decode(body) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    guard let member = members.member(of: name) else {
                        fault = fault ?? .unknownMember(of: Member.self)
                        return
                    }
                    guard seen.insert(member).inserted else {
                        throw JSONError(.duplicateMember, offset: name.offset)
                    }
                    switch try cursor.peekType() {
                    case .string: found[member] = try cursor.readString().bytes
                    // As if it were not there.
                    case .null: break
                    default: fault = fault ?? .noString(member)
                    }
                }
            }
        } catch {
            throw RequestFault("the body is not the expected JSON object, as byte \(error.offset) shows")
        }
        if let fault { throw fault }
        values = found
    }

    /// An optional member.
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
    static let environment = RequestFault("'environment' must be 'production' or 'sandbox'")

    fileprivate static func noString(_ member: some RawRepresentable<String>) -> RequestFault {
        RequestFault("'\(member.rawValue)' must be a string")
    }

    fileprivate static func unknownMember<Member: RawRepresentable<String> & CaseIterable>(
        of _: Member.Type
    ) -> RequestFault {
        let known = Member.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return RequestFault("the body has an unknown member; there are \(known)")
    }
}
