import LibcryptoHandles
import SignatureTrust
import Instants
import SpanASN1
import SpanPKCS7

// Verification that general messages need and receipts do not.

/// The digests of one content. Each is computed once, for all signers.
struct ContentDigests {
    private var known: [DigestValue] = []

    mutating func digest(
        of content: Span<UInt8>, by algorithm: DigestAlgorithm
    ) throws(CMSTrustError) -> DigestValue {
        if let found = known.first(where: { $0.algorithm == algorithm }) { return found }
        let digest = try CMSTrustError.calling { () throws(LibcryptoError) in try algorithm.digest(of: content) }
        known.append(digest)
        return digest
    }
}

extension CMSVerifier {
    /// Verifies a signer's signature with the key of the certificate that it identifies.
    func verifySignature(
        of signer: SignerInfo, _ message: SignedData, _ content: Span<UInt8>,
        _ certificate: CertificatePool.Member, _ digests: inout ContentDigests
    ) throws(CMSTrustError) -> SignatureAlgorithm {
        let limit = policy.limits.maximumAttributeCount
        guard (signer.signedAttributes?.count ?? 0) <= limit, (signer.unsignedAttributes?.count ?? 0) <= limit else {
            throw CMSTrustError(.message(.tooManyAttributes), offset: signer.element.offset)
        }
        if signer.signedAttributes == nil { try message.checkUnattributed(content, signer) }
        let algorithm = try CMSTrustError.trusting { () throws(SignatureTrustError) in
            try policy.algorithms.signatureAlgorithm(of: signer)
        }
        let isAnnounced = try CMSTrustError.trusting { () throws(SignatureTrustError) in
            try message.listsDigestAlgorithm(signer.digestAlgorithm)
        }
        guard isAnnounced else {
            throw CMSTrustError(.signature(.algorithmMismatch), offset: signer.digestAlgorithm.element.offset)
        }
        let key = try certificate.withView { (view) throws(CMSTrustError) in
            try CMSTrustError.trusting { () throws(SignatureTrustError) in
                try policy.algorithms.checkKey(of: view)
                try policy.algorithms.check(algorithm, suits: view)
                return try view.publicKey()
            }
        }
        let digest = try digests.digest(of: content, by: algorithm.digest)
        try CMSTrustError.trusting { () throws(SignatureTrustError) in
            try signer.verify(
                contentDigest: digest, contentType: message.contentType, key: key, algorithm: algorithm)
        }
        return algorithm
    }
}

extension SignerInfo {
    func check(_ signingTime: Instant?, latest: Instant) throws(CMSTrustError) {
        guard let signingTime else { throw CMSTrustError(.message(.missingSigningTime), offset: element.offset) }
        guard signingTime <= latest else {
            throw CMSTrustError(.message(.futureSigningTime), offset: element.offset)
        }
    }

    func signingTime() throws(CMSTrustError) -> Instant? {
        do throws(ASN1DecodingError) {
            return try signedAttributes?.signingTime()
        } catch {
            throw CMSTrustError(.signature(.invalidSignedAttributes), offset: error.offset)
        }
    }
}

extension SignerInfoIterator {
    /// The next signer of a message that was read completely when it was made.
    @_lifetime(copy self)
    mutating func nextRead() throws(CMSTrustError) -> SignerInfo? {
        do throws(ASN1DecodingError) {
            return try next()
        } catch {
            throw CMSTrustError(malformed: error)
        }
    }
}

extension SignedData {
    /// The signed octets: the content of the message or the detached content. Having both is an error.
    ///
    /// RFC 2315 allows content that is no OCTET STRING; its octets without tag and length are signed (RFC 2315, 9.3;
    /// RFC 5652, 5.2.1). No signature covers the tag, so this is only for version 1 and types other than data, to which
    /// only RFC 2315 applies.
    @_lifetime(copy self, copy detached)
    func signedContent(detached: Span<UInt8>?) throws(CMSTrustError) -> Span<UInt8> {
        let path = ASN1Path(.encapContentInfo)
        guard let content else {
            guard let detached else {
                throw CMSTrustError(.signature(.missingContent), offset: contentType.offset, path: path)
            }
            return detached
        }
        guard detached == nil else {
            throw CMSTrustError(.message(.unexpectedContent), offset: content.offset, path: path)
        }
        guard content.tag == .octetString || (version == 1 && !contentType.matches(.data)) else {
            throw CMSTrustError(.signature(.unexpectedContentType), offset: content.offset, path: path)
        }
        return content.content
    }

    /// Checks content that was signed without signed attributes.
    func checkUnattributed(_ content: Span<UInt8>, _ signer: SignerInfo) throws(CMSTrustError) {
        // RFC 5652, 5.3: without signed attributes, the signature does not cover the type of the content.
        guard contentType.matches(.data) else {
            throw CMSTrustError(.message(.missingSignedAttributes), offset: signer.element.offset)
        }
        // A signature over signed attributes is also one over content with the same bytes. An attacker could present
        // the attributes of a message as its content, and the message would verify although its signer never signed
        // that content.
        let isAttributeSet: Bool
        do throws(ASN1DecodingError) {
            var cursor = ASN1Cursor(content)
            let attributes = try AttributeSet(cursor.read(.set))
            isAttributeSet = try attributes.singleValue(of: .messageDigest) != nil
        } catch {
            return
        }
        if isAttributeSet { throw CMSTrustError(.message(.signedAttributesAsContent), offset: signer.element.offset) }
    }
}
