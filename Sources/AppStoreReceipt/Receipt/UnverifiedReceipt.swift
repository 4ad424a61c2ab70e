/// A receipt that was decoded but not verified. Anyone can have written it.
public struct UnverifiedReceipt: ReceiptContents, Hashable, Sendable {
    /// The contents of the receipt as a plain value.
    public let receipt: Receipt
    /// The contents.
    public var _contents: Receipt { receipt }
}

extension UnverifiedReceipt {
    /// Decodes a receipt without verifying it: anyone can have written its contents.
    ///
    /// - Parameters:
    ///   - input: A receipt: binary, base64, PEM, or a JSON object with the member `receipt-data`.
    ///   - limits: The limits on the input.
    /// - Throws: An error of the stage `input`, `container` or `payload`.
    public init(
        decoding input: some EvidenceSource, limits: VerificationLimits = VerificationLimits()
    ) throws(VerificationError) {
        let received = ReceivedEvidence(input, as: .receipt, limits)
        self = try input._withEvidenceBytes { (bytes) throws(VerificationError) in
            try received.read(in: bytes, AcceptedForm(limits)) { (received, _) throws(VerificationError) in
                try UnverifiedReceipt(binary: received.binary(), limits)
            }.value
        }
    }

    /// - Parameter binary: A receipt in DER or BER.
    init(binary: [UInt8], _ limits: VerificationLimits) throws(VerificationError) {
        receipt = try ReceiptContainer.readingDER(of: binary, limits) { (der) throws(VerificationError) in
            let payload = try ReceiptContainer.payload(of: ReceiptContainer.message(in: der.span, limits))
            return Receipt(der, payload, try ReceiptContainer.decode(payload, limits).get())
        }
    }
}
