/// Evidence that was decoded and not verified: anyone can have written it.
public struct UnverifiedEvidence: Sendable {
    /// The contents, then their signed parts.
    package let parts: [EvidencePart]
    /// The header of a JWS; `nil` for other evidence.
    package let jws: UnverifiedJWS?

    init(parts: [EvidencePart], jws: UnverifiedJWS? = nil) {
        self.parts = parts
        self.jws = jws
    }

    /// Decodes evidence without verifying it: anyone can have written its contents.
    ///
    /// - Parameter input: Evidence that ``AppStoreVerifier/verify(_:)`` accepts.
    /// - Throws: An error of any stage before the policy but the signature and the chain.
    public init(decoding input: some EvidenceSource) throws(VerificationError) {
        let received = ReceivedEvidence(input, VerificationLimits())
        self = try input.withEvidenceBytes { (bytes) throws(VerificationError) in try Self(received, in: bytes) }
    }

    /// The receipt; `nil` for other evidence.
    public var receipt: UnverifiedReceipt? { parts.first?.receipt.map(UnverifiedReceipt.init) }

    /// The contents of the transaction receipt of iOS 3 to 6, as a plain value; `nil` for other evidence.
    public var transactionReceipt: TransactionReceipt? { parts.first?.contents as? TransactionReceipt }
}
