public import SignatureTrust
import StrictText

/// Which signed data to accept, and at which date to judge its chain.
public struct SignedDataPolicy: Sendable {
    /// The bundle ids to accept; `nil` waives the check. Renewal information has none.
    public var bundleIDs: Set<String>?
    /// The app's Apple id; `nil` waives the check. Notifications, app transactions and real-time requests have one, in production at least.
    public var appAppleID: Int64?
    /// The environments to accept. Nobody pays in the sandbox.
    public var environments: Set<AppStoreEnvironment>
    /// The date at which the chain is judged; that of signing, unless said otherwise.
    public var validationDate = ValidationDate.signedDate
    /// How long ago data may have been signed, by ``clock``, in milliseconds; `nil` for any time.
    ///
    /// With it, data signed more than five minutes after ``clock`` is refused too (`signed-in-the-future`); the five minutes are for clocks
    /// that differ.
    public var maximumAge: Int64?
    /// Whether data is refused that was signed after the time of ``clock``.
    public var rejectsFutureDates = false
    /// The time for ``maximumAge``, ``rejectsFutureDates`` and ``ValidationDate/now``.
    public var clock: @Sendable () -> Instant = { .now }
    /// Certificates that are not trusted wherever they stand in a chain, the anchor excepted, by SHA-256 of their DER.
    public var distrusted: Set<Fingerprint> = []
    /// The size of a JWS, in bytes; notifications have 20,000.
    public var maximumByteCount = 1 << 20

    /// - Parameters:
    ///   - bundleIDs: the bundle ids to accept; `nil` waives the check, and data of any app passes.
    ///   - appAppleID: the app's Apple id; `nil` waives the check.
    ///   - environments: the environments to accept; at least one.
    public init(bundleIDs: Set<String>?, appAppleID: Int64? = nil, environments: Set<AppStoreEnvironment>) {
        self.bundleIDs = bundleIDs
        self.appAppleID = appAppleID
        self.environments = environments
    }

    /// The date at which a chain is judged.
    public enum ValidationDate: Hashable, Sendable {
        /// When the data says it was signed. Signed data outlives the certificates that signed it.
        case signedDate
        /// The time of the policy's clock: data whose signer has expired is refused.
        case now
        /// A date of the caller's.
        case date(Instant)
    }
}

extension SignedDataPolicy {
    /// Checks whom a payload concerns, and when it was signed.
    func check(_ payload: some JWSClaims) throws(SignedDataError) {
        for subject in payload.subjects { try check(subject) }
        guard maximumAge != nil || rejectsFutureDates, let signed = payload.signedDate else { return }
        let now = clock()
        if rejectsFutureDates, signed > now { throw SignedDataError(.policy(.signedInTheFuture)) }
        guard let maximumAge else { return }
        switch signed.age(at: now, maximum: maximumAge) {
        case .allowed: break
        case .belowZero: throw SignedDataError(.policy(.signedInTheFuture))
        case .tooGreat: throw SignedDataError(.policy(.signedTooLongAgo))
        }
    }

    private func check(_ subject: JWSSubject) throws(SignedDataError) {
        if let bundleIDs, subject.hasBundleID {
            guard let bundleID = subject.bundleID, bundleIDs.contains(where: { $0.hasSameBytes(as: bundleID) })
            else { throw SignedDataError(.policy(.bundleIDMismatch)) }
        }
        guard let environment = subject.environment else { throw SignedDataError(.policy(.unknownEnvironment)) }
        guard environments.contains(environment) else { throw SignedDataError(.policy(.environmentMismatch)) }
        guard subject.hasAppAppleID else { return }
        guard let expected = appAppleID else {
            if bundleIDs != nil, !subject.hasBundleID { throw SignedDataError(.configuration(.noAppAppleID)) }
            return
        }
        // Apple leaves it out, or writes 0, in the sandbox.
        let mayBeAbsent = environment != .production && subject.hasBundleID
        if subject.appAppleID ?? 0 == 0, mayBeAbsent { return }
        guard subject.appAppleID == expected else { throw SignedDataError(.policy(.appAppleIDMismatch)) }
    }
}
