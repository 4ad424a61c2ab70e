import LibcryptoHandles
import SignatureTrust
import SpanASN1
import SpanPKCS7

// What general messages need beyond what receipts do.

/// The digests of one content, each computed once however many signers use it.
struct ContentDigests {
    private var known: [DigestValue] = []

    mutating func digest(
        of content: Span<UInt8>, by algorithm: DigestAlgorithm
    ) throws(SignatureTrustError) -> DigestValue {
        if let found = known.first(where: { $0.algorithm == algorithm }) { return found }
        let digest = try SignatureTrustError.calling { () throws(LibcryptoError) in try algorithm.digest(of: content) }
        known.append(digest)
        return digest
    }
}

extension CMSVerifier {
    /// A signer's signature, with the key of the certificate that it names.
    func verifySignature(
        of signer: SignerInfo, _ message: SignedData, _ content: Span<UInt8>,
        _ certificate: CertificatePool.Member, _ digests: inout ContentDigests
    ) throws(SignatureTrustError) -> SignatureAlgorithm {
        let limit = policy.limits.maximumAttributeCount
        guard (signer.signedAttributes?.count ?? 0) <= limit, (signer.unsignedAttributes?.count ?? 0) <= limit else {
            throw SignatureTrustError(.tooManyAttributes, offset: signer.element.offset)
        }
        if signer.signedAttributes == nil { try message.checkUnattributed(content, signer) }
        let algorithm = try policy.algorithms.signatureAlgorithm(of: signer)
        guard try message.announces(signer.digestAlgorithm) else {
            throw SignatureTrustError(.algorithmMismatch, offset: signer.digestAlgorithm.element.offset)
        }
        let key = try certificate.withView { (view) throws(SignatureTrustError) in
            try policy.algorithms.checkKey(of: view)
            try policy.algorithms.check(algorithm, suits: view)
            return try view.publicKey()
        }
        try signer.verify(
            contentDigest: digests.digest(of: content, by: algorithm.digest), contentType: message.contentType,
            key: key, algorithm: algorithm)
        return algorithm
    }
}

extension CMSVerifier.ValidationDate {
    func resolve(_ signingTime: Instant?, offset: Int) throws(SignatureTrustError) -> Instant {
        switch self {
        case .date(let date): return date
        case .signingTime(let latest):
            guard let signingTime else { throw SignatureTrustError(.missingSigningTime, offset: offset) }
            guard signingTime <= latest else { throw SignatureTrustError(.futureSigningTime, offset: offset) }
            return signingTime
        }
    }
}

extension SignerInfo {
    func signingTime() throws(SignatureTrustError) -> Instant? {
        do throws(ASN1DecodingError) {
            return try signedAttributes?.signingTime()
        } catch {
            throw SignatureTrustError(.invalidSignedAttributes, offset: error.offset)
        }
    }
}

extension SignerInfoIterator {
    /// The next signer of a message that was read completely when it was made.
    @_lifetime(copy self)
    mutating func nextRead() throws(SignatureTrustError) -> SignerInfo? {
        do throws(ASN1DecodingError) {
            return try next()
        } catch {
            throw SignatureTrustError(malformed: error)
        }
    }
}

extension SignedData {
    /// The octets that were signed: one content, inside or detached, never a choice of two.
    ///
    /// RFC 2315 allows content that is no OCTET STRING; its octets without tag and length are signed (RFC 2315, 9.3; RFC 5652, 5.2.1). Since no signature
    /// covers the tag, this is for version 1 and types other than data, where only RFC 2315 can be meant.
    @_lifetime(copy self, copy detached)
    func signedContent(detached: Span<UInt8>?) throws(SignatureTrustError) -> Span<UInt8> {
        let path = ASN1Path(.encapContentInfo)
        guard let content else {
            guard let detached else {
                throw SignatureTrustError(.missingContent, offset: contentType.offset, path: path)
            }
            return detached
        }
        guard detached == nil else { throw SignatureTrustError(.unexpectedContent, offset: content.offset, path: path) }
        guard content.tag == .octetString || (version == 1 && !contentType.matches(.data)) else {
            throw SignatureTrustError(.unexpectedContentType, offset: content.offset, path: path)
        }
        return content.content
    }

    /// Checks a content that is signed without signed attributes.
    func checkUnattributed(_ content: Span<UInt8>, _ signer: SignerInfo) throws(SignatureTrustError) {
        // RFC 5652, 5.3: without them the signature covers the content but not its type.
        guard contentType.matches(.data) else {
            throw SignatureTrustError(.missingSignedAttributes, offset: signer.element.offset)
        }
        // The signature over another message's attributes is one over a content that consists of them: strip the attributes, present them as
        // content, and the message verifies though nobody signed such a content.
        guard !content.isEmpty, content[0] == 0x31 else { return }
        let isAttributeSet: Bool
        do throws(ASN1DecodingError) {
            var cursor = ASN1Cursor(content)
            let attributes = try AttributeSet(cursor.read(.set))
            isAttributeSet = try attributes.singleValue(of: .messageDigest) != nil
        } catch {
            return
        }
        if isAttributeSet { throw SignatureTrustError(.signedAttributesAsContent, offset: signer.element.offset) }
    }
}
