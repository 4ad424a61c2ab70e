import AppStoreReceipt
import AppStoreReceiptTesting
import SpanPKCS7

// RSA and elliptic curves, on every certificate of the chain: what Apple has not signed receipts with yet.
extension Vector {
    static let keyKinds: [Vector] = mixedChains + ellipticFaults

    private enum Kind: String, CaseIterable {
        case rsa, ec
    }

    /// Certificates of these kinds, and the root as trust.
    private static func chain(_ root: Kind, _ intermediate: Kind, _ leaf: Kind) -> [Step] {
        [
            .keys { keys in
                if root == .ec { keys.root = .p384Root }
                if intermediate == .ec { keys.intermediate = .p384Intermediate }
                if leaf == .ec { keys.leaf = .p256 }
            },
            .verifier { if root == .ec { $0.roots = ["ec-root-of-receipts.der"] } },
        ]
    }

    private static let mixedChains: [Vector] = Kind.allCases.flatMap { root in
        Kind.allCases.flatMap { intermediate in
            Kind.allCases.map { leaf in
                Vector(
                    file: "receipts/root-\(root)-intermediate-\(intermediate)-leaf-\(leaf).der",
                    expected: .accepted(purchases: 2), why: "Each certificate is judged by its own key.", pitfall: nil,
                    base: chain(root, intermediate, leaf))
            }
        }
    }

    private static let elliptic = chain(.ec, .ec, .ec)

    private static func faulty(
        _ file: String, _ stage: VerificationError.Stage, _ code: String, _ place: Place, _ why: String,
        _ fault: Step...
    ) -> Vector {
        var vector = refused("certificates/\(file).der", "11", stage, code, place, why)
        (vector.base, vector.fault) = (elliptic, fault)
        return vector
    }

    private static let signatureAlgorithm = Place.node(Path.signer + [3])
    private static let signature = Place.node(Path.signer + [4])

    private static func algorithm(_ name: AlgorithmName) -> Step {
        .signer { signer, _ in signer.signatureAlgorithm = name }
    }

    /// Puts a signature in the place of the right one.
    private static func signature(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Step {
        .tree { tree in tree[Path.signer + [4]].octets = change(tree[Path.signer + [4]].octets) }
    }

    private static let ellipticFaults: [Vector] = [
        accepted(
            "receipts/leaf-ec-p-384.der", nil, "The larger curve.", .keys { $0.leaf = .p384Intermediate },
            .receipt { $0.digest = .sha384 }),
        accepted(
            "receipts/leaf-ec-with-signed-attributes.der", nil, "What is signed are the attributes, as with RSA.",
            .keys { $0.leaf = .p256 }, .signedAttributes(SignedDataBuilder.SignedAttribute.required)),
        faulty(
            "leaf-ec-p-521", .signature, "unsupported-key", .node(Path.certificate(0, 0, 6)),
            "A curve that nobody at Apple uses.", .keys { $0.leaf = .p521 }),
        faulty(
            "intermediate-ec-p-521", .chain, "unsupported-key", .node(Path.certificate(1, 0, 6)), "The same above it.",
            .keys { $0.intermediate = .p521 }),
        faulty(
            "leaf-ec-signs-with-sha-1", .signature, "weak-algorithm", signatureAlgorithm,
            "Apple has never signed so; SHA-1 is for RSA.", .receipt { $0.digest = .sha1 }),
        faulty(
            "leaf-signed-with-sha-1-by-ec", .chain, "weak-algorithm", .node(Path.certificate(0, 1)),
            "The same in the leaf.", .leaf { $0.digest = .sha1 }),
        faulty(
            "intermediate-signed-with-sha-1-by-ec", .chain, "weak-algorithm", .node(Path.certificate(1, 1)),
            "The same in the intermediate.", .intermediate { $0.digest = .sha1 }),
        accepted(
            "receipts/signature-algorithm-of-a-key.der", nil,
            "id-ecPublicKey names a key and no signature (RFC 5753, 2.1.1), and OpenSSL verifies it by the signer's digest.",
            .keys { $0.leaf = .p256 }, algorithm(.init(.ecPublicKey, parameters: nil))),
        faulty(
            "ecdsa-with-null", .signature, "unsupported-algorithm", signatureAlgorithm,
            "The names of ECDSA have no parameters, not even NULL (RFC 5758, 3.2).",
            algorithm(.init(.ecdsaWithSHA256))),
        faulty(
            "ecdsa-with-another-digest", .signature, "algorithm-mismatch", signatureAlgorithm,
            "The signer's digest is SHA-256, the signature algorithm names SHA-384.",
            algorithm(.init(.ecdsaWithSHA384, parameters: nil))),
        faulty(
            "rsa-signature-by-ec", .signature, "algorithm-mismatch", .node(Path.certificate(0, 0, 6, 0)),
            "rsaEncryption with a key on an elliptic curve.", algorithm(.init(.rsaEncryption))),
        Vector(
            file: "certificates/ecdsa-signature-by-rsa.der",
            expected: .refused(.signature, "algorithm-mismatch", .node(Path.certificate(0, 0, 6, 0))),
            why: "ECDSA with an RSA key.", pitfall: "11", base: chain(.ec, .ec, .rsa),
            fault: [algorithm(.init(.ecdsaWithSHA256, parameters: nil))]),
        faulty(
            "ecdsa-signature-as-in-a-jws", .signature, "invalid-signature", signature,
            "r and s, 32 bytes each, in place of an ECDSA-Sig-Value (RFC 3279, 2.2.3).",
            signature { encoded in
                let value = Node(encoded)
                return value.nodes.flatMap { integer in
                    let number = Array(integer.octets.drop { $0 == 0 })
                    return [UInt8](repeating: 0, count: 32 - number.count) + number
                }
            }),
        faulty(
            "ecdsa-signature-of-zeros", .signature, "invalid-signature", signature,
            "r and s are from 1 on (CVE-2022-21449).", signature { _ in [0x30, 6, 2, 1, 0, 2, 1, 0] }),
        faulty(
            "ecdsa-signature-with-more-after-it", .signature, "invalid-signature", signature,
            "A NULL after s, outside of the value.", signature { $0 + [5, 0] }),
        faulty(
            "ecdsa-signature-bit-flipped", .signature, "invalid-signature", signature, "Another s.",
            signature { encoded in
                var encoded = encoded
                encoded[encoded.count - 1] ^= 1
                return encoded
            }),
        faulty(
            "ecdsa-content-changed", .signature, "invalid-signature", signature,
            "With ECDSA nobody can tell whether content or signature were changed.",
            .tree { tree in
                var payload = tree[Path.octets].octets
                payload[payload.count - 1] ^= 1
                tree[Path.octets].octets = payload
            }),
        faulty(
            "strangers-leaf-ec", .chain, "untrusted-chain", .node(Path.certificate(0)),
            "The same names, other keys.",
            .keys { keys in
                keys = ChainKeys(root: .strangerP384, intermediate: .strangerP384, leaf: .strangerP256)
            }),
    ]
}
