import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import SpanPKCS7

// The structure of the message: what is signed, by whom, with which certificate.
extension Vector {
    static let containers: [Vector] = structure + content + certificateSets + signers + signatures

    /// `CertificateList` (RFC 5280, 5.1) without entries, by the intermediate.
    private static func revocationList(by minting: Minting) throws -> [UInt8] {
        let issuer = minting.authority.intermediate
        let algorithm = Node(
            0x30, nodes: [Node(0x06, SignatureDigest.sha256.rsaSignatureIdentifier.content), Node(0x05, [])])
        let list = Node(
            0x30,
            nodes: [
                algorithm, Node(issuer.certificate)[0, 5], Node(0x17, Array("250601000000Z".utf8)),
                Node(0x17, Array("250701000000Z".utf8)),
            ])
        let signature = try issuer.key.sign(list.encoded, digest: .sha256)
        return Node(0x30, nodes: [list, algorithm, Node(0x03, [0] + signature)]).encoded
    }

    private static let structure: [Vector] = [
        refused(
            "pkcs7/outer-content-type-enveloped-data.der", nil, .container, "unexpected-value",
            .node(Path.contentType), "Not a signed message.",
            .container { container, _ in
                container.outerContentType =
                    ASN1ObjectIdentifier(
                        validating: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x03])
                    ?? container.outerContentType
            }),
        refused(
            "pkcs7/content-info-without-content.der", "24", .container, "missing-element", .node(Path.contentType),
            "A signed message without SignedData.", .tree { $0.nodes.removeLast() }),
        refused(
            "pkcs7/two-signed-data.der", "9", .container, "trailing-data", .end(Path.signedData),
            "Two SignedData where one belongs.",
            .tree { $0[1].nodes.append($0[Path.signedData]) }),
        refused(
            "pkcs7/field-after-content.der", "9", .container, "trailing-data", .end([1]),
            "ContentInfo has two fields.", .tree { $0.nodes.append(Node(0xA1, nodes: [])) }),
        refused(
            "pkcs7/version-2.der", nil, .container, "unexpected-value", .node(Path.version),
            "RFC 5652 has no version 2.", .container { container, _ in container.version = 2 }),
        refused(
            "pkcs7/version-missing.der", "24", .container, "unexpected-tag", .node(Path.version),
            "SignedData begins with its version.", .tree { $0[Path.signedData].nodes.removeFirst() }),
        accepted(
            "pkcs7/version-3.der", nil, "A message with version 3 certificates of another kind may say so.",
            .container { container, _ in container.version = 3 }),
        refused(
            "pkcs7/digest-algorithms-empty.der", "17", .signature, "algorithm-mismatch", .node(Path.signer + [2]),
            "`31 00`: the set does not list the signer's digest.",
            .container { container, _ in container.digestAlgorithms = [] }),
        refused(
            "pkcs7/digest-algorithms-of-another.der", "11", .signature, "algorithm-mismatch",
            .node(Path.signer + [2]), "The set lists another digest than the signer's.",
            .container { container, _ in
                container.digestAlgorithms = [.init(SignatureDigest.sha1.objectIdentifier)]
            }),
        accepted(
            "pkcs7/digest-algorithms-with-another.der", "11",
            "The set lists two digests; the one that counts is the signer's.",
            .container { container, _ in
                container.digestAlgorithms = [.init(.sha1), .init(.sha256)]
            }),
        refused(
            "pkcs7/field-after-signer-infos.der", "9", .container, "trailing-data", .end(Path.signerInfos),
            "SignedData ends with its signers.", .tree { $0[Path.signedData].nodes.append(Node(0x04, [1])) }),
        refused(
            "pkcs7/signer-infos-missing.der", "24", .container, "missing-element", .end(Path.certificates),
            "Without the set of signers nothing is signed.", .tree { $0[Path.signedData].nodes.removeLast() }),
        refused(
            "pkcs7/certificates-after-signer-infos.der", nil, .container, "trailing-data",
            .node([1, 0, 4]), "The fields have one order.",
            .tree { $0[Path.signedData].nodes.swapAt(3, 4) }),
        accepted(
            "pkcs7/with-revocation-lists.der", nil, "Embedded revocation lists are passed over.",
            .container { container, minting in container.revocationLists = [try revocationList(by: minting)] }),
        refused(
            "pkcs7/revocation-list-garbage.der", "25", .container, "missing-element", .end([1, 0, 4, 0]),
            "A revocation list that is none.",
            .container { container, _ in container.revocationLists = [[0x30, 0x00]] }),
        accepted(
            "pkcs7/with-unsigned-attributes.der", nil, "Unsigned attributes are passed over.",
            .signer { signer, _ in
                signer.unsignedAttributes = [
                    [
                        0x30, 0x0F, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x05, 0x31, 0x02, 0x05,
                        0x00,
                    ]
                ]
            }),
    ]

    private static let content: [Vector] = [
        refused(
            "pkcs7/content-missing.der", "24", .container, "missing-content", .node(Path.innerContentType),
            "A detached signature: there is no payload, and no other is asked for.",
            .tree { $0[Path.encapsulated].nodes.removeLast() }),
        refused(
            "pkcs7/content-type-not-data.der", "7", .container, "unexpected-content-type",
            .node(Path.innerContentType), "The payload of a receipt is plain data.",
            .container { container, _ in container.contentType = container.outerContentType }),
        refused(
            "pkcs7/content-not-an-octet-string.der", nil, .container, "unexpected-content-type",
            .node(Path.octets), "The payload stands in an OCTET STRING.",
            .tree { $0[Path.octets].tag = [0x30] }),
        refused(
            "pkcs7/two-contents.der", "9", .container, "trailing-data", .end(Path.octets),
            "Two payloads: one might be verified and the other parsed.",
            .tree { $0[Path.eContent].nodes.append($0[Path.octets]) }),
        refused(
            "pkcs7/two-contents-side-by-side.der", "9", .container, "trailing-data", .end(Path.eContent),
            "The same with a second [0].",
            .tree { $0[Path.encapsulated].nodes.append($0[Path.eContent]) }),
        refused(
            "pkcs7/content-wrapped-twice.der", "9", .payload, "unexpected-tag", .content(Path.octets),
            "An OCTET STRING in the OCTET STRING is never unwrapped again.",
            .container { container, _ in container.content = Node(0x04, container.content ?? []).encoded }),
        refused(
            "pkcs7/two-payloads-in-content.der", "9", .payload, "trailing-data", .end(Path.payload),
            "A second SET after the payload.",
            .container { container, _ in container.content = container.content.map { $0 + $0 } }),
        refused(
            "pkcs7/payload-empty.der", "24", .payload, "missing-element", .content(Path.octets),
            "A signed payload of no bytes.",
            .container { container, _ in container.content = [] }),
        refused(
            "pkcs7/content-bit-flipped.der", "2", .signature, "content-digest-mismatch", .node(Path.signer + [4]),
            "One bit of the payload is not what was signed.",
            .tree { $0[Path.octets].octets.flip(700) }),
        refused(
            "pkcs7/content-replaced.der", "2", .signature, "content-digest-mismatch", .node(Path.signer + [4]),
            "The payload is another receipt's; certificates and signature are genuine.",
            .tree { tree in
                tree[Path.octets].octets = try ReceiptBuilder(
                    bundleID: VerifierOptions.bundleID,
                    purchases: [.nonConsumable("com.example.app.everything", transactionID: "1")]
                ).payload()
            }),
    ]

    /// In the place of the intermediate one with its name, another key, and the root's signature.
    private static let strangeIntermediate = Step.embedded { certificates, minting in
        certificates[1] = try TestCertificateAuthority.Shape().intermediate.issue(
            key: minting.forge.key(.strangerIntermediate), by: minting.authority.root
        ).certificate
    }

    private static let certificateSets: [Vector] = [
        refused(
            "pkcs7/certificates-missing.der", "10", .container, "missing-signer-certificate",
            .node([1, 0, 3]), "No certificates at all must not mean nothing to check.",
            .container { container, _ in container.certificates = nil }),
        refused(
            "pkcs7/certificates-empty.der", "10", .container, "missing-signer-certificate",
            .node(Path.signerInfos), "An empty set of certificates.", .embedded { certificates, _ in certificates = [] }
        ),
        refused(
            "pkcs7/certificate-garbage.der", "25", .container, "missing-element", .end(Path.certificate(1)),
            "A certificate that is none.", .embedded { certificates, _ in certificates[1] = [0x30, 0x00] }),
        refused(
            "pkcs7/certificate-of-another-type.der", "25", .container, "unexpected-tag", .node(Path.certificate(1)),
            "An INTEGER among the certificates.",
            .embedded { certificates, _ in certificates.insert([0x02, 0x01, 0x00], at: 1) }),
        accepted(
            "pkcs7/certificates-in-reverse-order.der", "5",
            "The signer names its certificate; it need not be the first.",
            .embedded { certificates, _ in certificates.reverse() }),
        accepted(
            "pkcs7/certificates-doubled.der", "20a", "Every certificate twice.",
            .embedded { certificates, _ in certificates += certificates }),
        accepted(
            "pkcs7/certificates-with-a-stranger.der", "20a", "A certificate that has nothing to do with it, in front.",
            .embedded { certificates, minting in
                certificates.insert(minting.forge.storeKitSigner.identity.certificate, at: 0)
            }),
        accepted(
            "pkcs7/certificates-without-the-root.der", "6", "The root that counts is the verifier's own.",
            .receipt { $0.embedsRoot = false }),
        accepted(
            "pkcs7/certificates-of-another-kind.der", "25", "An attribute certificate is passed over.",
            .embedded { certificates, _ in certificates.append([0xA2, 0x00]) }),
        accepted(
            "pkcs7/16-certificates.der", "25", "As many certificates as are allowed.",
            .embedded { certificates, minting in
                certificates += .init(repeating: minting.authority.root.certificate, count: 13)
            }),
        refused(
            "pkcs7/17-certificates.der", "25", .container, "too-many-elements", .node(Path.certificate(16)),
            "One certificate too many.",
            .embedded { certificates, minting in
                certificates += .init(repeating: minting.authority.root.certificate, count: 14)
            }),
        refused(
            "pkcs7/10000-certificates.der", "25", .container, "too-many-elements", .node(Path.certificate(16)),
            "Ten thousand tiny certificates of another kind.",
            .embedded { certificates, _ in certificates += .init(repeating: [0xA3, 0x00], count: 10_000) }),
        refused(
            "pkcs7/intermediate-missing.der", "20a", .chain, "untrusted-chain", .node(Path.certificate(0)),
            "Without the intermediate there is no chain, though the leaf may be known from another receipt.",
            .embedded { certificates, _ in certificates.remove(at: 1) }),
        refused(
            "pkcs7/intermediate-of-a-stranger.der", "20a", .chain, "untrusted-chain", .node(Path.certificate(0)),
            "An intermediate of the same name has another key, as the leaf's key identifier says.", strangeIntermediate),
        refused(
            "pkcs7/intermediate-of-a-stranger-without-key-identifiers.der", "20a", .chain,
            "invalid-certificate-signature", .node(Path.certificate(0)),
            "An intermediate of the same name with another key did not issue the leaf; no key identifier says so.",
            base: [.leaf { $0.extensions.remove(at: 1) }], strangeIntermediate),
    ]

    private static let signers: [Vector] = [
        refused(
            "pkcs7/no-signer.der", "8", .container, "signer-count", .node(Path.signerInfos),
            "No signer is no success.", .container { container, _ in container.signers = [] }),
        refused(
            "pkcs7/two-signers.der", "8", .container, "signer-count", .node(Path.signerInfos),
            "Two valid signers: a receipt has one.",
            .container { container, minting in
                container.signers.append(.init(minting.authority.leaf, digest: .sha1))
            }),
        refused(
            "pkcs7/second-signer-forged.der", "8", .container, "signer-count", .node(Path.signerInfos),
            "Only the first of two signers signed.",
            .container { container, minting in
                var forged = container.signers[0]
                forged.signature = .init(repeating: 0x55, count: 256)
                container.signers.append(forged)
            }),
        refused(
            "pkcs7/64-copies-of-the-signer.der", "24a", .container, "signer-count", .node(Path.signerInfos),
            "Each copy would cost a verification.",
            .tree { $0[Path.signerInfos].nodes = .init(repeating: $0[Path.signer], count: 64) }),
        refused(
            "pkcs7/1000-copies-of-the-signer.der", "24a", .container, "too-many-elements",
            .node(Path.signerInfos + [64]), "Each copy would cost a verification.",
            .tree { $0[Path.signerInfos].nodes = .init(repeating: $0[Path.signer], count: 1000) }),
        accepted(
            "pkcs7/signer-by-key-identifier.der", "5", "The signer names its certificate by the key's identifier.",
            .container { container, _ in
                container.version = 3
                container.signers[0].identifier = .subjectKeyIdentifier
            }),
        refused(
            "pkcs7/signer-version-3-with-issuer-and-serial.der", nil, .container, "unexpected-value",
            .node(Path.signer + [0]), "The version follows from the identifier.",
            .signer { signer, _ in signer.version = 3 }),
        refused(
            "pkcs7/signer-version-1-with-key-identifier.der", nil, .container, "unexpected-value",
            .node(Path.signer + [0]), "The version follows from the identifier.",
            base: [.signer { signer, _ in signer.identifier = .subjectKeyIdentifier }],
            .signer { signer, _ in signer.version = 1 }),
        refused(
            "pkcs7/signer-named-by-serial-number-alone.der", "5", .container, "missing-signer-certificate",
            .node(Path.signerInfos), "The serial number is the leaf's, the issuer another.",
            .tree { tree in tree[Path.signer + [1, 0]] = tree[Path.certificate(0, 0, 5)] }),
        refused(
            "pkcs7/signer-named-by-issuer-alone.der", "5", .container, "missing-signer-certificate",
            .node(Path.signerInfos), "The issuer is the leaf's, the serial number another.",
            .tree { $0[Path.signer + [1, 1]].octets.flip(3) }),
        refused(
            "pkcs7/signer-key-identifier-of-nobody.der", "5", .container, "missing-signer-certificate",
            .node(Path.signerInfos), "No certificate has this key identifier.",
            base: [
                .container { container, _ in
                    container.version = 3
                    container.signers[0].identifier = .subjectKeyIdentifier
                }
            ], .tree { $0[Path.signer + [1]].octets.flip(3) }),
        accepted(
            "pkcs7/stranger-with-the-same-serial-number.der", "5",
            "A certificate of another issuer with the leaf's serial number stands first, and is not the signer's.",
            .embedded { certificates, minting in
                var specification = TestCertificateAuthority.Shape().leaf
                specification.issuer = .init(.commonName("Test Stranger"))
                certificates.insert(
                    try specification.issue(
                        key: minting.forge.key(.strangerLeaf), by: minting.authority.intermediate
                    ).certificate, at: 0)
            }),
        refused(
            "pkcs7/two-certificates-answer-to-the-signer.der", "5", .container, "ambiguous-signer-certificate",
            .node(Path.certificate(1)),
            "Two certificates of one issuer with one serial number: their order would decide.",
            .embedded { certificates, minting in
                certificates.insert(
                    try TestCertificateAuthority.Shape().leaf.issue(
                        key: minting.forge.key(.strangerLeaf), by: minting.authority.intermediate
                    ).certificate, at: 1)
            }),
        refused(
            "pkcs7/signer-is-the-intermediate.der", "3", .chain, "invalid-chain-length", .node(Path.certificate(1)),
            "The intermediate signs the receipt itself.",
            base: [.intermediate { $0.extensions[3] = .keyUsage(.digitalSignature, .keyCertSign) }],
            .container { container, minting in
                container.signers = [.init(minting.authority.intermediate)]
            }),
        refused(
            "pkcs7/signer-field-after-signature.der", "9", .container, "trailing-data", .end(Path.signer + [4]),
            "SignerInfo ends with the signature or unsigned attributes.",
            .tree { $0[Path.signer].nodes.append(Node(0x04, [])) }),
    ]

    private static let signatures: [Vector] = [
        refused(
            "pkcs7/signature-bit-flipped.der", "2", .signature, "invalid-signature", .node(Path.signer + [4]),
            "One bit of the signature.", .tree { $0[Path.signer + [4]].octets.flip(100) }),
        refused(
            "pkcs7/signature-empty.der", "10", .signature, "invalid-signature", .node(Path.signer + [4]),
            "No signature must not mean nothing to check.", .tree { $0[Path.signer + [4]].octets = [] }),
        refused(
            "pkcs7/signature-missing.der", "24", .container, "missing-element", .end(Path.signer + [3]),
            "A signer without a signature.", .tree { $0[Path.signer].nodes.removeLast() }),
        refused(
            "pkcs7/signature-cut-short.der", "10", .signature, "invalid-signature", .node(Path.signer + [4]),
            "A signature of 255 bytes.", .tree { $0[Path.signer + [4]].octets.removeLast() }),
        refused(
            "pkcs7/signature-zero.der", "10", .signature, "invalid-signature", .node(Path.signer + [4]),
            "A signature of zeros.", .tree { $0[Path.signer + [4]].octets = .init(repeating: 0, count: 256) }),
        refused(
            "pkcs7/signature-of-a-stranger.der", "5", .signature, "invalid-signature", .node(Path.signer + [4]),
            "A valid signature by a key that is in none of the certificates.",
            .signer { signer, minting in
                signer.identity = .init(
                    certificate: signer.identity.certificate, key: try minting.forge.key(.strangerLeaf))
            }),
        refused(
            "pkcs7/digest-info-names-another-digest.der", "11", .signature, "invalid-signature",
            .node(Path.signer + [4]), "The padding inside the signature names SHA-1, the signer SHA-256.",
            .container { container, _ in
                let digest = try SignatureDigest.sha1.digest(of: container.content ?? [])
                container.signers[0].signature = try container.signers[0].identity.key.sign(
                    digestInfo: SigningKey.digestInfo(.sha1, digest))
            }),
        refused(
            "pkcs7/digest-info-with-trailing-bytes.der", "11", .signature, "invalid-signature",
            .node(Path.signer + [4]), "Bytes after the digest inside the signature, as in Bleichenbacher's forgery.",
            .container { container, _ in
                let digest = try SignatureDigest.sha256.digest(of: container.content ?? [])
                container.signers[0].signature = try container.signers[0].identity.key.sign(
                    digestInfo: SigningKey.digestInfo(.sha256, digest) + [1, 2, 3, 4])
            }),
        refused(
            "pkcs7/digest-without-digest-info.der", "11", .signature, "invalid-signature",
            .node(Path.signer + [4]), "The bare digest inside the signature does not say which digest it is.",
            .container { container, _ in
                container.signers[0].signature = try container.signers[0].identity.key.sign(
                    digestInfo: SignatureDigest.sha256.digest(of: container.content ?? []))
            }),
    ]
}
