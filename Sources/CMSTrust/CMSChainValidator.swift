import LibcryptoHandles
import SignatureTrust
import Instants
import SpanASN1
import SpanPKCS7

/// A validated chain from a signer's certificate to an anchor.
struct CMSPath {
    let certificates: [[UInt8]]
    let fingerprint: Fingerprint
    let anchorFingerprint: Fingerprint
}

/// Finds chains for ``CMSVerifier`` and validates them: libcrypto validates a path, and this type checks what libcrypto
/// does not.
struct CMSChainValidator: Sendable {
    let additional: [CertificatePool.Member]
    private let policy: CMSPolicy
    private let anchors: [CMSAnchor]
    private let revocationLists: [RevocationList]

    static func make(
        _ policy: CMSPolicy
    ) throws(CMSTrustError) -> (CMSChainValidator, refusedAnchors: [Int: CMSTrustError]) {
        var anchors: [CMSAnchor] = []
        var refused: [Int: CMSTrustError] = [:]
        for (index, anchor) in policy.anchors.enumerated() {
            var member = CertificatePool.Member(der: anchor.der, offset: nil)
            try member.load(policy.algorithms)
            if let handle = member.handle,
                try CMSTrustError.trusting({ () throws(SignatureTrustError) in try handle.isRoot() })
            {
                let validator = try CMSTrustError.calling { () throws(LibcryptoError) in
                    try ChainValidator(anchor: handle)
                }
                anchors.append(CMSAnchor(der: anchor.der, handle: handle, validator: validator))
            } else {
                refused[index] = member.fault ?? CMSTrustError(.signature(.anchorNotSelfSigned))
            }
        }
        if anchors.isEmpty {
            let (index, fault) = refused.min { $0.key < $1.key } ?? (0, CMSTrustError(.signature(.untrustedChain)))
            throw CMSTrustError(fault.kind, path: ASN1Path(.certificates, index: index))
        }
        return (try CMSChainValidator(policy, anchors), refused)
    }

    private init(_ policy: CMSPolicy, _ anchors: [CMSAnchor]) throws(CMSTrustError) {
        self.policy = policy
        self.anchors = anchors
        var additional: [CertificatePool.Member] = []
        for der in policy.additionalCertificates {
            var member = CertificatePool.Member(der: der, offset: nil)
            // Refuses a malformed certificate here: `load` keeps the fault for later, when it would only be a missing
            // issuer.
            try member.withView { (_) throws(CMSTrustError) in }
            try member.load(policy.algorithms)
            additional.append(member)
        }
        self.additional = additional
        var lists: [RevocationList] = []
        for (index, der) in policy.revocationLists.enumerated() {
            do throws(CMSTrustError) {
                lists.append(try Self.revocationList(der, policy.algorithms))
            } catch {
                throw CMSTrustError(error.kind, path: ASN1Path(.crls, index: index))
            }
        }
        revocationLists = lists
    }

    private static func revocationList(
        _ der: [UInt8], _ algorithms: AlgorithmPolicy
    ) throws(CMSTrustError) -> RevocationList {
        let list: CertificateRevocationList
        let misreading: CMSFault?
        do throws(ASN1DecodingError) {
            list = try CertificateRevocationList(der.span)
            misreading = try list.misreading()
        } catch {
            throw CMSTrustError(.message(.malformedRevocationList))
        }
        if let misreading { throw CMSTrustError(.message(misreading)) }
        _ = try CMSTrustError.trusting { () throws(SignatureTrustError) in
            try algorithms.signatureAlgorithm(list.signatureAlgorithm)
        }
        return try CMSTrustError.calling { () throws(LibcryptoError) in try RevocationList(der: der.span) }
    }
}

extension CMSChainValidator {
    /// Returns the paths from the certificates of a message and of the policy to the anchors.
    func search(_ pool: inout CertificatePool) throws(CMSTrustError) -> CMSPathSearch {
        try pool.load(policy.algorithms)
        return CMSPathSearch(pool.members, anchors, policy.limits)
    }

    /// Returns the first valid path from a certificate to an anchor at a date.
    ///
    /// - Throws: If no path is valid, the error of the path that passed the most checks.
    func path(
        from signer: CertificatePool.Member, in pool: CertificatePool, _ search: inout CMSPathSearch,
        at date: Instant
    ) throws(CMSTrustError) -> CMSPath {
        guard let index = search.index(of: signer) else {
            throw signer.fault ?? CMSTrustError(.signature(.malformedCertificate))
        }
        // Without revocation lists, libcrypto would check nothing.
        if policy.revocation != .none, revocationLists.isEmpty { throw CMSTrustError(.message(.missingRevocationList)) }
        let certificates = search.certificates
        var best = CMSTrustError(.signature(.untrustedChain), offset: signer.offset)
        do throws(CMSTrustError) {
            let found = try search.firstResult(from: index) { (path) throws(CMSTrustError) -> CMSPath? in
                do throws(CMSTrustError) {
                    return try validate(path.certificates.map { certificates[$0] }, anchors[path.anchor], date)
                } catch {
                    if error.kind.isHostFault { throw error }
                    if error.kind.isNearerToValid(than: best.kind) { best = error }
                    return nil
                }
            }
            if let found { return found }
        } catch {
            // If an issuer was refused before the search, its fault explains the missing path better.
            if error.kind == .signature(.untrustedChain), let fault = try pool.faultOfMissingIssuer() { throw fault }
            throw error
        }
        throw best
    }

    /// Validates one path.
    ///
    /// - Parameter path: The certificates from the signer's to the last one below the anchor. If the signer's is the
    ///   anchor, it is the only one.
    private func validate(
        _ path: [CMSPathSearch.Certificate], _ anchor: CMSAnchor, _ date: Instant
    ) throws(CMSTrustError) -> CMSPath {
        guard let signer = path.first else { throw CMSTrustError(.signature(.untrustedChain)) }
        let checksRevocation = policy.revocation != .none
        let result = try CMSTrustError.calling { () throws(LibcryptoError) in
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
            throw CMSTrustError(CMSTrustError.Kind(fault), offset: offset)
        case .valid(let links):
            let members = links.map { link in
                switch link {
                case .leaf: signer.member
                case .untrusted(let index): path[index + 1].member
                case .anchor: CertificatePool.Member(der: anchor.der, offset: nil)
                }
            }
            guard links.last == .anchor else {
                throw CMSTrustError(.signature(.untrustedChain), offset: signer.member.offset)
            }
            return try check(members)
        }
    }

    /// Checks what libcrypto does not check in a path that it found valid.
    private func check(_ path: [CertificatePool.Member]) throws(CMSTrustError) -> CMSPath {
        guard let signer = path.first, let anchor = path.last else { throw CMSTrustError(.signature(.untrustedChain)) }
        for (position, member) in path.enumerated() {
            let isAnchor = position == path.count - 1
            try member.withView { (certificate) throws(CMSTrustError) in
                if try policy.distrusted.contains(Self.fingerprint(of: member)) {
                    throw certificate.error(.signature(.distrustedCertificate))
                }
                if position == 0 {
                    try checkSigner(certificate)
                } else if !isAnchor {
                    try checkIntermediate(certificate)
                }
                // An anchor is trusted whatever its own signature is.
                if isAnchor { return }
                _ = try CMSTrustError.trusting { () throws(SignatureTrustError) in
                    try policy.algorithms.signatureAlgorithm(certificate.signatureAlgorithm)
                }
            }
        }
        return CMSPath(
            certificates: path.map(\.der), fingerprint: try Self.fingerprint(of: signer),
            anchorFingerprint: try Self.fingerprint(of: anchor))
    }

    private static func fingerprint(of member: CertificatePool.Member) throws(CMSTrustError) -> Fingerprint {
        try CMSTrustError.trusting { () throws(SignatureTrustError) in try Fingerprint(of: member.der.span) }
    }

    private func checkSigner(_ certificate: Certificate) throws(CMSTrustError) {
        let usage = try CMSTrustError.reading { () throws(ASN1DecodingError) in try certificate.keyUsage() }
        // RFC 8550, 4.4.2: one of the two bits is enough.
        if let usage, usage.isDisjoint(with: [.digitalSignature, .contentCommitment]) {
            throw certificate.error(.signature(.invalidKeyUsage))
        }
        let stated = try CMSTrustError.trusting { () throws(SignatureTrustError) in
            try certificate.hasExtension(.extendedKeyUsage)
        }
        if !stated, policy.allowsUnstatedPurposes { return }
        try checkPurposes(certificate)
    }

    private func checkIntermediate(_ certificate: Certificate) throws(CMSTrustError) {
        let isAuthority = try CMSTrustError.trusting { () throws(SignatureTrustError) in try certificate.isAuthority() }
        guard isAuthority else { throw certificate.error(.signature(.invalidIssuer)) }
        let stated = try CMSTrustError.trusting { () throws(SignatureTrustError) in
            try certificate.hasExtension(.extendedKeyUsage)
        }
        if stated { try checkPurposes(certificate) }
    }

    private func checkPurposes(_ certificate: Certificate) throws(CMSTrustError) {
        for purpose in policy.purposes {
            let isStated = try CMSTrustError.reading { () throws(ASN1DecodingError) in
                try certificate.hasPurpose(purpose)
            }
            guard isStated else { throw certificate.error(.message(.invalidExtendedKeyUsage)) }
        }
    }
}
