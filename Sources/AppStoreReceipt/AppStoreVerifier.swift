import LibcryptoHandles
import SignatureTrust
import SpanASN1
import StrictText

/// Verifies offline whatever Apple signs for the App Store: receipts, and the JWS of StoreKit 2 and of App Store Server Notifications.
///
/// ```swift
/// let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
/// let evidence = try verifier.verify(body)
/// ```
///
/// Make one at start-up and share it. It is immutable except for its counters and its cache of certificate chains, and safe to use from every
/// thread.
///
/// Evidence is genuine when its signature holds over the received bytes, the signer's certificate chains over exactly one intermediate to a
/// pinned root at the date of signing, and both certificates carry Apple's marker extensions. It is accepted when the ``policy`` accepts it.
public final class AppStoreVerifier: Sendable {
    /// Which genuine evidence is accepted.
    public let policy: VerificationPolicy
    /// Whose signature counts.
    public let trust: AppStoreTrust
    let receipts: ReceiptContainer
    let jws: JWSContainer
    let counters: VerifierCounters

    /// Makes a verifier for one app.
    ///
    /// - Parameters:
    ///   - bundleID: the app's bundle identifier.
    ///   - appAppleID: the app's Apple id. Give it to check notifications, and to accept real-time requests, which have no bundle id.
    ///   - environments: the environments to accept.
    ///   - trust: whose signature counts; Apple's by default.
    /// - Throws: an error of the stage `verifier`: the configuration can accept nothing, or this libcrypto cannot do the work.
    public convenience init(
        bundleID: String, appAppleID: String? = nil, environments: Set<AppStoreEnvironment>,
        trust: AppStoreTrust = .apple
    ) throws(VerificationError) {
        try self.init(
            policy: VerificationPolicy(bundleIDs: [bundleID], appAppleID: appAppleID, environments: environments),
            trust: trust)
    }

    /// Makes a verifier with a policy.
    ///
    /// - Throws: an error of the stage `verifier`: the configuration can accept nothing, or this libcrypto cannot do the work.
    public init(policy: VerificationPolicy, trust: AppStoreTrust = .apple) throws(VerificationError) {
        try policy.check(with: trust)
        self.policy = policy
        self.trust = trust
        let engines: (receipts: TrustEngine, jws: TrustEngine)
        do throws(SignatureTrustError) {
            try HostSelfTest.run(policy.algorithms)
            engines = (
                try TrustEngine(trust, algorithms: policy.algorithms, distrusted: policy.distrusted),
                try TrustEngine(trust, algorithms: policy.algorithms.forJWS, distrusted: policy.distrusted)
            )
        } catch {
            if let reason = VerificationError.hostReason(of: error) { throw VerificationError(reason) }
            let place = (error.path.index ?? 0) + 1
            throw .configuration(.unusableTrustAnchor, found: "certificate \(place): \(error.kind.explanation)")
        }
        do throws(LibcryptoError) {
            counters = try VerifierCounters()
        } catch {
            throw .host(error)
        }
        receipts = ReceiptContainer(policy: policy, trust: engines.receipts)
        jws = JWSContainer(policy: policy, engine: engines.jws)
    }

    /// What this verifier has done so far. The numbers are not of one moment. A notification counts once, whatever its parts.
    public var counts: VerifierCounts { counters.counts(of: [receipts.trust, jws.engine].compactMap(\.self)) }

    // MARK: Any evidence

    /// Verifies evidence of any kind.
    ///
    /// - Parameter evidence: a receipt (binary, base64 or PEM), a JWS in its compact form, or a JSON object with one of them as its member
    ///   `receipt-data`, `signedPayload`, `signedTransactionInfo`, `signedRenewalInfo` or `signedAppTransactionInfo`. Whitespace around a text
    ///   is passed over, and so are the object's other members.
    /// - Throws: the reason the evidence was refused.
    public func verify(_ evidence: [UInt8]) throws(VerificationError) -> VerifiedEvidence {
        try verify(evidence.span) { evidence }
    }

    /// Verifies evidence of any kind in a text.
    ///
    /// - Parameter evidence: as ``verify(_:)-([UInt8])`` takes it, except a binary receipt.
    /// - Throws: the reason the evidence was refused.
    public func verify(_ evidence: String) throws(VerificationError) -> VerifiedEvidence {
        try verify(evidence.utf8Span.span)
    }

    /// Verifies evidence of any kind, of which no more than a binary receipt is copied.
    package func verify(_ evidence: Span<UInt8>) throws(VerificationError) -> VerifiedEvidence {
        try verify(evidence) { [UInt8](copying: evidence) }
    }

    /// - Parameter binary: the evidence, in case it is a binary receipt.
    private func verify(
        _ evidence: Span<UInt8>, binary: () -> [UInt8]
    ) throws(VerificationError) -> VerifiedEvidence {
        try counters.counting { () throws(VerificationError) in
            try verifyUncounted(evidence, binary: binary) { (start) throws(VerificationError) in
                try EvidenceObject(evidence, from: start, keepsOtherMembers: false)
            }
        }
    }

    /// - Parameters:
    ///   - binary: the evidence, in case it is a binary receipt.
    ///   - readObject: reads a JSON object that begins at a byte of the evidence.
    func verifyUncounted(
        _ evidence: Span<UInt8>, binary: () -> [UInt8],
        readObject: (_ start: Int) throws(VerificationError) -> EvidenceObject
    ) throws(VerificationError) -> VerifiedEvidence {
        switch try EvidenceInput(evidence, policy.limits) {
        case .object(let start): return try verifyUncounted(readObject(start), in: evidence, from: start)
        case .jws: return try jws.verify(evidence)
        case .receipt:
            return .receipt(
                try verifyUncounted(receipt: ReceiptInput.binary(of: evidence, policy.limits, bytes: binary)))
        }
    }

    // MARK: Receipts

    /// Verifies a receipt and returns its contents.
    ///
    /// - Parameters:
    ///   - receipt: a receipt in any form: binary, base64, PEM, or a JSON object with a member `receipt-data`.
    ///   - applicationVersion: if given, the receipt's application version [3] must equal it.
    ///   - deviceIdentifier: if given, the receipt must have been made for this device; see ``ReceiptContents/matches(deviceIdentifier:)``.
    /// - Throws: the reason the receipt was refused.
    public func verifyReceipt(
        _ receipt: [UInt8], applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        try counters.counting { () throws(VerificationError) in
            try verifyUncounted(
                receipt: ReceiptInput.binary(of: receipt, policy.limits), applicationVersion, deviceIdentifier)
        }
    }

    /// Verifies a receipt in base64, PEM or JSON and returns its contents. Parameters and errors are those of
    /// ``verifyReceipt(_:applicationVersion:deviceIdentifier:)-([UInt8],_,_)``.
    public func verifyReceipt(
        _ receipt: String, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        try counters.counting { () throws(VerificationError) in
            try verifyUncounted(
                receipt: ReceiptInput.binary(of: receipt.utf8Span.span, policy.limits), applicationVersion,
                deviceIdentifier)
        }
    }

    /// Verifies a receipt in any form, of which no more than a binary one is copied.
    package func verifyReceipt(
        _ receipt: Span<UInt8>, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        try counters.counting { () throws(VerificationError) in
            try verifyUncounted(
                receipt: ReceiptInput.binary(of: receipt, policy.limits), applicationVersion, deviceIdentifier)
        }
    }

    /// Verifies the binary receipt that `decode` returns. Its error is counted as any other refusal.
    func verifyReceipt(
        decoding decode: () throws(VerificationError) -> [UInt8]
    ) throws(VerificationError) -> VerifiedReceipt {
        try counters.counting { () throws(VerificationError) in try verifyUncounted(receipt: decode()) }
    }

    func verifyUncounted(
        receipt binary: [UInt8], _ applicationVersion: String? = nil, _ deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        let (receipt, verification) = try receipts.open(binary)
        // A container with a trust engine returns a verification or throws.
        guard let verification else { throw VerificationError(.host(.libcryptoFailure)) }
        try policy.check(receipt)
        if let applicationVersion, receipt.applicationVersion?.hasSameBytes(as: applicationVersion) != true {
            throw .policy(
                .applicationVersionMismatch, found: receipt.applicationVersion, expected: applicationVersion)
        }
        if let deviceIdentifier, try !receipt.matches(deviceIdentifier: deviceIdentifier) {
            throw .policy(.deviceMismatch)
        }
        return VerifiedReceipt(receipt: receipt, verification: verification)
    }

    // MARK: JWS

    /// Verifies a JWS of any kind that Apple signs, and no receipt.
    ///
    /// The methods for one kind refuse the others.
    ///
    /// - Parameter jws: a JWS in its compact form.
    /// - Throws: the reason it was refused. A payload of no known kind fails as a transaction: `missing-member`.
    public func verifyJWS(_ jws: String) throws(VerificationError) -> VerifiedEvidence {
        try counters.counting { () throws(VerificationError) in
            try self.jws.verify(jws.utf8Span.span)
        }
    }

    /// Verifies a transaction: `jwsRepresentation` of a `VerificationResult<Transaction>` on a device, `signedTransactionInfo` on a server.
    ///
    /// A transaction that Apple has revoked is genuine, too: see ``TransactionInfo/isRevoked``.
    ///
    /// - Throws: the reason the transaction was refused; `missing-member` for a JWS of another kind.
    public func verifyTransaction(_ jws: String) throws(VerificationError) -> Verified<TransactionInfo> {
        try verify(jws: jws)
    }

    /// Verifies renewal information. It has no bundle id: see ``RenewalInfo``.
    ///
    /// - Throws: as ``verifyTransaction(_:)``.
    public func verifyRenewalInfo(_ jws: String) throws(VerificationError) -> Verified<RenewalInfo> {
        try verify(jws: jws)
    }

    /// Verifies an app transaction.
    ///
    /// - Throws: as ``verifyTransaction(_:)``.
    public func verifyAppTransaction(_ jws: String) throws(VerificationError) -> Verified<AppTransaction> {
        try verify(jws: jws)
    }

    /// Verifies a notification and its signed parts, which must be about the same app and environment.
    ///
    /// - Parameter jws: `signedPayload` of the request that Apple sends.
    /// - Throws: as ``verifyTransaction(_:)``. If a signed part is refused, the error's ``VerificationError/part`` names it.
    public func verifyNotification(_ jws: String) throws(VerificationError) -> VerifiedNotification {
        try counters.counting { () throws(VerificationError) in
            try self.jws.verifyNotification(jws.utf8Span.span)
        }
    }

    /// Verifies a request for a retention message.
    ///
    /// - Parameter jws: `signedPayload` of the request that Apple sends.
    /// - Throws: as ``verifyTransaction(_:)``; `no-app-apple-id` when the policy has bundle ids and no Apple id of the app, which is the only
    ///   thing that ties such a request to the app.
    public func verifyRealtimeRequest(_ jws: String) throws(VerificationError) -> Verified<RealtimeRequest> {
        try verify(jws: jws)
    }

    private func verify<Payload: JWSClaims>(jws text: String) throws(VerificationError) -> Verified<Payload> {
        try counters.counting { () throws(VerificationError) in
            try jws.verify(text.utf8Span.span)
        }
    }
}

extension VerificationPolicy {
    /// Checks that a verifier with this policy could accept something.
    fileprivate func check(with trust: AppStoreTrust) throws(VerificationError) {
        guard !environments.isEmpty else { throw .configuration(.noEnvironment, found: "environments: []") }
        guard bundleIDs?.isEmpty != true else { throw .configuration(.noBundleID, found: "bundleIDs: []") }
        let possible: Set<AppStoreEnvironment>
        switch trust {
        case .apple: possible = [.production, .sandbox]
        case .roots(let anchors):
            guard !anchors.isEmpty else { throw .configuration(.noTrustAnchor, found: "trust: .roots([])") }
            possible = [.production, .sandbox]
        case .storeKitTesting(let anchors):
            guard !anchors.isEmpty else { throw .configuration(.noTrustAnchor, found: "trust: .storeKitTesting([])") }
            possible = [.xcode, .localTesting]
        }
        if let other = environments.subtracting(possible).map(\.rawValue).min() {
            throw .configuration(.environmentNotOfTrust, found: "environments: \(other)")
        }
    }

    /// Checks what a genuine receipt says.
    func check(_ receipt: Receipt) throws(VerificationError) {
        if bundleIDs != nil { try checkBundleID(receipt.bundleID) }
        let environment = receipt.environment
        try checkEnvironment(environment, named: environment == nil ? receipt.receiptType : nil)
        guard maximumAge != nil || rejectsFutureDates, let created = receipt.creationDate else { return }
        if rejectsFutureDates, !receipt.isMadeLast { throw .policy(.receiptFromTheFuture) }
        try checkAge(signedAt: created, tooOld: .receiptTooOld, future: .receiptFromTheFuture)
    }
}

extension Receipt {
    /// Whether every date in the receipt is on or before its creation date. (When a subscription or the receipt expires may be later.)
    fileprivate var isMadeLast: Bool {
        // Attributes 8 and 18 may have fractions of a second, which 12 does not.
        guard let last = creationDate?.secondsSince1970 else { return false }
        func isPast(_ date: Instant?) -> Bool { date.map { $0.secondsSince1970 <= last } ?? true }
        return isPast(originalCreationDate) && isPast(originalPurchaseDate)
            && inAppPurchases.allSatisfy {
                isPast($0.purchaseDate) && isPast($0.originalPurchaseDate) && isPast($0.revocationDate)
            }
    }
}

extension UnverifiedReceipt {
    /// Decodes a receipt in any form and verifies nothing: anyone can have written what it says.
    ///
    /// - Throws: errors of the stages `input`, `container` and `payload`.
    public init(
        decoding input: [UInt8], limits: VerificationLimits = VerificationLimits()
    ) throws(VerificationError) {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [])
        policy.limits = limits
        let binary = try ReceiptInput.binary(of: input, limits)
        self.init(receipt: try ReceiptContainer(policy: policy, trust: nil).open(binary).receipt)
    }
}
