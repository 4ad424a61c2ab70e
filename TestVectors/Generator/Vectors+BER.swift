import AppStoreReceiptTesting

// BER, as StoreKit Testing and streaming writers of CMS make it.
extension Vector {
    /// The first segment of the content of a BER receipt.
    private static let segment = Path.octets + [0]

    static let ber: [Vector] = [
        accepted(
            "pkcs7/ber-indefinite-lengths.ber", "17", "Indefinite lengths around one segment, as Xcode writes them.",
            .receipt { $0.encoding = .ber() }),
        accepted(
            "pkcs7/ber-segments-of-100-bytes.ber", "17", "The content in segments.",
            .receipt { $0.encoding = .ber(segmentSize: 100) }),
        accepted(
            "pkcs7/ber-segments-of-1-byte.ber", "17", "The content in segments of one byte.",
            .receipt { $0.encoding = .ber(segmentSize: 1) }),
        accepted(
            "pkcs7/ber-segments-in-definite-lengths.ber", "17",
            "Segments need no indefinite length: only the OCTET STRING is constructed.",
            .tree { tree in
                let content = tree[Path.octets].octets
                tree[Path.octets] = Node(
                    0x24, nodes: [Node(0x04, Array(content.prefix(500))), Node(0x04, Array(content.dropFirst(500)))])
            }),
        accepted(
            "pkcs7/ber-segments-in-segments.ber", "17", "X.690 lets a segment have segments.",
            .tree { tree in
                let content = tree[Path.octets].octets
                tree[Path.octets] = Node(
                    0x24,
                    nodes: [
                        Node(0x24, nodes: [Node(0x04, Array(content.prefix(10))), Node(0x04, [])]),
                        Node(0x04, Array(content.dropFirst(10))),
                    ])
            }),
        accepted(
            "pkcs7/ber-indefinite-sets.ber", "17", "Indefinite lengths around certificates and signers too.",
            .tree { tree in
                tree[Path.certificates].length = .indefinite
                tree[Path.signerInfos].length = .indefinite
                tree[Path.signer].length = .indefinite
            }),
        accepted(
            "pkcs7/ber-with-signed-attributes.ber", "17", "Signed attributes are DER in a BER message too.",
            .receipt { receipt in
                receipt.encoding = .ber(segmentSize: 1000)
                receipt.signedAttributes = SignedDataBuilder.SignedAttribute.required
            }),
        accepted(
            "pkcs7/ber-with-empty-sets.ber", "17", purchases: 3,
            "`31 00` and `30 00` are empty, and not the beginning of an indefinite length.",
            .receipt { receipt in
                receipt.encoding = .ber()
                receipt.additionalAttributes.append(.init(.inAppPurchase, value: [0x31, 0x00]))
            }),
        refused(
            "pkcs7/ber-last-end-of-contents-missing.ber", "17", .container, "truncated", .fromEnd(0),
            "The outermost indefinite length does not end.",
            base: [.receipt { $0.encoding = .ber() }], .bytes { $0.removeLast(2) }),
        refused(
            "pkcs7/ber-half-an-end-of-contents.ber", "17", .container, "unexpected-end-of-contents", .fromEnd(1),
            "One octet of the last end-of-contents.",
            base: [.receipt { $0.encoding = .ber() }], .bytes { $0.removeLast() }),
        refused(
            "pkcs7/ber-trailing-end-of-contents.ber", "9", .container, "trailing-data", .end([]),
            "One end-of-contents too many.",
            base: [.receipt { $0.encoding = .ber() }], .bytes { $0 += [0, 0] }),
        refused(
            "pkcs7/ber-segment-of-another-type.ber", "17", .container, "unexpected-tag", .node(segment),
            "The segments of an OCTET STRING are OCTET STRINGs.",
            base: [.receipt { $0.encoding = .ber() }],
            .bytes { bytes in
                if let start = Place.node(segment).offset(in: bytes) { bytes[start] = 0x0C }
            }),
        refused(
            "pkcs7/ber-primitive-of-indefinite-length.ber", "17", .container, "indefinite-length",
            .node(Path.octets), "Only constructed elements may have an indefinite length.",
            .tree { $0[Path.octets].length = .indefinite }),
        refused(
            "pkcs7/ber-end-of-contents-in-definite-length.ber", "17", .container, "unexpected-end-of-contents",
            .node(Path.octets + [1]), "An end-of-contents inside a definite length ends nothing.",
            base: [
                .tree { tree in
                    tree[Path.octets] = Node(0x24, nodes: [Node(0x04, tree[Path.octets].octets)])
                }
            ], .tree { $0[Path.octets].nodes.append(Node(0x00, [])) }),
        refused(
            "pkcs7/ber-non-minimal-length.ber", "17", .container, "non-minimal-length",
            .within(Path.digestAlgorithms, 1),
            "The gate lets through indefinite lengths and segments, and nothing else of BER.",
            base: [.receipt { $0.encoding = .ber() }],
            .bytes { bytes in
                // The first digest algorithm's length, now in the long form.
                if let start = Place.node(Path.digestAlgorithms).offset(in: bytes) {
                    bytes.insert(0x81, at: start + 1)
                }
            }),
        refused(
            "pkcs7/ber-certificate-of-indefinite-length.ber", "17", .container, "indefinite-length",
            .node(Path.certificate(0)), "A certificate is DER, or its signature covers something else.",
            .tree { $0[Path.certificate(0)].length = .indefinite }),
        refused(
            "pkcs7/ber-signed-attributes-of-indefinite-length.ber", "7", .container, "indefinite-length",
            .node(Path.signer + [3]), "Signed attributes are DER, or their signature covers something else.",
            base: [.signedAttributes(SignedDataBuilder.SignedAttribute.required)],
            .tree { $0[Path.signer + [3]].length = .indefinite }),
        refused(
            "pkcs7/ber-payload-of-indefinite-length.ber", "17", .payload, "indefinite-length", .node(Path.payload),
            "What an OCTET STRING holds is signed as it stands, and read as DER.",
            .payload { $0.length = .indefinite }),
        refused(
            "pkcs7/ber-segments-nested-100-deep.ber", "22", .container, "nesting-too-deep",
            .node(Path.octets + Array(repeating: 0, count: 27)),
            "Segments in segments, a hundred deep.",
            .tree { tree in
                var node = tree[Path.octets]
                for _ in 0..<100 { node = Node(0x24, nodes: [node]) }
                tree[Path.octets] = node
            }),
        refused(
            "pkcs7/ber-5000-empty-elements.ber", "22", .container, "too-many-elements",
            .node(Path.signedData + [4093]), "Five thousand empty elements to be rewritten.",
            .tree { tree in
                tree[Path.signedData].length = .indefinite
                tree[Path.signedData].nodes = .init(repeating: Node(0x30, nodes: []), count: 5000)
            }),
    ]
}
