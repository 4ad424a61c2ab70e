/// Evidence that was decoded and not verified: anyone can have written it.
public struct UnverifiedEvidence: Sendable {
    /// The contents, then their signed parts.
    package let parts: [EvidencePart]
    /// The header of a JWS; `nil` for other evidence.
    package let jws: UnverifiedJWS?
    /// The wrappers around the evidence.
    var layers = Layers()

    /// The names of the evidence's wrappers, outermost first, such as `unity`; empty if there are none.
    /// <doc:WhatClientsSend> lists them.
    public var unwrapped: [String] { layers.names }

    init(parts: [EvidencePart], jws: UnverifiedJWS? = nil) {
        self.parts = parts
        self.jws = jws
    }

    /// Decodes evidence without verifying it: anyone can have written its contents.
    ///
    /// - Parameter input: Evidence that ``AppStoreVerifier/verify(_:)`` accepts.
    /// - Throws: An error of any stage before the policy, except the signature and the chain.
    public init(decoding input: some EvidenceSource) throws(VerificationError) {
        let received = ReceivedEvidence(input, VerificationLimits())
        self = try input._withEvidenceBytes { (bytes) throws(VerificationError) in try Self(received, in: bytes) }
    }

    /// Returns evidence without its known wrappers; the bytes themselves if there are none.
    @_spi(Surfaces) public static func bytes(in received: [UInt8]) -> [UInt8] {
        Unwrapper.evidence(in: received, VerificationLimits())
    }

    /// The receipt; `nil` for other evidence.
    public var receipt: UnverifiedReceipt? { parts.first?.receipt.map(UnverifiedReceipt.init) }

    /// The contents of the transaction receipt of iOS 3 to 6, as a plain value; `nil` for other evidence.
    public var transactionReceipt: TransactionReceipt? { parts.first?.contents as? TransactionReceipt }
}
