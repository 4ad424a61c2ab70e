import AppStoreReceiptTesting

// Faults in tags, lengths and values, which any ASN.1 reader meets.
extension Vector {
    static let asn1: [Vector] = lengths + tags + values

    private static let lengths: [Vector] = [
        refused(
            "asn1/empty.der", "24", .input, "empty-input", .byte(0), "There is nothing.",
            .bytes { $0 = [] }),
        refused(
            "asn1/one-byte.der", "24", .input, "unrecognized-form", .byte(0), "A tag and no length.",
            .bytes { $0 = [0x30] }),
        refused(
            "asn1/length-of-8-octets-ff.der", "21", .container, "length-overflow", .byte(1),
            "A length of 2^64 − 1 overflows where it is computed in 64 bits.",
            .tree { $0.length = .octets([0x88] + .init(repeating: 0xFF, count: 8)) }),
        refused(
            "asn1/length-of-2-63-minus-1.der", "21", .container, "truncated", .byte(0),
            "A length of 2^63 − 1 overflows when it is added to an offset.",
            .tree { $0.length = .octets([0x88, 0x7F] + .init(repeating: 0xFF, count: 7)) }),
        refused(
            "asn1/length-of-9-octets.der", "21", .container, "length-overflow", .byte(1),
            "The right length would be left if the first of nine octets were dropped.",
            .tree { node in
                let count = node.content.count
                let low = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> $0) }
                node.length = .octets([0x89, 0x01] + low)
            }),
        refused(
            "asn1/length-of-126-octets.der", "21", .container, "length-overflow", .byte(1),
            "A length of 126 octets.",
            .tree { $0.length = .octets([0xFE] + .init(repeating: 0xFF, count: 126)) }),
        refused(
            "asn1/length-octet-ff.der", "21", .container, "invalid-length", .byte(1),
            "The first length octet FF is reserved.", .tree { $0.length = .octets([0xFF]) }),
        refused(
            "asn1/length-of-4-gib.der", "23", .container, "truncated", .byte(0),
            "An element claims 4 GiB; nothing may be reserved for it.",
            .tree { $0.length = .octets([0x84, 0xFF, 0xFF, 0xFF, 0xFF]) }),
        refused(
            "asn1/inner-length-of-8-octets-ff.der", "21", .container, "length-overflow", .byte(20),
            "The same overflow inside the container.",
            .tree { $0[Path.signedData].length = .octets([0x88] + .init(repeating: 0xFF, count: 8)) }),
        refused(
            "asn1/content-length-of-2-gib.der", "23", .container, "truncated", .node(Path.octets),
            "The content claims 2 GiB; nothing may be reserved for it.",
            .tree { $0[Path.octets].length = .octets([0x84, 0x7F, 0xFF, 0xFF, 0xFF]) }),
        refused(
            "asn1/length-with-leading-zero.der", "21", .container, "non-minimal-length", .byte(1),
            "DER writes lengths in the fewest octets: two readings of one length are two readings of one receipt.",
            .tree { node in
                let count = node.content.count
                node.length = .octets([0x83, 0, UInt8(count >> 8), UInt8(count & 0xFF)])
            }),
        refused(
            "asn1/length-long-form-below-128.der", "21", .container, "non-minimal-length", .within(Path.version, 1),
            "A length of 1 in the long form.", .tree { $0[Path.version].length = .octets([0x81, 0x01]) }),
        refused(
            "asn1/payload-length-overflow.der", "21", .payload, "length-overflow", .within(Path.payload, 1),
            "The overflow in the signed payload: whoever signed it, it must not trap.",
            .payload { $0.length = .octets([0x88] + .init(repeating: 0xFF, count: 8)) }),
        refused(
            "asn1/truncated-in-the-middle.der", "24", .container, "truncated", .byte(0), "Half a receipt.",
            .bytes { $0.removeLast($0.count / 2) }),
        refused(
            "asn1/truncated-by-one-byte.der", "24", .container, "truncated", .byte(0), "The last byte is missing.",
            .bytes { $0.removeLast() }),
        refused(
            "asn1/truncated-after-the-length.der", "24", .container, "truncated", .byte(0),
            "Tag and length of a receipt and nothing else.", .bytes { $0.removeSubrange(4...) }),
        refused(
            "asn1/trailing-byte.der", "9", .container, "trailing-data", .end([]),
            "A byte after the container belongs to no one; another reader may begin there.",
            .bytes { $0.append(0x30) }),
        refused(
            "asn1/trailing-end-of-contents.der", "9", .container, "trailing-data", .end([]),
            "An end-of-contents that ends nothing.", .bytes { $0 += [0, 0] }),
        refused(
            "asn1/trailing-receipt.der", "9", .container, "trailing-data", .end([]),
            "Two receipts one after the other: one might be verified and the other parsed.", .bytes { $0 += $0 }),
        refused(
            "asn1/20-kb-of-30-80.der", "22", .container, "indefinite-length", .byte(10),
            "Ten thousand indefinite lengths, one in the other, overflow the stack of a recursive reader.",
            .bytes { bytes in bytes = (0..<20_480).map { $0 % 2 == 0 ? 0x30 : 0x80 } }),
        refused(
            "asn1/1000-nested-sequences.der", "22", .container, "unexpected-tag", .byte(4),
            "A thousand definite lengths, one in the other.",
            .tree { node in for _ in 0..<1000 { node = Node(0x30, node.encoded) } }),
        accepted(
            "asn1/deeply-nested-unknown-attribute.der", "22", purchases: 2,
            "An attribute of unknown meaning may hold anything: it is not looked into.",
            .receipt { receipt in
                var node = Node(0x30, [])
                for _ in 0..<1000 { node = Node(0x30, node.encoded) }
                receipt.additionalAttributes.append(.init(.init(9999), value: node.encoded))
            }),
    ]

    private static let tags: [Vector] = [
        refused(
            "asn1/set-in-place-of-sequence.der", nil, .container, "unexpected-tag", .node(Path.signedData),
            "SignedData is a SEQUENCE.", .tree { $0[Path.signedData].tag = [0x31] }),
        refused(
            "asn1/first-tag-not-sequence.der", nil, .input, "unrecognized-form", .byte(0),
            "No receipt and no text begins with a SET.", .tree { $0.tag = [0x31] }),
        refused(
            "asn1/tag-in-long-form-below-31.der", nil, .container, "non-minimal-tag", .node(Path.signedData),
            "SEQUENCE written in the high-tag-number form.", .tree { $0[Path.signedData].tag = [0x3F, 0x10] }),
        refused(
            "asn1/tag-number-too-large.der", nil, .container, "tag-number-too-large", .node(Path.signedData),
            "A tag number beyond 2^28.",
            .tree { $0[Path.signedData].tag = [0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F] }),
        refused(
            "asn1/end-of-contents-in-definite-length.der", "17", .container, "trailing-data",
            .end(Path.signerInfos), "An end-of-contents at the end of a definite length.",
            .tree { $0[Path.signedData].nodes.append(Node(0, [])) }),
    ]

    private static let values: [Vector] = [
        refused(
            "asn1/integer-without-octets.der", nil, .container, "invalid-integer", .node(Path.version),
            "An INTEGER has at least one octet.", .tree { $0[Path.version].octets = [] }),
        refused(
            "asn1/integer-with-superfluous-octet.der", nil, .container, "invalid-integer", .node(Path.version),
            "An INTEGER has no superfluous octets.", .tree { $0[Path.version].octets = [0, 1] }),
        refused(
            "asn1/oid-with-leading-80.der", nil, .container, "invalid-object-identifier", .node(Path.contentType),
            "An arc of an OBJECT IDENTIFIER has no leading zero groups.",
            .tree { $0[Path.contentType].octets[7] = 0x80 }),
        refused(
            "asn1/oid-with-arc-cut-off.der", nil, .container, "invalid-object-identifier", .node(Path.contentType),
            "The last arc of an OBJECT IDENTIFIER does not end.",
            .tree { $0[Path.contentType].octets[8] |= 0x80 }),
        refused(
            "asn1/null-with-content.der", nil, .signature, "unsupported-algorithm", .node(Path.signer + [2]),
            "The parameters of a digest are absent or NULL.",
            .tree { $0[Path.signer + [2, 1]].octets = [0] }),
    ]
}
