// A transaction receipt that is decoded and not verified: anyone can have written it.
extension TransactionReceipt {
    /// Decodes a transaction receipt in any armor, and nothing else.
    package init(
        unverified input: some EvidenceSource, _ limits: VerificationLimits = VerificationLimits()
    ) throws(VerificationError) {
        let received = ReceivedEvidence(input, as: .transactionReceipt, limits)
        self = try input._withEvidenceBytes { (bytes) throws(VerificationError) in
            try Self(unverified: received.text(in: bytes))
        }
    }

    /// - Parameter list: The property list.
    init(unverified list: Span<UInt8>) throws(VerificationError) {
        let parts = try TransactionReceiptParts(list)
        let signature = parts.signature
        let blob = try SignatureBlob(signature.span)
        let info = try parts.info()
        try self.init(info, blob.version, try info.purchaseDate())
    }

    /// The certificate that a property list says is its signer's (DER).
    static func certificate(in list: Span<UInt8>) throws(VerificationError) -> [UInt8] {
        let signature = try TransactionReceiptParts(list).signature
        return try SignatureBlob(signature.span).certificate.der
    }
}
