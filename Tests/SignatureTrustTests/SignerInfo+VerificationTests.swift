import AppStoreReceiptTesting
import LibcryptoHandles
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// The first step: the message's signature, whoever made it.
@Suite struct SignerInfoVerificationTests {
    private func verdict(
        digest: SignatureDigest = .sha256, algorithms: AlgorithmPolicy = AlgorithmPolicy(),
        _ change: (inout SignedDataBuilder) throws -> Void
    ) throws -> Verdict {
        let authority = try MintedChain.genuine.get()
        var builder = SignedDataBuilder(by: authority, digest: digest)
        try change(&builder)
        return try PinnedChainVerifier.make(anchors: [authority.root.certificate]) { $0.algorithms = algorithms }
            .verdict(builder)
    }

    @Test(arguments: [SignatureDigest.sha1, .sha224, .sha256, .sha384, .sha512])
    func `a signature over SHA-1 or SHA-2 holds, named barely or with its digest`(digest: SignatureDigest) throws {
        for attributes in [nil, SignedDataBuilder.SignedAttribute.required] {
            for name in [AlgorithmName(.rsaEncryption), AlgorithmName(.rsaEncryption, parameters: nil), nil] {
                let verdict = try verdict(digest: digest) {
                    $0.signers[0].signatureAlgorithm = name
                    $0.signers[0].signedAttributes = attributes
                }
                guard case .accepted(_, _, let found) = verdict else {
                    Issue.record("\(verdict)")
                    continue
                }
                #expect(found.rawValue == digest.rawValue)
            }
        }
    }

    /// PITFALLS 11.
    @Test func `weak, unknown and contradictory algorithms are refused`() throws {
        let rows: [(SignatureTrustError.Kind, SignatureDigest, (inout SignedDataBuilder.Signer) -> Void)] = [
            (.weakAlgorithm, .md5, { _ in }),
            (.weakAlgorithm, .md5, { $0.signatureAlgorithm = nil }),
            (.weakAlgorithm, .sha256, { $0.signatureAlgorithm = AlgorithmName(.md5WithRSAEncryption) }),
            (.weakAlgorithm, .sha256, { $0.digestAlgorithm = AlgorithmName(.md5) }),
            (.algorithmMismatch, .sha256, { $0.signatureAlgorithm = AlgorithmName(.sha1WithRSAEncryption) }),
            (.algorithmMismatch, .sha256, { $0.signatureAlgorithm = AlgorithmName(.sha512WithRSAEncryption) }),
            (.algorithmMismatch, .sha1, { $0.signatureAlgorithm = AlgorithmName(.sha256WithRSAEncryption) }),
            (.unsupportedAlgorithm, .sha256, { $0.digestAlgorithm = AlgorithmName(.data) }),
            (.unsupportedAlgorithm, .sha256, { $0.digestAlgorithm = AlgorithmName(.sha256, parameters: [0x30, 0]) }),
            (.unsupportedAlgorithm, .sha256, { $0.signatureAlgorithm = AlgorithmName(.rsaPSS) }),
            (.unsupportedAlgorithm, .sha256, { $0.signatureAlgorithm = AlgorithmName(.sha256) }),
            (
                .unsupportedAlgorithm, .sha256,
                { $0.signatureAlgorithm = AlgorithmName(.rsaEncryption, parameters: [0x30, 0]) }
            ),
            // The digest that was used is not the one that is named.
            (.invalidSignature, .sha256, { $0.digestAlgorithm = AlgorithmName(.sha1) }),
            (.invalidSignature, .sha1, { $0.digestAlgorithm = AlgorithmName(.sha256) }),
        ]
        for (kind, digest, change) in rows {
            #expect(try verdict(digest: digest) { change(&$0.signers[0]) } == .refused(kind))
        }
    }

    /// RFC 5652, 5.1: others may be refused. libcrypto refuses them, so whoever accepted them would accept what it does
    /// not.
    @Test func `the signer's digest must be in the set of digest algorithms, whatever else is`() throws {
        for names in [[], [AlgorithmName(.md5)], [AlgorithmName(.sha1), AlgorithmName(.sha512)]] {
            #expect(try verdict { $0.digestAlgorithms = names } == .refused(.algorithmMismatch))
            #expect(try verdict { $0.digestAlgorithms = names + [AlgorithmName(.sha256)] }.isAccepted)
        }
    }

    /// RSASSA-PSS as RFC 4055 recommends it, with a signature that is right.
    @Test func `a receipt with PSS is refused unless the policy has it`() throws {
        let authority = try MintedChain.genuine.get()
        let pem = try authority.leaf.key.pem()
        let key = try PrivateKey(pem: pem.span)
        let content = Array("content".utf8)
        let digest = try DigestAlgorithm.sha256.digest(of: content.span)
        let signature = try key.sign(digest, scheme: .pss(saltLength: 32, mgf1: .sha256))
        for (kinds, isAccepted) in [
            (SignatureKinds.all, true), ([.rsaPKCS1, .rsaPSS], true), ([.rsaPKCS1, .ecdsa], false),
        ] {
            let verdict = try verdict(algorithms: AlgorithmPolicy(kinds: kinds)) {
                $0.signers[0].signatureAlgorithm = AlgorithmName(.rsaPSS, parameters: pssParametersOfSHA256)
                $0.signers[0].signature = signature
            }
            if isAccepted { #expect(verdict.isAccepted) } else { #expect(verdict == .refused(.unsupportedAlgorithm)) }
        }
    }

    @Test func `SHA-1 can be switched off`() throws {
        let policy = AlgorithmPolicy(allowsSHA1: false)
        #expect(try verdict(digest: .sha1, algorithms: policy) { _ in } == .refused(.weakAlgorithm))
        #expect(try verdict(algorithms: policy) { _ in }.isAccepted)
    }

    @Test func `an altered content and an altered signature are told apart`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        for attributes in [nil, SignedDataBuilder.SignedAttribute.required] {
            var builder = SignedDataBuilder(by: authority)
            builder.signers[0].signedAttributes = attributes
            let bytes = try builder.encoded()
            let message = try SignedData(ContentInfo(bytes.span))
            var signers = message.signerInfos
            guard let content = message.content?.contentRange,
                let signature = try signers.next()?.signature.contentRange
            else { continue }
            for bit in 0..<8 {
                for index in [content.lowerBound, content.upperBound - 1] {
                    var altered = bytes
                    altered[index] ^= 1 << UInt8(bit)
                    #expect(verifier.verdict(altered) == .refused(.contentDigestMismatch))
                }
                for index in [signature.lowerBound + 1, signature.upperBound - 1] {
                    var altered = bytes
                    altered[index] ^= 1 << UInt8(bit)
                    #expect(verifier.verdict(altered) == .refused(.invalidSignature))
                }
            }
        }
    }

    @Test func `a signature of another length or form is none`() throws {
        let authority = try MintedChain.genuine.get()
        let content = Array("content".utf8)
        let right = try authority.leaf.key.sign(content, digest: .sha256)
        let digest = try SignatureDigest.sha256.digest(of: content)
        let info = SigningKey.digestInfo(.sha256, digest)
        let wrong: [[UInt8]] = [
            [], [0], Array(right.dropLast()), right + [0], [0] + right, [UInt8](repeating: 0, count: 256),
            [UInt8](repeating: 0xFF, count: 256),
            // A DigestInfo with something behind it, without its NULL, or a bare digest (RFC 8017, 9.2).
            try authority.leaf.key.sign(digestInfo: info + [0]), try authority.leaf.key.sign(digestInfo: digest),
            try authority.leaf.key.sign(digestInfo: [0x30, 0x2F, 0x30, 0x0B] + info[4..<15] + info[17...]),
            try MintedChain.strangerKey.sign(content, digest: .sha256),
        ]
        for signature in wrong {
            #expect(try verdict { $0.signers[0].signature = signature } == .refused(.invalidSignature))
        }
        #expect(try verdict { $0.signers[0].signature = right }.isAccepted)
    }

    /// PITFALLS 7.
    @Test func `signed attributes must be those of RFC 5652, once each and in order`() throws {
        typealias Attribute = SignedDataBuilder.SignedAttribute
        let other = ASN1ObjectIdentifier(content: [0x2A, 0x03])
        let rows: [(SignatureTrustError.Kind?, [Attribute])] = [
            (nil, Attribute.required), (nil, Attribute.required.reversed()),
            (nil, Attribute.required + [.signingTime(.midsummer)]),
            (nil, Attribute.required + [.other(other, values: [[5, 0], [2, 1, 0]])]),
            (nil, Attribute.required + [.other(other, values: [[5, 0]]), .other(other, values: [[5, 0]])]),
            (.invalidSignedAttributes, [.contentType(nil)]), (.invalidSignedAttributes, [.messageDigest(nil)]),
            (.invalidSignedAttributes, [.signingTime(.midsummer)]),
            (.invalidSignedAttributes, [.contentType(.signedData), .messageDigest(nil)]),
            (.invalidSignedAttributes, [.other(.contentType, values: [[0x0C, 0x00]]), .messageDigest(nil)]),
            // The right octets in another type.
            (
                .invalidSignedAttributes,
                [.other(.contentType, values: [tlv(0x04, ASN1ObjectIdentifier.data.content)]), .messageDigest(nil)]
            ),
            (.invalidSignedAttributes, [.contentType(nil), .other(.messageDigest, values: [[0x0C, 0x00]])]),
            (.invalidSignedAttributes, [.contentType(nil), .other(.messageDigest, values: [])]),
            (.invalidSignedAttributes, Attribute.required + [.messageDigest(nil)]),
            (.invalidSignedAttributes, Attribute.required + [.messageDigest([UInt8](repeating: 0, count: 32))]),
            (.invalidSignedAttributes, [.messageDigest([UInt8](repeating: 0xFF, count: 32))] + Attribute.required),
            (.invalidSignedAttributes, Attribute.required + [.contentType(nil)]),
            (.invalidSignedAttributes, Attribute.required + [.contentType(.signedData)]),
            (.contentDigestMismatch, [.contentType(nil), .messageDigest([UInt8](repeating: 0, count: 32))]),
            (.contentDigestMismatch, [.contentType(nil), .messageDigest([])]),
        ]
        for (kind, attributes) in rows {
            let verdict = try verdict { $0.signers[0].signedAttributes = attributes }
            if let kind { #expect(verdict == .refused(kind)) } else { #expect(verdict.isAccepted) }
        }
        let unsorted = try verdict {
            $0.signers[0].signedAttributes = Attribute.required.reversed()
            $0.signers[0].sortsSignedAttributes = false
        }
        #expect(unsorted == .refused(.invalidSignedAttributes))
    }

    @Test func `the signed digest is the content's in every byte, and in length`() throws {
        let digest = try SignatureDigest.sha256.digest(of: Array("content".utf8))
        func verdict(_ digest: [UInt8]) throws -> Verdict {
            try self.verdict { $0.signers[0].signedAttributes = [.contentType(nil), .messageDigest(digest)] }
        }
        #expect(try verdict(digest).isAccepted)
        for index in digest.indices {
            var other = digest
            other[index] ^= 1
            #expect(try verdict(other) == .refused(.contentDigestMismatch), "byte \(index)")
        }
        for other in [Array(digest.prefix(8)), digest.dropLast(), digest + [0], digest + digest] {
            #expect(try verdict(other) == .refused(.contentDigestMismatch), "\(other.count) bytes")
        }
    }

    /// PITFALLS 8 and 24a.
    @Test func `there is exactly one signer`() throws {
        #expect(try verdict { $0.signers = [] } == .refused(.signerCount))
        #expect(try verdict { $0.signers.append($0.signers[0]) } == .refused(.signerCount))
        #expect(
            try verdict { $0.signers += [SignedDataBuilder.Signer](repeating: $0.signers[0], count: 1_000) }
                == .malformed(.tooManyElements))
    }

    @Test func `the content is plain data, and there`() throws {
        #expect(try verdict { $0.contentType = .signedData } == .refused(.unexpectedContentType))
        #expect(
            try verdict {
                $0.signers[0].signature = try $0.signers[0].identity.key.sign([], digest: .sha256)
                $0.content = nil
            } == .refused(.missingContent))
        #expect(try verdict { $0.content = [] }.isAccepted)
    }

    @Test func `the content is an OCTET STRING, whose octets are signed without its header`() throws {
        let authority = try MintedChain.genuine.get()
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate])
        let bytes = try SignedDataBuilder(by: authority).encoded()
        let place = try SignedData(ContentInfo(bytes.span)).content?.range.lowerBound
        let offset = try #require(place)
        for tag in [0x0C, 0x30, 0x80] as [UInt8] {
            var other = bytes
            other[offset] = tag
            #expect(verifier.verdict(other) == .refused(.unexpectedContentType), "tag \(tag)")
        }
        #expect(verifier.verdict(bytes).isAccepted)
    }

    /// PITFALLS 5.
    @Test func `the signer's certificate is the one it names, wherever it stands`() throws {
        let authority = try MintedChain.genuine.get()
        let names = try Certificate(authority.leaf.certificate.span)
        let issuer = [UInt8](copying: names.issuer.encoded)
        let serial = [UInt8](copying: names.serialNumber.encoded)
        let intermediate = try Certificate(authority.intermediate.certificate.span)
        let otherIssuer = [UInt8](copying: intermediate.issuer.encoded)
        let otherSerial = [UInt8](copying: intermediate.serialNumber.encoded)
        func sequence(_ content: [UInt8]) -> [UInt8] {
            ASN1Writer.encode { $0.write(.sequence, content: content.span) }
        }

        #expect(try verdict { $0.certificates?.reverse() }.isAccepted)
        #expect(try verdict { $0.signers[0].identifier = .subjectKeyIdentifier }.isAccepted)
        for identifier in [otherIssuer + serial, issuer + otherSerial, issuer + [2, 1, 1]] {
            let verdict = try verdict { $0.signers[0].identifier = .bytes(sequence(identifier)) }
            #expect(verdict == .refused(.missingSignerCertificate))
        }
        // Names another certificate that is there, and has another key.
        let named = try verdict { $0.signers[0].identifier = .bytes(sequence(otherIssuer + otherSerial)) }
        #expect(named == .refused(.invalidSignature))
        #expect(
            try verdict {
                $0.signers[0].identifier = .bytes([0x80, 0x02, 1, 2])
                $0.signers[0].version = 3
            } == .refused(.missingSignerCertificate))
        #expect(try verdict { $0.certificates?.removeFirst() } == .refused(.missingSignerCertificate))
        #expect(try verdict { $0.certificates = nil } == .refused(.missingSignerCertificate))
        #expect(try verdict { $0.certificates = [] } == .refused(.missingSignerCertificate))
    }

    @Test func `two different certificates may not answer to the signer's name`() throws {
        let authority = try MintedChain.genuine.get()
        let twin = try MintedChain.authority { $0.shape.leaf.notAfter = .seconds(2_000_000_000) }.leaf.certificate
        #expect(twin != authority.leaf.certificate)
        for certificates in [authority.certificates + [twin], [twin] + authority.certificates] {
            for identifier in [SignedDataBuilder.Signer.Identifier.issuerAndSerialNumber, .subjectKeyIdentifier] {
                let verdict = try verdict {
                    $0.certificates = certificates
                    $0.signers[0].identifier = identifier
                }
                #expect(verdict == .refused(.ambiguousSignerCertificate))
            }
        }
        #expect(try verdict { $0.certificates?.append(authority.leaf.certificate) }.isAccepted)
    }

    @Test func `a stranger's certificate with two key identifiers is malformed, not ambiguous`() throws {
        let stranger = try MintedChain.authority { $0.shape.leaf.extensions.append(.subjectKeyIdentifier) }.leaf
            .certificate
        let verdict = try verdict {
            $0.certificates?.append(stranger)
            $0.signers[0].identifier = .subjectKeyIdentifier
        }
        #expect(verdict == .refused(.malformedCertificate))
    }
}
