import AppStoreReceiptTesting
import Sampling
import SignatureTrust
import SpanPKCS7
import TestSupport
import Testing

@testable import CMSTrust

/// Which of the certificates at hand lead to an anchor: their order decides nothing, and strangers among them neither.
@Suite struct CMSPathTests {
    let authority: TestCertificateAuthority
    let policy: CMSPolicy

    init() throws {
        // The leaf does not say which key issued it: the intermediate's name is all there is.
        authority = try MintedChain.authority {
            $0.shape.leaf.removeExtensions(.authorityKeyIdentifier)
            $0.shape.leaf.extensions.append(.extendedKeyUsage(.emailProtection))
        }
        var policy = CMSPolicy(anchors: [try authority.trustAnchor])
        policy.purposes = [.emailProtection]
        self.policy = policy
    }

    private func code(_ certificates: [[UInt8]], _ policy: CMSPolicy? = nil) throws -> String? {
        var builder = SignedDataBuilder(by: authority)
        builder.certificates = certificates
        return try CMSMessages.refusal(builder.encoded(), policy ?? self.policy)?.code.rawValue
    }

    /// A certificate of the intermediate's name.
    private func namesake(
        _ serial: UInt8, by issuer: SigningIdentity? = nil, key: SigningKey? = nil,
        _ change: (inout CertificateSpecification) -> Void = { _ in }
    ) throws -> SigningIdentity {
        var specification = TestCertificateAuthority.Shape().intermediate
        specification.serialNumber = [serial]
        change(&specification)
        return try specification.issue(key: key ?? authority.intermediate.key, by: issuer ?? authority.root)
    }

    private func stranger() throws -> SigningIdentity {
        try TestCertificateAuthority.Shape().root.issue(key: MintedChain.strangerKey)
    }

    private func namesakes() throws -> [[UInt8]] {
        try [
            namesake(1, by: stranger(), key: MintedChain.strangerKey),
            namesake(2) { $0.extensions.append(.extendedKeyUsage(.codeSigning)) },
            namesake(3) { $0.digest = .sha1 },
            namesake(4) { $0.replaceExtension(.basicConstraints(isAuthority: false)) },
        ].map(\.certificate)
    }

    private func permutations(_ elements: [[UInt8]]) -> [[[UInt8]]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { index in
            var rest = elements
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }

    @Test func `whatever the order of the certificates, a genuine message is verified`() throws {
        let certificates = [authority.leaf.certificate, authority.intermediate.certificate] + (try namesakes())
        // One in seven still has every certificate in every place.
        for order in Sampling.share(permutations(certificates), of: "certificate-orders") {
            #expect(try code(order) == nil)
        }
    }

    @Test func `whatever the order of the certificates, one that is not is refused with one code`() throws {
        let namesakes = try namesakes()
        for missing in namesakes.indices {
            var certificates = namesakes
            certificates.remove(at: missing)
            let codes = try Set(permutations([authority.leaf.certificate] + certificates).map { try code($0) })
            #expect(codes.count == 1 && !codes.contains(nil), "\(codes)")
        }
    }

    @Test func `of two anchors of one name the one that completes the path counts, whatever their order`() throws {
        let other = try TrustAnchor(der: stranger().certificate)
        let renewed = try TrustAnchor(
            der: MintedChain.authority { $0.shape.root.serialNumber = [0x77] }.root.certificate)
        let genuine = try authority.trustAnchor
        for anchors in [[other, genuine], [genuine, other], [renewed, other], [other, renewed]] {
            var policy = policy
            policy.anchors = anchors
            #expect(try code(authority.certificates, policy) == nil)
        }
    }

    @Test func `a refused certificate explains a missing path if it has its issuer's name, and nothing else`() throws {
        func refused(_ subject: DistinguishedName? = nil) throws -> [UInt8] {
            try namesake(9) {
                $0.subjectPublicKeyInfo = CMSMessages.weakKey
                if let subject { $0.subject = subject }
            }.certificate
        }
        let (leaf, whole) = (authority.leaf.certificate, try authority.certificates + [refused()])
        let other = DistinguishedName(.commonName("Other"))
        let rows: [(certificates: [[UInt8]], maximumIntermediateCount: Int, code: String?)] = try [
            ([leaf, refused()], 8, "weak-key"), ([leaf, refused(other)], 8, "untrusted-chain"), (whole, 8, nil),
            (whole, 0, "invalid-chain-length"),
        ]
        for (certificates, maximum, expected) in rows {
            var policy = policy
            policy.limits.maximumIntermediateCount = maximum
            #expect(try code(certificates, policy) == expected)
        }
    }

    // MARK: What it costs

    @Test func `a signer that is an anchor is trusted without a check of its signature`() throws {
        let root = try MintedChain.authority {
            $0.shape.root.replaceExtension(.keyUsage([.digitalSignature, .keyCertSign]))
        }.root
        var policy = CMSPolicy(anchors: [try TrustAnchor(der: root.certificate)])
        policy.limits.maximumIssuerCheckCount = 0
        let builder = SignedDataBuilder(
            content: [1], certificates: [root.certificate], signers: [SignedDataBuilder.Signer(root)])
        #expect(try CMSMessages.refusal(builder.encoded(), policy) == nil)
    }

    @Test func `the content is digested once for all signers`() throws {
        func time(_ signerCount: Int) throws -> Duration {
            let content = [UInt8](repeating: 0x5A, count: 48 << 20)
            let builder = try SignedDataBuilder(
                content: content, certificates: Minted.ellipticAuthority.certificates,
                signers: Array(repeating: CMSMessages.signer(Minted.ellipticAuthority.leaf), count: signerCount))
            let (message, policy) = (try builder.encoded(), try CMSMessages.policy(Minted.ellipticAuthority))
            return try processorTime { _ = try CMSMessages.verify(message, policy) }
        }
        let (one, many) = (try time(1), try time(16))
        #expect(many < one * 4, "\(one) for one, \(many) for 16")
    }

    @Test func `certificates of the policy are read once, and not for each message`() throws {
        var policy = policy
        policy.additionalCertificates = [authority.intermediate.certificate]
        let additional = try CMSVerifier(policy: policy).chains.additional
        var pool = CertificatePool([], additional)
        try pool.load(policy.algorithms)
        #expect(pool.members[0].handle != nil && pool.members[0].handle === additional[0].handle)
    }

    @Test func `signatures to check are limited in number`() throws {
        // The intermediate's by the anchor, and the leaf's by the intermediate.
        for (limit, expected) in [(0, "too-many-paths"), (1, "too-many-paths"), (2, nil)] {
            var policy = policy
            policy.limits.maximumIssuerCheckCount = limit
            #expect(try code(authority.certificates, policy) == expected, "\(limit) checks")
        }
    }

    @Test func `paths to check are limited in number`() throws {
        // Two anchors of one name and key give two paths, both without the purpose that is asked for.
        let renewed = try MintedChain.authority { $0.shape.root.serialNumber = [0x77] }.trustAnchor
        for (limit, expected) in [(1, "too-many-paths"), (2, "invalid-extended-key-usage")] {
            var policy = policy
            policy.anchors.append(renewed)
            policy.purposes = [.codeSigning]
            policy.limits.maximumPathCount = limit
            #expect(try code(authority.certificates, policy) == expected, "\(limit) paths")
        }
    }

    /// Two layers of four certificates, all of one key in a layer: 16 paths. The first leads to the anchor.
    @Test func `unfinished paths are limited in number`() throws {
        let key = try MintedChain.strangerKey
        let upper = try (1...4 as ClosedRange<UInt8>).map { serial in
            try namesake(serial, key: key) {
                $0.subject = DistinguishedName(.commonName("Upper"))
                $0.replaceExtension(.basicConstraints(isAuthority: true))
            }
        }
        let lower = try (5...8 as ClosedRange<UInt8>).map { try namesake($0, by: upper[0]) }
        let all = [authority.leaf.certificate] + (lower + upper).map(\.certificate)
        for (limit, expected) in [(15, "too-many-paths"), (16, nil)] {
            var policy = policy
            policy.limits.maximumPathCount = limit
            #expect(try code(all, policy) == expected, "\(limit) paths")
        }
    }

    @Test func `a certificate stands in a path once`() throws {
        // The intermediate and another authority certify each other, and the root certifies the intermediate.
        func bridge(
            _ serial: UInt8, by issuer: SigningIdentity, _ change: (inout CertificateSpecification) -> Void = { _ in }
        ) throws -> SigningIdentity {
            try namesake(serial, by: issuer, key: serial == 2 ? MintedChain.strangerKey : nil) {
                $0.replaceExtension(.basicConstraints(isAuthority: true))
                change(&$0)
            }
        }
        let direct = try bridge(1, by: authority.root)
        let other = try bridge(2, by: direct) { $0.subject = DistinguishedName(.commonName("Other")) }
        let around = try bridge(3, by: other)
        let all = [authority.leaf, direct, other, around].map(\.certificate)
        // From the leaf over the intermediate, and around over the other authority.
        for (limit, expected) in [(1, "too-many-paths"), (2, "invalid-extended-key-usage")] {
            var policy = policy
            policy.purposes = [.codeSigning]
            policy.limits.maximumPathCount = limit
            #expect(try code(all, policy) == expected, "\(limit) paths")
        }
    }

    @Test func `a signature of a certificate is checked once for all signers`() throws {
        var builder = SignedDataBuilder(by: authority)
        var specification = TestCertificateAuthority.Shape().leaf
        specification.serialNumber = [0x42]
        specification.extensions.append(.extendedKeyUsage(.emailProtection))
        let second = try specification.issue(key: MintedChain.strangerKey, by: authority.intermediate)
        builder.signers.append(SignedDataBuilder.Signer(second))
        builder.certificates?.append(second.certificate)
        let message = try builder.encoded()
        // The intermediate's by the anchor, and each leaf's by the intermediate.
        for (limit, expected) in [(2, "too-many-paths"), (3, nil)] {
            var policy = policy
            policy.limits.maximumIssuerCheckCount = limit
            #expect(try CMSMessages.refusal(message, policy)?.code.rawValue == expected, "\(limit) checks")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `strangers cannot make a genuine message too dear, whatever they issue each other`() throws {
        // Each names each as its issuer, and with one key all of them are right.
        let key = try MintedChain.strangerKey
        let issuer = try namesake(0x60, by: stranger(), key: key)
        var strangers: [[UInt8]] = []
        for serial in 1...61 as ClosedRange<UInt8> {
            strangers.append(
                try namesake(serial, by: issuer, key: key) { $0.removeExtensions(.authorityKeyIdentifier) }.certificate)
        }
        let chain = [authority.leaf.certificate, authority.intermediate.certificate]
        #expect(try code(strangers + chain) == nil)
        #expect(try code(chain + strangers) == nil)
        // The genuine intermediate's public key is everybody's; its signature is not.
        let copies = try (1...61 as ClosedRange<UInt8>).map { serial in
            try namesake(serial, by: issuer) { $0.removeExtensions(.authorityKeyIdentifier) }.certificate
        }
        #expect(try code(copies + chain) == nil)
        #expect(try code(copies + [authority.leaf.certificate]) != nil)
    }

    @Test(.timeLimit(.minutes(10)))
    func `an authority that issues itself many times is refused by number`() throws {
        // All genuine, all of one name and key: paths grow like a factorial.
        let many = try (1...40 as ClosedRange<UInt8>).map { serial in
            try namesake(serial, by: authority.intermediate) {
                $0.removeExtensions(.authorityKeyIdentifier)
                $0.replaceExtension(.basicConstraints(isAuthority: true))
                $0.extensions.append(.extendedKeyUsage(.codeSigning))
            }.certificate
        }
        let root = try namesake(0x70) {
            $0.replaceExtension(.basicConstraints(isAuthority: true))
            $0.extensions.append(.extendedKeyUsage(.codeSigning))
        }.certificate
        #expect(try code([authority.leaf.certificate, root] + many) == "too-many-paths")
        #expect(try code(many.reversed() + [root, authority.leaf.certificate]) == "too-many-paths")
        var policy = policy
        policy.limits.maximumIssuerCheckCount = 10_000
        #expect(try code([authority.leaf.certificate, root] + many, policy) == "too-many-paths")
        policy.limits.maximumPathCount = 10_000
        policy.limits.maximumIntermediateCount = 2
        #expect(try code([authority.leaf.certificate, root] + many, policy) == "invalid-extended-key-usage")
    }
}
