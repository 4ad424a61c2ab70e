import LibcryptoHandles
package import Instants
package import SpanASN1
package import SpanPKCS7

/// The conditions for a trusted chain: its anchors, and the marker extensions of its certificates.
package struct PinnedChainPolicy: Sendable {
    package var anchors: [TrustAnchor]
    /// The extension that the leaf must have, with any value.
    package var leafMarker: ASN1ObjectIdentifier
    /// The extension that the intermediate must have, with any value.
    package var intermediateMarker: ASN1ObjectIdentifier
    package var algorithms: AlgorithmPolicy
    package var distrusted: Set<Fingerprint>

    package init(
        anchors: [TrustAnchor], leafMarker: ASN1ObjectIdentifier, intermediateMarker: ASN1ObjectIdentifier,
        algorithms: AlgorithmPolicy, distrusted: Set<Fingerprint>
    ) {
        self.anchors = anchors
        self.leafMarker = leafMarker
        self.intermediateMarker = intermediateMarker
        self.algorithms = algorithms
        self.distrusted = distrusted
    }
}

/// Validates chains of exactly three certificates: leaf, intermediate, pinned anchor.
///
/// libcrypto validates paths (`X509_verify_cert`: RFC 5280, 6). This type checks the rest: which algorithms and keys
/// may sign, whether the key usage of the leaf allows signing, and the marker extensions.
package final class PinnedChainVerifier: Sendable {
    package let policy: PinnedChainPolicy
    private let validators: [ChainValidator]
    private let anchorFacts: [(fingerprint: Fingerprint, validSeconds: Range<Int64>)]
    private let cache: PinnedChainCache

    /// - Throws: the reason an anchor cannot be used, such as `anchor-not-self-signed`; its `path` has the anchor's
    ///   index.
    package init(policy: PinnedChainPolicy, cacheCapacity: Int = 64) throws(SignatureTrustError) {
        self.policy = policy
        var validators: [ChainValidator] = []
        var facts: [(Fingerprint, Range<Int64>)] = []
        for (index, anchor) in policy.anchors.enumerated() {
            do throws(SignatureTrustError) {
                let view = try anchor.view()
                try policy.algorithms.checkKey(of: view)
                let handle = try view.libcryptoHandle()
                guard try handle.isRoot() else { throw view.error(.anchorNotSelfSigned) }
                facts.append((try Fingerprint(of: anchor.der.span), try view.validSeconds()))
                validators.append(
                    try SignatureTrustError.calling { () throws(LibcryptoError) in try ChainValidator(anchor: handle) })
            } catch {
                throw SignatureTrustError(error.kind, path: ASN1Path(.certificates, index: index))
            }
        }
        anchorFacts = facts
        self.validators = validators
        cache = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try PinnedChainCache(capacity: cacheCapacity)
        }
    }

    /// The numbers of hits and misses of the cache, and of removed chains.
    package var cacheCounts: (hits: UInt64, misses: UInt64, evictions: UInt64) { cache.counts }

    /// Reads the key of a leaf if the policy accepts it. The key is not yet trusted.
    package func key(of leaf: Certificate) throws(SignatureTrustError) -> SignerKey {
        if let chain = cache.chain(from: leaf.element.encoded) {
            return SignerKey(key: chain.leafKey, isKnown: true, chain: chain)
        }
        try policy.algorithms.checkKey(of: leaf)
        return SignerKey(key: try leaf.publicKey(), isKnown: false)
    }

    /// Returns the chain from `leaf` through one of the available certificates to an anchor, at the given date. If
    /// several are valid, it is the one to the first of the policy's anchors.
    ///
    /// Each candidate is tried alone, so that neither their order nor unrelated certificates change the result.
    ///
    /// - Parameters:
    ///   - anchor: the index of the required anchor; `nil` for any.
    ///   - key: the key of the leaf, with the chain to try before the cache.
    ///   - isAvailable: returns whether a certificate (DER) is available.
    ///   - hasOtherIssuer: returns whether a certificate other than the given one (DER), with the name of the leaf's
    ///     issuer, is available.
    ///   - candidates: returns the available certificates; called only if the cache does not decide.
    package func chain(
        from leaf: Certificate, key: SignerKey, at date: Instant, to anchor: Int? = nil,
        isAvailable: (_ certificate: Span<UInt8>) -> Bool, hasOtherIssuer: (_ certificate: Span<UInt8>) -> Bool,
        candidates: () throws(SignatureTrustError) -> [EmbeddedCertificate]
    ) throws(SignatureTrustError) -> PinnedChain {
        let seconds = date.secondsSince1970
        if let known = cache.chain(
            from: leaf.element.encoded, at: seconds, to: anchor, first: key.chain, isAvailable: isAvailable)
        {
            // Another certificate with the issuer's name may give a chain to an earlier anchor that the cache lacks.
            let intermediate = known.intermediate
            let isFirst = anchor != nil || known.anchorIndex == 0 || !hasOtherIssuer(intermediate.span)
            cache.count(isKnown: isFirst)
            if isFirst { return known }
        } else {
            cache.count(isKnown: false)
        }

        try policy.checkTrusted(leaf)
        try policy.algorithms.checkKey(of: leaf)
        let handle = try leaf.libcryptoHandle()
        // Report the error of the candidate nearest to valid. The rank makes this independent of the order of
        // the certificates.
        var best = leaf.error(.untrustedChain)
        var found: PinnedChain?
        var tried: [[UInt8]] = []
        for candidate in try candidates() where !tried.contains(candidate.der) {
            tried.append(candidate.der)
            do throws(SignatureTrustError) {
                guard let chain = try chain(leaf, handle, key.key, over: candidate, seconds, to: anchor) else {
                    continue
                }
                if chain.anchorIndex < found?.anchorIndex ?? .max { found = chain }
                if anchor != nil || chain.anchorIndex == 0 { break }
            } catch {
                if error.kind.isHostFault { throw error }
                if error.kind.isNearerToValid(than: best.kind) { best = error }
            }
        }
        guard let found else { throw best }
        return found
    }

    /// Validates the paths through one candidate, and caches those valid at some date; returns `nil` if the
    /// candidate does not have the name of the leaf's issuer.
    private func chain(
        _ leaf: Certificate, _ leafHandle: CertificateHandle, _ leafKey: PublicKey,
        over candidate: EmbeddedCertificate, _ seconds: Int64, to anchor: Int?
    ) throws(SignatureTrustError) -> PinnedChain? {
        let intermediate: Certificate
        do throws(ASN1DecodingError) {
            intermediate = try Certificate(candidate.der.span, baseOffset: candidate.offset)
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        // RFC 5280, 4.1.2.4 and 4.1.2.6: an issuer's name is encoded as in its own certificate. The leaf is not its own
        // issuer.
        guard intermediate.subject.encoded.hasSameBytes(as: leaf.issuer.encoded),
            !intermediate.element.encoded.hasSameBytes(as: leaf.element.encoded)
        else { return nil }

        try policy.checkTrusted(intermediate)
        try policy.algorithms.checkKey(of: intermediate)
        // The issuer of a new leaf is usually one whose certificate libcrypto has read before.
        let known = cache.intermediate(candidate.der.span)
        let handle = if let known { known } else { try intermediate.libcryptoHandle() }
        var chains: [PinnedChain] = []
        var best = leaf.error(.untrustedChain)
        for index in validators.indices {
            do throws(SignatureTrustError) {
                try validatePath(leaf, leafHandle, intermediate, handle, index, seconds)
            } catch {
                if error.kind.isHostFault { throw error }
                if anchor == nil || anchor == index, error.kind.isNearerToValid(than: best.kind) { best = error }
                // Also find the chains for other dates now. Otherwise, later results would depend on earlier calls.
                let isOtherDate = error.kind == .certificateExpired || error.kind == .certificateNotYetValid
                guard validators.count > 1, isOtherDate,
                    try isValid(leaf, leafHandle, intermediate, handle, index)
                else { continue }
            }
            chains.append(
                try PinnedChain(
                    leaf: [UInt8](copying: leaf.element.encoded), intermediate: candidate.der,
                    intermediateHandle: handle, anchor: policy.anchors[index], anchorIndex: index,
                    anchorFingerprint: anchorFacts[index].fingerprint, leafKey: leafKey,
                    leafExpiry: leaf.expiry(),
                    validSeconds: validSeconds(leaf, intermediate, index)))
        }
        cache.insert(chains)
        for chain in chains where chain.holds(at: seconds) && (anchor == nil || anchor == chain.anchorIndex) {
            return chain
        }
        throw best
    }

    /// The seconds at which all three certificates are valid.
    private func validSeconds(
        _ leaf: Certificate, _ intermediate: Certificate, _ anchor: Int
    ) throws(SignatureTrustError) -> Range<Int64> {
        try leaf.validSeconds().clamped(to: intermediate.validSeconds()).clamped(to: anchorFacts[anchor].validSeconds)
    }

    /// Whether a path is ever valid.
    private func isValid(
        _ leaf: Certificate, _ leafHandle: CertificateHandle, _ intermediate: Certificate,
        _ handle: CertificateHandle, _ anchor: Int
    ) throws(SignatureTrustError) -> Bool {
        do throws(SignatureTrustError) {
            let seconds = try validSeconds(leaf, intermediate, anchor)
            guard !seconds.isEmpty else { return false }
            try validatePath(leaf, leafHandle, intermediate, handle, anchor, seconds.lowerBound)
            return true
        } catch {
            if error.kind.isHostFault { throw error }
            return false
        }
    }

    /// Validates the path to one anchor at a date.
    private func validatePath(
        _ leaf: Certificate, _ leafHandle: CertificateHandle, _ intermediate: Certificate,
        _ handle: CertificateHandle, _ anchor: Int, _ seconds: Int64
    ) throws(SignatureTrustError) {
        let result = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try validators[anchor].validate(
                leaf: leafHandle, untrusted: [handle], secondsSince1970: seconds, maximumIntermediates: 1)
        }
        switch result {
        case .invalid(let fault, let depth):
            let certificate = depth == 0 ? leaf : intermediate
            // libcrypto reports signatures with an algorithm that it lacks as invalid: MD5 with a FIPS provider, SHA-1
            // on RHEL 9.
            if fault == .badSignature { _ = try policy.algorithms.signatureAlgorithm(certificate.signatureAlgorithm) }
            throw certificate.error(SignatureTrustError.Kind(fault))
        case .valid(let path):
            guard path == [.leaf, .untrusted(0), .anchor] else { throw leaf.error(.invalidChainLength) }
            try policy.check(leaf, intermediate)
        }
    }
}
