import LibcryptoHandles
import SignatureTrust
import SpanASN1
import SpanPKCS7

/// A validated chain from a signer's certificate to an anchor.
struct CMSPath {
    let certificates: [[UInt8]]
    let fingerprint: Fingerprint
    let anchorFingerprint: Fingerprint
}

/// Finds chains for ``CMSVerifier`` and validates them: libcrypto validates a path, and this type checks what libcrypto does not.
struct CMSChainValidator: Sendable {
    let additional: [CertificatePool.Member]
    private let policy: CMSPolicy
    private let anchors: [CMSAnchor]
    private let revocationLists: [RevocationList]

    static func make(
        _ policy: CMSPolicy
    ) throws(SignatureTrustError) -> (CMSChainValidator, refusedAnchors: [Int: SignatureTrustError]) {
        var anchors: [CMSAnchor] = []
        var refused: [Int: SignatureTrustError] = [:]
        for (index, anchor) in policy.anchors.enumerated() {
            var member = CertificatePool.Member(der: anchor.der, offset: nil)
            try member.load(policy.algorithms)
            if let handle = member.handle, try handle.isRoot() {
                let validator = try SignatureTrustError.calling { () throws(LibcryptoError) in
                    try ChainValidator(anchor: handle)
                }
                anchors.append(CMSAnchor(der: anchor.der, handle: handle, validator: validator))
            } else {
                refused[index] = member.fault ?? SignatureTrustError(.anchorNotSelfSigned)
            }
        }
        if anchors.isEmpty {
            let (index, fault) = refused.min { $0.key < $1.key } ?? (0, SignatureTrustError(.untrustedChain))
            throw SignatureTrustError(fault.kind, path: ASN1Path(.certificates, index: index))
        }
        return (try CMSChainValidator(policy, anchors), refused)
    }

    private init(_ policy: CMSPolicy, _ anchors: [CMSAnchor]) throws(SignatureTrustError) {
        self.policy = policy
        self.anchors = anchors
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
    /// Returns the paths from the certificates of a message and of the policy to the anchors.
    func search(_ pool: inout CertificatePool) throws(SignatureTrustError) -> CMSPathSearch {
        try pool.load(policy.algorithms)
        return CMSPathSearch(pool.members, anchors, policy.limits)
    }

    /// Returns the first valid path from a certificate to an anchor at a date.
    ///
    /// - Throws: If no path is valid, the error of the path that passed the most checks.
    func path(
        from signer: CertificatePool.Member, in pool: CertificatePool, _ search: inout CMSPathSearch,
        at date: Instant
    ) throws(SignatureTrustError) -> CMSPath {
        guard let index = search.index(of: signer) else {
            throw signer.fault ?? SignatureTrustError(.malformedCertificate)
        }
        // Without revocation lists, libcrypto would check nothing.
        if policy.revocation != .none, revocationLists.isEmpty { throw SignatureTrustError(.missingRevocationList) }
        let certificates = search.certificates
        var best = SignatureTrustError(.untrustedChain, offset: signer.offset)
        do throws(SignatureTrustError) {
            let found = try search.firstResult(from: index) { (path) throws(SignatureTrustError) -> CMSPath? in
                do throws(SignatureTrustError) {
                    return try validate(path.certificates.map { certificates[$0] }, anchors[path.anchor], date)
                } catch {
                    if error.kind.isHostFault { throw error }
                    if error.kind.explainsMore(than: best.kind) { best = error }
                    return nil
                }
            }
            if let found { return found }
        } catch {
            // If an issuer was refused before the search, its fault explains the missing path better.
            if error.kind == .untrustedChain, let fault = try pool.faultOfMissingIssuer() { throw fault }
            throw error
        }
        throw best
    }

    /// Validates one path.
    ///
    /// - Parameter path: The certificates from the signer's to the last one below the anchor. If the signer's is the anchor, it is the only one.
    private func validate(
        _ path: [CMSPathSearch.Certificate], _ anchor: CMSAnchor, _ date: Instant
    ) throws(SignatureTrustError) -> CMSPath {
        guard let signer = path.first else { throw SignatureTrustError(.untrustedChain) }
        let checksRevocation = policy.revocation != .none
        let result = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try anchor.validator.validate(
                leaf: signer.handle, untrusted: path.dropFirst().map(\.handle),
                secondsSince1970: date.secondsSince1970,
                revocationLists: checksRevocation ? revocationLists : [],
                revocationScope: policy.revocation == .chain ? .chain : .leaf,
                certificatePolicies: policy.certificatePolicies.map { $0.content },
                maximumIntermediates: policy.limits.maximumIntermediateCount)
        }
        switch result {
        case .invalid(let fault, let depth):
            let offset = path.indices.contains(depth) ? path[depth].member.offset : nil
            throw SignatureTrustError(SignatureTrustError.Kind(fault), offset: offset)
        case .valid(let links):
            let members = links.map { link in
                switch link {
                case .leaf: signer.member
                case .untrusted(let index): path[index + 1].member
                case .anchor: CertificatePool.Member(der: anchor.der, offset: nil)
                }
            }
            guard links.last == .anchor else {
                throw SignatureTrustError(.untrustedChain, offset: signer.member.offset)
            }
            return try check(members)
        }
    }

    /// Checks what libcrypto does not check in a path that it found valid.
    private func check(_ path: [CertificatePool.Member]) throws(SignatureTrustError) -> CMSPath {
        guard let signer = path.first, let anchor = path.last else { throw SignatureTrustError(.untrustedChain) }
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
                // An anchor is trusted whatever its own signature is.
                if !isAnchor { _ = try policy.algorithms.signatureAlgorithm(certificate.signatureAlgorithm) }
            }
        }
        return CMSPath(
            certificates: path.map(\.der), fingerprint: try Fingerprint(of: signer.der.span),
            anchorFingerprint: try Fingerprint(of: anchor.der.span))
    }

    private func checkSigner(_ certificate: Certificate) throws(SignatureTrustError) {
        let usage = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try certificate.keyUsage() }
        // RFC 8550, 4.4.2: one of the two bits is enough.
        if let usage, usage.isDisjoint(with: [.digitalSignature, .contentCommitment]) {
            throw certificate.error(.invalidKeyUsage)
        }
        let stated = try certificate.hasExtension(.extendedKeyUsage)
        if policy.purposes.isEmpty || (!stated && policy.allowsUnstatedPurposes) { return }
        try checkPurposes(certificate)
    }

    private func checkIntermediate(_ certificate: Certificate) throws(SignatureTrustError) {
        guard try certificate.isAuthority() else { throw certificate.error(.invalidIssuer) }
        if try certificate.hasExtension(.extendedKeyUsage) { try checkPurposes(certificate) }
    }

    private func checkPurposes(_ certificate: Certificate) throws(SignatureTrustError) {
        for purpose in policy.purposes {
            let isStated = try SignatureTrustError.reading { () throws(ASN1DecodingError) in
                try certificate.hasPurpose(purpose)
            }
            guard isStated else { throw certificate.error(.invalidExtendedKeyUsage) }
        }
    }
}
