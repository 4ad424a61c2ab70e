import SignatureTrust
import StrictText

/// The kinds of signed evidence, by their form. A new kind is a case and its rows in this file, a case of
/// ``VerifiedEvidence``, and the file of its steps. A new kind of JWS needs none of this: see ``JWSKind``.
package enum EvidenceKind: Hashable, Sendable { case receipt, jws, transactionReceipt }

/// The members of a JSON object in which Apple puts evidence: requests to verifyReceipt, notifications, and answers of
/// the App Store Server API.
enum EvidenceMember: String, CaseIterable {
    case receiptData = "receipt-data"
    case signedPayload, signedTransactionInfo, signedRenewalInfo, signedAppTransactionInfo
}

// MARK: - The form

extension EvidenceKind {
    /// The kinds that are recognized by how they begin; no text begins like two of them. Any other text counts as a
    /// receipt.
    static let recognizable: [EvidenceKind] = [.transactionReceipt, .jws]

    /// Returns whether a text begins like this kind.
    func isBeginning(of text: Span<UInt8>) -> Bool {
        switch self {
        case .receipt: false
        case .jws: CompactJWS.isBeginning(of: text)
        case .transactionReceipt: TransactionReceiptText.isBeginning(of: text)
        }
    }

    func maximumByteCount(_ limits: VerificationLimits) -> Int {
        switch self {
        case .receipt: limits.maximumReceiptByteCount
        case .jws: limits.maximumJWSByteCount
        case .transactionReceipt: limits.maximumTransactionReceiptByteCount
        }
    }

    /// Whether a caller who accepts only this kind may also send it in a JSON object. (A property list begins with `{`,
    /// too.)
    var canBeMember: Bool { self != .transactionReceipt }

    /// The armor of a text of this kind, and the content in it; no content if there is no armor around it.
    func content(
        of text: Span<UInt8>, _ limits: VerificationLimits
    ) throws(InputError) -> (armor: Armor?, decoded: [UInt8]?) {
        switch self {
        case .receipt:
            let text = ReceiptText(text)
            return (text.armor, try text.decoded(limits.maximumReceiptByteCount))
        case .jws: return (nil, nil)
        case .transactionReceipt:
            let list = try TransactionReceiptText.decode(text, limits)
            return (list == nil ? .propertyList : .base64, list)
        }
    }
}

// MARK: - Places of faults

extension EvidenceKind {
    /// What the offsets of the faults of a signer count.
    var signerOffsetBase: VerificationError.OffsetBase {
        switch self {
        case .receipt: .binary
        case .jws: .certificates
        case .transactionReceipt: .signatureBlob
        }
    }

    /// The path of the date at which the chain is validated.
    var datePath: String? {
        switch self {
        case .receipt: "payload › 12 creation date"
        case .jws: nil
        case .transactionReceipt: "purchase-info › purchase-date"
        }
    }
}

// MARK: - The steps

/// The steps that verify each kind.
struct EvidenceVerifiers: Sendable {
    let receipts: ReceiptVerifier
    let jws: JWSVerifier
    let transactionReceipts: TransactionReceiptVerifier

    /// - Throws: The reason an anchor cannot be used, with its index, or the host's fault.
    init(_ policy: VerificationPolicy, _ trust: AppStoreTrust) throws(SignatureTrustError) {
        try HostSelfTest.run(policy.algorithms)
        let engine = try TrustEngine(trust.base, algorithms: policy.algorithms, distrusted: policy.distrusted)
        receipts = ReceiptVerifier(policy: policy, engine: engine)
        jws = JWSVerifier(
            policy: policy,
            engine: try TrustEngine(trust.base, algorithms: policy.algorithms.forJWS, distrusted: policy.distrusted))
        transactionReceipts = TransactionReceiptVerifier(
            policy: policy, engine: try TransactionReceiptEngine(trust, policy, receipts: engine))
    }

    /// The engines, each once.
    var engines: [TrustEngine] { [receipts.engine, jws.engine] + transactionReceipts.engine.ownEngines }

    func verify(_ received: ReceivedEvidence, in input: Span<UInt8>) throws(VerificationError) -> VerifiedEvidence {
        switch received.kind {
        case .receipt: .receipt(try receipts.verify(received.binary()))
        case .jws: try jws.verify(received.text(in: input))
        case .transactionReceipt: .transactionReceipt(try transactionReceipts.verify(received.text(in: input)))
        }
    }
}

extension UnverifiedEvidence {
    /// Decodes what was received.
    ///
    /// - Parameter input: The bytes that were received.
    package init(_ received: ReceivedEvidence, in input: Span<UInt8>) throws(VerificationError) {
        let (evidence, layers) = try received.read(in: input, AcceptedForm(VerificationLimits())) {
            (received, input) throws(VerificationError) in try UnverifiedEvidence(exactly: received, in: input)
        }
        self = evidence
        self.layers = layers
    }

    private init(exactly received: ReceivedEvidence, in input: Span<UInt8>) throws(VerificationError) {
        switch received.kind {
        case .receipt:
            let receipt = try UnverifiedReceipt(binary: received.binary(), VerificationLimits())
            self.init(parts: [EvidencePart(receipt.receipt)])
        case .jws:
            let jws = try UnverifiedJWS(received.text(in: input))
            self.init(parts: jws.parts, jws: jws)
        case .transactionReceipt:
            self.init(parts: [EvidencePart(try TransactionReceipt(unverified: received.text(in: input)))])
        }
    }

    /// The certificates in unverified evidence (DER); empty if they cannot be read.
    package static func certificates(in received: ReceivedEvidence, _ input: Span<UInt8>) -> [[UInt8]] {
        do throws(VerificationError) {
            return try received.read(in: input, AcceptedForm(VerificationLimits())) {
                (received, input) throws(VerificationError) in
                switch received.kind {
                case .receipt: return try ReceiptContainer.certificates(in: received.binary())
                case .jws: return try UnverifiedJWS(received.text(in: input)).certificates()
                case .transactionReceipt: return [try TransactionReceipt.certificate(in: received.text(in: input))]
                }
            }.value
        } catch {
            return []
        }
    }
}
