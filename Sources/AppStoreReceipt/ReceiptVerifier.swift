import LibcryptoHandles
import SignatureTrust
import SpanASN1
import StrictText

/// Verifies receipts offline. Make one at start-up and share it: it is immutable but for its cache of chains, which all threads use.
///
/// ```swift
/// let verifier = try ReceiptVerifier(bundleID: "com.example.app", environments: [.production])
/// let receipt = try verifier.verify(base64: body.receiptData)
/// for purchase in receipt.purchases where purchase.grants(at: .now) { grant(purchase.productID, purchase.transactionID) }
/// ```
public final class ReceiptVerifier: Sendable {
    /// Which genuine receipts are accepted.
    public let policy: ReceiptPolicy
    /// Whose signature counts.
    public let trust: AppStoreTrust
    let container: ReceiptContainer
    let counters: VerifierCounters

    /// A verifier for one app.
    ///
    /// - Parameters:
    ///   - bundleID: the app's bundle identifier.
    ///   - environments: which receipts to accept.
    ///   - trust: whose signature counts; Apple's by default.
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot verify receipts.
    public convenience init(
        bundleID: String, environments: Set<AppStoreEnvironment>, trust: AppStoreTrust = .apple
    ) throws(ReceiptError) {
        try self.init(policy: ReceiptPolicy(bundleIDs: [bundleID], environments: environments), trust: trust)
    }

    /// A verifier with a policy of its own.
    ///
    /// - Throws: `.configuration` for a combination that can accept nothing, `.host` when this libcrypto cannot verify receipts.
    public init(policy: ReceiptPolicy, trust: AppStoreTrust = .apple) throws(ReceiptError) {
        self.policy = policy
        self.trust = trust
        guard !policy.environments.isEmpty else { throw .configuration(.noEnvironment) }
        let environmentsOfTrust: Set<AppStoreEnvironment> =
            if case .storeKitTesting = trust { [.xcode] } else { [.production, .sandbox] }
        guard policy.environments.isSubset(of: environmentsOfTrust) else {
            throw .configuration(.environmentNotOfTrust)
        }
        let engine: TrustEngine
        do throws(SignatureTrustError) {
            try HostSelfTest.run(policy.algorithms)
            engine = try TrustEngine(
                trust, appleRoots: [.appleRootCA], algorithms: policy.algorithms, distrusted: policy.distrusted)
        } catch {
            throw ReceiptError(error) { _ in .configuration(.unusableTrustAnchor) }
        }
        guard !engine.isEmpty else { throw .configuration(.noTrustAnchor) }
        do throws(LibcryptoError) {
            counters = try VerifierCounters()
        } catch {
            throw .host(error)
        }
        let (choice, clock) = (policy.validationDate, policy.clock)
        container = ReceiptContainer(limits: policy.limits, trust: engine) { created in
            switch choice {
            case .creationDate: created
            case .now: clock()
            case .date(let date): date
            }
        }
    }

    /// Verifies a receipt in any of the forms in which receipts travel: binary, base64, PEM, or a JSON object with `receipt-data`.
    ///
    /// - Parameters:
    ///   - input: the bytes as received.
    ///   - applicationVersion: if given, attribute 3 must equal it.
    ///   - deviceIdentifier: if given, the receipt must have been made for this device; see ``ReceiptContents/isMade(forDevice:)``.
    /// - Throws: the one ``ReceiptError`` that this input deserves.
    public func verify(
        _ input: [UInt8], applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(ReceiptError) -> VerifiedReceipt {
        try counters.counting { () throws(ReceiptError) in
            try verified(ReceiptInput.binary(of: input, policy.limits), applicationVersion, deviceIdentifier)
        }
    }

    /// Verifies a receipt in base64, as an app sends it. Parameters and errors are those of
    /// ``verify(_:applicationVersion:deviceIdentifier:)``.
    public func verify(
        base64 text: String, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(ReceiptError) -> VerifiedReceipt {
        try counters.counting { () throws(ReceiptError) in
            try verified(ReceiptInput.binary(ofBase64: text, policy.limits), applicationVersion, deviceIdentifier)
        }
    }

    /// Verifies a binary receipt: DER, or BER as Xcode writes it. Parameters and errors are those of
    /// ``verify(_:applicationVersion:deviceIdentifier:)``, but for errors of the input.
    public func verify(
        binary: [UInt8], applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(ReceiptError) -> VerifiedReceipt {
        try counters.counting { () throws(ReceiptError) in try verified(binary, applicationVersion, deviceIdentifier) }
    }

    /// Verifies the binary receipt that `decode` gives; its error is a refusal as any other.
    func verify(decoding decode: () throws(ReceiptError) -> [UInt8]) throws(ReceiptError) -> VerifiedReceipt {
        try counters.counting { () throws(ReceiptError) in try verified(decode(), nil, nil) }
    }

    private func verified(
        _ binary: [UInt8], _ applicationVersion: String?, _ deviceIdentifier: [UInt8]?
    ) throws(ReceiptError) -> VerifiedReceipt {
        let (receipt, evidence) = try container.open(binary)
        // A container with a trust engine gives evidence or throws.
        guard let evidence else { throw .host(.libcryptoFailure) }
        try check(receipt)
        if let applicationVersion, receipt.applicationVersion?.hasSameBytes(as: applicationVersion) != true {
            throw .policy(.applicationVersionMismatch)
        }
        if let deviceIdentifier, try !receipt.isMade(forDevice: deviceIdentifier) { throw .policy(.deviceMismatch) }
        return VerifiedReceipt(receipt: receipt, trust: evidence)
    }

    private func check(_ receipt: Receipt) throws(ReceiptError) {
        if let bundleIDs = policy.bundleIDs {
            guard let bundleID = receipt.bundleID, bundleIDs.contains(where: { $0.hasSameBytes(as: bundleID) }) else {
                throw .policy(.bundleIDMismatch)
            }
        }
        guard let environment = receipt.environment else { throw .policy(.unknownEnvironment) }
        guard policy.environments.contains(environment) else { throw .policy(.environmentMismatch) }
        guard policy.maximumAge != nil || policy.rejectsFutureDates else { return }
        let now = policy.clock()
        if policy.rejectsFutureDates, let created = receipt.creationDate {
            guard created <= now, receipt.isMadeLast else { throw .policy(.receiptFromTheFuture) }
        }
        guard let maximumAge = policy.maximumAge, let created = receipt.creationDate else { return }
        switch created.age(at: now, maximum: maximumAge) {
        case .allowed: break
        case .belowZero: throw .policy(.receiptFromTheFuture)
        case .tooGreat: throw .policy(.receiptTooOld)
        }
    }
}

extension Receipt {
    /// Whether nothing that it says has happened, happened after it was made. (When a subscription or a receipt expires may lie in its future.)
    fileprivate var isMadeLast: Bool {
        // Attributes 8 and 18 may have fractions of a second, which 12 has not.
        guard let last = creationDate?.secondsSince1970 else { return false }
        func isPast(_ date: Instant?) -> Bool { date.map { $0.secondsSince1970 <= last } ?? true }
        return isPast(originalCreationDate) && isPast(originalPurchaseDate)
            && inAppPurchases.allSatisfy {
                isPast($0.purchaseDate) && isPast($0.originalPurchaseDate) && isPast($0.cancellationDate)
            }
    }
}

extension UnverifiedReceipt {
    /// Decodes a receipt in any form, verifying nothing: anyone can have written what it says.
    ///
    /// - Throws: errors of input, container and payload.
    public init(decoding input: [UInt8], limits: VerificationLimits = VerificationLimits()) throws(ReceiptError) {
        let binary = try ReceiptInput.binary(of: input, limits)
        let container = ReceiptContainer(limits: limits, trust: nil) { $0 }
        self.init(receipt: try container.open(binary).receipt)
    }
}

extension ReceiptInput {
    /// The binary receipt in an input of any form; a binary input is handed on, not copied.
    static func binary(of input: [UInt8], _ limits: VerificationLimits) throws(ReceiptError) -> [UInt8] {
        do throws(InputError) {
            let recognized = try ReceiptInput(input.span, maximumByteCount: limits.maximumByteCount)
            return recognized.form == .binary ? input : recognized.decoded
        } catch {
            throw .input(error)
        }
    }

    static func binary(ofBase64 text: String, _ limits: VerificationLimits) throws(ReceiptError) -> [UInt8] {
        do throws(InputError) {
            return try ReceiptInput(base64: text.utf8Span.span, maximumByteCount: limits.maximumByteCount).decoded
        } catch {
            throw .input(error)
        }
    }
}
