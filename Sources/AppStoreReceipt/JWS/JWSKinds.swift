package import StrictText

/// The kinds of JWS that Apple signs. The raw values are the names of the members of a verdict. A new kind is a line in
/// each list of this file, a case of ``VerifiedEvidence``, and the type of its payload.
package enum JWSKind: String, Sendable, CaseIterable {
    case transaction
    case renewalInfo = "renewal_info"
    case appTransaction = "app_transaction"
    case notification
    case realtimeRequest = "realtime_request"
}

extension JWSKind {
    /// Reads the members of a payload of this kind. Each must have the type that Apple gives it.
    package func readMembers(
        _ cursor: inout JSONCursor, of text: [UInt8], _ notes: inout JWSSpecificationNotes
    ) throws(JSONError) -> [JWSSpecifiedMember] {
        switch self {
        case .transaction: try TransactionInfo.readMembers(&cursor, of: text, &notes)
        case .renewalInfo: try RenewalInfo.readMembers(&cursor, of: text, &notes)
        case .appTransaction: try AppTransaction.readMembers(&cursor, of: text, &notes)
        case .notification: try AppStoreNotification.readMembers(&cursor, of: text, &notes)
        case .realtimeRequest: try RealtimeRequest.readMembers(&cursor, of: text, &notes)
        }
    }

    /// The kind, for people to read.
    var text: String {
        switch self {
        case .transaction: "transaction"
        case .renewalInfo: "renewal information"
        case .appTransaction: "app transaction"
        case .notification: "notification"
        case .realtimeRequest: "real-time request"
        }
    }
}

/// The payload of a JWS of any kind, read once.
///
/// The kind is known after all names were read. Until then, each member is kept for the kinds that have it. The kinds
/// share few names.
struct JWSReading {
    /// The members that tell the kinds apart; each is required in its kind.
    private enum Member: String, CaseIterable {
        case notificationType, requestIdentifier, receiptType, transactionId, autoRenewStatus
    }

    private static let members = JSONMembers<Member>()

    /// The kind. A payload of no known kind counts as a transaction, and is refused as one.
    let kind: JWSKind
    let drafts: Drafts
    /// The properties of the text that do not depend on the kind.
    let object: JWSDraftObject

    /// The members as each kind has them.
    struct Drafts {
        private(set) var transaction = JWSDraft<TransactionInfo>()
        private(set) var renewalInfo = JWSDraft<RenewalInfo>()
        private(set) var appTransaction = JWSDraft<AppTransaction>()
        private(set) var notification = JWSDraft<AppStoreNotification>()
        private(set) var realtimeRequest = JWSDraft<RealtimeRequest>()

        fileprivate mutating func read(_ name: borrowing JSONString, _ cursor: inout JSONCursor) {
            var value = JWSDraftValue()
            transaction.read(name, cursor, &value)
            renewalInfo.read(name, cursor, &value)
            appTransaction.read(name, cursor, &value)
            notification.read(name, cursor, &value)
            realtimeRequest.read(name, cursor, &value)
            if let end = value.end { cursor.move(to: end) }
        }
    }

    init(_ text: [UInt8]) {
        // In the order of the kinds, because the order of members in a payload means nothing.
        var found: Set<Member> = []
        var isRepeated = false
        var drafts = Drafts()
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
                    drafts.read(name, &cursor)
                }
                end = cursor.offset
            }
        } catch {
            fault = error
        }
        object = JWSDraftObject(text: text, range: start..<max(start, end), fault: fault)
        self.drafts = drafts
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

extension JWSReading {
    /// The payload, which was not verified.
    var part: EvidencePart {
        get throws(JSONError) {
            switch kind {
            case .transaction: EvidencePart(try drafts.transaction.payload(in: object))
            case .renewalInfo: EvidencePart(try drafts.renewalInfo.payload(in: object))
            case .appTransaction: EvidencePart(try drafts.appTransaction.payload(in: object))
            case .notification: EvidencePart(try drafts.notification.payload(in: object))
            case .realtimeRequest: EvidencePart(try drafts.realtimeRequest.payload(in: object))
            }
        }
    }
}

extension JWSVerifier {
    /// Verifies a JWS of any kind. Its payload determines the kind.
    func verify(_ text: Span<UInt8>) throws(VerificationError) -> VerifiedEvidence {
        let jws = try read(text)
        let reading = JWSReading(jws.payload)
        func verified<Payload: JWSClaims>(
            _ draft: JWSDraft<Payload>
        ) throws(VerificationError) -> Verified<Payload> {
            try verify(
                Result { () throws(JSONError) in try draft.payload(in: reading.object) }, of: jws, text)
        }
        return switch reading.kind {
        case .notification: .notification(try withParts(verified(reading.drafts.notification)))
        case .realtimeRequest: .realtimeRequest(try verified(reading.drafts.realtimeRequest))
        case .appTransaction: .appTransaction(try verified(reading.drafts.appTransaction))
        case .renewalInfo: .renewalInfo(try verified(reading.drafts.renewalInfo))
        case .transaction: .transaction(try verified(reading.drafts.transaction))
        }
    }
}
