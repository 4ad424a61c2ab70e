/// Evidence that was decoded and not verified: anyone can have written it.
@nonexhaustive
public enum UnverifiedEvidence: Sendable {
    /// A receipt.
    case receipt(UnverifiedReceipt)
    /// A JWS of any kind.
    case jws(UnverifiedJWS)
    /// A transaction receipt of iOS 3 to 6.
    case transactionReceipt(UnverifiedTransactionReceipt)

    /// Decodes evidence without verifying it: anyone can have written its contents.
    ///
    /// - Parameter input: Evidence that ``AppStoreVerifier/verify(_:)`` accepts.
    /// - Throws: An error of any stage before the policy but the signature and the chain.
    public init(decoding input: some EvidenceSource) throws(VerificationError) {
        try self.init(ReceivedEvidence(input, VerificationLimits()), in: input.evidenceBytes)
    }

    /// Decodes what was received.
    ///
    /// - Parameter input: The bytes that were received.
    package init(_ received: ReceivedEvidence, in input: Span<UInt8>) throws(VerificationError) {
        switch received.kind {
        case .receipt: self = .receipt(try UnverifiedReceipt(binary: received.binary(), VerificationLimits()))
        case .jws: self = .jws(try UnverifiedJWS(received.text(in: input)))
        case .transactionReceipt:
            self = .transactionReceipt(try UnverifiedTransactionReceipt(list: received.text(in: input)))
        }
    }
}
