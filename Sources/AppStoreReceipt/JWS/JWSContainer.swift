import SignatureTrust
import SpanASN1
import StrictText

/// The way of a JWS from the received text to a verified payload.
///
/// The rules are those for receipts: the signature over the received bytes, a chain of exactly three certificates to a pinned root, Apple's
/// markers on them, judged at the date of signing. `alg` is `ES256` and nothing else; a header that leads to another key is refused.
struct JWSContainer: Sendable {
    let policy: VerificationPolicy
    let engine: TrustEngine

    /// Verifies a JWS of any kind, by what its payload has.
    func verify(_ text: Span<UInt8>) throws(VerificationError) -> VerifiedEvidence {
        let jws = try read(text)
        return switch JWSKind(of: jws.payload) {
        case .notification: .notification(try verifyNotification(jws, text))
        case .realtimeRequest: .realtimeRequest(try verify(jws, text))
        case .appTransaction: .appTransaction(try verify(jws, text))
        case .renewalInfo: .renewalInfo(try verify(jws, text))
        case .transaction: .transaction(try verify(jws, text))
        }
    }

    /// Verifies a JWS that must be of one kind.
    func verify<Payload: JWSClaims>(_ text: Span<UInt8>) throws(VerificationError) -> Verified<Payload> {
        try verify(read(text), text)
    }

    func verifyNotification(_ text: Span<UInt8>) throws(VerificationError) -> VerifiedNotification {
        try verifyNotification(read(text), text)
    }

    private func read(_ text: Span<UInt8>) throws(VerificationError) -> CompactJWS {
        try CompactJWS(
            text, maximumByteCount: min(policy.limits.maximumJWSByteCount, Int(UInt32.max)),
            certificateCount: engine.certificateCount)
    }

    // MARK: Notifications

    private func verifyNotification(
        _ jws: CompactJWS, _ text: Span<UInt8>
    ) throws(VerificationError) -> VerifiedNotification {
        let notification: Verified<AppStoreNotification> = try verify(jws, text)
        let (data, appData) = (notification.payload.data, notification.payload.appData)
        return VerifiedNotification(
            notification: notification,
            transactionInfo: try verify(
                .transactionInfo, data?.members.bytes(.signedTransactionInfo), of: notification.payload),
            renewalInfo: try verify(.renewalInfo, data?.members.bytes(.signedRenewalInfo), of: notification.payload),
            appTransaction: try verify(
                .appTransactionInfo, appData?.members.bytes(.signedAppTransactionInfo), of: notification.payload))
    }

    private func verify<Payload: JWSClaims>(
        _ part: VerificationError.Part, _ jws: [UInt8]?, of notification: AppStoreNotification
    ) throws(VerificationError) -> Verified<Payload>? {
        guard let jws else { return nil }
        do throws(VerificationError) {
            let verified: Verified<Payload> = try verify(jws.span)
            guard verified.payload.concerns(sameAs: notification) else { throw .policy(.partMismatch) }
            return verified
        } catch {
            throw error.within(part)
        }
    }

    // MARK: One JWS

    /// One verdict an input, so in this order: signature, date, chain, payload, policy.
    private func verify<Payload: JWSClaims>(
        _ jws: CompactJWS, _ text: Span<UInt8>
    ) throws(VerificationError) -> Verified<Payload> {
        let key: SignerKey
        do throws(SignatureTrustError) {
            key = try engine.verify(
                ES256Signature(jws.signature.span), of: text.extracting(jws.signed), by: jws.certificates)
        } catch {
            throw .signature(error, of: .jws)
        }
        // The payload is needed for the date; what else is wrong with it counts after the chain. Decoding it is cheap and takes no memory
        // but for the members known.
        let decoded = Result { () throws(JSONError) in try Payload(decoding: jws.payload) }
        let date: Instant
        do throws(VerificationError) {
            date = try signingDate(decoded, jws.payload)
        } catch {
            // Without a date to judge by. Only of a trusted signer's payload may it be said that it cannot be read.
            if case .members = error.reason { _ = try verification(jws.certificates, key, at: nil) }
            throw error
        }
        let verification = try verification(jws.certificates, key, at: policy.validationDate(signedAt: date))
        let payload: Payload
        do throws(JSONError) {
            payload = try decoded.get()
        } catch {
            throw VerificationError(.members(error))
        }
        try policy.check(payload)
        return Verified(payload: payload, verification: verification)
    }

    /// - Parameter date: when `nil`, the first moment at which the signer's certificate is valid.
    private func verification(
        _ certificates: CertificateSequence, _ key: SignerKey, at date: Instant?
    ) throws(VerificationError) -> Verification {
        do throws(SignatureTrustError) {
            let moment = if let date { date } else { try certificates.signerNotBefore() }
            return try engine.verification(for: certificates, key: key, at: moment)
        } catch {
            throw .chain(error, of: .jws)
        }
    }

    /// When a payload was signed; some date where the policy judges at another one.
    private func signingDate<Payload: JWSClaims>(
        _ decoded: Result<Payload, JSONError>, _ payload: [UInt8]
    ) throws(VerificationError) -> Instant {
        guard policy.validationDate == .signing else { return Instant(millisecondsSince1970: 0) }
        switch decoded {
        case .success(let payload):
            guard let date = payload.signedDate else {
                throw VerificationError(.date(.missingSignedDate, offset: nil))
            }
            return date
        case .failure(let error):
            return try Self.signingDate(in: payload, name: Payload.dateMember.rawValue, orThrow: error)
        }
    }

    /// Looks for the date in a payload that is faulty elsewhere, or of another kind, whose date has another name.
    private static func signingDate(
        in payload: [UInt8], name: String, orThrow fault: JSONError
    ) throws(VerificationError) -> Instant {
        var found: Instant?
        var dateFault: (fault: DateFault, offset: Int)?
        do throws(JSONError) {
            try JSONCursor.decode(payload.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, memberName) throws(JSONError) in
                    guard dateFault == nil, memberName == name else { return }
                    guard found == nil else {
                        dateFault = (.repeatedSignedDate, memberName.offset)
                        return
                    }
                    guard try !cursor.readIfNull() else { return }
                    let offset = cursor.offset
                    if try cursor.peekType() == .number, let date = try? cursor.readInstant() {
                        found = date
                    } else {
                        dateFault = (.unreadableSignedDate, offset)
                    }
                }
            }
        } catch {
            throw VerificationError(.members(fault))
        }
        if let dateFault { throw VerificationError(.date(dateFault.fault, offset: dateFault.offset)) }
        if let found { return found }
        throw VerificationError(
            fault.kind == .missingMember ? .members(fault) : .date(.missingSignedDate, offset: nil))
    }
}

/// The kinds of payloads that Apple signs.
enum JWSKind {
    case transaction, renewalInfo, appTransaction, notification, realtimeRequest

    /// The members that tell the kinds apart; each is required in its kind.
    private enum Member: String, CaseIterable {
        case notificationType, requestIdentifier, receiptType, transactionId, autoRenewStatus
    }

    private static let members = JSONMembers<Member>()

    /// The kind of a payload; a transaction where it is of none, which fails as that.
    init(of payload: [UInt8]) {
        var found: Set<Member> = []
        // What is wrong with it is said when it is read as its kind, once its signature holds.
        try? JSONCursor.decode(payload.span) { (cursor) throws(JSONError) in
            try cursor.readObject(of: Self.members) { (_, member) throws(JSONError) in found.insert(member) }
        }
        // Not by their order in the payload, which means nothing.
        self =
            switch Member.allCases.first(where: found.contains) {
            case .notificationType: .notification
            case .requestIdentifier: .realtimeRequest
            case .receiptType: .appTransaction
            case .autoRenewStatus: .renewalInfo
            case .transactionId, nil: .transaction
            }
    }
}

extension JWSClaims {
    /// Decodes a payload that must be of this kind.
    fileprivate init(decoding text: [UInt8]) throws(JSONError) {
        let members = try JWSMembers<Member>(decoding: text)
        for member in Self.required where members.value(of: member) == nil {
            throw JSONError(.missingMember, offset: members.range.lowerBound)
        }
        self.init(members: members)
    }

    /// Whether what two payloads both say of app and environment agrees.
    fileprivate func concerns(sameAs other: some JWSClaims) -> Bool {
        for mine in subjects {
            for theirs in other.subjects {
                guard mine.environment == theirs.environment else { return false }
                if mine.hasBundleID, theirs.hasBundleID {
                    guard let left = mine.bundleID, let right = theirs.bundleID, left.hasSameBytes(as: right)
                    else { return false }
                }
                if let left = mine.appAppleID, let right = theirs.appAppleID, !left.hasSameBytes(as: right) {
                    return false
                }
            }
        }
        return true
    }
}

extension VerificationPolicy {
    /// Checks whom a genuine payload concerns, and when it was signed.
    fileprivate func check(_ payload: some JWSClaims) throws(VerificationError) {
        for subject in payload.subjects { try check(subject, named: payload.environmentName) }
        guard let signed = payload.signedDate else { return }
        try checkAge(signedAt: signed, tooOld: .signedTooLongAgo, future: .signedInTheFuture)
    }

    /// - Parameter environmentName: for an environment that is not known.
    private func check(
        _ subject: JWSSubject, named environmentName: @autoclosure () -> String?
    ) throws(VerificationError) {
        if subject.hasBundleID { try checkBundleID(subject.bundleID) }
        try checkEnvironment(
            subject.environment, named: subject.environment == nil ? environmentName() : nil)
        guard subject.hasAppAppleID else { return }
        guard let expected = appAppleID else {
            if bundleIDs != nil, !subject.hasBundleID { throw .configuration(.noAppAppleID) }
            return
        }
        // Apple leaves it out, or writes 0, in the sandbox.
        let mayBeAbsent = subject.environment != .production && subject.hasBundleID
        if subject.appAppleID == nil, mayBeAbsent { return }
        guard let found = subject.appAppleID, found.hasSameBytes(as: expected) else {
            throw .policy(.appAppleIDMismatch, found: subject.appAppleID, expected: expected)
        }
    }
}

/// A verified notification with its verified parts.
///
/// You can read all properties of the notification through it, such as `verified.type`.
@dynamicMemberLookup
public struct VerifiedNotification: Hashable, Sendable {
    /// The verified payload of the notification.
    public let notification: Verified<AppStoreNotification>
    /// The transaction of ``NotificationData`` (`signedTransactionInfo`), whose own signature was verified; `nil` if there is none.
    public let transactionInfo: Verified<TransactionInfo>?
    /// The renewal information of ``NotificationData`` (`signedRenewalInfo`), whose own signature was verified; `nil` if there is none.
    public let renewalInfo: Verified<RenewalInfo>?
    /// The app transaction of ``NotificationAppData`` (`signedAppTransactionInfo`), whose own signature was verified; `nil` if there is none.
    public let appTransaction: Verified<AppTransaction>?

    /// Accesses a property of the notification, such as `verified.type`.
    public subscript<Value>(dynamicMember field: KeyPath<AppStoreNotification, Value>) -> Value {
        notification.payload[keyPath: field]
    }
}
