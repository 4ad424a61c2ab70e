package import Instants
import StrictText

/// A responder that answers requests to verifyReceipt as Apple's server does, from the receipt alone.
///
/// ```swift
/// let responder = try VerifyReceiptResponder(bundleIDs: ["com.example.app"], environments: [.production])
/// let answer = responder.answer(to: body)  // send answer.body with HTTP status 200, as Apple does
/// ```
///
/// The answer has every key of Apple's answer that the receipt contains, with Apple's names and types. It has no
/// `latest_receipt_info`, `latest_receipt` or `pending_renewal_info`, because the receipt does not contain what
/// happened after it was signed. If your code takes a missing `latest_receipt_info` to mean "no subscription", change
/// it before you use a responder. See <doc:ComingFromVerifyReceipt>.
///
/// A transaction receipt of iOS 3 to 6 is answered as Apple did: `receipt` has the keys of its `purchase-info` with `_`
/// for `-`, and strings as values. If its subscription's period has ended by the policy's clock, the status is 21006,
/// and `latest_expired_receipt_info` is the same object. Apple's server knew whether the subscription had been renewed,
/// and answered with the new period. The responder does not know.
public struct VerifyReceiptResponder: Sendable {
    /// The environments whose receipts are answered with status 0.
    ///
    /// With ``AppStoreEnvironment/production`` alone, the responder answers as `buy.itunes.apple.com`: the status for
    /// sandbox receipts is 21007. With ``AppStoreEnvironment/sandbox`` alone, it answers as `sandbox.itunes.apple.com`:
    /// the status for production receipts is 21008. With both, check `environment` in the answer before you grant
    /// anything.
    public let environments: Set<AppStoreEnvironment>
    /// The verifier, which accepts both environments. Do not grant anything by it.
    package let verifier: AppStoreVerifier
    /// The numbers of requests by their result, for metrics.
    public var counts: VerifierCounts { verifier.counts }
    /// A Boolean value that indicates whether the answer has a `latest_receipt_info` with the contents of `in_app`; by
    /// default `false`.
    ///
    /// With `exclude-old-transactions` in the request, it has only the latest period of each subscription, and all
    /// other purchases. The answer then contains `"latest_receipt_info_source":"in_app"`. It is as old as the receipt:
    /// later renewals, refunds and cancellations are missing.
    public package(set) var fillsLatestReceiptInfo: Bool
    /// The clock of the policy, for `request_date` and for status 21006.
    package var clock: @Sendable () -> Instant

    /// Creates a responder for your apps.
    ///
    /// - Parameters:
    ///   - bundleIDs: The bundle ids of your apps. The status for receipts of other apps is 21003.
    ///   - environments: The environments whose receipts are answered with status 0.
    ///   - trust: The certificates to trust; by default Apple's.
    ///   - fillsLatestReceiptInfo: Whether the answer has a `latest_receipt_info`.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host
    ///   cannot verify receipts.
    public init(
        bundleIDs: Set<String>, environments: Set<AppStoreEnvironment>, trust: AppStoreTrust = .apple,
        fillsLatestReceiptInfo: Bool = false
    ) throws(VerificationError) {
        try self.init(
            policy: VerificationPolicy(bundleIDs: bundleIDs, environments: environments), trust: trust,
            fillsLatestReceiptInfo: fillsLatestReceiptInfo)
    }

    /// Creates a responder that answers for every app, as Apple's server does.
    ///
    /// A receipt of any app, also one that costs nothing, is answered with status 0. Compare `receipt.bundle_id` before
    /// you grant anything.
    ///
    /// - Parameters:
    ///   - environments: The environments whose receipts are answered with status 0.
    ///   - trust: The certificates to trust; by default Apple's.
    ///   - fillsLatestReceiptInfo: Whether the answer has a `latest_receipt_info`.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host
    ///   cannot verify receipts.
    public init(
        answeringForEveryAppIn environments: Set<AppStoreEnvironment>, trust: AppStoreTrust = .apple,
        fillsLatestReceiptInfo: Bool = false
    ) throws(VerificationError) {
        try self.init(
            policy: VerificationPolicy(bundleIDs: nil, environments: environments), trust: trust,
            fillsLatestReceiptInfo: fillsLatestReceiptInfo)
    }

    /// Creates a responder with a policy.
    ///
    /// - Parameters:
    ///   - policy: The policy. Receipts from its environments are answered with status 0. Receipts from the other
    ///     environment are verified with the rest of the policy, because status 21007 and 21008 are for genuine
    ///     receipts.
    ///   - trust: The certificates to trust; by default Apple's.
    ///   - fillsLatestReceiptInfo: Whether the answer has a `latest_receipt_info`.
    /// - Throws: An error of the stage `verifier` if the configuration can accept nothing, or if libcrypto on this host
    ///   cannot verify receipts.
    public init(
        policy: VerificationPolicy, trust: AppStoreTrust = .apple, fillsLatestReceiptInfo: Bool = false
    ) throws(VerificationError) {
        self.fillsLatestReceiptInfo = fillsLatestReceiptInfo
        clock = policy.clock
        var policy = policy
        environments = policy.environments ?? trust.environments
        // The other environments need StoreKit Testing, or the verifier refuses them.
        if !environments.isEmpty, environments.isSubset(of: [.production, .sandbox]) {
            policy.environments = [.production, .sandbox]
        } else {
            policy.environments = environments
        }
        verifier = try AppStoreVerifier(policy: policy, trust: trust)
    }

    /// Returns the responder with or without a `latest_receipt_info` in its answers.
    @_spi(Surfaces) public func filling(latestReceiptInfo isFilled: Bool) -> Self {
        var responder = self
        responder.fillsLatestReceiptInfo = isFilled
        return responder
    }

    /// Answers a request.
    ///
    /// - Parameter body: The body of the request, as received.
    /// - Returns: The answer, also for a malformed request.
    public func answer(to body: some EvidenceSource) -> VerifyReceiptAnswer {
        body._withEvidenceBytes { answer(to: $0) }
    }

    private func answer(to body: Span<UInt8>) -> VerifyReceiptAnswer {
        let request = VerifyReceiptRequest(body, verifier.policy.limits)
        let result = Result { () throws(VerificationError) in try verifier.verify(request.evidence, in: body) }
        if case .failure(let error) = result, request.isUnreadable { return refusal(.unreadableRequest, error) }
        return answer(for: result, excludesOldTransactions: request.excludesOldTransactions)
    }

    /// Answers a request, or a receipt in any other armor.
    package func answer(toAnyReceipt input: [UInt8]) -> VerifyReceiptAnswer {
        let limits = verifier.policy.limits
        let beginning = Result { () throws(InputError) in try ReceivedEvidence.Beginning(input.span, limits) }
        if case .success(.object) = beginning { return answer(to: input) }
        let kind: EvidenceKind =
            if case .success(.text(.transactionReceipt)) = beginning { .transactionReceipt } else { .receipt }
        let received = ReceivedEvidence(input, as: kind, limits)
        return answer(
            for: Result { () throws(VerificationError) in try verifier.verify(received, in: input.span) })
    }

    /// Returns the answer for a verdict of ``verifier``.
    package func answer(
        for result: Result<VerifiedEvidence, VerificationError>, excludesOldTransactions: Bool = false
    ) -> VerifyReceiptAnswer {
        switch result {
        case .failure(let error): return refusal(VerifyReceiptStatus(error), error)
        case .success(let evidence):
            // A receipt without an environment is not answered as if it were from an accepted one.
            guard let environment = evidence.environment else {
                return refusal(
                    .notAuthenticated, .policy(.missingEnvironment, expected: environments.map(\.rawValue).sortedList))
            }
            // A receipt from the other environment is genuine, but the client must not grant anything for it.
            guard environments.contains(environment) else {
                return refusal(
                    environment == .sandbox ? .sandboxReceipt : .productionReceipt,
                    .policy(
                        .environmentMismatch, found: environment.rawValue,
                        expected: environments.map(\.rawValue).sortedList))
            }
            switch evidence {
            case .receipt(let receipt): return answer(receipt, of: environment, excludesOldTransactions)
            case .transactionReceipt(let receipt): return answer(receipt)
            // Apple's server does not accept a JWS.
            default: return refusal(.malformedReceipt, .input(InputError(.unrecognizedForm, armor: nil, offset: 0)))
            }
        }
    }

    /// Answers as Apple did for transaction receipts: without `environment`, and with all values as strings.
    private func answer(_ receipt: VerifiedTransactionReceipt) -> VerifyReceiptAnswer {
        let isExpired = receipt.expiresDate.map { $0 <= clock() } ?? false
        let status = isExpired ? VerifyReceiptStatus.subscriptionExpired : .valid
        var writer = JSONWriter(capacity: 2 * receipt.transactionReceipt.info.text.count)
        writer.beginObject()
        writer.name("receipt")
        writer.verifyReceipt(receipt.transactionReceipt)
        if isExpired {
            writer.name("latest_expired_receipt_info")
            writer.verifyReceipt(receipt.transactionReceipt)
        } else if fillsLatestReceiptInfo, receipt.expiresDate != nil {
            writer.name("latest_receipt_info")
            writer.verifyReceipt(receipt.transactionReceipt)
            writer.member("latest_receipt_info_source", "receipt")
        }
        writer.member("status", status.rawValue)
        writer.endObject()
        return VerifyReceiptAnswer(status: status, body: writer.bytes, result: .success(.transactionReceipt(receipt)))
    }

    private func refusal(_ status: VerifyReceiptStatus, _ error: VerificationError) -> VerifyReceiptAnswer {
        var writer = JSONWriter(capacity: 16)
        writer.beginObject()
        writer.member("status", status.rawValue)
        writer.endObject()
        return VerifyReceiptAnswer(status: status, body: writer.bytes, result: .failure(error))
    }

    private func answer(
        _ receipt: VerifiedReceipt, of environment: AppStoreEnvironment, _ excludesOldTransactions: Bool
    ) -> VerifyReceiptAnswer {
        var writer = JSONWriter(for: receipt.receipt)
        writer.beginObject()
        writer.member("status", VerifyReceiptStatus.valid.rawValue)
        writer.member("environment", environment.verifyReceiptName)
        writer.name("receipt")
        writer.verifyReceipt(receipt.receipt, of: environment, requestDate: clock())
        if fillsLatestReceiptInfo {
            writer.name("latest_receipt_info")
            writer.verifyReceiptPurchases(
                of: receipt.receipt, excludesOldTransactions ? receipt.latestTransactions : nil)
            writer.member("latest_receipt_info_source", "in_app")
        }
        writer.endObject()
        return VerifyReceiptAnswer(status: .valid, body: writer.bytes, result: .success(.receipt(receipt)))
    }
}

/// The answer of a ``VerifyReceiptResponder``.
public struct VerifyReceiptAnswer: Sendable {
    /// The `status` of the answer.
    public let status: VerifyReceiptStatus
    /// The JSON to send, with `Content-Type: application/json` and HTTP status 200.
    public let body: [UInt8]
    /// The verified receipt, or transaction receipt, if ``status`` is 0 or 21006, and otherwise the error.
    ///
    /// The code for a genuine receipt from the other environment is `environment-mismatch`.
    public let result: Result<VerifiedEvidence, VerificationError>
}

extension AppStoreEnvironment {
    fileprivate var verifyReceiptName: StaticString {
        switch self {
        case .production: "Production"
        case .sandbox: "Sandbox"
        case .xcode: "Xcode"
        case .localTesting: "LocalTesting"
        }
    }
}

extension VerifiedReceipt {
    /// The indices of the purchases that `exclude-old-transactions` keeps: the latest of each subscription, and all
    /// other purchases.
    fileprivate var latestTransactions: [Int] {
        var latest: [UTF8Bytes: InAppPurchase] = [:]
        var kept: [Int] = []
        for purchase in inAppPurchases {
            guard purchase.expiresDate != nil, let id = purchase.subscriptionKey else {
                kept.append(purchase.index)
                continue
            }
            if let other = latest[id], purchase.order < other.order { continue }
            latest[id] = purchase
        }
        return (kept + latest.values.map(\.index)).sorted()
    }
}

extension InAppPurchase {
    /// By purchase date, then expiration date, then index in the receipt.
    fileprivate var order: (Instant, Instant, Int) {
        (purchaseDate ?? .distantPast, expiresDate ?? .distantFuture, index)
    }
}
