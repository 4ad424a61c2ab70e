import LibcryptoHandles
import SignatureTrust
import SpanASN1
import StrictText

/// Verifies offline what Apple signs as JSON Web Signatures: StoreKit 2's transactions, renewals and app transactions, and server
/// notifications. Make one at start-up and share it: it is immutable but for its cache of chains, which all threads use.
///
/// ```swift
/// let verifier = try SignedDataVerifier(bundleID: "com.example.app", environments: [.production])
/// let transaction = try verifier.verifyTransaction(body.jwsRepresentation)
/// ```
///
/// The rules are those for receipts: the signature over the received bytes, a chain of exactly three certificates to a pinned root, Apple's
/// markers on them, judged at the date of signing. `alg` is `ES256` and nothing else; a header that leads to another key is refused.
public final class SignedDataVerifier: Sendable {
    /// Which signed data is accepted.
    public let policy: SignedDataPolicy
    /// Whose signature counts.
    public let trust: AppStoreTrust
    let engine: TrustEngine
    let counters: VerifierCounters

    /// A verifier for one app.
    ///
    /// - Parameters:
    ///   - bundleID: the app's bundle identifier.
    ///   - appAppleID: the app's Apple id, where it is to be checked: it is what ties a real-time request to the app.
    ///   - environments: which data to accept.
    ///   - trust: whose signature counts; Apple's by default.
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot do the work.
    public convenience init(
        bundleID: String, appAppleID: Int64? = nil, environments: Set<AppStoreEnvironment>, trust: AppStoreTrust = .apple
    ) throws(SignedDataError) {
        try self.init(
            policy: SignedDataPolicy(bundleIDs: [bundleID], appAppleID: appAppleID, environments: environments),
            trust: trust)
    }

    /// A verifier with a policy of its own.
    ///
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot do the work.
    public init(policy: SignedDataPolicy, trust: AppStoreTrust = .apple) throws(SignedDataError) {
        self.policy = policy
        self.trust = trust
        guard !policy.environments.isEmpty else { throw SignedDataError(.configuration(.noEnvironment)) }
        let environmentsOfTrust: Set<AppStoreEnvironment> =
            if case .storeKitTesting = trust { [.xcode, .localTesting] } else { [.production, .sandbox] }
        guard policy.environments.isSubset(of: environmentsOfTrust) else {
            throw SignedDataError(.configuration(.environmentNotOfTrust))
        }
        do throws(SignatureTrustError) {
            // ECDSA; RSA is for roots, of which a chain may end in an older one.
            let algorithms = AlgorithmPolicy(kinds: [.ecdsa, .rsaPKCS1], digests: .sha2, curves: [.p256, .p384])
            engine = try TrustEngine(
                trust, appleRoots: TrustAnchor.appleRoots, algorithms: algorithms, distrusted: policy.distrusted)
        } catch {
            throw SignedDataError(error) { _ in .configuration(.unusableTrustAnchor) }
        }
        guard !engine.isEmpty else { throw SignedDataError(.configuration(.noTrustAnchor)) }
        do throws(LibcryptoError) {
            counters = try VerifierCounters()
        } catch {
            throw SignedDataError(.host(ReceiptError.HostFault(error)))
        }
    }

    // MARK: What Apple signs

    /// Verifies a transaction: `jwsRepresentation` of a `VerificationResult<Transaction>` on a device, `signedTransactionInfo` on a server.
    ///
    /// A transaction that Apple has revoked is genuine too: see ``TransactionInfo/isRevoked``.
    ///
    /// - Throws: the one ``SignedDataError`` that this input deserves.
    public func verifyTransaction(_ jws: String) throws(SignedDataError) -> Verified<TransactionInfo> {
        try counters.counting { () throws(SignedDataError) in try verify(jws.utf8Span.span) }
    }

    /// Verifies renewal information, which has no bundle id: see ``RenewalInfo``.
    ///
    /// - Throws: as ``verifyTransaction(_:)``.
    public func verifyRenewalInfo(_ jws: String) throws(SignedDataError) -> Verified<RenewalInfo> {
        try counters.counting { () throws(SignedDataError) in try verify(jws.utf8Span.span) }
    }

    /// Verifies an app transaction.
    ///
    /// - Throws: as ``verifyTransaction(_:)``.
    public func verifyAppTransaction(_ jws: String) throws(SignedDataError) -> Verified<AppTransaction> {
        try counters.counting { () throws(SignedDataError) in try verify(jws.utf8Span.span) }
    }

    /// Verifies a request for a retention message: `signedPayload` of what Apple sends to the endpoint.
    ///
    /// - Throws: `no-app-apple-id` when the policy has bundle ids and no Apple id of the app, the only thing that ties the request to it.
    public func verifyRealtimeRequest(_ jws: String) throws(SignedDataError) -> Verified<RealtimeRequest> {
        try counters.counting { () throws(SignedDataError) in try verify(jws.utf8Span.span) }
    }

    /// Verifies a notification and its signed parts, which must be about the same app and environment: `signedPayload` of what Apple sends.
    ///
    /// - Throws: as ``verifyTransaction(_:)``; an error in a signed part has its ``SignedDataError/part``.
    public func verifyNotification(_ jws: String) throws(SignedDataError) -> VerifiedNotification {
        try counters.counting { () throws(SignedDataError) in try verifyNotification(jws.utf8Span.span) }
    }

    func verifyNotification(_ jws: Span<UInt8>) throws(SignedDataError) -> VerifiedNotification {
        let notification: Verified<AppStoreNotification> = try verify(jws)
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
        _ part: SignedDataError.Part, _ jws: [UInt8]?, of notification: AppStoreNotification
    ) throws(SignedDataError) -> Verified<Payload>? {
        guard let jws else { return nil }
        do throws(SignedDataError) {
            let verified: Verified<Payload> = try verify(jws.span)
            guard verified.payload.concerns(sameAs: notification) else {
                throw SignedDataError(.policy(.partMismatch))
            }
            return verified
        } catch {
            throw error.within(part)
        }
    }

    // MARK: The way of a JWS

    /// One verdict an input, so in this order: form, header, signature, date, chain, payload, policy.
    func verify<Payload: JWSClaims>(_ text: Span<UInt8>) throws(SignedDataError) -> Verified<Payload> {
        let jws = try CompactJWS(
            text, maximumByteCount: min(policy.maximumByteCount, Int(UInt32.max)),
            certificateCount: engine.certificateCount)
        do throws(SignatureTrustError) {
            try engine.verify(ES256Signature(jws.signature.span), of: text.extracting(jws.signed), by: jws.certificates)
        } catch {
            throw SignedDataError(error) { .signature($0) }
        }
        // The payload is needed for the date; what else is wrong with it counts after the chain. Decoding it is cheap and takes no memory
        // but for the members known.
        let decoded = Result { () throws(JSONError) in try Payload(decoding: jws.payload) }
        let date: Instant
        do throws(SignedDataError) {
            date = try validationDate(decoded, jws.payload)
        } catch {
            // Without a date to judge by. Only of a trusted signer's payload may it be said that it cannot be read.
            if case .payload = error.reason { _ = try evidence(jws.certificates, at: nil) }
            throw error
        }
        let trust = try evidence(jws.certificates, at: date)
        let payload: Payload
        do throws(JSONError) {
            payload = try decoded.get()
        } catch {
            throw SignedDataError(.payload(error))
        }
        try policy.check(payload)
        return Verified(payload: payload, trust: trust)
    }

    /// - Parameter date: when `nil`, the first moment at which the signer's certificate is valid.
    private func evidence(
        _ certificates: CertificateSequence, at date: Instant?
    ) throws(SignedDataError) -> Verification {
        do throws(SignatureTrustError) {
            let moment = if let date { date } else { try certificates.signerNotBefore() }
            return try engine.evidence(for: certificates, at: moment)
        } catch {
            throw SignedDataError(error) { .chain($0) }
        }
    }

    private func validationDate<Payload: JWSClaims>(
        _ decoded: Result<Payload, JSONError>, _ payload: [UInt8]
    ) throws(SignedDataError) -> Instant {
        switch policy.validationDate {
        case .now: return policy.clock()
        case .date(let date): return date
        case .signedDate: break
        }
        switch decoded {
        case .success(let payload):
            guard let date = payload.signedDate else { throw SignedDataError(.signedDate(.missing, offset: nil)) }
            return date
        case .failure(let error):
            return try Self.signingDate(in: payload, name: Payload.dateMember.rawValue, orThrow: error)
        }
    }

    /// Looks for the date in a payload that is faulty elsewhere, or of another kind, whose date has another name.
    private static func signingDate(
        in payload: [UInt8], name: String, orThrow fault: JSONError
    ) throws(SignedDataError) -> Instant {
        var found: Instant?
        var dateFault: (fault: SignedDataError.DateFault, offset: Int)?
        do throws(JSONError) {
            try JSONCursor.decode(payload.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, memberName) throws(JSONError) in
                    guard dateFault == nil, memberName == name else { return }
                    guard found == nil else {
                        dateFault = (.repeated, memberName.offset)
                        return
                    }
                    guard try !cursor.readIfNull() else { return }
                    let offset = cursor.offset
                    if try cursor.peekType() == .number, let date = try? cursor.readInstant() {
                        found = date
                    } else {
                        dateFault = (.unreadable, offset)
                    }
                }
            }
        } catch {
            throw SignedDataError(.payload(fault))
        }
        if let dateFault { throw SignedDataError(.signedDate(dateFault.fault, offset: dateFault.offset)) }
        if let found { return found }
        throw SignedDataError(fault.kind == .missingMember ? .payload(fault) : .signedDate(.missing, offset: nil))
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
}

extension JWSClaims {
    /// Whether what two payloads both say of app and environment agrees.
    fileprivate func concerns(sameAs other: some JWSClaims) -> Bool {
        for mine in subjects {
            for theirs in other.subjects {
                guard mine.environment == theirs.environment else { return false }
                if mine.hasBundleID, theirs.hasBundleID {
                    guard let left = mine.bundleID, let right = theirs.bundleID, left.hasSameBytes(as: right)
                    else { return false }
                }
                if let left = mine.appAppleID, let right = theirs.appAppleID, left != 0, right != 0, left != right {
                    return false
                }
            }
        }
        return true
    }
}

/// A notification that was verified, with its signed parts verified too.
///
/// All fields of the notification can be read through it: `notification.type`.
@dynamicMemberLookup
public struct VerifiedNotification: Hashable, Sendable {
    /// What happened, and about what.
    public let notification: Verified<AppStoreNotification>
    /// `signedTransactionInfo` of its data, verified by itself.
    public let transactionInfo: Verified<TransactionInfo>?
    /// `signedRenewalInfo` of its data, verified by itself.
    public let renewalInfo: Verified<RenewalInfo>?
    /// `signedAppTransactionInfo` of its app data, verified by itself.
    public let appTransaction: Verified<AppTransaction>?

    /// A field of the notification: `verified.type`.
    public subscript<Value>(dynamicMember field: KeyPath<AppStoreNotification, Value>) -> Value {
        notification.payload[keyPath: field]
    }
}
