import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import SpanPKCS7

// Signed attributes, which no known receipt has: whoever adds them must get them right.
extension Vector {
    private typealias Attribute = SignedDataBuilder.SignedAttribute

    private static let attributes = Path.signer + [3]
    private static let base: [Step] = [.signedAttributes(Attribute.required)]

    private static func invalid(_ file: String, _ code: String, _ place: Place, _ why: String, _ fault: Step) -> Vector
    {
        refused("pkcs7/signed-attributes-\(file).der", "7", .signature, code, place, why, base: base, fault)
    }

    static let signedAttributes: [Vector] = [
        accepted("pkcs7/signed-attributes.der", "7", "The two attributes that RFC 5652 requires.", base[0]),
        accepted(
            "pkcs7/signed-attributes-with-signing-time.der", "7", "A signing time besides.",
            .signedAttributes(Attribute.required + [.signingTime(ReceiptBuilder.defaultCreationDate)])),
        accepted(
            "pkcs7/signed-attributes-with-an-unknown-one.der", "7", "An attribute of unknown meaning besides.",
            .signedAttributes(Attribute.required + [.other(.receiptSigningMarker, values: [[0x05, 0x00]])])),
        accepted(
            "pkcs7/signed-attributes-sha-1.der", "7", "The same with SHA-1.", base[0],
            .receipt { $0.digest = .sha1 }),
        invalid(
            "without-content-type", "invalid-signed-attributes", .node(attributes),
            "Without content-type a signature over attributes passes for one over content.",
            .signedAttributes([.messageDigest(nil)])),
        invalid(
            "content-type-of-another", "invalid-signed-attributes", .node(attributes + [0, 1, 0]),
            "The signed content-type is not that of the content.",
            .signedAttributes([.contentType(.signedData), .messageDigest(nil)])),
        invalid(
            "content-type-twice", "invalid-signed-attributes", .node(attributes + [1, 0]),
            "Two content-type attributes.",
            .signedAttributes([.contentType(nil), .contentType(nil), .messageDigest(nil)])),
        invalid(
            "content-type-not-an-oid", "invalid-signed-attributes", .node(attributes + [0, 1, 0]),
            "A content-type that is an OCTET STRING of the right bytes.",
            .signedAttributes([
                .other(.contentType, values: [[0x04, 0x09] + ASN1ObjectIdentifier.data.content]), .messageDigest(nil),
            ])),
        invalid(
            "without-message-digest", "invalid-signed-attributes", .node(attributes),
            "Nothing ties the signature to the content.", .signedAttributes([.contentType(nil)])),
        invalid(
            "message-digest-of-another", "content-digest-mismatch", .node(attributes),
            "The signed digest is not the content's.",
            .signedAttributes([.contentType(nil), .messageDigest(.init(repeating: 0xAA, count: 32))])),
        invalid(
            "message-digest-empty", "content-digest-mismatch", .node(attributes), "A digest of no bytes.",
            .signedAttributes([.contentType(nil), .messageDigest([])])),
        invalid(
            "message-digest-twice-right-one-last", "invalid-signed-attributes", .node(attributes + [2, 0]),
            "Two message digests; the last one is right.",
            .signedAttributes([.contentType(nil), .messageDigest(.init(repeating: 0, count: 32)), .messageDigest(nil)])),
        invalid(
            "message-digest-twice-right-one-first", "invalid-signed-attributes", .node(attributes + [2, 0]),
            "Two message digests; the first one is right.",
            .signedAttributes([
                .contentType(nil), .messageDigest(nil), .messageDigest(.init(repeating: 0xFF, count: 32)),
            ])),
        refused(
            "pkcs7/signed-attributes-message-digest-with-two-values.der", "7", .signature, "invalid-signed-attributes",
            .node(attributes + [1, 1, 1]), "One message digest with two values.", base: base,
            .container { container, _ in
                let digest = try SignatureDigest.sha256.digest(of: container.content ?? [])
                container.signers[0].signedAttributes = [
                    .contentType(nil),
                    .other(
                        .messageDigest,
                        values: [[0x04, 0x20] + digest, [0x04, 0x20] + .init(repeating: 0xFF, count: 32)]),
                ]
            }),
        invalid(
            "message-digest-without-value", "invalid-signed-attributes", .node(attributes + [0, 1]),
            "A message digest without a value.",
            .signedAttributes([.contentType(nil), .other(.messageDigest, values: [])])),
        refused(
            "pkcs7/signed-attributes-empty.der", "7", .container, "missing-element", .node(attributes),
            "Signed attributes, if there, are at least one.", base: base, .signedAttributes([])),
        invalid(
            "not-in-der-order", "invalid-signed-attributes", .node(attributes + [1]),
            "What is signed is DER, so that nobody signs two orders at once.",
            .signer { signer, _ in
                signer.signedAttributes?.reverse()
                signer.sortsSignedAttributes = false
            }),
        invalid(
            "signed-with-their-implicit-tag", "content-digest-mismatch", .node(Path.signer + [5]),
            "The attributes are signed as a SET OF, not under [0].",
            .container { container, _ in
                let signer = container.signers[0]
                let tree = Node(try container.encoded())
                container.signers[0].signature = try signer.identity.key.sign(
                    tree[attributes].encoded, digest: signer.digest)
            }),
        invalid(
            "not-signed", "content-digest-mismatch", .node(Path.signer + [5]),
            "The signature is over the content, though there are attributes.",
            .container { container, _ in
                let signer = container.signers[0]
                container.signers[0].signature = try signer.identity.key.sign(
                    container.content ?? [], digest: signer.digest)
            }),
        refused(
            "pkcs7/signed-attributes-removed.der", "7", .signature, "content-digest-mismatch",
            .node(Path.signer + [4]), "The attributes that were signed are gone.", base: base,
            .tree { $0[Path.signer].nodes.remove(at: 3) }),
        refused(
            "pkcs7/signed-attributes-content-bit-flipped.der", "7", .signature, "content-digest-mismatch",
            .node(attributes), "The attributes are genuine, the content is not.", base: base,
            .tree { $0[Path.octets].octets.flip(700) }),
    ]
}
