import LibcryptoHandles
public import SignatureTrust
public import Instants
import SpanASN1
package import SpanPKCS7
import StrictText

/// A verifier of signed messages: CMS (RFC 5652) and PKCS#7 (RFC 2315), with attached or detached content.
///
/// ```swift
/// let verifier = try CMSVerifier(policy: CMSPolicy(anchorsIn: roots))  // DER or PEM
/// let message = try verifier.verify(bytes, at: now)
/// guard message.contentType == .data else { … }
/// use(message.content, signedBy: message.signers)
/// ```
///
/// A message is verified if it has at least one signer and every signer passes. The verifier checks the signature over
/// the received bytes, with the key of the certificate that the signer identifies. Then it checks the chain from that
/// certificate to an anchor (libcrypto's path validation: RFC 5280, 6), its algorithms and keys, key usage and
/// purposes. It tries every certificate that could be an issuer's, so that their order decides nothing. It ignores
/// unsigned attributes, such as countersignatures and timestamps.
///
/// A verifier is thread-safe. To verify App Store receipts, use `AppStoreVerifier` in `AppStoreReceipt`, which has
/// stricter rules.
public final class CMSVerifier: Sendable {
    /// The policy of the verifier.
    public let policy: CMSPolicy
    let chains: CMSChainValidator

    /// Creates a verifier with a policy.
    ///
    /// - Parameters:
    ///   - policy: The conditions that a message must meet.
    ///   - onRefusedAnchor: A closure that is called with the index of each anchor that cannot end a chain, in their
    ///     order, and the reason: the policy does not accept its key, libcrypto cannot read it, or another certificate
    ///     issued it. The verifier uses the others.
    /// - Throws: The error of the first anchor if none can be used, or `untrusted-chain` if there is none;
    ///   `malformed-certificate` for a certificate of the policy; `malformed-revocation-list`, `delta-revocation-list`
    ///   or `unsupported-revocation-list` for a list, with its ``CMSVerificationError/index`` among the lists;
    ///   `invalid-pem` for a file of certificates or lists, with its index among the files; `algorithm-unavailable` if
    ///   the policy accepts SHA-1 and libcrypto on this host does not verify it.
    public init(
        policy: CMSPolicy, onRefusedAnchor: (Int, CMSVerificationError) -> Void = { _, _ in }
    ) throws(CMSVerificationError) {
        self.policy = policy
        let policy = try policy.decodingPEM()
        do throws(CMSTrustError) {
            try CMSTrustError.trusting { () throws(SignatureTrustError) in try HostSelfTest.run(policy.algorithms) }
            let (chains, refused) = try CMSChainValidator.make(policy)
            self.chains = chains
            for (index, error) in refused.sorted(by: { $0.key < $1.key }) { onRefusedAnchor(index, .policy(error)) }
        } catch {
            throw .policy(error)
        }
    }

    /// Verifies a message in DER, BER or PEM.
    ///
    /// - Parameters:
    ///   - received: The message in binary, without bytes after it; or in PEM (RFC 7468): one block with any label, and
    ///     perhaps text around it.
    ///   - detachedContent: The content of a detached message, exactly as it was signed.
    ///   - signer: If set, only signatures made with this certificate are checked, and at least one must exist. By
    ///     default, all signers must pass.
    ///   - date: The date at which the chains must be valid, such as the current date or a date at which the message is
    ///     known to have existed.
    /// - Returns: The verified message.
    /// - Throws: The first error in this order: the structure, and for each signer the signature, the date and the
    ///   chain.
    public func verify(
        _ received: [UInt8], detachedContent: [UInt8]? = nil, signedBy signer: Fingerprint? = nil, at date: Instant
    ) throws(CMSVerificationError) -> VerifiedMessage {
        try verify(received, detachedContent, signer, date, usesSigningTimes: false)
    }

    /// Verifies a message in DER, BER or PEM, at the signing time that each signer states.
    ///
    /// Messages stay verifiable after certificates expire. But only the signer vouches for that time: someone who
    /// steals the key of an expired certificate can sign with an earlier date. If that matters, distrust the
    /// certificate, or verify at a date that you know.
    ///
    /// - Parameters:
    ///   - received: The message in binary, without bytes after it; or in PEM (RFC 7468): one block with any label, and
    ///     perhaps text around it.
    ///   - detachedContent: The content of a detached message, exactly as it was signed.
    ///   - signer: If set, only signatures made with this certificate are checked, and at least one must exist. By
    ///     default, all signers must pass.
    ///   - latest: The latest signing time to accept, such as the current date.
    /// - Returns: The verified message.
    /// - Throws: The first error in this order: the structure, and for each signer the signature, the date and the
    ///   chain.
    public func verify(
        _ received: [UInt8], detachedContent: [UInt8]? = nil, signedBy signer: Fingerprint? = nil,
        atSigningTimesUntil latest: Instant
    ) throws(CMSVerificationError) -> VerifiedMessage {
        try verify(received, detachedContent, signer, latest, usesSigningTimes: true)
    }

    /// - Parameter date: The date of the chains, or the latest signing time.
    package func verify(
        _ received: [UInt8], _ detachedContent: [UInt8]?, _ signer: Fingerprint?, _ date: Instant,
        usesSigningTimes: Bool
    ) throws(CMSVerificationError) -> VerifiedMessage {
        guard received.count <= policy.limits.maximumMessageByteCount else {
            throw .structure(ASN1DecodingError(.inputTooLarge, offset: policy.limits.maximumMessageByteCount))
        }
        let binary: [UInt8]
        do throws(PEMFileError) {
            binary = try PEMFile(received)?.onlyContents() ?? received
        } catch {
            throw CMSVerificationError(reason: .pem(error, ASN1Path()))
        }
        let message: ReceivedMessage
        do throws(ASN1DecodingError) {
            message = try ReceivedMessage(binary)
        } catch {
            throw .structure(error)
        }
        do throws(CMSVerificationError) {
            return try verify(der: message.der, detachedContent, signer, date, usesSigningTimes)
        } catch {
            throw error.mappingOffset(message.receivedOffset)
        }
    }

    private func verify(
        der: [UInt8], _ detachedContent: [UInt8]?, _ signer: Fingerprint?, _ date: Instant, _ usesSigningTimes: Bool
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
        do throws(CMSTrustError) {
            let signers = try verify(
                message, detachedContent: detachedContent?.span, signedBy: signer, at: date,
                usesSigningTimes: usesSigningTimes)
            return VerifiedMessage(
                contentType: contentType, signers: signers, bytes: detachedContent ?? der,
                contentRange: detachedContent?.indices ?? message.content?.contentRange ?? 0..<0)
        } catch {
            throw .trust(error)
        }
    }

    /// Verifies a message that was read before, with the limits of that reading. Offsets in errors are offsets in it.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - detachedContent: The content of a detached message, exactly as it was signed.
    ///   - selected: The fingerprint of the certificate whose signers must pass; `nil` for all signers.
    ///   - date: The date at which the chains must be valid.
    ///   - usesSigningTimes: Whether each signer's signing time counts instead, which must be present and not after
    ///     `date`.
    /// - Returns: The verified signers.
    /// - Throws: The first error in this order: for each signer the signature, the date and the chain.
    package func verify(
        _ message: SignedData, detachedContent: Span<UInt8>? = nil, signedBy selected: Fingerprint? = nil,
        at date: Instant, usesSigningTimes: Bool = false
    ) throws(CMSTrustError) -> [VerifiedSigner] {
        guard 1...max(1, policy.limits.maximumSignerCount) ~= message.signerCount else {
            throw CMSTrustError(
                .signature(.signerCount), offset: message.signerSet.offset, path: ASN1Path(.signerInfos))
        }
        let content = try message.signedContent(detached: detachedContent)
        var pool = CertificatePool(
            try CMSTrustError.trusting { () throws(SignatureTrustError) in try message.embeddedCertificates() },
            chains.additional)
        var digests = ContentDigests()
        var search: CMSPathSearch?
        var verified: [VerifiedSigner] = []
        var index = 0
        var signers = message.signerInfos
        while let signer = try signers.nextRead() {
            do throws(CMSTrustError) {
                if let member = try pool.index(of: signer, selected) {
                    let algorithm = try verifySignature(
                        of: signer, message, content, pool.members[member], &digests)
                    let signingTime = try signer.signingTime()
                    if usesSigningTimes { try signer.check(signingTime, latest: date) }
                    let date = usesSigningTimes ? signingTime ?? date : date
                    // Only after a signature is valid, because this reads all certificates. All signers use the result.
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
                throw CMSTrustError(
                    error.kind, offset: error.offset, path: ASN1Path(.signerInfos, index: index))
            }
            index += 1
        }
        guard !verified.isEmpty else {
            throw CMSTrustError(
                .message(.missingSigner), offset: message.signerSet.offset, path: ASN1Path(.signerInfos))
        }
        return verified
    }
}
