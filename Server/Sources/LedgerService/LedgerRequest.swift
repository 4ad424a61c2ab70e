import HTTPService
import ServerText

/// `{"account":"…","evidence":"…","account_token":"…","idempotency_key":"…"}`
struct RedeemRequest {
    private(set) var account = ""
    private(set) var evidence: [UInt8] = []
    private(set) var accountToken: String?
    private(set) var idempotencyKey: String?

    private enum Member: String, CaseIterable {
        case account, evidence
        case accountToken = "account_token"
        case idempotencyKey = "idempotency_key"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        var request = RedeemRequest()
        var found: Set<Member> = []
        try RequestFault.decode(body) { (cursor) throws(JSONError) in
            try cursor.readObject(of: Self.members) { (cursor, member) throws(JSONError) in
                switch member {
                case .account: request.account = try cursor.readString().value
                case .evidence: request.evidence = try cursor.readString().bytes
                case .accountToken: if try !cursor.readIfNull() { request.accountToken = try cursor.readString().value }
                case .idempotencyKey:
                    if try !cursor.readIfNull() { request.idempotencyKey = try cursor.readString().value }
                }
                found.insert(member)
            }
        }
        for member in [Member.account, .evidence] where !found.contains(member) {
            throw RequestFault(message: "'\(member.rawValue)' must be a string")
        }
        self = request
    }

    private init() {}
}

/// `{"to":"…","reason":"…","transaction_id":"…"}`
struct TransferRequest {
    private(set) var to = ""
    private(set) var reason = ""
    private(set) var transactionID: String?

    private enum Member: String, CaseIterable {
        case to, reason
        case transactionID = "transaction_id"
    }
    private static let members = JSONMembers<Member>()

    init(_ body: Span<UInt8>) throws(RequestFault) {
        var request = TransferRequest()
        var found: Set<Member> = []
        try RequestFault.decode(body) { (cursor) throws(JSONError) in
            try cursor.readObject(of: Self.members) { (cursor, member) throws(JSONError) in
                switch member {
                case .to: request.to = try cursor.readString().value
                case .reason: request.reason = try cursor.readString().value
                case .transactionID:
                    if try !cursor.readIfNull() { request.transactionID = try cursor.readString().value }
                }
                found.insert(member)
            }
        }
        for member in [Member.to, .reason] where !found.contains(member) {
            throw RequestFault(message: "'\(member.rawValue)' must be a string")
        }
        self = request
    }

    private init() {}
}

/// The reason a request cannot be read.
struct RequestFault: Error {
    let message: String

    var response: Response { Response(status: 400, errorCode: "invalid-request", message: message) }

    fileprivate static func decode(
        _ body: Span<UInt8>, _ read: (inout JSONCursor) throws(JSONError) -> Void
    ) throws(RequestFault) {
        do throws(JSONError) {
            try JSONCursor.decode(body) { (cursor) throws(JSONError) in try read(&cursor) }
        } catch {
            throw RequestFault(message: "the body is not the expected JSON object, as byte \(error.offset) shows")
        }
    }
}
