import LibcryptoHandles
public import SpanASN1
public import SpanPKCS7

/// Verifies signed messages: CMS (RFC 5652) and PKCS#7 (RFC 2315), with the content inside or detached.
///
/// ```swift
/// let verifier = try CMSVerifier(policy: CMSPolicy(anchors: [TrustAnchor(der: root)]))
/// let message = try verifier.verify(bytes, at: .date(now))
/// guard message.contentType == .data else { … }
/// use(message.content, signedBy: message.signers)
/// ```
///
/// A message is verified when it has a signer and every one of them passes: the signature over the received bytes, with the key of the
/// certificate that the signer names by issuer and serial number or key identifier; then the chain from that certificate to an anchor
/// (libcrypto's path validation: RFC 5280, 6), its algorithms and keys, key usage and purposes. Unsigned attributes, countersignatures
/// and timestamps among them, are not looked at. Of several certificates that could be an issuer's all are tried: their order decides nothing.
///
/// One verifier may be shared by all threads. Receipts have rules of their own, and do not come this way.
public final class CMSVerifier: Sendable {
    /// What the verifier was made with.
    public let policy: CMSPolicy
    /// Anchors that end no chain, by their place among the policy's: the policy's algorithms refuse their keys, libcrypto cannot read them, or another
    /// certificate has issued them.
    public let refusedAnchors: [Int: SignatureTrustError]
    let chains: CMSChainValidator

    /// The date at which a signer's chain must be valid. There is no default, and no hidden clock.
    public enum ValidationDate: Hashable, Sendable {
        /// The same for all signers: the present, or when the message is known to have existed.
        case date(Instant)
        /// What each signer says in its signing-time attribute, which must be there and not after `latest`.
        ///
        /// So messages stay verifiable when certificates expire. But nobody else vouches for that time: whoever gets hold of the key of an expired
        /// certificate can still sign with a date of before. Where that matters, distrust the certificate or use the present.
        case signingTime(latest: Instant)
    }

    /// Which signers must pass.
    public enum SignerSelection: Hashable, Sendable {
        /// All that the message has; there must be one at least.
        case every
        /// Those with the certificate of this fingerprint; there must be one at least. The others are not looked at.
        case certificate(Fingerprint)
    }

    /// - Throws: when no anchor can be used, why the first cannot; `untrusted-chain` when there is none; `malformed-certificate` for a certificate of the policy, and
    ///   `malformed-revocation-list`, `delta-revocation-list` or `unsupported-revocation-list` for a list, whose place among the policy's is the
    ///   index of the path; `algorithm-unavailable` when this host's libcrypto does not verify SHA-1 and the policy accepts it.
    public init(policy: CMSPolicy) throws(SignatureTrustError) {
        self.policy = policy
        try HostSelfTest.run(policy.algorithms)
        (chains, refusedAnchors) = try CMSChainValidator.make(policy)
    }

    /// Verifies a message: DER, or BER.
    ///
    /// - Parameters:
    ///   - received: the message, no bytes after it.
    ///   - detachedContent: the content of a message that does not carry it, byte for byte as it was signed.
    ///   - signers: whose signatures must pass.
    ///   - date: when the chains must be valid.
    /// - Throws: the first error in the order: structure, then for each signer its signature, its date, its chain.
    public func verify(
        _ received: [UInt8], detachedContent: [UInt8]? = nil, signers: SignerSelection = .every,
        at date: ValidationDate
    ) throws(CMSVerificationError) -> VerifiedMessage {
        guard received.count <= policy.limits.maximumByteCount else {
            throw .structure(ASN1DecodingError(.inputTooLarge, offset: policy.limits.maximumByteCount))
        }
        let message: ReceivedMessage
        do throws(ASN1DecodingError) {
            message = try ReceivedMessage(received)
        } catch {
            throw .structure(error)
        }
        do throws(CMSVerificationError) {
            return try verify(message.der, detachedContent, signers, date)
        } catch {
            throw error.mappingOffset(message.receivedOffset)
        }
    }

    private func verify(
        _ der: [UInt8], _ detachedContent: [UInt8]?, _ selection: SignerSelection, _ date: ValidationDate
    ) throws(CMSVerificationError) -> VerifiedMessage {
        let message: SignedData
        let contentType: ASN1ObjectIdentifier
        do throws(ASN1DecodingError) {
            message = try SignedData(
                ContentInfo(der.span), maximumCertificateCount: policy.limits.maximumCertificateCount,
                maximumSignerCount: policy.limits.maximumSignerCount,
                maximumRevocationInfoCount: policy.limits.maximumRevocationInfoCount,
                allowing: .emptyUnsignedAttributes)
            contentType = try message.contentType.objectIdentifier()
        } catch {
            throw .structure(error)
        }
        do throws(SignatureTrustError) {
            if let detachedContent {
                let signers = try verify(message, detachedContent: detachedContent.span, signers: selection, at: date)
                return VerifiedMessage(
                    contentType: contentType, signers: signers, bytes: detachedContent,
                    contentRange: 0..<detachedContent.count)
            }
            let signers = try verify(message, detachedContent: nil, signers: selection, at: date)
            return VerifiedMessage(
                contentType: contentType, signers: signers, bytes: der,
                contentRange: message.content?.contentRange ?? 0..<0)
        } catch {
            throw .trust(error)
        }
    }

    /// Verifies a message that was read already, within the limits that it was read with. Offsets in errors are its own.
    ///
    /// - Throws: the first error in the order: for each signer its signature, its date, its chain.
    public func verify(
        _ message: SignedData, detachedContent: Span<UInt8>? = nil, signers selection: SignerSelection = .every,
        at date: ValidationDate
    ) throws(SignatureTrustError) -> [VerifiedSigner] {
        guard 1...max(1, policy.limits.maximumSignerCount) ~= message.signerCount else {
            throw SignatureTrustError(.signerCount, offset: message.signerSet.offset, path: ASN1Path(.signerInfos))
        }
        let content = try message.signedContent(detached: detachedContent)
        var pool = CertificatePool(try message.embeddedCertificates(), chains.additional)
        var digests = ContentDigests()
        var search: CMSPathSearch?
        var verified: [VerifiedSigner] = []
        var index = 0
        var signers = message.signerInfos
        while let signer = try signers.nextRead() {
            do throws(SignatureTrustError) {
                if let member = try pool.index(of: signer, selection) {
                    let algorithm = try verifySignature(
                        of: signer, message, content, pool.members[member], &digests)
                    let signingTime = try signer.signingTime()
                    let date = try date.resolve(signingTime, offset: signer.element.offset)
                    // Not before a signature holds: certificates are read then, and what was found out about them serves all signers.
                    var ways = if let search { search } else { try chains.search(&pool) }
                    let path = try chains.path(from: pool.members[member], in: pool, &ways, at: date)
                    search = ways
                    verified.append(
                        VerifiedSigner(
                            index: index, chain: path.certificates, fingerprint: path.fingerprint,
                            anchorFingerprint: path.anchorFingerprint, signingTime: signingTime, validationDate: date,
                            digest: SignatureDigest(algorithm.digest), kind: SignatureKind(algorithm.scheme)))
                }
            } catch {
                throw SignatureTrustError(
                    error.kind, offset: error.offset, path: ASN1Path(.signerInfos, index: index))
            }
            index += 1
        }
        guard !verified.isEmpty else {
            throw SignatureTrustError(.missingSigner, offset: message.signerSet.offset, path: ASN1Path(.signerInfos))
        }
        return verified
    }
}
