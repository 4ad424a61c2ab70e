import SignatureTrust
import Instants
import SpanASN1
import StrictText

/// The steps from the text of a JWS to a verified payload.
///
/// The rules are those for receipts: the signature over the received bytes, a chain of exactly three certificates to a
/// pinned root, Apple's markers on them, validated at the date of signing. `alg` must be `ES256`. Rejects `jwk`, `jku`
/// and `x5u`.
struct JWSVerifier: Sendable {
    let policy: VerificationPolicy
    let engine: TrustEngine

    init(policy: VerificationPolicy, engine: TrustEngine) {
        self.policy = policy
        self.engine = engine
        // Makes the tables of names when the program starts. Where memory has run out, the Swift runtime dereferences
        // NULL in the generic code that makes them.
        JOSEHeader.makeTable()
        _ = JWSReading(Array(#"{"":0}"#.utf8))
    }

    /// Verifies a JWS that must be of one kind.
    ///
    /// - Parameter inherited: The values that the JWS's notification names.
    func verify<Payload: JWSClaims>(
        _ text: Span<UInt8>, inheriting inherited: JWSSubject? = nil
    ) throws(VerificationError) -> Verified<Payload> {
        let jws = try read(text)
        let payload = Result { () throws(JSONError) in try Payload(decoding: jws.payload) }
        do throws(VerificationError) {
            return try verify(payload, of: jws, text, inheriting: inherited)
        } catch {
            guard case .members(let error, let member, _) = error.reason, error.kind == .missingMember else {
                throw error
            }
            throw VerificationError(.members(error, member, expected: Payload.kind))
        }
    }

    func verifyNotification(_ text: Span<UInt8>) throws(VerificationError) -> VerifiedNotification {
        try withParts(verify(text))
    }

    func read(_ text: Span<UInt8>) throws(VerificationError) -> CompactJWS {
        try CompactJWS(
            text, maximumByteCount: min(policy.limits.maximumJWSByteCount, Int(UInt32.max)),
            certificateCount: engine.certificateCount)
    }

    // MARK: Notifications

    func withParts(
        _ notification: Verified<AppStoreNotification>
    ) throws(VerificationError) -> VerifiedNotification {
        let (data, appData) = (notification.payload.data, notification.payload.appData)
        return VerifiedNotification(
            notification: notification,
            transactionInfo: try verify(
                .transactionInfo, data?.members.bytes(.signedTransactionInfo), of: notification.payload,
                inheriting: data?.subject),
            renewalInfo: try verify(
                .renewalInfo, data?.members.bytes(.signedRenewalInfo), of: notification.payload,
                inheriting: data?.subject),
            appTransaction: try verify(
                .appTransactionInfo, appData?.members.bytes(.signedAppTransactionInfo), of: notification.payload,
                inheriting: appData?.subject))
    }

    private func verify<Payload: JWSClaims>(
        _ part: VerificationError.Part, _ jws: [UInt8]?, of notification: AppStoreNotification,
        inheriting inherited: JWSSubject?
    ) throws(VerificationError) -> Verified<Payload>? {
        guard let jws else { return nil }
        do throws(VerificationError) {
            let verified: Verified<Payload> = try verify(jws.span, inheriting: inherited)
            if let difference = verified.payload.difference(from: notification) {
                throw .policy(.partMismatch, found: difference.found, expected: difference.expected)
            }
            return verified
        } catch {
            throw error.within(part)
        }
    }

    // MARK: One JWS

    /// Checks in this order, so that an input has one verdict: signature, date, chain, payload, policy.
    ///
    /// - Parameter decoded: the payload, which is needed for the date. Its other errors are reported after those of the
    ///   chain. Decoding it is cheap and needs memory only for the known members.
    func verify<Payload: JWSClaims>(
        _ decoded: Result<Payload, JSONError>, of jws: CompactJWS, _ text: Span<UInt8>,
        inheriting inherited: JWSSubject? = nil
    ) throws(VerificationError) -> Verified<Payload> {
        let key: SignerKey
        do throws(SignatureTrustError) {
            key = try engine.verify(
                ES256Signature(jws.signature.span), of: text.extracting(jws.signed), by: jws.certificates)
        } catch {
            throw .signature(error, of: .jws)
        }
        let date: Instant
        do throws(VerificationError) {
            date = try signingDate(decoded, jws.payload)
        } catch {
            // There is no date at which to validate the chain. Report the payload as unreadable only if the signer is
            // trusted.
            if case .members = error.reason { _ = try verification(jws.certificates, key, at: nil) }
            throw error
        }
        let verification = try verification(jws.certificates, key, at: policy.validationDate(signedAt: date))
        let payload: Payload
        do throws(JSONError) {
            payload = try decoded.get()
        } catch {
            throw Payload.failure(error, in: jws.payload)
        }
        var subjects = payload.subjects
        var used: JWSSubject?
        if let inherited {
            let completed = subjects.map { $0.inheriting(inherited) }
            if completed != subjects || subjects.contains(where: { !$0.hasBundleID }) { used = inherited }
            subjects = completed
        }
        try policy.check(payload, of: subjects)
        return Verified(payload: payload, verification: verification, inherited: used)
    }

    /// - Parameter date: the validation date; `nil` for the start of the validity of the signer's certificate.
    private func verification(
        _ certificates: CertificateSequence, _ key: SignerKey, at date: Instant?
    ) throws(VerificationError) -> SignerVerification {
        do throws(SignatureTrustError) {
            let moment = if let date { date } else { try certificates.signerNotBefore() }
            return try engine.verification(for: certificates, key: key, at: moment)
        } catch {
            throw .chain(error, of: .jws)
        }
    }

    /// The signing date of a payload; any date if the policy validates at another one.
    private func signingDate<Payload: JWSClaims>(
        _ decoded: Result<Payload, JSONError>, _ payload: [UInt8]
    ) throws(VerificationError) -> Instant {
        guard policy.validationDate == .whenSigned else { return Instant(millisecondsSince1970: 0) }
        switch decoded {
        case .success(let payload):
            guard let date = payload.signedDate else {
                throw VerificationError(.date(.missingSignedDate, offset: nil))
            }
            return date
        case .failure(let error):
            let failure = Payload.failure(error, in: payload)
            return try Self.signingDate(in: payload, name: Payload.dateMember.rawValue, orThrow: failure)
        }
    }

    /// Looks for the date in a payload that is faulty elsewhere, or of another kind, whose date has another name.
    private static func signingDate(
        in payload: [UInt8], name: String, orThrow failure: VerificationError
    ) throws(VerificationError) -> Instant {
        var found: Instant?
        var dateFault: (fault: DateFault, offset: Int)?
        do throws(JSONError) {
            try JSONCursor.decode(payload.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, memberName) throws(JSONError) in
                    let bytes = memberName.bytes
                    guard dateFault == nil, bytes.span.hasSameBytes(as: name) else { return }
                    guard found == nil else {
                        dateFault = (.repeatedSignedDate, memberName.offset)
                        return
                    }
                    guard try !cursor.readIfNull() else { return }
                    let offset = cursor.offset
                    // A number that is no date is an unreadable date, not a fault of the JSON.
                    if try cursor.peekType() == .number, let date = try? cursor.readInstant() {
                        found = date
                    } else {
                        dateFault = (.unreadableSignedDate, offset)
                    }
                }
            }
        } catch {
            throw failure
        }
        if let dateFault { throw VerificationError(.date(dateFault.fault, offset: dateFault.offset)) }
        if let found { return found }
        guard case .some = failure.member else { throw VerificationError(.date(.missingSignedDate, offset: nil)) }
        throw failure
    }
}

extension JWSClaims {
    /// Decodes a payload that must be of this kind.
    init(decoding text: [UInt8]) throws(JSONError) { try self.init(checking: JWSMembers(decoding: text)) }

    /// - Throws: `missing-member` without one of the required members.
    init(checking members: JWSMembers<Member>) throws(JSONError) {
        guard Self.missingMember(in: members) == nil else {
            throw JSONError(.missingMember, offset: members.range.lowerBound)
        }
        self.init(members: members)
    }

    private static func missingMember(in members: JWSMembers<Member>) -> Member? {
        // `first(where:)` would allocate for each of them: the code is not specialized.
        for member in required where members.value(of: member) == nil { return member }
        return nil
    }

    /// The error of a payload that cannot be decoded. Reads it again to name a missing member.
    fileprivate static func failure(_ error: JSONError, in text: [UInt8]) -> VerificationError {
        guard error.kind == .missingMember, let members = try? JWSMembers<Member>(decoding: text) else {
            return VerificationError(.members(error))
        }
        let member = missingMember(in: members)?.rawValue
        return VerificationError(.members(error, member.map(UTF8Bytes.init)))
    }

    /// Returns the first difference between the app and environment of this payload and of another.
    fileprivate func difference(from other: some JWSClaims) -> (found: String?, expected: String?)? {
        for mine in subjects {
            for theirs in other.subjects {
                if let left = mine.environment, let right = theirs.environment, left != right {
                    return (left.rawValue, right.rawValue)
                }
                if let left = mine.bundleID, let right = theirs.bundleID, !left.hasSameBytes(as: right) {
                    return (left, right)
                }
                if let left = mine.appAppleID, let right = theirs.appAppleID, !left.hasSameBytes(as: right) {
                    return (left, right)
                }
            }
        }
        return nil
    }
}

extension VerificationPolicy {
    /// Checks the app, environment and date of a genuine payload.
    fileprivate func check(_ payload: some JWSClaims, of subjects: [JWSSubject]) throws(VerificationError) {
        for subject in subjects { try check(subject) }
        guard let signed = payload.signedDate else {
            // A limit that cannot be checked is not met.
            guard maximumAge == nil, allowsFutureDates else {
                throw VerificationError(.date(.missingSignedDate, offset: nil))
            }
            return
        }
        try checkAge(signedAt: signed, tooOld: .signedTooLongAgo, future: .signedInTheFuture)
    }

    private func check(_ subject: JWSSubject) throws(VerificationError) {
        if subject.mayBeMissing { return try checkNames(of: subject) }
        if subject.hasBundleID { try checkBundleID(subject.bundleID) }
        try checkEnvironment(subject.environment, named: subject.environmentName?.string)
        guard subject.hasAppAppleID else { return }
        guard let expected = appAppleID else {
            if bundleIDs != nil, !subject.hasBundleID { throw .configuration(.noAppAppleID) }
            return
        }
        // Apple leaves it out, or writes 0, in the sandbox.
        let mayBeAbsent = subject.hasBundleID && subject.environment.map { $0 != .production } ?? false
        if subject.appAppleID == nil, mayBeAbsent { return }
        guard let found = subject.appAppleID, found.hasSameBytes(as: expected) else {
            throw .policy(.appAppleIDMismatch, found: subject.appAppleID, expected: expected)
        }
    }

    /// Checks the named values. None is required.
    private func checkNames(of subject: JWSSubject) throws(VerificationError) {
        if let bundleID = subject.bundleID { try checkBundleID(bundleID) }
        if subject.environment != nil || subject.environmentName != nil {
            try checkEnvironment(subject.environment, named: subject.environmentName?.string)
        }
        if let found = subject.appAppleID, let appAppleID, !found.hasSameBytes(as: appAppleID) {
            throw .policy(.appAppleIDMismatch, found: found, expected: appAppleID)
        }
    }
}
