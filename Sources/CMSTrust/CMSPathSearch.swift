import LibcryptoHandles
import SignatureTrust
import SpanPKCS7

/// An anchor that can end a path.
struct CMSAnchor: Sendable {
    let der: [UInt8]
    let handle: CertificateHandle
    let validator: ChainValidator
}

/// The paths from signers' certificates to anchors, among the available certificates of one message.
///
/// The order of the certificates does not change the result: copies count once, and the others are sorted by their
/// bytes. Before a path is built, signatures determine the issuers, from the anchors down. Therefore a certificate
/// without an anchor costs one check for each genuine issuer that it names, and is in no path, whatever names it has.
///
/// The work is bounded for a message as a whole: by ``CMSLimits/maximumIssuerCheckCount`` and
/// ``CMSLimits/maximumPathCount``.
struct CMSPathSearch {
    /// The certificates from a signer's to the last below the anchor, and the anchor, as indices of ``certificates``
    /// and ``anchors``.
    struct Path {
        let certificates: [Int]
        let anchor: Int
    }

    /// A certificate that libcrypto has read. A copy of an anchor can be a signer's certificate, but is not tried as an
    /// issuer.
    struct Certificate {
        let member: CertificatePool.Member
        let handle: CertificateHandle
        let isAnchor: Bool
    }

    let certificates: [Certificate]
    let anchors: [CMSAnchor]
    private let limits: CMSLimits
    private var checkCount = 0
    private var pathCount = 0
    /// The possible issuers of a certificate by name, once they were determined.
    private var candidates: [Int: (issuers: [Int], anchors: [Int])] = [:]
    /// Whether an issuer's key signed a certificate, once that was checked.
    private var signatures: [Link: Bool] = [:]

    private struct Link: Hashable {
        let certificate: Int
        let issuer: Issuer
    }

    private enum Issuer: Hashable {
        case certificate(Int)
        case anchor(Int)
    }

    /// - Parameter members: all available certificates. libcrypto has read those that the policy allows.
    init(_ members: [CertificatePool.Member], _ anchors: [CMSAnchor], _ limits: CMSLimits) {
        self.anchors = anchors
        self.limits = limits
        var certificates: [Certificate] = []
        // Of equal certificates, keep the first in the message, because errors have its offset.
        var known: Set<[UInt8]> = []
        for member in members {
            guard let handle = member.handle, known.insert(member.der).inserted else { continue }
            let isAnchor = anchors.contains { $0.der == member.der }
            certificates.append(Certificate(member: member, handle: handle, isAnchor: isAnchor))
        }
        self.certificates = certificates.sorted { $0.member.der.lexicographicallyPrecedes($1.member.der) }
    }

    func index(of member: CertificatePool.Member) -> Int? { certificates.firstIndex { $0.member.der == member.der } }

    /// Calls `body` with the paths from a certificate, shorter ones first, until it returns a result.
    ///
    /// - Returns: The result; `nil` if `body` returned `nil` for all paths.
    /// - Throws: What `body` throws. If there is no path: `invalid-chain-length` if all paths are longer than allowed,
    ///   `invalid-certificate-signature` if a certificate names a trusted issuer that did not sign it, or else
    ///   `untrusted-chain`; `too-many-paths`.
    mutating func firstResult<Result>(
        from signer: Int, _ body: (Path) throws(CMSTrustError) -> Result?
    ) throws(CMSTrustError) -> Result? {
        if let anchor = anchors.firstIndex(where: { $0.der == certificates[signer].member.der }) {
            return try body(Path(certificates: [signer], anchor: anchor))
        }
        let issuers = try trustedIssuers(above: signer)
        guard issuers.distances[signer] != nil else {
            throw issuers.fault ?? error(.signature(.untrustedChain), at: signer)
        }
        var hasPath = false
        var unfinished = [[signer]]
        while !unfinished.isEmpty {
            var longer: [[Int]] = []
            for path in unfinished {
                guard let last = path.last else { continue }
                for anchor in issuers.anchors[last] ?? [] {
                    hasPath = true
                    try count(&pathCount, limits.maximumPathCount)
                    if let result = try body(Path(certificates: path, anchor: anchor)) { return result }
                }
                for issuer in issuers.issuers[last] ?? [] where !path.contains(issuer) {
                    // The intermediates so far, this one, and those between it and the nearest anchor.
                    let intermediateCount = path.count - 1 + (issuers.distances[issuer] ?? .max / 2)
                    if intermediateCount <= min(limits.maximumIntermediateCount, 100) { longer.append(path + [issuer]) }
                }
                guard longer.count <= limits.maximumPathCount else { throw CMSTrustError(.message(.tooManyPaths)) }
            }
            unfinished = longer
        }
        guard hasPath else { throw error(.signature(.invalidChainLength), at: signer) }
        return nil
    }

    private func error(_ kind: CMSTrustError.Kind, at index: Int) -> CMSTrustError {
        CMSTrustError(kind, offset: certificates[index].member.offset)
    }

    private func count(_ counter: inout Int, _ limit: Int) throws(CMSTrustError) {
        guard counter < limit else { throw CMSTrustError(.message(.tooManyPaths)) }
        counter += 1
    }
}

// MARK: - Who issued whom

extension CMSPathSearch {
    /// The paths from the anchors down to one certificate.
    private struct TrustedIssuers {
        /// The issuers of a certificate that have a path to an anchor.
        var issuers: [Int: [Int]] = [:]
        /// The anchors that issued a certificate.
        var anchors: [Int: [Int]] = [:]
        /// The minimum number of certificates in a path from a certificate to an anchor, without the anchor.
        var distances: [Int: Int] = [:]
        /// The best explanation why a certificate has no path.
        var fault: CMSTrustError?
    }

    private mutating func trustedIssuers(above signer: Int) throws(CMSTrustError) -> TrustedIssuers {
        let reached = try ancestors(of: signer)
        var result = TrustedIssuers()
        var unfinished: [Int] = []
        func add(_ certificate: Int, _ distance: Int) {
            guard result.distances[certificate] == nil else { return }
            result.distances[certificate] = distance
            unfinished.append(certificate)
        }
        for certificate in reached {
            for anchor in candidates[certificate]?.anchors ?? [] {
                if try isIssued(certificate, by: .anchor(anchor)) {
                    result.anchors[certificate, default: []].append(anchor)
                    add(certificate, 1)
                } else {
                    result.fault = result.fault ?? error(.signature(.invalidCertificateSignature), at: certificate)
                }
            }
        }
        while !unfinished.isEmpty {
            let issuer = unfinished.removeFirst()
            for certificate in reached where candidates[certificate]?.issuers.contains(issuer) == true {
                if try isIssued(certificate, by: .certificate(issuer)) {
                    result.issuers[certificate, default: []].append(issuer)
                    add(certificate, (result.distances[issuer] ?? 0) + 1)
                } else {
                    result.fault = result.fault ?? error(.signature(.invalidCertificateSignature), at: certificate)
                }
            }
        }
        return result
    }

    /// A certificate and all its possible issuers by name, directly or indirectly.
    private mutating func ancestors(of signer: Int) throws(CMSTrustError) -> [Int] {
        var reached = [signer]
        var known: Set<Int> = [signer]
        var next = 0
        while next < reached.count {
            for issuer in try candidates(for: reached[next]).issuers where known.insert(issuer).inserted {
                reached.append(issuer)
            }
            next += 1
        }
        return reached
    }

    private mutating func candidates(
        for index: Int
    ) throws(CMSTrustError) -> (issuers: [Int], anchors: [Int]) {
        if let found = candidates[index] { return found }
        let handle = certificates[index].handle
        func isPossible(_ issuer: CertificateHandle) throws(CMSTrustError) -> Bool {
            try CMSTrustError.trusting { () throws(SignatureTrustError) in try handle.mayBe(issuedBy: issuer) }
        }
        var found: (issuers: [Int], anchors: [Int]) = ([], [])
        for other in certificates.indices where other != index && !certificates[other].isAnchor {
            if try isPossible(certificates[other].handle) { found.issuers.append(other) }
        }
        for anchor in anchors.indices where try isPossible(anchors[anchor].handle) {
            found.anchors.append(anchor)
        }
        candidates[index] = found
        return found
    }

    private mutating func isIssued(_ certificate: Int, by issuer: Issuer) throws(CMSTrustError) -> Bool {
        let link = Link(certificate: certificate, issuer: issuer)
        if let known = signatures[link] { return known }
        try count(&checkCount, limits.maximumIssuerCheckCount)
        let handle =
            switch issuer {
            case .certificate(let index): certificates[index].handle
            case .anchor(let index): anchors[index].handle
            }
        let child = certificates[certificate].handle
        let isIssued = try CMSTrustError.calling { () throws(LibcryptoError) in try child.isSigned(by: handle) }
        signatures[link] = isIssued
        return isIssued
    }
}
