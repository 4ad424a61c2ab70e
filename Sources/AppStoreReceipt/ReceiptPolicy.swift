public import SignatureTrust
public import SpanASN1

/// A certificate that is trusted because the caller says so.
public typealias TrustAnchor = SignatureTrust.TrustAnchor

/// SHA-256 of a certificate, or of what a receipt says.
public typealias Fingerprint = SignatureTrust.Fingerprint

/// Whose signature makes a receipt genuine. It decides which checks apply; nothing that a receipt says changes them.
public enum AppStoreTrust: Hashable, Sendable {
    /// Apple Root CA, and the markers that Apple gives its receipt signers.
    case apple
    /// The given roots in place of Apple's; the markers are required all the same. For tests, with a root of one's own.
    case roots([TrustAnchor])
    /// StoreKit Testing in Xcode: the signer's certificate itself must be one of those given. This authenticates nobody, since Xcode's
    /// certificate is the same everywhere, so such a verifier accepts Xcode's receipts and nothing else.
    case storeKitTesting([TrustAnchor])
}

/// Which genuine receipts to accept, and at which date to judge their chain.
public struct ReceiptPolicy: Sendable {
    /// The bundle ids to accept; `nil` waives the check.
    public var bundleIDs: Set<String>?
    /// The environments to accept. A production server that grants for sandbox receipts gives its products away.
    public var environments: Set<AppStoreEnvironment>
    /// The date at which the chain is judged; the receipt's creation date, unless said otherwise.
    public var validationDate = ValidationDate.creationDate
    /// How old a receipt may be, by its creation date and ``clock``, in milliseconds; `nil` for any age.
    ///
    /// With it, a receipt dated more than five minutes after ``clock`` is refused too (`receipt-from-the-future`); the five minutes are for
    /// clocks that differ.
    public var maximumAge: Int64?
    /// Whether a receipt is refused that was made after the time of ``clock``, or in which anything has happened after it was made:
    /// a purchase, an original purchase, a cancellation. Nothing like it is known of Apple's receipts.
    public var rejectsFutureDates = false
    /// The time for ``maximumAge``, ``rejectsFutureDates`` and ``ValidationDate/now``.
    public var clock: @Sendable () -> Instant = { .now }
    /// The algorithms and keys that may sign; by default RSA of 2048 to 4096 bits with SHA-2 or SHA-1, which Apple's receipts need.
    public var algorithms = AlgorithmPolicy()
    /// Certificates that are not trusted wherever they stand in a chain, the anchor excepted, by SHA-256 of their DER: for a leaf whose key
    /// was stolen, which could sign receipts dated within its validity.
    public var distrusted: Set<Fingerprint> = []
    /// What an input may cost.
    public var limits = VerificationLimits()

    /// A policy with the defaults in all else: any age, judged at the receipt's creation date.
    ///
    /// - Parameters:
    ///   - bundleIDs: the bundle ids to accept; `nil` waives the check, and a receipt of any app passes.
    ///   - environments: the environments to accept; at least one.
    public init(bundleIDs: Set<String>?, environments: Set<AppStoreEnvironment>) {
        self.bundleIDs = bundleIDs
        self.environments = environments
    }

    /// The date at which a chain is judged.
    public enum ValidationDate: Hashable, Sendable {
        /// The receipt's creation date, attribute 12. Receipts outlive the certificates that signed them.
        case creationDate
        /// The time of the policy's clock: receipts whose signer has expired are refused.
        case now
        /// A date of the caller's: the day on which the receipt came in, for example.
        case date(Instant)
    }
}

/// What an input may cost.
public struct VerificationLimits: Hashable, Sendable {
    /// The size of a binary receipt, in bytes.
    public var maximumByteCount = 64 << 20
    /// The certificates in its container; Apple sends three.
    public var maximumCertificateCount = 16
    /// The purchases in it.
    public var maximumPurchaseCount = 1_000_000

    /// The defaults: 64 MiB, 16 certificates, 1,000,000 purchases.
    public init() {}
}
