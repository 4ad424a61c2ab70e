/// A receipt that was decoded but not verified. Anyone can have written it.
public struct UnverifiedReceipt: ReceiptContents, Hashable, Sendable {
    /// The contents of the receipt as a plain value.
    public let receipt: Receipt
}

extension UnverifiedReceipt {
    /// Decodes a receipt without verifying it: anyone can have written its contents.
    ///
    /// - Parameters:
    ///   - input: A receipt in any form: binary, base64, PEM, or a JSON object with the member `receipt-data`.
    ///   - limits: The limits on the input.
    /// - Throws: An error of the stage `input`, `container` or `payload`.
    public init(
        decoding input: [UInt8], limits: VerificationLimits = VerificationLimits()
    ) throws(VerificationError) {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [])
        policy.limits = limits
        let binary = try ReceiptInput.binary(of: input, limits)
        self.init(receipt: try ReceiptContainer(policy: policy, trust: nil).open(binary).receipt)
    }
}
