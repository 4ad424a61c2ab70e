public import SignatureTrust
public import Instants
import SpanASN1
import StrictText

/// The conditions that genuine evidence must meet, for receipts, transactions and notifications alike.
public struct VerificationPolicy: Sendable {
    /// The bundle ids to accept; `nil` accepts every app.
    ///
    /// Bundle ids are compared byte for byte. Renewal information has no bundle id, and is accepted for every app.
    public var bundleIDs: Set<String>?
    /// The app's Apple id, such as `1234567890`; `nil` accepts every app.
    ///
    /// Notifications, app transactions and real-time requests have one, at least in production. Receipts are not
    /// compared with it.
    public var appAppleID: String?
    /// The environments to accept; `nil` for every environment of the trusted roots, and for evidence that names none.
    ///
    /// Nobody pays in the sandbox. A production server that accepts the sandbox, or every environment, gives its
    /// products away.
    ///
    /// Apple signed transactions without an environment before 2022, in production and in the sandbox. If there is a
    /// set, they are refused as `environment-missing`; otherwise ``Entitlements`` leaves them undetermined. The parts
    /// of a notification are in the environment that its data names. Evidence of an unknown environment is always
    /// refused.
    public var environments: Set<AppStoreEnvironment>?
    /// The date at which certificate chains are validated; by default the signing date.
    public var validationDate = ValidationDate.whenSigned
    /// The maximum time since the evidence was signed, by ``clock``; `nil` for no maximum.
    ///
    /// A receipt is signed at its creation date. If there is a maximum, evidence signed more than five minutes after
    /// ``clock`` is refused, too. The five minutes allow for clocks that differ.
    public var maximumAge: Duration?
    /// A Boolean value that indicates whether to accept evidence from the future; by default `true`.
    ///
    /// If it is `false`, the verifier refuses evidence that was signed after the time of ``clock``, and receipts with a
    /// purchase or a revocation later than their creation date. None of Apple's receipts is known to have one.
    public var allowsFutureDates = true
    /// The clock for ``maximumAge``, ``allowsFutureDates`` and ``ValidationDate/now``; by default the system's.
    public var clock: @Sendable () -> Instant = { .now }
    /// The algorithms and keys that may sign receipts: RSA of 2048 to 4096 bits with SHA-2 or SHA-1, which Apple's
    /// receipts need, and ECDSA on P-256 and P-384 with SHA-2, unless you change it.
    ///
    /// A JWS must always be signed with ECDSA on P-256 and SHA-256 (`ES256`).
    public var algorithms = AlgorithmPolicy()
    /// A Boolean value that indicates whether to accept transaction receipts of version 2, whose signer has an RSA key
    /// of 1024 bits; by default `false`.
    ///
    /// Apple signed so until 2015 at least. Keys of this size are no longer considered safe (NIST SP 800-131A forbids
    /// them since 2014): whoever can factor that of Apple's signer, at great expense today, can make such receipts for
    /// any app. If you set this to `true`, check products that matter in another way, too. It changes nothing for other
    /// evidence: RSA-1024 is accepted nowhere else.
    public var allowsRSA1024TransactionReceipts = false
    /// The fingerprints of signer's and intermediate certificates that are not trusted. If a signing key leaks, list
    /// its certificate here.
    ///
    /// To choose the trusted roots, use ``AppStoreTrust``. A root is compared with this list only if a JWS contains it.
    public var distrusted: Set<Fingerprint> = []
    /// A Boolean value that indicates whether to refuse evidence in a wrapper, such as the JSON of Unity IAP or a form;
    /// by default `false`.
    ///
    /// <doc:WhatClientsSend> lists the wrappers. Notifications and real-time requests, which Apple sends, are never
    /// accepted in one.
    public var requiresStrictForm = false
    /// The limits on an input.
    public var limits = VerificationLimits()
    /// The environments in which the verifier's trust can sign.
    var possibleEnvironments: Set<AppStoreEnvironment> = [.production, .sandbox]

    /// Creates a policy that has defaults for everything else: evidence of any age, validated at its signing date.
    ///
    /// - Parameters:
    ///   - bundleIDs: The bundle ids to accept; `nil` accepts every app.
    ///   - appAppleID: The app's Apple id; `nil` accepts every app.
    ///   - environments: The environments to accept; `nil` accepts every environment, and evidence without one.
    public init(bundleIDs: Set<String>?, appAppleID: String? = nil, environments: Set<AppStoreEnvironment>?) {
        self.bundleIDs = bundleIDs
        self.appAppleID = appAppleID
        self.environments = environments
    }

    /// The date at which a certificate chain is validated.
    public enum ValidationDate: Hashable, Sendable {
        /// The date the evidence was signed: a receipt's creation date [12], or the signing date of a JWS.
        ///
        /// Evidence outlives the certificates that signed it.
        case whenSigned
        /// The time of the policy's clock. Evidence is refused once its signer's certificate has expired.
        case now
        /// A date that you choose, such as the day you received the evidence.
        case at(Instant)
    }
}

/// The limits on an input. Input beyond a limit is refused before it is read.
public struct VerificationLimits: Hashable, Sendable {
    /// The maximum size of a binary receipt, in bytes.
    ///
    /// The maximum size of a text that contains a receipt (base64, PEM or JSON) is twice this size plus 64 KiB.
    /// ``AppStoreVerifier/verify(_:)`` accepts text of up to twice the largest of this, ``maximumJWSByteCount`` and
    /// ``maximumTransactionReceiptByteCount`` plus 64 KiB. The error's offset is that limit.
    public var maximumReceiptByteCount = 64 << 20
    /// The maximum size of a JWS with the whitespace around it, in bytes. Notifications have about 20,000.
    public var maximumJWSByteCount = 1 << 20
    /// The maximum size of the property list of a transaction receipt, in bytes. The largest known ones have 4000.
    ///
    /// The maximum size of its base64 is twice this size plus 64 KiB.
    public var maximumTransactionReceiptByteCount = 1 << 20
    /// The maximum number of certificates in a receipt's container. Apple sends three.
    public var maximumCertificateCount = 16
    /// The maximum number of purchases in a receipt.
    public var maximumPurchaseCount = 1_000_000

    /// Creates the default limits: 64 MiB for a receipt, 1 MiB for a JWS and for a transaction receipt, 16 certificates
    /// and 1,000,000 purchases.
    public init() {}

    /// The smallest size that the default limits refuse. Stop reading a body there.
    @_spi(Surfaces)
    public static let refusedByteCount = ReceiptText.maximumCount(VerificationLimits().maximumReceiptByteCount) + 1
}

extension VerificationPolicy {
    /// Returns the date at which to validate a chain.
    func validationDate(signedAt date: Instant) -> Instant {
        switch validationDate {
        case .whenSigned: date
        case .now: clock()
        case .at(let date): date
        }
    }

    func checkBundleID(_ found: @autoclosure () -> String?) throws(VerificationError) {
        guard let bundleIDs else { return }
        guard let bundleID = found() else { throw .policy(.missingBundleID, expected: bundleIDs.sortedList) }
        guard bundleIDs.contains(where: { $0.hasSameBytes(as: bundleID) }) else {
            throw .policy(.bundleIDMismatch, found: bundleID, expected: bundleIDs.sortedList)
        }
    }

    /// - Parameter name: The environment as Apple wrote it; `nil` if it is missing.
    func checkEnvironment(
        _ environment: AppStoreEnvironment?, named name: @autoclosure () -> String?
    ) throws(VerificationError) {
        guard let environment else {
            if let name = name() { throw .policy(.unknownEnvironment, found: name) }
            guard let environments else { return }
            throw .policy(.missingEnvironment, expected: environments.map(\.rawValue).sortedList)
        }
        guard acceptedEnvironments.contains(environment) else {
            throw .policy(
                .environmentMismatch, found: environment.rawValue,
                expected: acceptedEnvironments.map(\.rawValue).sortedList)
        }
    }

    /// The environments whose evidence is accepted.
    @_spi(Surfaces) public var acceptedEnvironments: Set<AppStoreEnvironment> { environments ?? possibleEnvironments }

    /// - Parameters:
    ///   - tooOld: The violation if the evidence was signed too long ago.
    ///   - future: The violation if the evidence was signed after the time of the clock.
    func checkAge(
        signedAt date: Instant, tooOld: PolicyViolation, future: PolicyViolation
    ) throws(VerificationError) {
        guard maximumAge != nil || !allowsFutureDates else { return }
        let now = clock()
        if !allowsFutureDates, date > now { throw .policy(future, found: "\(date)", expected: "until \(now)") }
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
    /// All strings in the order of their bytes, for an error message.
    var sortedList: String {
        sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.joined(separator: ", ")
    }
}

/// The reasons a policy does not accept genuine evidence.
package enum PolicyViolation: String, Sendable, CaseIterable {
    /// The evidence names no app, and ``VerificationPolicy/bundleIDs`` asks for one.
    case missingBundleID = "bundle-id-missing"
    /// The bundle id is not in ``VerificationPolicy/bundleIDs``.
    case bundleIDMismatch = "bundle-id-mismatch"
    /// The app's Apple id is missing or not ``VerificationPolicy/appAppleID``.
    case appAppleIDMismatch = "app-apple-id-mismatch"
    /// The evidence names no environment, and ``VerificationPolicy/environments`` asks for one.
    case missingEnvironment = "environment-missing"
    /// The environment is unknown.
    case unknownEnvironment = "unknown-environment"
    /// The environment is not in ``VerificationPolicy/environments``.
    case environmentMismatch = "environment-mismatch"
    /// A notification and one of its signed parts name different apps or environments.
    case partMismatch = "part-mismatch"
    /// Attribute 3 is missing or not the requested version.
    case applicationVersionMismatch = "application-version-mismatch"
    /// The receipt was not made for the requested device.
    case deviceMismatch = "device-mismatch"
    /// The receipt is older than ``VerificationPolicy/maximumAge``.
    case receiptTooOld = "receipt-too-old"
    /// The receipt was created after the time of the clock, or has a date after its creation date.
    case receiptFromTheFuture = "receipt-from-the-future"
    /// The JWS was signed longer ago than ``VerificationPolicy/maximumAge``.
    case signedTooLongAgo = "signed-too-long-ago"
    /// The JWS was signed after the time of the clock.
    case signedInTheFuture = "signed-in-the-future"
}
