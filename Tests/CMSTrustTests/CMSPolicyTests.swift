import AppStoreReceiptTesting
import CMSTrust
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct CMSPolicyTests {
    let authority: TestCertificateAuthority
    let policy: CMSPolicy
    let builder: SignedDataBuilder

    init() throws {
        authority = try CMSMessages.authority.get()
        policy = try CMSMessages.policy(authority)
        builder = CMSMessages.builder(authority)
    }

    private func code(_ builder: SignedDataBuilder, _ change: (inout CMSPolicy) -> Void) throws -> String? {
        var policy = policy
        change(&policy)
        return try CMSMessages.refusal(builder.encoded(), policy)?.code.rawValue
    }

    /// The kind of error with which a policy is refused, if it is.
    private func refusal(_ change: (inout CMSPolicy) -> Void) -> String? {
        var policy = policy
        change(&policy)
        do throws(CMSVerificationError) {
            _ = try CMSVerifier(policy: policy)
            return nil
        } catch {
            return error.code.rawValue
        }
    }

    // MARK: What a policy brings

    @Test func `anchors whose keys are not accepted end no chain, and the verifier says which`() throws {
        let rsa = try CMSMessages.rsaAuthority.get().trustAnchor
        var policy = policy
        policy.algorithms.kinds = .ecdsa
        policy.anchors = [rsa] + policy.anchors
        var refused: [Int: CMSVerificationError.Code] = [:]
        _ = try CMSVerifier(policy: policy) { refused[$0] = $1.code }
        #expect(refused == [0: .unsupportedKey])
        #expect(try CMSMessages.refusal(builder.encoded(), policy) == nil)
        policy.anchors = [rsa]
        #expect(refusal { $0 = policy } == "unsupported-key")
        #expect(refusal { $0.anchors = [] } == "untrusted-chain")
    }

    @Test func `certificates and revocation lists of the policy must be ones`() {
        #expect(refusal { $0.additionalCertificates = [[0x30, 0x00]] } == "malformed-certificate")
        #expect(refusal { $0.revocationLists = [[0x30, 0x00]] } == "malformed-revocation-list")
        #expect(refusal { $0.revocationLists = [authority.leaf.certificate] } == "malformed-revocation-list")
    }

    @Test func `a list that cannot be used is named by its place`() throws {
        let list = RevocationListSpecification(validity: CMSMessages.date...CMSMessages.date)
        var delta = list
        let indicator = ASN1ObjectIdentifier(content: [0x55, 0x1D, 0x1B])
        delta.extensions.append(.init(indicator, isCritical: true, .bytes([2, 1, 1])))
        var policy = policy
        policy.revocationLists = try [list, delta].map { try $0.issue(by: authority.intermediate) }
        let error = #expect(throws: CMSVerificationError.self) { try CMSVerifier(policy: policy) }
        #expect(error?.code == .deltaRevocationList)
        #expect(error?.path == ASN1Path(.crls, index: 1))
    }

    @Test func `a list that libcrypto would misread is refused, whatever it is asked for`() throws {
        typealias Extension = CertificateSpecification.Extension
        typealias Change = (inout RevocationListSpecification) -> Void
        func identifier(_ arc: UInt8) -> ASN1ObjectIdentifier { ASN1ObjectIdentifier(content: [0x55, 0x1D, arc]) }
        let unknown = ASN1ObjectIdentifier(content: [0x2A, 0x03])
        let critical = Extension(unknown, isCritical: true, .bytes([5, 0]))
        func scope(_ value: [UInt8], isCritical: Bool = true) -> Change {
            { $0.extensions.append(Extension(identifier(28), isCritical: isCritical, .bytes(value))) }
        }
        func entry(_ added: Extension) -> Change { { $0.entries = [.init(serialNumber: [1], extensions: [added])] } }
        func reason(_ encoded: [UInt8]) -> Change { entry(Extension(identifier(21), .bytes(encoded))) }
        let rows: [(CMSFault?, Change)] = [
            (nil, { _ in }), (nil, { $0.extensions.append(Extension(unknown, .bytes([5, 0]))) }),
            // RFC 5280, 5.2 and 5.3
            (.unsupportedRevocationList, { $0.extensions.append(critical) }),
            (.unsupportedRevocationList, { $0.extensions.insert(critical, at: 0) }),
            (.unsupportedRevocationList, entry(critical)),
            // RFC 5280, 5.3.1: removeFromCRL, and what is no reason at all.
            (.malformedRevocationList, reason([0x0A, 1, 8])),
            (.malformedRevocationList, reason([2, 1, 1])),
            (nil, reason([0x0A, 1, 1])), (nil, reason([0x0A, 1, 6])),
            // RFC 5280, 5.3.3 and 5.3.2: the issuer of an entry, which libcrypto supports, and another extension.
            (nil, entry(Extension(identifier(29), isCritical: true, .bytes(tlv(0x30, tlv(0xA4, [0x30, 0])))))),
            (nil, entry(Extension(identifier(24), .bytes(tlv(0x18, Array("20250101000000Z".utf8)))))),
            // RFC 5280, 5.2.5
            (nil, scope([0x30, 3, 0x81, 1, 0xFF])), (nil, scope([0x30, 3, 0x81, 1, 0xFF], isCritical: false)),
            // RFC 5280, 4.2
            (
                .malformedRevocationList,
                { $0.extensions += [Extension(unknown, .bytes([5, 0])), Extension(unknown, .bytes([5, 0]))] }
            ),
            (.malformedRevocationList, scope([0x30, 4, 0x81, 2, 0xFF])),
            (.malformedRevocationList, scope([5, 0])),
            (.malformedRevocationList, scope([0x30, 3, 0x86, 1, 0xFF])),
            (.malformedRevocationList, scope([5, 0], isCritical: false)),
        ]
        for (index, (kind, change)) in rows.enumerated() {
            var list = RevocationListSpecification(validity: CMSMessages.date...CMSMessages.date)
            change(&list)
            let encoded = try list.issue(by: authority.intermediate)
            for revocation in [CMSPolicy.RevocationChecking.none, .signer, .chain] {
                let found = refusal {
                    $0.revocationLists = [encoded]
                    $0.revocation = revocation
                }
                #expect(found == kind?.rawValue, "row \(index)")
            }
        }
    }

    @Test func `to ask for revocation without a list is to refuse`() throws {
        #expect(try code(builder) { $0.revocation = .signer } == "missing-revocation-list")
        #expect(try code(builder) { $0.revocation = .chain } == "missing-revocation-list")
    }

    @Test(arguments: [0, 1, 2])
    func `no certificate of the chain may be a distrusted one`(index: Int) throws {
        let certificate = authority.certificates[index]
        let fingerprint = try Fingerprint(of: certificate.span)
        #expect(try code(builder) { $0.distrusted = [fingerprint] } == "distrusted-certificate")
    }

    @Test func `a distrusted certificate that no chain needs does no harm`() throws {
        let other = try authority.leaf(serial: 2)
        var builder = builder
        builder.certificates?.append(other.certificate)
        let fingerprint = try Fingerprint(of: other.certificate.span)
        #expect(try code(builder) { $0.distrusted = [fingerprint] } == nil)
    }

    // MARK: Purposes

    /// RFC 8550, 4.4.2
    @Test func `a signer's key may sign messages if the certificate says what it is for`() throws {
        let rows: [(KeyUsage, String?)] = [
            (.digitalSignature, nil), (.contentCommitment, nil), ([.digitalSignature, .keyCertSign], nil),
            (.keyCertSign, "invalid-key-usage"), ([.keyCertSign, .crlSign], "invalid-key-usage"),
            (.keyEncipherment, "invalid-key-usage"), (.keyAgreement, "invalid-key-usage"),
        ]
        for (index, (usage, expected)) in rows.enumerated() {
            let leaf = try authority.leaf(serial: 0x40 + UInt8(index)) {
                $0.replaceExtension(.keyUsage(usage))
                // What may issue certificates is an authority.
                $0.replaceExtension(.basicConstraints(isAuthority: usage.contains(.keyCertSign)))
            }
            var builder = builder
            builder.signers = [CMSMessages.signer(leaf)]
            builder.certificates = [leaf.certificate, authority.intermediate.certificate]
            #expect(try code(builder) { _ in } == expected, "\(usage)")
        }
    }

    // MARK: Limits

    @Test func `what makes verification slow is refused by number`() throws {
        var builder = builder
        builder.signers += [CMSMessages.signer(authority.leaf, digest: .sha384)]
        builder.signers[0].unsignedAttributes = [attribute(1), attribute(2), attribute(3)]
        let size = try builder.encoded().count
        #expect(try code(builder) { _ in } == nil)
        #expect(try code(builder) { $0.limits.maximumSignerCount = 1 } == "too-many-elements")
        #expect(try code(builder) { $0.limits.maximumSignerCount = 0 } == "too-many-elements")
        #expect(try code(builder) { $0.limits.maximumCertificateCount = 2 } == "too-many-elements")
        #expect(try code(builder) { $0.limits.maximumMessageByteCount = size - 20 } == "input-too-large")
        #expect(try code(builder) { $0.limits.maximumAttributeCount = 2 } == "too-many-attributes")
        #expect(try code(builder) { $0.limits.maximumAttributeCount = 3 } == nil)
        #expect(try code(builder) { $0.limits.maximumIntermediateCount = 0 } == "invalid-chain-length")
        #expect(try code(builder) { $0.limits.maximumIntermediateCount = 1 } == nil)
        builder.revocationLists = [[0x30, 0x00]]
        #expect(try code(builder) { $0.limits.maximumRevocationInfoCount = 0 } == "too-many-elements")
    }

    @Test func `a message may be as large as the limit`() throws {
        let rsa = try CMSMessages.rsaAuthority.get()
        let message = try CMSMessages.builder(rsa).encoded()
        for (limit, expected) in [(message.count, nil), (message.count - 1, "input-too-large")] {
            var policy = try CMSMessages.policy(rsa)
            policy.limits.maximumMessageByteCount = limit
            #expect(try CMSMessages.refusal(message, policy)?.code.rawValue == expected)
        }
    }

    @Test func `the default limits are those that the documentation states`() {
        let limits = CMSLimits()
        #expect(limits.maximumMessageByteCount == 64 << 20 && limits.maximumSignerCount == 16)
        #expect(limits.maximumCertificateCount == 64 && limits.maximumRevocationInfoCount == 64)
        #expect(limits.maximumAttributeCount == 64 && limits.maximumIntermediateCount == 8)
        #expect(limits.maximumIssuerCheckCount == 256 && limits.maximumPathCount == 64)
    }

    @Test func `a message that was read with other limits has no more signers than allowed`() throws {
        var builder = builder
        builder.signers += [CMSMessages.signer(authority.leaf, digest: .sha384)]
        let message = try builder.encoded()
        for limit in [1, 2] {
            var policy = policy
            policy.limits.maximumSignerCount = limit
            let verifier = try CMSVerifier(policy: policy)
            let signedData = try SignedData(ContentInfo(message.span))
            var kind: CMSTrustError.Kind?
            do throws(CMSTrustError) {
                _ = try verifier.verify(signedData, at: CMSMessages.date)
            } catch {
                kind = error.kind
            }
            #expect(kind == (limit == 1 ? .signature(.signerCount) : nil))
        }
    }

    @Test func `signed attributes have the same limit`() throws {
        var builder = builder
        let others = (1...3 as ClosedRange<UInt8>).map { number in
            SignedDataBuilder.SignedAttribute.other(ASN1ObjectIdentifier(content: [0x2A, number]), values: [[5, 0]])
        }
        builder.signers[0].signedAttributes = .required + others
        #expect(try code(builder) { $0.limits.maximumAttributeCount = 5 } == nil)
        #expect(try code(builder) { $0.limits.maximumAttributeCount = 4 } == "too-many-attributes")
        builder.signers[0].unsignedAttributes = others.indices.map { attribute(UInt8($0)) }
        #expect(try code(builder) { $0.limits.maximumAttributeCount = 4 } == "too-many-attributes")
    }

    private func attribute(_ number: UInt8) -> [UInt8] {
        [0x30, 0x08, 0x06, 0x02, 0x2A, number, 0x31, 0x02, 0x05, 0x00]
    }

    // MARK: Algorithms

    @Test func `a signer's key is refused by its size before it verifies anything`() throws {
        let rsa = try CMSMessages.rsaAuthority.get()
        var specification = TestCertificateAuthority.Shape().leaf
        specification.subjectPublicKeyInfo = CMSMessages.weakKey
        let weak = try specification.issue(key: rsa.leaf.key, by: rsa.intermediate)
        var builder = CMSMessages.builder(rsa)
        builder.signers = [CMSMessages.signer(weak)]
        builder.certificates = [weak.certificate, rsa.intermediate.certificate]
        #expect(try CMSMessages.refusal(builder.encoded(), CMSMessages.policy(rsa))?.code == .weakKey)
    }

    @Test func `an anchor is trusted however it signed itself`() throws {
        for digest in [SignatureDigest.sha1, .sha256] {
            var shape = TestCertificateAuthority.Shape.ellipticCurve
            shape.root.digest = digest
            let authority = try TestCertificateAuthority(shape)
            let message = try CMSMessages.builder(authority).encoded()
            #expect(try CMSMessages.refusal(message, CMSMessages.policy(authority)) == nil)
        }
    }

    @Test func `only what the policy names may sign`() throws {
        // The leaf signs with P-256 and SHA-256; its issuers have P-384 and SHA-384.
        #expect(try code(builder) { $0.algorithms.kinds = .all } == nil)
        #expect(try code(builder) { $0.algorithms.kinds = .ecdsa } == nil)
        #expect(try code(builder) { $0.algorithms.digests = [.sha384, .sha512] } == "weak-algorithm")
        #expect(try code(builder) { $0.algorithms.digests = .sha256 } == "weak-algorithm")
        #expect(try code(builder) { $0.algorithms.digests = [.sha256, .sha384] } == nil)
        #expect(try code(builder) { $0.algorithms.curves = .p384 } == "unsupported-key")
        #expect(try code(builder) { $0.algorithms.curves = [.p256, .p384] } == nil)
        #expect(refusal { $0.algorithms.curves = .p256 } == "unsupported-key")
        #expect(refusal { $0.algorithms.kinds = [.rsaPKCS1, .rsaPSS] } == "unsupported-key")
    }

    @Test func `only RSA keys of the policy's sizes may sign`() throws {
        let rsa = try CMSMessages.rsaAuthority.get()
        let message = CMSMessages.builder(rsa)
        let anchors = [try rsa.trustAnchor]
        #expect(try code(message) { $0.anchors = anchors } == nil)
        #expect(
            try code(message) {
                $0.anchors = anchors
                $0.algorithms.rsaKeySizes = 2048...2048
            } == nil)
        #expect(
            refusal {
                $0.anchors = anchors
                $0.algorithms.rsaKeySizes = 2049...4096
            } == "weak-key")
        #expect(
            try code(message) {
                $0.anchors = anchors
                $0.algorithms.kinds = [.rsaPSS, .ecdsa]
            } == "unsupported-algorithm")
    }

    @Test func `digest, signature and key go together`() throws {
        let rsa = try CMSMessages.rsaAuthority.get()
        let policy = try CMSMessages.policy(authority, rsa)
        func code(_ builder: SignedDataBuilder, _ algorithm: AlgorithmName) throws -> String? {
            var builder = builder
            builder.signers[0].signatureAlgorithm = algorithm
            return try CMSMessages.refusal(builder.encoded(), policy)?.code.rawValue
        }
        let rsaMessage = CMSMessages.builder(rsa)
        #expect(try code(rsaMessage, AlgorithmName(.rsaEncryption)) == nil)
        #expect(try code(rsaMessage, AlgorithmName(.sha256WithRSAEncryption)) == nil)
        #expect(try code(rsaMessage, AlgorithmName(.sha384WithRSAEncryption)) == "algorithm-mismatch")
        #expect(try code(rsaMessage, AlgorithmName(.ecdsaWithSHA256, parameters: nil)) == "algorithm-mismatch")
        #expect(try code(rsaMessage, AlgorithmName(.sha256)) == "unsupported-algorithm")
        #expect(try code(builder, AlgorithmName(.ecdsaWithSHA256, parameters: nil)) == nil)
        #expect(try code(builder, AlgorithmName(.ecdsaWithSHA384, parameters: nil)) == "algorithm-mismatch")
        #expect(try code(builder, AlgorithmName(.sha256WithRSAEncryption)) == "algorithm-mismatch")
        #expect(try code(builder, AlgorithmName(.rsaEncryption)) == "algorithm-mismatch")
        // RFC 5758, 3.2: no parameters, not even NULL.
        #expect(try code(builder, AlgorithmName(.ecdsaWithSHA256)) == "unsupported-algorithm")
        var unannounced = builder
        unannounced.digestAlgorithms = [AlgorithmName(.sha384)]
        #expect(try self.code(unannounced) { _ in } == "algorithm-mismatch")
    }

    @Test func `receipts accept RSA with the padding of PKCS 1, and ECDSA, and SHA-1 with RSA alone`() throws {
        let receipts = AlgorithmPolicy()
        #expect(receipts.kinds == [.rsaPKCS1, .ecdsa])
        #expect(receipts.curves == [.p256, .p384])
        #expect(receipts.allowsSHA1 && receipts.sha1Kinds == .rsaPKCS1)
        let rsa = try CMSMessages.rsaAuthority.get()
        let policy = try CMSMessages.policy(authority, rsa)
        func code(_ authority: TestCertificateAuthority, _ digest: SignatureDigest, _ isBare: Bool = false) throws
            -> String?
        {
            var message = CMSMessages.builder(authority)
            message.signers = [CMSMessages.signer(authority.leaf, digest: digest)]
            if isBare { message.signers[0].signatureAlgorithm = AlgorithmName(.rsaEncryption) }
            return try self.code(message) {
                $0 = policy
                $0.algorithms = receipts
            }
        }
        #expect(try code(rsa, .sha256) == nil && code(rsa, .sha1) == nil && code(rsa, .sha1, true) == nil)
        #expect(try code(authority, .sha256) == nil && code(authority, .sha384) == nil)
        #expect(try code(authority, .sha1) == "weak-algorithm")
        var all = policy
        all.algorithms.allowsSHA1 = true
        var message = builder
        message.signers = [CMSMessages.signer(authority.leaf, digest: .sha1)]
        #expect(try self.code(message) { $0 = all } == nil)
        all.algorithms.sha1Kinds = .ecdsa
        #expect(try self.code(message) { $0 = all } == nil)
        message = CMSMessages.builder(rsa)
        message.signers = [CMSMessages.signer(rsa.leaf, digest: .sha1)]
        #expect(try self.code(message) { $0 = all } == "weak-algorithm")
        message.signers[0].signatureAlgorithm = AlgorithmName(.rsaEncryption)
        #expect(try self.code(message) { $0 = all } == "weak-algorithm")
    }

    @Test(arguments: [0, 1])
    func `a date that cannot be read is a malformed certificate, and no missing issuer`(position: Int) throws {
        let authority = try MintedChain.genuine.get()
        let shape = TestCertificateAuthority.Shape()
        func unreadable(
            _ specification: CertificateSpecification, _ key: SigningKey, by issuer: SigningIdentity
        ) throws -> SigningIdentity {
            var tbs = try specification.tbsCertificate(key: key, issuer: issuer)
            // The first UTCTime, whose month becomes 13.
            let start = try #require(tbs.indices.first { tbs[$0...].starts(with: [0x17, 0x0D]) })
            tbs.replaceSubrange((start + 4)..<(start + 6), with: "13".utf8)
            let certificate = try CertificateSpecification.certificate(
                tbsCertificate: tbs, algorithm: issuer.key.signatureAlgorithm(.sha256), digest: .sha256, key: issuer.key
            )
            return SigningIdentity(certificate: certificate, key: key)
        }
        var (leaf, intermediate) = (authority.leaf, authority.intermediate)
        if position == 1 { intermediate = try unreadable(shape.intermediate, intermediate.key, by: authority.root) }
        leaf =
            try position == 0
            ? unreadable(shape.leaf, leaf.key, by: intermediate) : shape.leaf.issue(key: leaf.key, by: intermediate)
        let builder = SignedDataBuilder(
            content: Array("content".utf8), certificates: [leaf.certificate, intermediate.certificate],
            signers: [SignedDataBuilder.Signer(leaf, digest: .sha256)])
        let verifier = try CMSVerifier(policy: CMSPolicy(anchors: [authority.trustAnchor]))
        let message = try builder.encoded()
        let error = #expect(throws: CMSVerificationError.self) {
            try verifier.verify(message, at: .midsummer)
        }
        #expect(error?.code == .malformedCertificate)
    }

    @Test func `an anchor that is not self-signed is refused, and the others are used`() throws {
        let authority = try MintedChain.genuine.get()
        var policy = CMSPolicy(
            anchors: try [authority.trustAnchor, TrustAnchor(der: authority.intermediate.certificate)])
        var refused: [Int: CMSVerificationError.Code] = [:]
        _ = try CMSVerifier(policy: policy) { refused[$0] = $1.code }
        #expect(refused == [1: .anchorNotSelfSigned])
        policy.anchors.removeFirst()
        let refusal = #expect(throws: CMSVerificationError.self) { try CMSVerifier(policy: policy) }
        #expect(refusal?.code == .anchorNotSelfSigned && refusal?.path == ASN1Path(.certificates, index: 0))
    }
}
