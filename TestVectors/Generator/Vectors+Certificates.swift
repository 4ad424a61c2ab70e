import AppStoreReceiptTesting
import SpanASN1
import SpanPKCS7

// Faults in one certificate, and in the chain.
extension Vector {
    static let certificates: [Vector] = syntax + extensions

    private static let leaf = Place.node(Path.certificate(0))
    private static let intermediate = Place.node(Path.certificate(1))

    private static let syntax: [Vector] = [
        refused(
            "certificates/version-4.der", "25", .container, "unexpected-value", .node(Path.certificate(0, 0, 0, 0)),
            "X.509 has no version 4.", .tree { $0[Path.certificate(0, 0, 0, 0)].octets = [3] }),
        refused(
            "certificates/algorithms-inside-and-outside-differ.der", "25", .container, "unexpected-value",
            .node(Path.certificate(0, 1)), "Only the inner signature algorithm is signed; both must be the same.",
            .tree { $0[Path.certificate(0, 1, 0)].octets[8] = 0x05 }),
        refused(
            "certificates/signature-with-unused-bits.der", "25", .container, "invalid-bit-string",
            .node(Path.certificate(0, 2)), "A signature is a whole number of octets.",
            .tree { tree in
                tree[Path.certificate(0, 2)].octets[0] = 1
                tree[Path.certificate(0, 2)].octets[256] &= 0xFE
            }),
        refused(
            "certificates/signature-with-9-unused-bits.der", "25", .container, "invalid-bit-string",
            .node(Path.certificate(0, 2)), "An octet has eight bits.",
            .tree { $0[Path.certificate(0, 2)].octets[0] = 9 }),
        refused(
            "certificates/field-after-signature.der", "25", .container, "trailing-data",
            .end(Path.certificate(0, 2)), "A certificate has three fields.",
            .tree { $0[Path.certificate(0)].nodes.append(Node(0x05, [])) }),
        refused(
            "certificates/field-after-extensions.der", "25", .container, "trailing-data",
            .end(Path.certificate(0, 0, 7)), "The signed part ends with its extensions.",
            .tree { $0[Path.certificate(0, 0)].nodes.append(Node(0x05, [])) }),
        refused(
            "certificates/serial-number-missing.der", "25", .container, "unexpected-tag",
            .node(Path.certificate(0, 0, 1)), "A certificate has a serial number.",
            .tree { $0[Path.certificate(0, 0)].nodes.remove(at: 1) }),
        refused(
            "certificates/public-key-missing.der", "25", .container, "unexpected-tag",
            .node(Path.certificate(0, 0, 6)), "A certificate has a key.",
            .tree { $0[Path.certificate(0, 0)].nodes.remove(at: 6) }),
        refused(
            "certificates/truncated.der", "25", .container, "truncated", .node(Path.certificate(1)),
            "The intermediate runs past the end of the set.",
            .embedded { certificates, _ in
                certificates.removeLast()
                certificates[1].removeLast(40)
            }),
        refused(
            "certificates/leaf-key-bit-flipped.der", "2", .signature, "invalid-signature",
            .node(Path.signer + [4]), "One bit of the leaf's key.",
            .tree { $0[Path.certificate(0, 0, 6, 1)].octets.flip(100) }),
        refused(
            "certificates/leaf-name-bit-flipped.der", "2", .chain, "invalid-certificate-signature", leaf,
            "One bit of the leaf's subject, which only the leaf's own signature covers.",
            .tree { $0[Path.certificate(0, 0, 5, 0, 0, 1)].octets.flip(3) }),
        refused(
            "certificates/leaf-signature-bit-flipped.der", "2", .chain, "invalid-certificate-signature", leaf,
            "One bit of the leaf's signature.", .tree { $0[Path.certificate(0, 2)].octets.flip(100) }),
        refused(
            "certificates/intermediate-signature-bit-flipped.der", "2", .chain, "invalid-certificate-signature",
            intermediate, "One bit of the intermediate's signature.",
            .tree { $0[Path.certificate(1, 2)].octets.flip(100) }),
        accepted(
            "certificates/root-signature-bit-flipped.der", "6",
            "The embedded root is not the verifier's; nobody looks at it.",
            .tree { $0[Path.certificate(2, 2)].octets.flip(100) }),
        refused(
            "certificates/validity-reversed.der", "25", .chain, "certificate-not-yet-valid", leaf,
            "The leaf ends before it begins.",
            .leaf { leaf in swap(&leaf.notBefore, &leaf.notAfter) }),
        refused(
            "certificates/validity-not-a-date.der", "25", .chain, "malformed-certificate", leaf,
            "The 99th of a month.",
            .leafTBS { $0[4, 1].octets.replaceSubrange(4..<6, with: [0x39, 0x39]) }),
        accepted(
            "certificates/validity-in-generalized-time.der", nil, "From 2050 on dates are GeneralizedTimes.",
            .leaf { $0.notAfter = try date("2050-01-01T00:00:00Z") }),
        accepted(
            "certificates/serial-number-of-20-octets.der", nil, "As long as RFC 5280 allows.",
            .leaf { $0.serialNumber = .init(repeating: 0x5A, count: 20) }),
    ]

    private static func chain(
        _ file: String, _ pitfall: String, _ code: String, _ place: Place, _ why: String,
        base: [Step] = [], _ fault: Step
    ) -> Vector {
        refused("certificates/\(file).der", pitfall, .chain, code, place, why, base: base, fault)
    }

    private static let extensions: [Vector] = [
        chain(
            "leaf-without-marker", "3", "missing-leaf-marker", leaf,
            "Any certificate that Apple issues to a developer is without it.",
            .leaf { $0.removeExtensions(.receiptSigningMarker) }),
        chain(
            "leaf-with-marker-of-the-intermediate", "3", "missing-leaf-marker", leaf,
            "Each marker belongs on its own certificate.",
            .leaf { $0.extensions[4] = .worldwideDeveloperRelationsMarker }),
        chain(
            "leaf-with-marker-of-another-purpose", "3", "missing-leaf-marker", leaf,
            "The marker's last arc is another.",
            .leaf { leaf in
                let content = ASN1ObjectIdentifier.receiptSigningMarker.content.dropLast() + [0x02 as UInt8]
                leaf.extensions[4].identifier =
                    ASN1ObjectIdentifier(validating: Array(content)) ?? .receiptSigningMarker
            }),
        chain(
            "intermediate-without-marker", "3", "missing-intermediate-marker", intermediate,
            "An intermediate for other purposes.",
            .intermediate { $0.removeExtensions(.worldwideDeveloperRelationsMarker) }),
        chain(
            "intermediate-with-marker-of-the-leaf", "3", "missing-intermediate-marker", intermediate,
            "Each marker belongs on its own certificate.", .intermediate { $0.extensions[4] = .receiptSigningMarker }),
        chain(
            "markers-swapped", "3", "missing-leaf-marker", leaf, "Both markers, each on the wrong certificate.",
            .shape { shape, _ in
                shape.leaf.extensions[4] = .worldwideDeveloperRelationsMarker
                shape.intermediate.extensions[4] = .receiptSigningMarker
            }),
        chain(
            "leaf-key-usage-without-digital-signature", "15", "invalid-key-usage", leaf,
            "libcrypto's purpose *any* ignores the key usage of the leaf.",
            .leaf { $0.replaceExtension(.keyUsage(.keyEncipherment)) }),
        chain(
            "leaf-key-usage-empty", "15", "untrusted-chain", leaf, "A key for nothing.",
            .leaf { $0.replaceExtension(.keyUsage()) }),
        accepted(
            "certificates/leaf-without-key-usage.der", nil, "Without the extension every usage is allowed.",
            .leaf { $0.removeExtensions(.keyUsage) }),
        chain(
            "intermediate-key-usage-without-cert-sign", "4", "invalid-issuer", intermediate,
            "An intermediate that may not sign certificates.",
            .intermediate { $0.replaceExtension(.keyUsage(.digitalSignature, .crlSign)) }),
        chain(
            "intermediate-not-an-authority", "4", "invalid-issuer", intermediate, "cA is false.",
            .intermediate { $0.replaceExtension(.basicConstraints(isAuthority: false)) }),
        chain(
            "intermediate-without-basic-constraints", "4", "invalid-issuer", intermediate,
            "Without basicConstraints no one may issue.", .intermediate { $0.removeExtensions(.basicConstraints) }),
        chain(
            "intermediate-version-1", "4", "invalid-issuer", intermediate,
            "Version 1 has no extensions, so nothing says that it may issue.",
            .intermediate { intermediate in
                intermediate.version = 1
                intermediate.extensions = []
            }),
        accepted(
            "certificates/intermediate-without-path-length.der", nil, "Those of 2008 and 2013 are without it.",
            .intermediate { $0.replaceExtension(.basicConstraints(isAuthority: true)) }),
        chain(
            "root-path-length-0", "4", "invalid-issuer", .node(Path.certificate(1)),
            "The root allows no intermediate below it.",
            .verifier { $0.roots = ["root-path-length-0.der"] }),
        chain(
            "leaf-unknown-critical-extension", "25", "unknown-critical-extension", leaf,
            "What is critical and not understood refuses.",
            .leaf { $0.extensions.append(unknown(isCritical: true)) }),
        chain(
            "intermediate-unknown-critical-extension", "25", "unknown-critical-extension", intermediate,
            "The same above the leaf.", .intermediate { $0.extensions.append(unknown(isCritical: true)) }),
        accepted(
            "certificates/leaf-unknown-extension.der", nil, "What is not critical is passed over.",
            .leaf { $0.extensions.append(unknown(isCritical: false)) }),
        chain(
            "leaf-key-usage-twice", "25", "untrusted-chain", leaf, "An extension stands once.",
            .leaf { $0.extensions.append(.keyUsage(.digitalSignature)) }),
        chain(
            "leaf-marker-twice", "25", "malformed-certificate", .node(Path.certificate(0, 0, 7, 0, 5, 0)),
            "An extension stands once.", .leaf { $0.extensions.append(.receiptSigningMarker) }),
        chain(
            "leaf-critical-not-a-boolean", "25", "malformed-certificate", .node(Path.certificate(0, 0, 7, 0, 0, 1)),
            "DER's TRUE is FF.", .leafTBS { $0[7, 0, 0, 1].octets = [0x01] }),
        chain(
            "leaf-key-usage-with-trailing-byte", "25", "malformed-certificate",
            .end(Path.certificate(0, 0, 7, 0, 3, 2, 0)), "The extension's value is one element.",
            .leaf { leaf in
                leaf.extensions[3].value = .bytes([0x03, 0x02, 0x07, 0x80, 0x00])
            }),
        chain(
            "leaf-key-usage-not-a-bit-string", "25", "untrusted-chain", leaf,
            "keyUsage is a BIT STRING.",
            .leaf { $0.extensions[3].value = .bytes([0x04, 0x02, 0x07, 0x80]) }),
        accepted(
            "certificates/without-key-identifiers.der", nil, "Key identifiers help to find the issuer, no more.",
            .shape { shape, _ in
                for identifier in [ASN1ObjectIdentifier.subjectKeyIdentifier, .authorityKeyIdentifier] {
                    shape.leaf.removeExtensions(identifier)
                    shape.intermediate.removeExtensions(identifier)
                }
            }),
    ]

    private static func unknown(isCritical: Bool) -> CertificateSpecification.Extension {
        // 1.2.3.4
        let identifier = ASN1ObjectIdentifier(validating: [0x2A, 0x03, 0x04]) ?? .keyUsage
        return CertificateSpecification.Extension(identifier, isCritical: isCritical, .bytes([0x05, 0x00]))
    }
}
