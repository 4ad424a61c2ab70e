import AppStoreReceiptTesting
import LibcryptoHandles
import SpanASN1
import SpanPKCS7

// Digests, signature algorithms and keys.
extension Vector {
    static let algorithms: [Vector] = digests + keys

    private static let digests: [Vector] = [
        accepted(
            "receipts/sha-1.der", "15", "Apple has signed with SHA-1 until 2024 at least, chains too.",
            .shape { shape, _ in shape = .init(digest: .sha1) }, .receipt { $0.digest = .sha1 }),
        accepted(
            "receipts/sha-1-chain-sha-256-receipt.der", "15", "Each certificate is judged for itself.",
            .shape { shape, _ in shape = .init(digest: .sha1) }),
        accepted(
            "receipts/sha-224.der", nil, "SHA-224 is accepted.", .receipt { $0.digest = .sha224 }),
        accepted(
            "receipts/sha-384.der", nil, "SHA-384 is accepted.", .receipt { $0.digest = .sha384 }),
        accepted(
            "receipts/sha-512.der", nil, "SHA-512 is accepted.", .receipt { $0.digest = .sha512 }),
        accepted(
            "receipts/signature-algorithm-names-the-digest.der", nil,
            "sha256WithRSAEncryption in place of bare rsaEncryption.",
            .signer { signer, _ in signer.signatureAlgorithm = nil }),
        refused(
            "pkcs7/sha-1-switched-off.der", "15", .signature, "weak-algorithm", .node(Path.signer + [2]),
            "A verifier may refuse SHA-1 in the message.", .verifier { $0.allowsSHA1 = false },
            .receipt { $0.digest = .sha1 }),
        refused(
            "certificates/leaf-sha-1-switched-off.der", "15", .chain, "weak-algorithm",
            .node(Path.certificate(0, 1)), "A verifier may refuse SHA-1 in the chain.",
            .verifier { $0.allowsSHA1 = false },
            .leaf { $0.digest = .sha1 }),
        refused(
            "pkcs7/digest-md5.der", "11", .signature, "weak-algorithm", .node(Path.signer + [2]),
            "A signature over MD5.", .receipt { $0.digest = .md5 }),
        refused(
            "pkcs7/digest-unknown.der", "11", .signature, "unsupported-algorithm", .node(Path.signer + [2]),
            "A digest that nobody knows.",
            .signer { signer, _ in signer.digestAlgorithm = .init(.receiptSigningMarker) }),
        refused(
            "pkcs7/digest-and-signature-algorithm-disagree.der", "11", .signature, "algorithm-mismatch",
            .node(Path.signer + [3]), "The digest is SHA-256, the signature algorithm names SHA-1.",
            .signer { signer, _ in signer.signatureAlgorithm = .init(.sha1WithRSAEncryption) }),
        refused(
            "pkcs7/signature-algorithm-md5.der", "11", .signature, "weak-algorithm", .node(Path.signer + [3]),
            "The signature algorithm names MD5.",
            .signer { signer, _ in signer.signatureAlgorithm = .init(.md5WithRSAEncryption) }),
        refused(
            "pkcs7/digest-of-another.der", "11", .signature, "invalid-signature", .node(Path.signer + [4]),
            "The signer names SHA-1 and signed over SHA-256; both are in the set of digests.",
            .container { container, _ in
                container.digestAlgorithms = [.init(.sha256), .init(.sha1)]
                container.signers[0].digestAlgorithm = .init(.sha1)
            }),
        refused(
            "pkcs7/signature-algorithm-pss.der", "11", .signature, "unsupported-algorithm", .node(Path.signer + [3]),
            "RSASSA-PSS is not what Apple signs receipts with.",
            .signer { signer, _ in signer.signatureAlgorithm = .init(.rsaPSS, parameters: [0x30, 0x00]) }),
        refused(
            "pkcs7/signature-algorithm-pss-with-sha-256.der", "11", .signature, "unsupported-algorithm",
            .node(Path.signer + [3]), "The same with SHA-256 and a signature that is right.",
            .container { container, minting in
                let content = container.content ?? []
                let key = container.signers[0].identity.key
                container.signers[0].signatureAlgorithm = .init(.rsaPSS, parameters: pssParameters)
                container.signers[0].signature = try minting.forge.signatures.signature(of: content, by: key) {
                    try pssSignature(of: content, by: key)
                }
            }),
        refused(
            "pkcs7/signature-algorithm-with-parameters.der", "11", .signature, "unsupported-algorithm",
            .node(Path.signer + [3]), "rsaEncryption has no parameters.",
            .signer { signer, _ in signer.signatureAlgorithm = .init(.rsaEncryption, parameters: [0x30, 0x00]) }),
        refused(
            "certificates/leaf-signed-with-md5.der", "15", .chain, "weak-algorithm", .node(Path.certificate(0, 1)),
            "libcrypto at level 0 accepts MD5.", .leaf { $0.digest = .md5 }),
        refused(
            "certificates/intermediate-signed-with-md5.der", "15", .chain, "weak-algorithm",
            .node(Path.certificate(1, 1)), "The same above the leaf.", .intermediate { $0.digest = .md5 }),
    ]

    /// `RSASSA-PSS-params` with SHA-256, its mask and a salt of 32 bytes (RFC 4055, 3.1).
    private static let pssParameters: [UInt8] = ASN1Writer.encode { writer in
        func writeSHA256(to writer: inout ASN1Writer) {
            writer.write(.sequence) { writer in
                writer.writeObjectIdentifier(.sha256)
                writer.writeNull()
            }
        }
        writer.write(.sequence) { writer in
            writer.writeExplicit(0) { writeSHA256(to: &$0) }
            writer.writeExplicit(1) { writer in
                writer.write(.sequence) { writer in
                    writer.writeObjectIdentifier(.mgf1)
                    writeSHA256(to: &writer)
                }
            }
            writer.writeExplicit(2) { $0.writeInteger(32) }
        }
    }

    private static func pssSignature(of content: [UInt8], by key: SigningKey) throws -> [UInt8] {
        let pem = try key.pem()
        let key = try PrivateKey(pem: pem.span)
        return try key.sign(
            DigestAlgorithm.sha256.digest(of: content.span), scheme: .pss(saltLength: 32, mgf1: .sha256))
    }

    private static func key(
        _ file: String, _ pitfall: String, _ code: String, _ why: String, _ steps: Step...
    ) -> Vector {
        var vector = refused(
            "certificates/\(file).der", pitfall, .signature, code, .node(Path.certificate(0, 0, 6)), why)
        vector.fault = steps
        return vector
    }

    /// A `SubjectPublicKeyInfo` that nobody can sign for, in the leaf.
    private static func madeUp(modulus: [UInt8], exponent: [UInt8]) -> Step {
        .leaf { leaf in
            let key = ASN1Writer.encode { writer in
                writer.write(.sequence) { writer in
                    writer.writeInteger(magnitude: modulus.span)
                    writer.writeInteger(magnitude: exponent.span)
                }
            }
            leaf.subjectPublicKeyInfo = ASN1Writer.encode { writer in
                writer.write(.sequence) { writer in
                    writer.write(.sequence) { writer in
                        writer.writeObjectIdentifier(.rsaEncryption)
                        writer.writeNull()
                    }
                    writer.writeBitString { $0.write(encoded: key.span) }
                }
            }
        }
    }

    /// An odd number of that many bits.
    private static func modulus(_ bits: Int) -> [UInt8] {
        [0xC5] + .init(repeating: 0x9B, count: bits / 8 - 1)
    }

    private static let keys: [Vector] = [
        accepted("certificates/leaf-rsa-3072.der", nil, "A larger key.", .leafKey(.rsa3072)),
        accepted("certificates/leaf-rsa-4096.der", nil, "The largest key that is accepted.", .leafKey(.rsa4096)),
        accepted(
            "certificates/intermediate-rsa-4096.der", nil, "The same above the leaf.",
            .intermediateKey(.rsa4096)),
        key("leaf-rsa-512", "15", "weak-key", "libcrypto at level 0 accepts RSA-512.", .leafKey(.rsa512)),
        key("leaf-rsa-1024", "15", "weak-key", "RSA-1024 is within reach.", .leafKey(.rsa1024)),
        key("leaf-rsa-2047", "15", "weak-key", "One bit less than is accepted.", .leafKey(.rsa2047)),
        key("leaf-rsa-4104", "25", "weak-key", "More than is accepted: large keys are slow.", .leafKey(.rsa4104)),
        key(
            "leaf-rsa-16384", "25", "weak-key", "One verification with such a key takes long; so nobody begins it.",
            madeUp(modulus: modulus(16_384), exponent: [1, 0, 1])),
        key("leaf-rsa-exponent-3", "25", "weak-key", "A small exponent invites forgeries.", .leafKey(.exponent3)),
        key(
            "leaf-rsa-exponent-1", "25", "weak-key", "With the exponent 1 everything is a signature.",
            madeUp(modulus: modulus(2048), exponent: [1])),
        key(
            "leaf-rsa-exponent-even", "25", "weak-key", "An even exponent is none.",
            madeUp(modulus: modulus(2048), exponent: [1, 0, 2])),
        key(
            "leaf-rsa-exponent-of-2048-bits", "25", "weak-key", "An exponent chosen to be slow.",
            madeUp(modulus: modulus(2048), exponent: modulus(2040))),
        key(
            "leaf-rsa-modulus-even", "25", "weak-key", "An even modulus is none.",
            madeUp(modulus: modulus(2048).dropLast() + [0x9A], exponent: [1, 0, 1])),
        key(
            "leaf-ec-explicit-parameters", "25", "unsupported-key",
            "A curve of one's own: what libcrypto reads of it may be slow or worse.",
            .leaf { leaf in
                leaf.subjectPublicKeyInfo = ASN1Writer.encode { writer in
                    writer.write(.sequence) { writer in
                        writer.write(.sequence) { writer in
                            // id-ecPublicKey with a SEQUENCE where the name of a curve belongs.
                            let identifier: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
                            writer.write(.objectIdentifier, content: identifier.span)
                            writer.write(.sequence) { $0.writeInteger(1) }
                        }
                        let point: [UInt8] = [0x04] + .init(repeating: 0x11, count: 64)
                        writer.writeBitString { $0.write(encoded: point.span) }
                    }
                }
            }),
        refused(
            "certificates/intermediate-rsa-1024.der", "15", .chain, "weak-key",
            .node(Path.certificate(1, 0, 6)), "A weak key above the leaf.", .intermediateKey(.rsa1024)),
        refused(
            "certificates/intermediate-rsa-4104.der", "25", .chain, "weak-key",
            .node(Path.certificate(1, 0, 6)), "A slow key above the leaf.", .intermediateKey(.rsa4104)),
    ]
}
