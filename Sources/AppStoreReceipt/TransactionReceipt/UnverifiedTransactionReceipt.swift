/// A transaction receipt that was decoded but not verified. Anyone can have written it.
public struct UnverifiedTransactionReceipt: Hashable, Sendable {
    /// The contents as a plain value.
    public let transactionReceipt: TransactionReceipt

    /// Decodes a transaction receipt without verifying it: anyone can have written its contents.
    ///
    /// - Parameters:
    ///   - input: A transaction receipt that ``AppStoreVerifier/verifyTransactionReceipt(_:)`` accepts.
    ///   - limits: The limits on the input.
    /// - Throws: An error of the stage `input`, `form`, `header`, `date` or `payload`.
    public init(
        decoding input: some EvidenceSource, limits: VerificationLimits = VerificationLimits()
    ) throws(VerificationError) {
        let received = ReceivedEvidence(input, as: .transactionReceipt, limits)
        try self.init(list: received.text(in: input.evidenceBytes))
    }

    /// - Parameter list: The property list.
    init(list: Span<UInt8>) throws(VerificationError) {
        let parts = try TransactionReceiptParts(list)
        let signature = parts.signature
        let blob = try SignatureBlob(signature.span)
        let info = try parts.info()
        transactionReceipt = try TransactionReceipt(info, blob.version, try info.purchaseDate())
    }

    /// Returns the certificate that a property list says is its signer's (DER). Nothing is verified.
    package static func certificate(in list: Span<UInt8>) throws(VerificationError) -> [UInt8] {
        let signature = try TransactionReceiptParts(list).signature
        return try SignatureBlob(signature.span).certificate.der
    }
}
