import AppStoreReceiptTesting
import SignatureTrust
import Instants
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// The second step: a chain of exactly three, from the signer's certificate to a pinned root.
@Suite struct PinnedChainVerifierTests {
    /// The verdict of a verifier that trusts the root of the changed chain.
    private func verdict(
        algorithms: AlgorithmPolicy = AlgorithmPolicy(), at date: Instant = .midsummer,
        message: (inout SignedDataBuilder) throws -> Void = { _ in }, _ change: (inout MintedChain) throws -> Void
    ) throws -> Verdict {
        let authority = try MintedChain.authority(change)
        var builder = SignedDataBuilder(by: authority)
        try message(&builder)
        return try PinnedChainVerifier.make(anchors: [authority.root.certificate]) { $0.algorithms = algorithms }
            .verdict(builder, at: date)
    }

    @Test func `a chain of Apple's shape is trusted, its root embedded or not, in any order`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let all = authority.certificates
        for certificates in [
            all, all.reversed(), [all[1], all[0]], [all[0], all[1]], all + all, [all[1], all[2], all[0]],
        ] {
            var builder = SignedDataBuilder(by: authority)
            builder.certificates = certificates
            let verdict = try verifier.verdict(builder)
            #expect(verdict == .accepted(leaf: all[0], intermediate: all[1], digest: .sha256))
        }
    }

    /// PITFALLS 2 and 6.
    @Test func `only a pinned root counts, not an embedded one, and not its name`() throws {
        let authority = try MintedChain.genuine.get()
        let impostor = try MintedChain.authority { $0.rootKey = try MintedChain.strangerKey }
        let genuine = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let forged = SignedDataBuilder(by: impostor)
        #expect(try genuine.verdict(forged) == .refused(.untrustedChain))
        var withGenuineRoot = forged
        withGenuineRoot.certificates?.append(authority.root.certificate)
        #expect(try genuine.verdict(withGenuineRoot) == .refused(.untrustedChain))
        // The key identifiers told them apart; without them there is only the name.
        let nameless = try MintedChain.authority {
            $0.rootKey = try MintedChain.strangerKey
            $0.shape.intermediate.removeExtensions(.authorityKeyIdentifier)
        }
        #expect(try genuine.verdict(SignedDataBuilder(by: nameless)) == .refused(.invalidCertificateSignature))
        let stranger = try MintedChain.authority {
            $0.shape.root.subject = DistinguishedName(.commonName("Another Root"))
            $0.rootKey = try MintedChain.strangerKey
        }
        #expect(try genuine.verdict(SignedDataBuilder(by: stranger)) == .refused(.untrustedChain))
        #expect(
            try PinnedChainVerifier.make(anchors: []).verdict(SignedDataBuilder(by: authority))
                == .refused(.untrustedChain))
        let apple = try PinnedChainVerifier.make(anchors: [TrustAnchor.appleRootCA.der])
        #expect(try apple.verdict(SignedDataBuilder(by: authority)) == .refused(.untrustedChain))
        // Either of two roots will do, in any order.
        let roots = [stranger.root.certificate, authority.root.certificate]
        for anchors in [roots, roots.reversed()] {
            let verifier = try PinnedChainVerifier.make(anchors: anchors)
            #expect(try verifier.verdict(SignedDataBuilder(by: authority)).isAccepted)
            #expect(try verifier.verdict(SignedDataBuilder(by: stranger)).isAccepted)
        }
    }

    /// RFC 5280, 4.1.2.4: an issuer's name is encoded as in its own certificate. libcrypto takes names for equal that
    /// are not.
    @Test func `the leaf's issuer has the intermediate's name, byte for byte`() throws {
        let name = TestCertificateAuthority.Shape().intermediate.subject
        for index in name.attributes.indices where name.attributes[index].tag == .utf8String {
            var other = name
            other.attributes[index].tag = .printableString
            #expect(try verdict { $0.shape.leaf.issuer = other } == .refused(.untrustedChain), "attribute \(index)")
            #expect(
                try verdict {
                    $0.shape.leaf.issuer = other
                    $0.shape.intermediate.subject = other
                }.isAccepted)
        }
        #expect(try verdict { $0.shape.leaf.issuer = name }.isAccepted)
        #expect(
            try verdict { $0.shape.leaf.issuer = DistinguishedName(.commonName("Another")) }
                == .refused(.untrustedChain))
    }

    /// PITFALLS 3.
    @Test func `each marker is required, on its own certificate`() throws {
        let leafMarker = CertificateSpecification.Extension.receiptSigningMarker
        let issuerMarker = CertificateSpecification.Extension.worldwideDeveloperRelationsMarker
        #expect(try verdict { $0.shape.leaf.removeExtensions(leafMarker.identifier) } == .refused(.missingLeafMarker))
        #expect(
            try verdict { $0.shape.intermediate.removeExtensions(issuerMarker.identifier) }
                == .refused(.missingIntermediateMarker))
        let swapped = try verdict {
            $0.shape.leaf.replaceExtension(issuerMarker)
            $0.shape.intermediate.replaceExtension(leafMarker)
            $0.shape.leaf.removeExtensions(leafMarker.identifier)
            $0.shape.intermediate.removeExtensions(issuerMarker.identifier)
        }
        #expect(swapped == .refused(.missingLeafMarker))
        let onTheRoot = try verdict {
            $0.shape.root.extensions += [leafMarker, issuerMarker]
            $0.shape.leaf.removeExtensions(leafMarker.identifier)
        }
        #expect(onTheRoot == .refused(.missingLeafMarker))
        #expect(try verdict { $0.shape.leaf.extensions.append(leafMarker) } != .refused(.missingLeafMarker))
        // A longer identifier that begins alike is another.
        let longer = ASN1ObjectIdentifier(content: leafMarker.identifier.content + [1])
        #expect(
            try verdict {
                $0.shape.leaf.replaceExtension(CertificateSpecification.Extension(longer, .bytes([5, 0])))
                $0.shape.leaf.removeExtensions(leafMarker.identifier)
            } == .refused(.missingLeafMarker))
    }

    /// PITFALLS 4.
    @Test func `an issuer must say that it is one, and for how long a path`() throws {
        let rows: [(SignatureTrustError.Kind?, (inout MintedChain) -> Void)] = [
            (.invalidIssuer, { $0.shape.intermediate.removeExtensions(.basicConstraints) }),
            (.invalidIssuer, { $0.shape.intermediate.replaceExtension(.basicConstraints(isAuthority: false)) }),
            // X.690, 11.1: TRUE is 0xFF. libcrypto accepts any other octet than 0.
            (
                .malformedCertificate,
                {
                    $0.shape.intermediate.replaceExtension(
                        CertificateSpecification.Extension(
                            .basicConstraints, isCritical: true, .bytes(hex("30 03 01 01 01"))))
                }
            ),
            (.invalidIssuer, { $0.shape.intermediate.replaceExtension(.keyUsage(.digitalSignature)) }),
            (.invalidIssuer, { $0.shape.root.replaceExtension(.basicConstraints(isAuthority: true, pathLength: 0)) }),
            (nil, { $0.shape.root.replaceExtension(.basicConstraints(isAuthority: true, pathLength: 1)) }),
            (nil, { $0.shape.intermediate.replaceExtension(.basicConstraints(isAuthority: true)) }),
            (nil, { $0.shape.intermediate.removeExtensions(.keyUsage) }),
            (
                .invalidIssuer,
                {
                    $0.shape.intermediate.version = 1; $0.shape.intermediate.extensions = []
                }
            ),
        ]
        for (kind, change) in rows {
            let verdict = try verdict(change)
            if let kind { #expect(verdict == .refused(kind)) } else { #expect(verdict.isAccepted) }
        }
    }

    /// PITFALLS 4: root → intermediate → leaf → forged leaf.
    @Test func `a leaf issues nothing, and a chain has three certificates`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        var shape = TestCertificateAuthority.Shape().leaf
        shape.serialNumber = [0x55]
        let forged = try shape.issue(key: MintedChain.strangerKey, by: authority.leaf)
        var builder = SignedDataBuilder(by: authority)
        builder.signers[0].identity = forged
        builder.certificates = [forged.certificate] + authority.certificates
        #expect(try !verifier.verdict(builder).isAccepted)
        // Even when the leaf may issue: four are one too many.
        let issuing = try MintedChain.authority {
            $0.shape.intermediate.replaceExtension(.basicConstraints(isAuthority: true))
            $0.shape.leaf.replaceExtension(.basicConstraints(isAuthority: true))
            $0.shape.leaf.replaceExtension(.keyUsage(.digitalSignature, .keyCertSign))
            $0.shape.leaf.extensions.append(.worldwideDeveloperRelationsMarker)
        }
        let fourth = try shape.issue(key: MintedChain.strangerKey, by: issuing.leaf)
        builder.signers[0].identity = fourth
        builder.certificates = [fourth.certificate] + issuing.certificates
        #expect(try verifier.verdict(builder) == .refused(.untrustedChain))
        // And two are one too few.
        var direct = TestCertificateAuthority.Shape().leaf
        direct.serialNumber = [0x56]
        let signer = try direct.issue(key: MintedChain.strangerKey, by: authority.root)
        builder.signers[0].identity = signer
        builder.certificates = [signer.certificate, authority.root.certificate]
        #expect(try verifier.verdict(builder) == .refused(.invalidChainLength))
        builder.certificates = [signer.certificate]
        #expect(try verifier.verdict(builder) == .refused(.untrustedChain))
        builder.signers[0].identity = authority.root
        builder.certificates = [authority.root.certificate]
        #expect(try verifier.verdict(builder) == .refused(.untrustedChain))
    }

    @Test func `the leaf must be allowed to sign, and every critical extension be understood`() throws {
        let unknown = ASN1ObjectIdentifier(content: [0x2A, 0x03, 0x04])
        let rows: [(SignatureTrustError.Kind?, (inout MintedChain) -> Void)] = [
            (.invalidKeyUsage, { $0.shape.leaf.replaceExtension(.keyUsage(.keyEncipherment)) }),
            (.invalidKeyUsage, { $0.shape.leaf.replaceExtension(.keyUsage(.contentCommitment)) }),
            // libcrypto does not read such a certificate at all.
            (.untrustedChain, { $0.shape.leaf.replaceExtension(.keyUsage()) }),
            (nil, { $0.shape.leaf.removeExtensions(.keyUsage) }),
            (nil, { $0.shape.leaf.extensions.append(CertificateSpecification.Extension(unknown, .bytes([5, 0]))) }),
            (
                .unknownCriticalExtension,
                {
                    $0.shape.leaf.extensions.append(
                        CertificateSpecification.Extension(unknown, isCritical: true, .bytes([5, 0])))
                }
            ),
            (
                .unknownCriticalExtension,
                {
                    $0.shape.intermediate.extensions.append(
                        CertificateSpecification.Extension(unknown, isCritical: true, .bytes([5, 0])))
                }
            ),
            (
                .unknownCriticalExtension,
                {
                    $0.shape.leaf.replaceExtension(
                        CertificateSpecification.Extension(.receiptSigningMarker, isCritical: true, .bytes([5, 0])))
                }
            ),
        ]
        for (kind, change) in rows {
            let verdict = try verdict(change)
            if let kind { #expect(verdict == .refused(kind)) } else { #expect(verdict.isAccepted) }
        }
    }

    /// PITFALLS 15.
    @Test func `SHA-1 and SHA-2 may sign certificates, MD5 may not, and SHA-1 can be switched off`() throws {
        for digest in [SignatureDigest.sha1, .sha224, .sha256, .sha384, .sha512] {
            #expect(try verdict { $0.shape = TestCertificateAuthority.Shape(digest: digest) }.isAccepted)
        }
        let strict = AlgorithmPolicy(allowsSHA1: false)
        for (digest, policy) in [(SignatureDigest.md5, AlgorithmPolicy()), (.sha1, strict)] {
            #expect(try verdict(algorithms: policy) { $0.shape.leaf.digest = digest } == .refused(.weakAlgorithm))
            #expect(
                try verdict(algorithms: policy) { $0.shape.intermediate.digest = digest } == .refused(.weakAlgorithm))
            // Nobody relies on what a root says of itself.
            #expect(try verdict(algorithms: policy) { $0.shape.root.digest = digest }.isAccepted)
        }
    }

    /// libcrypto calls a signature invalid for both reasons, where a host has not the algorithm.
    @Test func `an algorithm that is not accepted is the reason, whether or not the signature is valid`() throws {
        let genuine = try MintedChain.genuine.get()
        let strict = AlgorithmPolicy(allowsSHA1: false)
        for (digest, policy) in [(SignatureDigest.md5, AlgorithmPolicy()), (.sha1, strict)] {
            let forged = try MintedChain.authority {
                $0.rootKey = try MintedChain.strangerKey
                $0.shape.intermediate.removeExtensions(.authorityKeyIdentifier)
                $0.shape.intermediate.digest = digest
            }
            let verifier = try PinnedChainVerifier.make(anchors: [genuine.root.certificate]) { $0.algorithms = policy }
            #expect(try verifier.verdict(SignedDataBuilder(by: forged)) == .refused(.weakAlgorithm))
        }
    }

    /// PITFALLS 15 and 25. The keys that would be slow are never given to libcrypto.
    @Test func `keys are RSA of 2048 to 4096 bits with a common exponent`() throws {
        func info(
            modulusBits: Int, exponent: [UInt8] = [1, 0, 1], isEven: Bool = false,
            algorithm: ASN1ObjectIdentifier = .rsaEncryption, parameters: [UInt8] = [5, 0]
        ) -> [UInt8] {
            var modulus = [UInt8](repeating: 0xA5, count: (modulusBits + 7) / 8)
            modulus[0] = 0xFF >> UInt8((8 - modulusBits % 8) % 8)
            modulus[modulus.count - 1] = isEven ? 2 : 1
            return ASN1Writer.encode { writer in
                writer.write(.sequence) { writer in
                    writer.write(.sequence) { writer in
                        writer.writeObjectIdentifier(algorithm)
                        writer.write(encoded: parameters.span)
                    }
                    writer.writeBitString { writer in
                        writer.write(.sequence) { writer in
                            writer.writeInteger(magnitude: modulus.span)
                            writer.writeInteger(magnitude: exponent.span)
                        }
                    }
                }
            }
        }
        let rows: [(SignatureTrustError.Kind, [UInt8])] = [
            (.weakKey, info(modulusBits: 512)), (.weakKey, info(modulusBits: 1024)),
            (.weakKey, info(modulusBits: 2047)),
            (.weakKey, info(modulusBits: 4097)), (.weakKey, info(modulusBits: 16384)),
            (.weakKey, info(modulusBits: 100_000)),
            (.weakKey, info(modulusBits: 2048, isEven: true)), (.weakKey, info(modulusBits: 2048, exponent: [3])),
            (.weakKey, info(modulusBits: 2048, exponent: [1])), (.weakKey, info(modulusBits: 2048, exponent: [0])),
            (.weakKey, info(modulusBits: 2048, exponent: [1, 0, 0])),
            (.weakKey, info(modulusBits: 2048, exponent: [1, 0, 0, 0, 1])),
            (.weakKey, info(modulusBits: 2048, exponent: [UInt8](repeating: 0xFF, count: 256))),
            (.unsupportedKey, info(modulusBits: 2048, algorithm: .rsaPSS)),
            (.unsupportedKey, info(modulusBits: 2048, algorithm: .data)),
            // RFC 4055, 1.2: NULL. Nothing at all is let pass.
            (.unsupportedKey, info(modulusBits: 2048, parameters: [4, 0])),
            (.unsupportedKey, info(modulusBits: 2048, parameters: [0x30, 0])),
            (.unsupportedKey, info(modulusBits: 2048, parameters: [2, 1, 0])),
            (.invalidSignature, info(modulusBits: 2048, parameters: [])),
            // Right in size, but not the key that signed.
            (.invalidSignature, info(modulusBits: 2048)), (.invalidSignature, info(modulusBits: 4096)),
        ]
        for (kind, info) in rows {
            #expect(try verdict { $0.shape.leaf.subjectPublicKeyInfo = info } == .refused(kind))
            guard kind != .invalidSignature else { continue }
            #expect(try verdict { $0.shape.intermediate.subjectPublicKeyInfo = info } == .refused(kind))
        }
        #expect(try verdict { $0.leafKey = try SigningKey(generating: .p521) } == .refused(.unsupportedKey))
        // Bare rsaEncryption, with a key that makes no such signature.
        #expect(try verdict { $0.leafKey = try SigningKey(generating: .p256) } == .refused(.algorithmMismatch))
        #expect(try verdict { $0.leafKey = try SigningKey(generating: .rsa(bits: 1024)) } == .refused(.weakKey))
        #expect(try verdict { $0.leafKey = try SigningKey(generating: .rsa(bits: 3072)) }.isAccepted)
        let small = AlgorithmPolicy(rsaKeySizes: 1024...4096)
        #expect(try verdict(algorithms: small) { $0.leafKey = try SigningKey(generating: .rsa(bits: 1024)) }.isAccepted)
    }

    /// RFC 5480, 2.1.1 and 2.2. A key that is no point of its curve is never given to libcrypto.
    @Test func `keys on elliptic curves name P-256 or P-384, and have a point of its length`() throws {
        func info(_ parameters: [UInt8], _ point: [UInt8]) -> [UInt8] {
            tlv(0x30, tlv(0x30, tlv(6, ASN1ObjectIdentifier.ecPublicKey.content) + parameters) + tlv(3, [0] + point))
        }
        func curve(_ identifier: ASN1ObjectIdentifier, _ tag: UInt8 = 6) -> [UInt8] { tlv(tag, identifier.content) }
        func point(_ form: UInt8, _ count: Int) -> [UInt8] { [form] + [UInt8](repeating: 1, count: count) }
        let rows: [[UInt8]] = [
            info(curve(.p256), []), info(curve(.p256), point(4, 63)), info(curve(.p256), point(4, 65)),
            info(curve(.p256), point(4, 96)), info(curve(.p384), point(4, 64)), info(curve(.p256), point(2, 31)),
            info(curve(.p256), point(3, 33)), info(curve(.p256), point(2, 64)), info(curve(.p256), point(4, 32)),
            // The point at infinity, and both hybrid forms.
            info(curve(.p256), [0]), info(curve(.p256), point(6, 64)), info(curve(.p256), point(7, 64)),
            info(curve(.p521), point(4, 132)), info(curve(.p256, 4), point(4, 64)), info([5, 0], point(4, 64)),
            info([], point(4, 64)), info(tlv(0x30, curve(.p256)), point(4, 64)),
        ]
        for info in rows {
            #expect(try verdict { $0.shape.leaf.subjectPublicKeyInfo = info } == .refused(.unsupportedKey))
            #expect(try verdict { $0.shape.intermediate.subjectPublicKeyInfo = info } == .refused(.unsupportedKey))
        }
    }

    /// PITFALLS 25.
    @Test func `absent, garbage and too many certificates are refused`() throws {
        #expect(try verdict(message: { _ = $0.certificates?.remove(at: 1) }) { _ in } == .refused(.untrustedChain))
        #expect(
            try verdict(message: { $0.certificates?.append([0x30, 0x00]) }) { _ in } == .malformed(.missingElement))
        #expect(try verdict(message: { $0.certificates?.append([0x04, 0x00]) }) { _ in } == .malformed(.unexpectedTag))
        func copies(_ count: Int) -> (inout SignedDataBuilder) -> Void {
            { builder in
                let root = builder.certificates?[2] ?? []
                builder.certificates? += [[UInt8]](repeating: root, count: count)
            }
        }
        #expect(try verdict(message: copies(13)) { _ in }.isAccepted)
        #expect(try verdict(message: copies(14)) { _ in } == .malformed(.tooManyElements))
        #expect(try verdict(message: copies(10_000)) { _ in } == .malformed(.tooManyElements))
        let huge = CertificateSpecification.Extension(
            ASN1ObjectIdentifier(content: [0x2A, 0x03]), .bytes([UInt8](repeating: 0, count: 1 << 16)))
        #expect(try verdict { $0.shape.leaf.extensions.append(huge) } == .refused(.certificateTooLarge))
        #expect(try verdict { $0.shape.intermediate.extensions.append(huge) } == .refused(.certificateTooLarge))
    }

    /// Of several anchors, chains for other dates are found as well: none that a forger made may be among them.
    @Test func `a forged leaf is refused at every date, whatever it was refused for at another`() throws {
        let authority = try MintedChain.genuine.get()
        let impostor = try MintedChain.authority {
            $0.intermediateKey = try MintedChain.strangerKey
            $0.shape.leaf.removeExtensions(.authorityKeyIdentifier)
        }
        let other = try MintedChain.authority { $0.rootKey = try MintedChain.strangerKey }
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate, other.root.certificate])
        var forged = SignedDataBuilder(by: impostor)
        forged.certificates = [impostor.leaf.certificate, authority.intermediate.certificate]
        let late = try #require(Instant(year: 2150, month: 1, day: 1))
        #expect(try verifier.verdict(forged, at: late) == .refused(.certificateExpired))
        #expect(try verifier.verdict(forged) == .refused(.invalidCertificateSignature))
    }

    /// PITFALLS 16: intermediates change, and two may have one name and one key identifier.
    @Test func `the right one of two intermediates is found, whatever their order`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let identifier = try authority.intermediate.key.keyIdentifier()
        let sameIdentifier = CertificateSpecification.Extension(
            .subjectKeyIdentifier, .bytes(ASN1Writer.encode { $0.writeOctetString(identifier.span) }))
        let others = try [
            // Another key, an expired one, one from a stranger, and one without the marker.
            MintedChain.authority {
                $0.intermediateKey = try MintedChain.strangerKey; $0.shape.intermediate.replaceExtension(sameIdentifier)
            },
            MintedChain.authority { $0.shape.intermediate.notAfter = .seconds(1_500_000_000) },
            MintedChain.authority { $0.rootKey = try MintedChain.strangerKey },
            MintedChain.authority { $0.shape.intermediate.removeExtensions(.worldwideDeveloperRelationsMarker) },
        ].map(\.intermediate.certificate)
        let genuine = authority.certificates
        for certificates in [
            others + genuine, genuine + others, [others[0], genuine[1], others[1], genuine[0], others[2]],
        ] {
            var builder = SignedDataBuilder(by: authority)
            builder.certificates = certificates
            #expect(
                try verifier.verdict(builder) == .accepted(leaf: genuine[0], intermediate: genuine[1], digest: .sha256))
        }
    }

    @Test func `of several faults the same one is reported, whatever the order of the certificates`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let faulty = try [
            MintedChain.authority { $0.shape.intermediate.notAfter = .seconds(1_500_000_000) },
            MintedChain.authority { $0.shape.intermediate.notBefore = .seconds(1_800_000_000) },
            MintedChain.authority { $0.shape.intermediate.removeExtensions(.basicConstraints) },
            MintedChain.authority { $0.shape.intermediate.removeExtensions(.worldwideDeveloperRelationsMarker) },
            MintedChain.authority { $0.shape.intermediate.digest = .md5 },
        ].map(\.intermediate.certificate)
        var generator = SeededGenerator()
        for first in faulty.indices {
            for second in faulty.indices where second != first {
                var verdicts: Set<Verdict> = []
                for order in [[first, second], [second, first]] {
                    var builder = SignedDataBuilder(by: authority)
                    builder.certificates = [authority.leaf.certificate] + order.map { faulty[$0] }
                    builder.certificates?.shuffle(using: &generator)
                    verdicts.insert(try verifier.verdict(builder))
                }
                #expect(verdicts.count == 1 && verdicts.first?.isAccepted == false, "\(verdicts)")
            }
        }
    }

    @Test func `a distrusted certificate is refused wherever it stands, the anchor excepted`() throws {
        let authority = try MintedChain.genuine.get()
        for (certificate, isAccepted) in zip(authority.certificates, [false, false, true]) {
            let fingerprint = try Fingerprint(of: certificate.span)
            let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate]) {
                $0.distrusted = [fingerprint]
            }
            for _ in 0..<2 {
                let verdict = try verifier.verdict(SignedDataBuilder(by: authority))
                #expect(isAccepted ? verdict.isAccepted : verdict == .refused(.distrustedCertificate))
            }
        }
        // Another intermediate of the same name and key is another certificate.
        let renewed = try MintedChain.authority { $0.shape.intermediate.notAfter = .seconds(2_300_000_000) }
            .intermediate
        let fingerprint = try Fingerprint(of: renewed.certificate.span)
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate]) {
            $0.distrusted = [fingerprint]
        }
        var builder = SignedDataBuilder(by: authority)
        builder.certificates?.insert(renewed.certificate, at: 1)
        #expect(try verifier.verdict(builder).isAccepted)
    }
}
