public import SpanASN1
import StrictText

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
        /// Receipts of StoreKit Testing, with ``AppStoreTrust/storeKitTesting(_:)``. Apple's servers answer none.
        case xcode

        /// The environments whose receipts get status 0.
        fileprivate var answered: Set<AppStoreEnvironment> {
            switch self {
            case .production: [.production]
            case .sandbox: [.sandbox]
            case .either: [.production, .sandbox]
            case .xcode: [.xcode]
            }
        }
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
    public var clock: @Sendable () -> Instant = { .now }

    /// - Parameters:
    ///   - environment: which receipts are answered.
    ///   - trust: whose signature counts; Apple's by default.
    ///   - bundleIDs: if given, receipts of other apps get status 21003.
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot verify receipts.
    public init(
        environment: Environment, trust: AppStoreTrust = .apple, bundleIDs: Set<String>? = nil
    ) throws(ReceiptError) {
        try self.init(
            policy: ReceiptPolicy(bundleIDs: bundleIDs, environments: environment.answered), trust: trust)
    }

    /// A responder with a policy of its own.
    ///
    /// - Parameters:
    ///   - policy: its environments are those that get status 0, and so decide ``environment``. A receipt of the other environment is verified
    ///     all the same, by all else that the policy says: status 21007 and 21008 are for receipts that hold.
    ///   - trust: whose signature counts; Apple's by default.
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot verify receipts.
    public init(policy: ReceiptPolicy, trust: AppStoreTrust = .apple) throws(ReceiptError) {
        var policy = policy
        switch policy.environments {
        case [.production]: environment = .production
        case [.sandbox]: environment = .sandbox
        case [.production, .sandbox]: environment = .either
        // Whatever else there is goes with StoreKit Testing alone, or is refused by the verifier.
        default: environment = .xcode
        }
        if environment != .xcode { policy.environments = [.production, .sandbox] }
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

    /// The answer to a request, or for a receipt in any other form.
    package func answer(toAnyReceipt input: [UInt8]) -> VerifyReceiptAnswer {
        if ReceiptInput.startOfObject(in: input.span) != nil { return answer(to: input) }
        return answer(for: Result { () throws(ReceiptError) in try verifier.verify(input) })
    }

    /// The answer for a receipt that ``verifier`` has judged.
    package func answer(
        for result: Result<VerifiedReceipt, ReceiptError>, excludesOldTransactions: Bool = false
    ) -> VerifyReceiptAnswer {
        switch result {
        case .failure(let error): return refusal(VerifyReceiptStatus(error), error)
        case .success(let receipt):
            // What cannot be told of an environment is not answered as if it were of the right one.
            guard let environment = receipt.environment else {
                return refusal(.notAuthenticated, .policy(.unknownEnvironment))
            }
            // A receipt of the other environment holds, but whoever asked here must not grant by it.
            switch (self.environment, environment) {
            case (.production, .sandbox): return refusal(.sandboxReceipt, .policy(.environmentMismatch))
            case (.sandbox, .production): return refusal(.productionReceipt, .policy(.environmentMismatch))
            default: return answer(receipt, of: environment, excludesOldTransactions)
            }
        }
    }

    private func refusal(_ status: VerifyReceiptStatus, _ error: ReceiptError) -> VerifyReceiptAnswer {
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
        writer.verifyReceipt(receipt.receipt, requestDate: clock())
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
    public let result: Result<VerifiedReceipt, ReceiptError>
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
