/// Evidence that was decoded and not verified: anyone can have written it.
public enum UnverifiedEvidence: Sendable {
    /// A receipt.
    case receipt(UnverifiedReceipt)
    /// A JWS of any kind.
    case jws(UnverifiedJWS)
    /// A transaction receipt of iOS 3 to 6.
    case transactionReceipt(UnverifiedTransactionReceipt)

    /// Decodes evidence without verifying it: anyone can have written its contents.
    ///
    /// - Parameter input: Evidence in any form that ``AppStoreVerifier/verify(_:)-([UInt8])`` accepts.
    /// - Throws: An error of the form or of the payload.
    public init(decoding input: [UInt8]) throws(VerificationError) {
        if TransactionReceiptInput.isTransactionReceipt(input.span) {
            self = .transactionReceipt(try UnverifiedTransactionReceipt(decoding: input))
        } else if let text = try UnverifiedJWS.text(in: input) {
            self = .jws(try UnverifiedJWS(text))
        } else {
            self = .receipt(try UnverifiedReceipt(decoding: input))
        }
    }
}
