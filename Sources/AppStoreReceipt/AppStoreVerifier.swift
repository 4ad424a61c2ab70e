import SignatureTrust
import SpanASN1
import StrictText

/// A verifier for everything that Apple signs for the App Store: receipts, the JWS of StoreKit 2 and of App Store Server Notifications, and the transaction
/// receipts of iOS 3 to 6.
///
/// ```swift
/// let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
/// let evidence = try verifier.verify(body)
/// ```
///
/// Make one verifier when the program starts, and share it. It is thread-safe. Apart from its counters and its cache of certificate chains, it is
/// immutable.
///
/// Evidence is genuine if its signature is valid for the received bytes, the signer's certificate chains over exactly one intermediate to a
/// pinned root at the signing date, and both certificates have Apple's marker extensions. The verifier returns genuine evidence that its ``policy``
/// accepts, and throws a ``VerificationError`` for everything else.
public final class AppStoreVerifier: Sendable {
    /// The policy that genuine evidence must meet.
    public let policy: VerificationPolicy
    /// The certificates that the verifier trusts.
    public let trust: AppStoreTrust
    let receipts: ReceiptContainer
    let jws: JWSContainer
    let transactionReceipts: TransactionReceiptContainer
    let counters = VerifierCounters()

    /// Creates a verifier for one app.
    ///
    /// - Parameters:
    ///   - bundleID: The bundle id of the app.
    ///   - appAppleID: The Apple id of the app, such as `1234567890`. It is compared where evidence has one, in notifications and app transactions, and
    ///     real-time requests require it: they have no bundle id.
    ///   - environments: The environments to accept.
    ///   - trust: The certificates to trust; by default Apple's.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host cannot verify what the
    ///   policy accepts.
    public convenience init(
        bundleID: String, appAppleID: String? = nil, environments: Set<AppStoreEnvironment>,
        trust: AppStoreTrust = .apple
    ) throws(VerificationError) {
        try self.init(
            policy: VerificationPolicy(bundleIDs: [bundleID], appAppleID: appAppleID, environments: environments),
            trust: trust)
    }

    /// Creates a verifier with a policy.
    ///
    /// - Parameters:
    ///   - policy: The policy that genuine evidence must meet.
    ///   - trust: The certificates to trust; by default Apple's.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host cannot verify what the
    ///   policy accepts.
    public init(policy: VerificationPolicy, trust: AppStoreTrust = .apple) throws(VerificationError) {
        try policy.check(with: trust)
        self.policy = policy
        self.trust = trust
        let engines: (receipts: TrustEngine, jws: TrustEngine, transactionReceipts: TransactionReceiptTrust)
        do throws(SignatureTrustError) {
            try HostSelfTest.run(policy.algorithms)
            let receipts = try TrustEngine(trust, algorithms: policy.algorithms, distrusted: policy.distrusted)
            engines = (
                receipts,
                try TrustEngine(trust, algorithms: policy.algorithms.forJWS, distrusted: policy.distrusted),
                try TransactionReceiptTrust(trust, policy, receipts: receipts)
            )
        } catch {
            if let reason = VerificationError.hostReason(of: error) { throw VerificationError(reason) }
            let place = (error.path.index ?? 0) + 1
            throw .configuration(.unusableTrustAnchor, found: "certificate \(place): \(error.kind.explanation)")
        }
        receipts = ReceiptContainer(policy: policy, trust: engines.receipts)
        jws = JWSContainer(policy: policy, engine: engines.jws)
        transactionReceipts = TransactionReceiptContainer(policy: policy, trust: engines.transactionReceipts)
    }

    /// The number of inputs that this verifier has verified and refused, for metrics.
    ///
    /// A notification counts once, whatever its parts. While other threads verify, the numbers may be from slightly different moments.
    public var counts: VerifierCounts {
        counters.counts(of: [receipts.trust, jws.engine].compactMap(\.self) + transactionReceipts.trust.ownEngines)
    }

    // MARK: Any evidence

    /// Verifies evidence of any kind.
    ///
    /// - Parameter evidence: A receipt (binary, base64 or PEM), a JWS in its compact form, a transaction receipt (a property list or its base64), or a JSON
    ///   object with one of them as its member `receipt-data`, `signedPayload`, `signedTransactionInfo`, `signedRenewalInfo` or `signedAppTransactionInfo`. Whitespace around a text and
    ///   other members of the object are ignored.
    /// - Returns: The verified evidence, by its kind.
    /// - Throws: The reason the evidence was refused.
    public func verify(_ evidence: [UInt8]) throws(VerificationError) -> VerifiedEvidence {
        try verify(evidence.span) { evidence }
    }

    /// Verifies evidence of any kind from a string.
    ///
    /// - Parameter evidence: Evidence in any form that ``verify(_:)-([UInt8])`` accepts, except a binary receipt.
    /// - Returns: The verified evidence, by its kind.
    /// - Throws: The reason the evidence was refused.
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
                try EvidenceObject(
                    evidence, from: start, maximumByteCount: policy.limits.maximumByteCount, keepsOtherMembers: false)
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
        case .transactionReceipt: return .transactionReceipt(try verifyUncounted(transactionReceipt: evidence))
        case .receipt:
            return .receipt(
                try verifyUncounted(receipt: ReceiptInput.binary(of: evidence, policy.limits, bytes: binary)))
        }
    }

    // MARK: Receipts

    /// Verifies a receipt and returns its contents.
    ///
    /// - Parameters:
    ///   - receipt: A receipt in any form: binary, base64, PEM, or a JSON object with the member `receipt-data`.
    ///   - applicationVersion: The version that the receipt's ``ReceiptContents/applicationVersion`` must equal, or `nil` to accept any.
    ///   - deviceIdentifier: The device for which the receipt must have been made, or `nil` to accept any. See
    ///     ``ReceiptContents/matches(deviceIdentifier:)``.
    /// - Returns: The verified receipt.
    /// - Throws: The reason the receipt was refused.
    public func verifyReceipt(
        _ receipt: [UInt8], applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        try counters.counting { () throws(VerificationError) in
            try verifyUncounted(
                receipt: ReceiptInput.binary(of: receipt, policy.limits), applicationVersion, deviceIdentifier)
        }
    }

    /// Verifies a receipt from a string and returns its contents.
    ///
    /// - Parameters:
    ///   - receipt: A receipt in base64 or PEM, or a JSON object with the member `receipt-data`.
    ///   - applicationVersion: The version that the receipt's ``ReceiptContents/applicationVersion`` must equal, or `nil` to accept any.
    ///   - deviceIdentifier: The device for which the receipt must have been made, or `nil` to accept any. See
    ///     ``ReceiptContents/matches(deviceIdentifier:)``.
    /// - Returns: The verified receipt.
    /// - Throws: The reason the receipt was refused.
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

    /// Verifies what `decode` returns: the binary receipt, or the property list of a transaction receipt. Its error is counted as any other refusal.
    func verifyReceiptData(
        decoding decode: () throws(VerificationError) -> [UInt8]
    ) throws(VerificationError) -> VerifiedEvidence {
        try counters.counting { () throws(VerificationError) in
            let data = try decode()
            // No receipt begins with a brace.
            guard data.first(where: { !$0.isWhitespace }) == .openingBrace else {
                return .receipt(try verifyUncounted(receipt: data))
            }
            return .transactionReceipt(try verifyUncounted(transactionReceipt: data.span))
        }
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

    // MARK: Transaction receipts

    /// Verifies a transaction receipt, which is the `transactionReceipt` of a `SKPaymentTransaction` of iOS 3 to 6.
    ///
    /// Those of version 2, which Apple signed until 2015 at least, require ``VerificationPolicy/allowsRSA1024TransactionReceipts``.
    ///
    /// - Parameter transactionReceipt: The property list as the app received it, or its base64.
    /// - Returns: The verified transaction receipt, which is one purchase.
    /// - Throws: The reason the transaction receipt was refused.
    public func verifyTransactionReceipt(
        _ transactionReceipt: [UInt8]
    ) throws(VerificationError) -> VerifiedTransactionReceipt {
        try verifyTransactionReceipt(transactionReceipt.span)
    }

    /// Verifies a transaction receipt from a string.
    ///
    /// - Parameter transactionReceipt: The property list as the app received it, or its base64.
    /// - Returns: The verified transaction receipt, which is one purchase.
    /// - Throws: The reason the transaction receipt was refused.
    public func verifyTransactionReceipt(
        _ transactionReceipt: String
    ) throws(VerificationError) -> VerifiedTransactionReceipt {
        try verifyTransactionReceipt(transactionReceipt.utf8Span.span)
    }

    /// Verifies a transaction receipt, of which only the signed part is copied.
    package func verifyTransactionReceipt(
        _ transactionReceipt: Span<UInt8>
    ) throws(VerificationError) -> VerifiedTransactionReceipt {
        try counters.counting { () throws(VerificationError) in
            try verifyUncounted(transactionReceipt: transactionReceipt)
        }
    }

    func verifyUncounted(
        transactionReceipt text: Span<UInt8>
    ) throws(VerificationError) -> VerifiedTransactionReceipt {
        try TransactionReceiptInput.withPropertyList(of: text, policy.limits) {
            (list) throws(VerificationError) in try transactionReceipts.open(list)
        }
    }
}

extension VerificationPolicy {
    /// Checks that a verifier with this policy could accept something.
    fileprivate func check(with trust: AppStoreTrust) throws(VerificationError) {
        guard !environments.isEmpty else { throw .configuration(.noEnvironment, found: "environments: []") }
        if let bundleIDs {
            guard !bundleIDs.isEmpty else { throw .configuration(.noBundleID, found: "bundleIDs: []") }
            // No app has this id: it comes from a setting that was left empty.
            guard !bundleIDs.contains(where: \.isEmpty) else {
                throw .configuration(.noBundleID, found: "bundleIDs: [\"\"]")
            }
        }
        let possible: Set<AppStoreEnvironment>
        switch trust.base {
        case .apple, .adding: possible = [.production, .sandbox]
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
        try checkBundleID(receipt.bundleID)
        try checkEnvironment(receipt.environment, named: receipt.receiptType)
        guard let created = receipt.creationDate else { return }
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
