public import SignatureTrust
public import SpanASN1
import StrictText

/// A certificate that is trusted because the caller says so.
public typealias TrustAnchor = SignatureTrust.TrustAnchor

/// SHA-256 of a certificate, or of what a receipt says.
public typealias Fingerprint = SignatureTrust.Fingerprint

/// Whose signature counts. It decides which checks apply; nothing in the evidence changes them.
public enum AppStoreTrust: Hashable, Sendable {
    /// The root certificates that Apple publishes (`TrustAnchor.appleRoots`), and the marker extensions that Apple gives the certificates that sign for the App Store.
    case apple
    /// The given roots in place of Apple's, with RSA or EC keys; the marker extensions are required all the same. For tests. A certificate that is
    /// not self-signed is refused when the verifier is made: intermediates come with the evidence.
    case roots([TrustAnchor])
    /// StoreKit Testing in Xcode: the signer's certificate itself must be one of those given. Everyone who has Xcode can sign with that
    /// certificate, so such a verifier accepts nothing but evidence from Xcode.
    case storeKitTesting([TrustAnchor])
}

/// Which genuine evidence a verifier accepts. One policy holds for receipts, JWS and notifications.
public struct VerificationPolicy: Sendable {
    /// The bundle ids to accept, compared byte for byte; `nil` accepts every app. Renewal information has no bundle id.
    public var bundleIDs: Set<String>?
    /// The app's Apple id, such as `1234567890`; `nil` accepts every app. Notifications, app transactions and real-time requests have one, in
    /// production at least. Receipts are not compared with it.
    public var appAppleID: String?
    /// The environments to accept. Nobody pays in the sandbox: a production server that accepts it gives its products away.
    public var environments: Set<AppStoreEnvironment>
    /// The date at which certificate chains are judged; the date of signing unless you change it.
    public var validationDate = ValidationDate.signing
    /// The longest time since signing, by ``clock``; `nil` for any. (A receipt is signed at its creation date.)
    ///
    /// With it, evidence that was signed more than five minutes after ``clock`` is refused too; the five minutes are for clocks that differ.
    public var maximumAge: Duration?
    /// Whether to refuse evidence that was signed after the time of ``clock``, and receipts with a purchase or a revocation later than their
    /// creation date. Apple's receipts are not known to have any.
    public var rejectsFutureDates = false
    /// The time for ``maximumAge``, ``rejectsFutureDates`` and ``ValidationDate/now``.
    public var clock: @Sendable () -> Instant = { .now }
    /// The algorithms and keys that may sign receipts: by default RSA of 2048 to 4096 bits with SHA-2 or SHA-1, which Apple's receipts need, and
    /// ECDSA on P-256 and P-384 with SHA-2. A JWS is always signed with ECDSA on P-256 and SHA-256 (`ES256`).
    public var algorithms = AlgorithmPolicy()
    /// Certificates that are not trusted anywhere in a chain but as its root, by their fingerprints. If a signing key leaks, list its
    /// certificate here.
    public var distrusted: Set<Fingerprint> = []
    /// What an input may cost.
    public var limits = VerificationLimits()

    /// A policy with the defaults in all else: any age, judged at the date of signing.
    ///
    /// - Parameters:
    ///   - bundleIDs: the bundle ids to accept; `nil` accepts every app.
    ///   - appAppleID: the app's Apple id; `nil` accepts every app.
    ///   - environments: the environments to accept; at least one.
    public init(bundleIDs: Set<String>?, appAppleID: String? = nil, environments: Set<AppStoreEnvironment>) {
        self.bundleIDs = bundleIDs
        self.appAppleID = appAppleID
        self.environments = environments
    }

    /// The date at which a certificate chain is judged.
    public enum ValidationDate: Hashable, Sendable {
        /// When the evidence was signed: a receipt's creation date [12], the date of signing in a JWS. Evidence outlives the certificates that
        /// signed it.
        case signing
        /// The time of the policy's clock. Evidence whose signer's certificate has expired is refused.
        case now
        /// A date of the caller's, such as the day the evidence was received.
        case date(Instant)
    }
}

/// What an input may cost. Input beyond a limit is refused before it is read.
public struct VerificationLimits: Hashable, Sendable {
    /// The size of a binary receipt, in bytes.
    ///
    /// A text around one (base64, PEM, JSON) may have twice as many bytes and 64 KiB. A text that may hold a receipt or a JWS may have twice the
    /// larger of this and ``maximumJWSByteCount``, and 64 KiB. The offset of the error is the limit.
    public var maximumByteCount = 64 << 20
    /// The size of a JWS, in bytes, with whitespace around it; notifications have about 20,000.
    public var maximumJWSByteCount = 1 << 20
    /// The number of certificates in a receipt's container; Apple sends three.
    public var maximumCertificateCount = 16
    /// The number of purchases in a receipt.
    public var maximumPurchaseCount = 1_000_000

    /// The defaults: 64 MiB, 1 MiB for a JWS, 16 certificates, 1,000,000 purchases.
    public init() {}
}

extension VerificationPolicy {
    /// The date to judge a chain at.
    func validationDate(signedAt date: Instant) -> Instant {
        switch validationDate {
        case .signing: date
        case .now: clock()
        case .date(let date): date
        }
    }

    func checkBundleID(_ bundleID: String?) throws(VerificationError) {
        guard let bundleIDs else { return }
        if let bundleID, bundleIDs.contains(where: { $0.hasSameBytes(as: bundleID) }) { return }
        throw .policy(.bundleIDMismatch, found: bundleID, expected: bundleIDs.sortedList)
    }

    func checkEnvironment(_ environment: AppStoreEnvironment?, named name: String?) throws(VerificationError) {
        guard let environment else { throw .policy(.unknownEnvironment, found: name) }
        guard environments.contains(environment) else {
            throw .policy(
                .environmentMismatch, found: environment.rawValue, expected: environments.map(\.rawValue).sortedList)
        }
    }

    /// - Parameters:
    ///   - tooOld: the violation when it was signed too long ago.
    ///   - future: the violation when it was signed after the time of the clock.
    func checkAge(
        signedAt date: Instant, tooOld: PolicyViolation, future: PolicyViolation
    ) throws(VerificationError) {
        guard maximumAge != nil || rejectsFutureDates else { return }
        let now = clock()
        if rejectsFutureDates, date > now { throw .policy(future, found: "\(date)", expected: "until \(now)") }
        guard let maximumAge else { return }
        switch date.age(at: now, maximum: maximumAge) {
        case .allowed: break
        case .belowZero: throw .policy(future, found: "\(date)", expected: "until \(now)")
        case .tooGreat:
            throw .policy(tooOld, found: "\(date)", expected: "since \(now - maximumAge)")
        }
    }
}

extension Collection<String> {
    /// For people: all of them, in the order of their bytes.
    fileprivate var sortedList: String {
        sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: ", ")
    }
}
