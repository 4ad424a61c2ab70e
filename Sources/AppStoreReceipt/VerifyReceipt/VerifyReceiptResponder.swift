public import SpanASN1
import StrictText

/// Answers requests to verifyReceipt as Apple's server does, from the receipt alone.
///
/// ```swift
/// let responder = try VerifyReceiptResponder(bundleIDs: ["com.example.app"], environments: [.production])
/// let answer = responder.answer(to: request.body)     // HTTP status 200 whatever it says, as Apple's
/// ```
///
/// The answer has every key of Apple's that a receipt can answer, in Apple's names and types. It has no `latest_receipt_info`, no
/// `latest_receipt` and no `pending_renewal_info`: what happened after the receipt was signed is not in it. Code that takes an absent
/// `latest_receipt_info` for "no subscription" must be changed before it is pointed here: see <doc:ComingFromVerifyReceipt>.
///
public struct VerifyReceiptResponder: Sendable {
    /// The environments whose receipts get status 0. With ``AppStoreEnvironment/production`` alone it answers as `buy.itunes.apple.com`, and sandbox
    /// receipts get status 21007; with ``AppStoreEnvironment/sandbox`` alone as `sandbox.itunes.apple.com`, and production receipts get 21008.
    /// With both, `environment` in the answer says which one it was: check it before granting.
    public let environments: Set<AppStoreEnvironment>
    /// What verifies the receipts, of either environment: not for granting.
    package let verifier: AppStoreVerifier
    /// What became of the requests, for metrics.
    public var counts: VerifierCounts { verifier.counts }
    /// Whether the answer has a `latest_receipt_info` with what is in `in_app`, or with `exclude-old-transactions` the latest period of each
    /// subscription and all else. Off unless set; the answer is marked by `"latest_receipt_info_source":"in_app"`.
    ///
    /// It is no newer than the receipt: renewals, refunds and cancellations since are missing.
    public var fillsLatestReceiptInfo = false
    /// The time of `request_date`.
    public var clock: @Sendable () -> Instant = { .now }

    /// Makes a responder.
    ///
    /// - Parameters:
    ///   - bundleIDs: the apps whose receipts are answered; receipts of others get status 21003. With `nil` it answers for every app, as Apple's
    ///     server does: compare `receipt.bundle_id` before you grant anything.
    ///   - environments: the environments whose receipts get status 0.
    ///   - trust: whose signature counts; Apple's by default.
    /// - Throws: an error of the stage `verifier`: the configuration can accept nothing, or this libcrypto cannot verify receipts.
    public init(
        bundleIDs: Set<String>?, environments: Set<AppStoreEnvironment>, trust: AppStoreTrust = .apple
    ) throws(VerificationError) {
        try self.init(policy: VerificationPolicy(bundleIDs: bundleIDs, environments: environments), trust: trust)
    }

    /// Makes a responder with a policy.
    ///
    /// - Parameters:
    ///   - policy: its environments are those that get status 0. Receipts of the other environment are verified all the same, by all else that
    ///     the policy says: status 21007 and 21008 are for genuine receipts.
    ///   - trust: whose signature counts; Apple's by default.
    /// - Throws: as ``init(bundleIDs:environments:trust:)``.
    public init(policy: VerificationPolicy, trust: AppStoreTrust = .apple) throws(VerificationError) {
        var policy = policy
        environments = policy.environments
        // Whatever else there is goes with StoreKit Testing, or is refused by the verifier.
        if !environments.isEmpty, environments.isSubset(of: [.production, .sandbox]) {
            policy.environments = [.production, .sandbox]
        }
        verifier = try AppStoreVerifier(policy: policy, trust: trust)
    }

    /// The answer to a request.
    ///
    /// - Parameter body: the JSON text as received.
    public func answer(to body: [UInt8]) -> VerifyReceiptAnswer {
        var excludesOldTransactions = false
        let result = Result { () throws(VerificationError) in
            try verifier.verifyReceipt { () throws(VerificationError) in
                do throws(InputError) {
                    let request = try VerifyReceiptRequest(
                        body.span, maximumByteCount: verifier.policy.limits.maximumByteCount)
                    excludesOldTransactions = request.excludesOldTransactions
                    return request.receipt
                } catch {
                    throw .input(error)
                }
            }
        }
        return answer(for: result, excludesOldTransactions: excludesOldTransactions)
    }

    /// The answer to a request, or for a receipt in any other form.
    package func answer(toAnyReceipt input: [UInt8]) -> VerifyReceiptAnswer {
        // What is too large for an object is too large for any other text, and not looked at here.
        let limit = ReceiptInput.maximumTextByteCount(verifier.policy.limits.maximumByteCount)
        if input.count <= limit, ReceiptInput.startOfObject(in: input.span) != nil { return answer(to: input) }
        return answer(for: Result { () throws(VerificationError) in try verifier.verifyReceipt(input) })
    }

    /// The answer for a receipt that ``verifier`` has judged.
    package func answer(
        for result: Result<VerifiedReceipt, VerificationError>, excludesOldTransactions: Bool = false
    ) -> VerifyReceiptAnswer {
        switch result {
        case .failure(let error): return refusal(VerifyReceiptStatus(error), error)
        case .success(let receipt):
            // What cannot be told of an environment is not answered as if it were of the right one.
            guard let environment = receipt.environment else {
                return refusal(.notAuthenticated, .policy(.unknownEnvironment))
            }
            // A receipt of the other environment is genuine, but whoever asked here must not grant by it.
            guard environments.contains(environment) else {
                return refusal(
                    environment == .sandbox ? .sandboxReceipt : .productionReceipt,
                    .policy(.environmentMismatch, found: environment.rawValue))
            }
            return answer(receipt, of: environment, excludesOldTransactions)
        }
    }

    private func refusal(_ status: VerifyReceiptStatus, _ error: VerificationError) -> VerifyReceiptAnswer {
        var writer = JSONWriter(capacity: 16)
        writer.beginObject()
        writer.name("status")
        writer.integer(Int64(status.rawValue))
        writer.endObject()
        return VerifyReceiptAnswer(status: status, body: writer.bytes, result: .failure(error))
    }

    private func answer(
        _ receipt: VerifiedReceipt, of environment: AppStoreEnvironment, _ excludesOldTransactions: Bool
    ) -> VerifyReceiptAnswer {
        var writer = JSONWriter(capacity: 2048 + 3 * receipt.receipt.storage.payload.count)
        writer.beginObject()
        writer.name("status")
        writer.integer(Int64(VerifyReceiptStatus.valid.rawValue))
        writer.name("environment")
        writer.string(environment.verifyReceiptName)
        writer.name("receipt")
        writer.verifyReceipt(receipt.receipt, of: environment, requestDate: clock())
        if fillsLatestReceiptInfo {
            writer.name("latest_receipt_info")
            writer.verifyReceiptPurchases(
                of: receipt.receipt, excludesOldTransactions ? receipt.latestTransactions : nil)
            writer.name("latest_receipt_info_source")
            writer.string("in_app")
        }
        writer.endObject()
        return VerifyReceiptAnswer(status: .valid, body: writer.bytes, result: .success(receipt))
    }
}

/// An answer of a ``VerifyReceiptResponder``.
public struct VerifyReceiptAnswer: Sendable {
    /// What the answer says in `status`.
    public let status: VerifyReceiptStatus
    /// The JSON text to send, with `Content-Type: application/json` and HTTP status 200.
    public let body: [UInt8]
    /// The receipt where ``status`` is 0; else why there is none, `environment-mismatch` for a genuine one of the other environment.
    public let result: Result<VerifiedReceipt, VerificationError>
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
    /// The purchases that `exclude-old-transactions` leaves, by their index: of each subscription the latest, and all that are none.
    fileprivate var latestTransactions: [Int] {
        var latest: [UTF8Bytes: InAppPurchase] = [:]
        var kept: [Int] = []
        for purchase in inAppPurchases {
            guard purchase.expiresDate != nil, let id = purchase.subscriptionKey else {
                kept.append(purchase.index)
                continue
            }
            if let other = latest[id], isBefore(purchase, other) { continue }
            latest[id] = purchase
        }
        return (kept + latest.values.map(\.index)).sorted()
    }
}
