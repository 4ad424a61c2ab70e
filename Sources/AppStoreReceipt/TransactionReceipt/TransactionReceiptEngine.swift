import SignatureTrust
import Instants

/// The trusted signers of transaction receipts, by version.
struct TransactionReceiptEngine: Sendable {
    private let issuers: [TransactionReceiptIssuer]
    /// The engine for versions 3 and 4, whose signers and issuers have the markers of receipts. It shares the cache of
    /// chains.
    private let receipts: TrustEngine
    /// `nil` if the policy does not allow RSA-1024.
    private let version2: TrustEngine?

    /// - Parameter receipts: The engine for receipts, with the same trust.
    /// - Throws: The reason an issuer that was added cannot be used; the index of the path counts them.
    init(
        _ trust: AppStoreTrust, _ policy: VerificationPolicy, receipts: TrustEngine
    ) throws(SignatureTrustError) {
        self.receipts = receipts
        // Checked here, because the engine for version 2 accepts RSA-1024, which is only for leaves.
        for (index, issuer) in trust.addedIssuers.enumerated() {
            try policy.algorithms.checkIntermediate(issuer.der, index: index)
        }
        // If the policy does not accept the keys of Apple's intermediates, they are not used, as with roots.
        issuers = trust.transactionReceiptIssuers.filter { issuer in
            do throws(SignatureTrustError) {
                try policy.algorithms.checkIntermediate(issuer.der, index: 0)
                return true
            } catch {
                return false
            }
        }
        guard policy.allowsRSA1024TransactionReceipts else {
            version2 = nil
            return
        }
        var algorithms = policy.algorithms
        // DANGEROUS: from here on, this engine accepts RSA-1024 in every certificate, and whoever factors such a key
        // can forge what it signed. Version 2 needs it for its leaves. Issuers keep the policy's own sizes by the
        // checks above, and leaves have exactly 1024 bits by the rules of their version. No other engine may get these.
        algorithms.rsaKeySizes =
            min(1024, algorithms.rsaKeySizes.lowerBound)...max(1024, algorithms.rsaKeySizes.upperBound)
        let rules = TransactionReceipt.Version.version2.rules
        version2 = try TrustEngine(
            trust.base, algorithms: algorithms, distrusted: policy.distrusted, leafMarker: rules.leafMarker,
            intermediateMarker: rules.issuerMarker)
    }

    /// All engines, for their counters, without the one that receipts share.
    var ownEngines: [TrustEngine] { [version2].compactMap(\.self) }

    private func engine(
        _ version: TransactionReceipt.Version
    ) throws(VerificationError) -> (PinnedChainVerifier, SignerVerification.Authority) {
        let engine: TrustEngine
        if version == .version2 {
            guard let version2 else { throw VerificationError(.signatureBlob(.rsa1024NotAllowed, offset: 0)) }
            engine = version2
        } else {
            engine = receipts
        }
        switch engine {
        case .chain(let verifier, let authority): return (verifier, authority)
        // StoreKit Testing has never signed transaction receipts.
        case .signer: throw .chain(.untrustedChain(at: 0), of: .transactionReceipt)
        }
    }

    /// The first step: verifies the signature over the version and the decoded `purchase-info` with the key of the
    /// blob's certificate.
    func verifySignature(of blob: borrowing SignatureBlob, over purchaseInfo: [UInt8]) throws(VerificationError)
        -> SignerKey
    {
        let (verifier, _) = try engine(blob.version)
        let rules = blob.version.rules
        let signed = [UInt8(truncatingIfNeeded: blob.version.rawValue)] + purchaseInfo
        do throws(SignatureTrustError) {
            return try verifier.verify(
                PKCS1Signature(blob.signature, digest: rules.digest, modulusBitCount: rules.modulusBitCount),
                of: signed.span, by: blob.certificate)
        } catch {
            throw .signature(error, of: .transactionReceipt)
        }
    }

    /// The second step: validates the chain from the blob's certificate through a pinned issuer to a root.
    ///
    /// - Parameter date: Returns the validation date for the start of the validity of the signer's certificate.
    func verification(
        for blob: borrowing SignatureBlob, key: SignerKey, at date: (_ notBefore: Instant) -> Instant
    ) throws(VerificationError) -> SignerVerification {
        let (verifier, authority) = try engine(blob.version)
        let version = blob.version
        do throws(SignatureTrustError) {
            let moment = date(try blob.certificate.notBefore())
            let intermediates = issuers.lazy.filter { $0.versions.contains(version) }.map(\.der)
            let chain = try verifier.chain(from: blob.certificate, key: key, over: Array(intermediates), at: moment)
            try blob.certificate.checkIsNotCA()
            return SignerVerification(authority, chain, version.rules.digest, moment)
        } catch {
            throw .chain(error, of: .transactionReceipt)
        }
    }
}
