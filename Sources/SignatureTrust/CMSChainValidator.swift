import LibcryptoHandles
import SpanASN1
import SpanPKCS7

/// A chain that was found valid, from a signer's certificate to an anchor.
struct CMSPath {
    let certificates: [[UInt8]]
    let fingerprint: Fingerprint
    let anchorFingerprint: Fingerprint
}

/// Finds and judges chains for ``CMSVerifier``: libcrypto's path validation, and what it leaves open.
struct CMSChainValidator: Sendable {
    let additional: [CertificatePool.Member]
    private let policy: CMSPolicy
    private let anchors: [TrustAnchor]
    private let validator: ChainValidator
    private let revocationLists: [RevocationList]

    static func make(
        _ policy: CMSPolicy
    ) throws(SignatureTrustError) -> (CMSChainValidator, refusedAnchors: [Int: SignatureTrustError]) {
        var anchors: [TrustAnchor] = []
        var handles: [CertificateHandle] = []
        var refused: [Int: SignatureTrustError] = [:]
        for (index, anchor) in policy.anchors.enumerated() {
            var member = CertificatePool.Member(der: anchor.der, offset: nil)
            try member.load(policy.algorithms)
            if let handle = member.handle {
                anchors.append(anchor)
                handles.append(handle)
            } else {
                refused[index] = member.fault
            }
        }
        guard !handles.isEmpty else { throw SignatureTrustError(.untrustedChain) }
        return (try CMSChainValidator(policy, anchors, handles), refused)
    }

    private init(
        _ policy: CMSPolicy, _ anchors: [TrustAnchor], _ handles: [CertificateHandle]
    ) throws(SignatureTrustError) {
        self.policy = policy
        self.anchors = anchors
        validator = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try ChainValidator(anchors: handles)
        }
        var additional: [CertificatePool.Member] = []
        for der in policy.additionalCertificates {
            var member = CertificatePool.Member(der: der, offset: nil)
            try member.withView { (_) throws(SignatureTrustError) in }
            try member.load(policy.algorithms)
            additional.append(member)
        }
        self.additional = additional
        var lists: [RevocationList] = []
        for (index, der) in policy.revocationLists.enumerated() {
            do throws(SignatureTrustError) {
                lists.append(try Self.revocationList(der, policy.algorithms))
            } catch {
                throw SignatureTrustError(error.kind, path: ASN1Path(.crls, index: index))
            }
        }
        revocationLists = lists
    }

    private static func revocationList(
        _ der: [UInt8], _ algorithms: AlgorithmPolicy
    ) throws(SignatureTrustError) -> RevocationList {
        let list: CertificateRevocationList
        let misreading: SignatureTrustError.Kind?
        do throws(ASN1DecodingError) {
            list = try CertificateRevocationList(der.span)
            misreading = try list.misreading()
        } catch {
            throw SignatureTrustError(.malformedRevocationList)
        }
        if let misreading { throw SignatureTrustError(misreading) }
        _ = try algorithms.signatureAlgorithm(list.signatureAlgorithm)
        return try SignatureTrustError.calling { () throws(LibcryptoError) in try RevocationList(der: der.span) }
    }
}

extension CMSChainValidator {
    /// The chain from a certificate of the pool to an anchor, at the given date.
    func path(
        from signer: Int, in pool: inout CertificatePool, at date: Instant
    ) throws(SignatureTrustError) -> CMSPath {
        try pool.load(policy.algorithms)
        let member = pool.members[signer]
        guard let leaf = member.handle else { throw member.fault ?? SignatureTrustError(.malformedCertificate) }
        var candidates: [CertificatePool.Member] = []
        var handles: [CertificateHandle] = []
        for candidate in pool.members {
            guard let handle = candidate.handle else { continue }
            candidates.append(candidate)
            handles.append(handle)
        }
        switch try validate(leaf, handles, date) {
        case .invalid(let fault, let depth):
            // An issuer that libcrypto never saw explains the gap better.
            if fault == .noIssuer, let reason = try pool.faultOfMissingIssuer() { throw reason }
            throw SignatureTrustError(SignatureTrustError.Kind(fault), offset: depth == 0 ? member.offset : nil)
        case .valid(let links):
            let path = links.map { link in
                switch link {
                case .leaf: member
                case .untrusted(let index): candidates[index]
                case .anchor(let index): CertificatePool.Member(der: anchors[index].der, offset: nil)
                }
            }
            return try check(path, endsAtAnchor: links.last)
        }
    }

    private func validate(
        _ leaf: CertificateHandle, _ untrusted: [CertificateHandle], _ date: Instant
    ) throws(SignatureTrustError) -> ChainResult {
        let checksRevocation = policy.revocation != .none
        // Without lists libcrypto would check nothing.
        if checksRevocation, revocationLists.isEmpty { throw SignatureTrustError(.missingRevocationList) }
        return try SignatureTrustError.calling { () throws(LibcryptoError) in
            try validator.validate(
                leaf: leaf, untrusted: untrusted, secondsSince1970: date.secondsSince1970,
                revocationLists: checksRevocation ? revocationLists : [],
                revocationScope: policy.revocation == .chain ? .chain : .leaf,
                maximumIntermediates: policy.limits.maximumIntermediateCount)
        }
    }

    /// What libcrypto leaves open, of a path that it found good.
    private func check(
        _ path: [CertificatePool.Member], endsAtAnchor last: ChainLink?
    ) throws(SignatureTrustError) -> CMSPath {
        guard case .anchor = last, let signer = path.first, let anchor = path.last else {
            throw SignatureTrustError(.untrustedChain)
        }
        for (position, member) in path.enumerated() {
            let isAnchor = position == path.count - 1
            try member.withView { (certificate) throws(SignatureTrustError) in
                if try policy.distrusted.contains(Fingerprint(of: member.der.span)) {
                    throw certificate.error(.distrustedCertificate)
                }
                if position == 0 {
                    try checkSigner(certificate)
                } else if !isAnchor {
                    try checkIntermediate(certificate)
                }
                // The anchor's own signature is nobody's reason to trust it.
                if !isAnchor { _ = try policy.algorithms.signatureAlgorithm(certificate.signatureAlgorithm) }
            }
        }
        return CMSPath(
            certificates: path.map(\.der), fingerprint: try Fingerprint(of: signer.der.span),
            anchorFingerprint: try Fingerprint(of: anchor.der.span))
    }

    private func checkSigner(_ certificate: CertificateView) throws(SignatureTrustError) {
        let usage = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try certificate.keyUsage() }
        // RFC 8550, 4.4.2: either bit will do for a signature over a document.
        if let usage, usage.isDisjoint(with: [.digitalSignature, .contentCommitment]) {
            throw certificate.error(.invalidKeyUsage)
        }
        let stated = try certificate.hasExtension(.extendedKeyUsage)
        if policy.purposes.isEmpty || (!stated && policy.allowsUnstatedPurposes) { return }
        try checkPurposes(certificate)
    }

    private func checkIntermediate(_ certificate: CertificateView) throws(SignatureTrustError) {
        guard try certificate.isAuthority() else { throw certificate.error(.invalidIssuer) }
        if try certificate.hasExtension(.extendedKeyUsage) { try checkPurposes(certificate) }
    }

    private func checkPurposes(_ certificate: CertificateView) throws(SignatureTrustError) {
        for purpose in policy.purposes {
            let isStated = try SignatureTrustError.reading { () throws(ASN1DecodingError) in
                try certificate.states(purpose: purpose)
            }
            guard isStated else { throw certificate.error(.invalidExtendedKeyUsage) }
        }
    }
}
