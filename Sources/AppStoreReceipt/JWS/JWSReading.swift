import StrictText

/// The payload of a JWS whose kind is not known before, read once.
///
/// The kind is known after all names were read. Until then, each member is kept for the kinds that have it. The kinds share few names.
struct JWSReading {
    /// The kinds of payloads that Apple signs.
    enum Kind { case transaction, renewalInfo, appTransaction, notification, realtimeRequest }

    /// The members that tell the kinds apart; each is required in its kind.
    private enum Member: String, CaseIterable {
        case notificationType, requestIdentifier, receiptType, transactionId, autoRenewStatus
    }

    private static let members = JSONMembers<Member>()

    /// The kind. A payload of no known kind counts as a transaction, and is refused as one.
    let kind: Kind
    private(set) var transaction = JWSDraft<TransactionInfo>()
    private(set) var renewalInfo = JWSDraft<RenewalInfo>()
    private(set) var appTransaction = JWSDraft<AppTransaction>()
    private(set) var notification = JWSDraft<AppStoreNotification>()
    private(set) var realtimeRequest = JWSDraft<RealtimeRequest>()
    /// The properties of the text that do not depend on the kind.
    let object: JWSDraftObject

    init(_ text: [UInt8]) {
        // Not by their order in the payload, which means nothing.
        var found: Set<Member> = []
        var isRepeated = false
        var transaction = self.transaction
        var renewalInfo = self.renewalInfo
        var appTransaction = self.appTransaction
        var notification = self.notification
        var realtimeRequest = self.realtimeRequest
        var start = 0
        var end = 0
        var fault: JSONError?
        do throws(JSONError) {
            try JSONCursor.decode(text.span) { (cursor) throws(JSONError) in
                guard try cursor.peekType() == .object else {
                    throw JSONError(.unexpectedType, offset: cursor.offset)
                }
                start = cursor.offset
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    if !isRepeated, let member = Self.members.member(of: name) {
                        isRepeated = !found.insert(member).inserted
                    }
                    var value = JWSDraftValue()
                    transaction.read(name, cursor, &value)
                    renewalInfo.read(name, cursor, &value)
                    appTransaction.read(name, cursor, &value)
                    notification.read(name, cursor, &value)
                    realtimeRequest.read(name, cursor, &value)
                    if let end = value.end { cursor.move(to: end) }
                }
                end = cursor.offset
            }
        } catch {
            fault = error
        }
        object = JWSDraftObject(text: text, range: start..<max(start, end), fault: fault)
        self.transaction = transaction
        self.renewalInfo = renewalInfo
        self.appTransaction = appTransaction
        self.notification = notification
        self.realtimeRequest = realtimeRequest
        kind =
            switch Member.allCases.first(where: found.contains) {
            case .notificationType: .notification
            case .requestIdentifier: .realtimeRequest
            case .receiptType: .appTransaction
            case .autoRenewStatus: .renewalInfo
            case .transactionId, nil: .transaction
            }
    }
}

/// The object whose members are in drafts.
struct JWSDraftObject {
    let text: [UInt8]
    let range: Range<Int>
    /// The error of the text, for every kind.
    let fault: JSONError?
}

/// The end of a value and its type, once it was read.
struct JWSDraftValue {
    fileprivate(set) var end: Int?
    fileprivate var form: JWSForm?
}

/// The members of an object as one kind, and the first error for that kind.
struct JWSDraft<Payload: JWSClaims> {
    private var entries: [JWSMembers<Payload.Member>.Entry] = []
    private var seen: UInt64 = 0
    private var fault: JSONError?

    /// Reads the value at the cursor if this kind has a member of the name.
    fileprivate mutating func read(_ name: borrowing JSONString, _ cursor: JSONCursor, _ value: inout JWSDraftValue) {
        guard fault == nil, let index = Payload.Member.names.index(of: name) else { return }
        do throws(JSONError) {
            guard seen >> index & 1 == 0 else { throw JSONError(.duplicateMember, offset: name.offset) }
            seen |= 1 << index
            let member = Payload.Member.names[index]
            var cursor = cursor
            let isNull = try cursor.readIfNull()
            let start = cursor.offset
            if !isNull, let end = value.end, value.form?.isSame(as: member.form) == true {
                entries.append(.init(member: member, value: ByteRange(start..<end)))
                return
            }
            if !isNull {
                try cursor.check(member.form)
                entries.append(.init(member: member, value: ByteRange(start..<cursor.offset)))
                value.form = member.form
            }
            value.end = cursor.offset
        } catch {
            fault = error
        }
    }

    /// The payload, which must be of this kind.
    func payload(in object: JWSDraftObject) throws(JSONError) -> Payload {
        if let fault = fault ?? object.fault { throw fault }
        return try Payload(checking: JWSMembers(text: object.text, range: object.range, entries: entries))
    }
}
