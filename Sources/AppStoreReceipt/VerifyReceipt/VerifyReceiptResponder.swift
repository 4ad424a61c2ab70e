public import SpanASN1

/// Answers requests to verifyReceipt as Apple's server does, from the receipt alone.
///
/// ```swift
/// let responder = try VerifyReceiptResponder(environment: .production)
/// let answer = responder.answer(to: request.body)     // HTTP status 200 whatever it says, as Apple's
/// ```
///
/// The answer has every key of Apple's that a receipt can answer, in Apple's names and types. It has no `latest_receipt_info`, no
/// `latest_receipt` and no `pending_renewal_info`: what happened after the receipt was signed is not in it. Code that takes an absent
/// `latest_receipt_info` for "no subscription" must be changed before it is pointed here: see <doc:ComingFromVerifyReceipt>.
///
/// Like Apple's it checks no bundle id unless told to: the caller compares `receipt.bundle_id`.
public struct VerifyReceiptResponder: Sendable {
    /// Which receipts are answered.
    public enum Environment: Hashable, Sendable {
        /// As `buy.itunes.apple.com`: sandbox receipts get status 21007.
        case production
        /// As `sandbox.itunes.apple.com`: production receipts get status 21008.
        case sandbox
        /// Both at once, which saves the second request. `environment` in the answer says which one it was: check it before granting.
        case either
        /// Receipts of StoreKit Testing, with ``ReceiptTrust/storeKitTesting(_:)``. Apple's servers answer none.
        case xcode
    }

    /// Which receipts are answered.
    public let environment: Environment
    /// What verifies the receipts, of either environment: not for granting.
    package let verifier: ReceiptVerifier
    /// What became of the requests, for metrics.
    public var counts: VerifierCounts { verifier.counts }
    /// Whether the answer has a `latest_receipt_info` with what is in `in_app`, or with `exclude-old-transactions` the latest period of each
    /// subscription and all else. Off unless set; the answer is marked by `"latest_receipt_info_source":"in_app"`.
    ///
    /// It is no newer than the receipt: renewals, refunds and cancellations since are missing.
    public var fillsLatestReceiptInfo = false
    /// The time of `request_date`.
    public var clock: @Sendable () -> Timestamp = { .now }

    /// - Parameters:
    ///   - environment: which receipts are answered.
    ///   - trust: whose signature counts; Apple's by default.
    ///   - bundleIDs: if given, receipts of other apps get status 21003.
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot verify receipts.
    public init(
        environment: Environment, trust: ReceiptTrust = .apple, bundleIDs: Set<String>? = nil
    ) throws(ReceiptError) {
        try self.init(
            environment: environment, policy: ReceiptPolicy(bundleIDs: bundleIDs, environments: []), trust: trust)
    }

    /// A responder with a policy of its own, whose environments are replaced by those that `environment` needs.
    ///
    /// - Throws: as ``init(environment:trust:bundleIDs:)``.
    public init(environment: Environment, policy: ReceiptPolicy, trust: ReceiptTrust = .apple) throws(ReceiptError) {
        var policy = policy
        // Status 21007 and 21008 are for receipts that hold.
        policy.environments = environment == .xcode ? [.xcode] : [.production, .sandbox]
        self.environment = environment
        verifier = try ReceiptVerifier(policy: policy, trust: trust)
    }

    /// The answer to a request.
    ///
    /// - Parameter body: the JSON text as received.
    public func answer(to body: [UInt8]) -> VerifyReceiptAnswer {
        var excludesOldTransactions = false
        let result = Result { () throws(ReceiptError) in
            try verifier.verify { () throws(ReceiptError) in
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

    /// The answer for a receipt that ``verifier`` has judged.
    package func answer(
        for result: Result<VerifiedReceipt, ReceiptError>, excludesOldTransactions: Bool = false
    ) -> VerifyReceiptAnswer {
        let status: VerifyReceiptStatus
        var writer: JSONWriter
        switch result {
        case .failure(let error):
            status = VerifyReceiptStatus(error)
            writer = JSONWriter(capacity: 16)
        case .success(let receipt):
            status = self.status(of: receipt)
            writer = JSONWriter(capacity: 2048 + 3 * receipt.receipt.storage.payload.count)
        }
        writer.beginObject()
        writer.name("status")
        writer.integer(Int64(status.rawValue))
        if status == .valid, case .success(let receipt) = result {
            writer.name("environment")
            writer.string(receipt.environment?.verifyReceiptName ?? "")
            writer.name("receipt")
            writer.verifyReceipt(receipt.receipt, requestDate: clock())
            if fillsLatestReceiptInfo {
                writer.name("latest_receipt_info")
                writer.verifyReceiptPurchases(
                    of: receipt.receipt, excludesOldTransactions ? receipt.latestTransactions : nil)
                writer.name("latest_receipt_info_source")
                writer.string("in_app")
            }
        }
        writer.endObject()
        // A receipt of the other environment holds, but whoever asked here must not grant by it.
        let isElsewhere = status == .sandboxReceipt || status == .productionReceipt
        return VerifyReceiptAnswer(
            status: status, body: writer.bytes, result: isElsewhere ? .failure(.policy(.environmentMismatch)) : result)
    }

    private func status(of receipt: VerifiedReceipt) -> VerifyReceiptStatus {
        switch (environment, receipt.environment) {
        case (.production, .sandbox): .sandboxReceipt
        case (.sandbox, .production): .productionReceipt
        default: .valid
        }
    }
}

/// An answer of a ``VerifyReceiptResponder``.
public struct VerifyReceiptAnswer: Sendable {
    /// What the answer says in `status`.
    public let status: VerifyReceiptStatus
    /// The JSON text to send, with `Content-Type: application/json` and HTTP status 200.
    public let body: [UInt8]
    /// The receipt where ``status`` is 0; else why there is none, `environment-mismatch` for a genuine one of the other environment.
    public let result: Result<VerifiedReceipt, ReceiptError>
}

extension ReceiptEnvironment {
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
        var latest: [String: InAppPurchase] = [:]
        var kept: [Int] = []
        for purchase in inAppPurchases {
            guard purchase.expiresDate != nil, let id = purchase.subscriptionID else {
                kept.append(purchase.index)
                continue
            }
            if let other = latest[id], isBefore(purchase, other) { continue }
            latest[id] = purchase
        }
        return (kept + latest.values.map(\.index)).sorted()
    }
}
