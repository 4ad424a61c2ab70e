import AppStoreReceiptTesting
import SignatureTrust
import SpanPKCS7

// Chains: who issued whom, up to which root, and when.
extension Vector {
    static let chains: [Vector] = anchors + issuers + validity

    private static let leaf = Place.node(Path.certificate(0))
    private static let intermediate = Place.node(Path.certificate(1))

    /// Signs with a stranger's chain.
    private static let stranger = Step.authority { authority, forge in authority = try forge.stranger() }

    private static let anchors: [Vector] = [
        refused(
            "certificates/stranger.der", "6", .chain, "untrusted-chain", leaf,
            "A whole chain under another root of the same name, that root embedded.", stranger),
        accepted(
            "certificates/stranger-as-trust.der", "6", "The same chain in a verifier that has its root as trust.",
            .verifier { $0.roots = ["stranger-root.der"] }, stranger),
        accepted(
            "certificates/two-roots-as-trust.der", "6", "Either of two roots.",
            .verifier { $0.roots = ["stranger-root.der", "root.der"] }),
        accepted(
            "certificates/renewed-root-as-trust.der", "6",
            "Three roots of one name and key, of which the first allows no intermediate.",
            .verifier { $0.roots = ["root-path-length-0.der", "renewed-root.der", "root.der"] }),
        refused(
            "certificates/stranger-with-the-root-embedded.der", "2", .chain, "untrusted-chain", leaf,
            "The trusted root stands last among the certificates, and nobody in front of it was issued by it.",
            stranger,
            .embedded { certificates, minting in
                certificates[2] = minting.forge.authority.root.certificate
            }),
        refused(
            "certificates/stranger-with-the-chain-embedded.der", "2", .chain, "untrusted-chain", leaf,
            "The genuine chain is embedded besides the stranger's, which signed.",
            .authority { authority, forge in
                var shape = TestCertificateAuthority.Shape()
                shape.leaf.serialNumber = [0x01]
                authority = try forge.stranger(shape)
            },
            .embedded { certificates, minting in certificates += minting.forge.authority.certificates }),
        refused(
            "certificates/stranger-with-the-intermediate-embedded.der", "6", .chain, "untrusted-chain", leaf,
            "A leaf of a stranger below the genuine intermediate, which did not issue it.",
            .authority { authority, forge in
                var issuer = authority.intermediate
                issuer = .init(certificate: issuer.certificate, key: try forge.key(.strangerIntermediate))
                authority.leaf = try TestCertificateAuthority.Shape().leaf.issue(
                    key: forge.key(.strangerLeaf), by: issuer)
            }),
        refused(
            "certificates/self-signed-leaf.der", "6", .chain, "untrusted-chain", leaf,
            "A self-signed certificate with the marker.",
            .authority { authority, forge in
                authority.leaf = try TestCertificateAuthority.Shape().leaf.issue(key: forge.key(.strangerLeaf))
            }),
        refused(
            "certificates/distrusted-leaf.der", nil, .chain, "distrusted-certificate", leaf,
            "The verifier was told to distrust this leaf.",
            .verifier { options, forge in
                options.distrusted = [try Fingerprint(of: forge.authority.leaf.certificate.span).description]
            }),
        refused(
            "certificates/distrusted-intermediate.der", nil, .chain, "distrusted-certificate", intermediate,
            "The verifier was told to distrust this intermediate.",
            .verifier { options, forge in
                options.distrusted = [try Fingerprint(of: forge.authority.intermediate.certificate.span).description]
            }),
    ]

    private static let issuers: [Vector] = [
        refused(
            "certificates/leaf-issues-leaf.der", "4", .chain, "untrusted-chain", leaf,
            "A leaf, which any developer may have, acts as an issuer.",
            .authority { authority, forge in
                authority.intermediate = authority.leaf
                authority.leaf = try TestCertificateAuthority.Shape().leaf.issue(
                    key: forge.key(.strangerLeaf), by: authority.intermediate)
            },
            .embedded { certificates, minting in
                certificates.insert(minting.forge.authority.intermediate.certificate, at: 2)
            }),
        refused(
            "certificates/leaf-signs-directly-below-the-root.der", nil, .chain, "invalid-chain-length", leaf,
            "A chain of two.",
            .authority { authority, _ in
                authority.leaf = try TestCertificateAuthority.Shape().leaf.issue(
                    key: authority.leaf.key, by: authority.root)
            }),
        refused(
            "certificates/chain-of-four.der", "24a", .chain, "untrusted-chain", leaf,
            "Two intermediates.",
            .authority { authority, forge in
                var specification = TestCertificateAuthority.Shape().intermediate
                specification.subject = .init(.commonName("Test Second Intermediate"))
                authority.intermediate = try specification.issue(
                    key: forge.key(.strangerIntermediate), by: authority.intermediate)
                authority.leaf = try TestCertificateAuthority.Shape().leaf.issue(
                    key: authority.leaf.key, by: authority.intermediate)
            },
            .embedded { certificates, minting in
                certificates.insert(minting.forge.authority.intermediate.certificate, at: 2)
            }),
        refused(
            "certificates/issuer-name-in-another-encoding.der", nil, .chain, "untrusted-chain", leaf,
            "Names are compared as encoded: the intermediate's is a UTF8String, the leaf has a PrintableString.",
            .leaf { leaf in
                leaf.issuer = TestCertificateAuthority.Shape().intermediate.subject
                leaf.issuer?.attributes[2].tag = .printableString
            }),
        refused(
            "certificates/issuer-of-another-name.der", nil, .chain, "untrusted-chain", leaf,
            "The right key under a wrong name.", .leaf { $0.issuer = .init(.commonName("Test Nobody")) }),
        refused(
            "certificates/authority-key-identifier-of-another.der", nil, .chain, "untrusted-chain", leaf,
            "The leaf says that another key of that name issued it.",
            .leaf { $0.extensions[1].value = .bytes([0x30, 0x16, 0x80, 0x14] + .init(repeating: 7, count: 20)) }),
        accepted(
            "certificates/two-intermediates-of-one-name-and-key.der", "16",
            "Two of Apple's intermediates share a key identifier; the expired one stands first.",
            .embedded { certificates, minting in
                var specification = TestCertificateAuthority.Shape().intermediate
                specification.serialNumber = [0x19]
                specification.notAfter = try date("2016-02-14T18:56:35Z")
                certificates.insert(
                    try specification.issue(
                        key: minting.authority.intermediate.key, by: minting.authority.root
                    ).certificate, at: 1)
            }),
        accepted(
            "certificates/intermediate-of-another-generation.der", "16",
            "Another intermediate under the same root: none is pinned.",
            .authority { authority, forge in
                var shape = TestCertificateAuthority.Shape()
                shape.intermediate.subject.attributes[1].value = "G7"
                authority.intermediate = try shape.intermediate.issue(
                    key: forge.key(.strangerIntermediate), by: authority.root)
                authority.leaf = try shape.leaf.issue(key: authority.leaf.key, by: authority.intermediate)
            }),
    ]

    /// Certificates like Apple's: a leaf for two years, long expired.
    private static let shortLived = Step.shape { shape, _ in
        shape.intermediate.notBefore = try date("2008-02-14T18:56:35Z")
        shape.intermediate.notAfter = try date("2016-02-14T18:56:35Z")
        shape.leaf.notBefore = try date("2010-11-11T21:58:01Z")
        shape.leaf.notAfter = try date("2015-11-11T21:58:01Z")
    }

    private static func created(_ text: String) -> Step {
        .receipt { receipt in
            receipt.creationDate = try date(text)
            receipt.originalCreationDate = receipt.creationDate
        }
    }

    private static let validity: [Vector] = [
        accepted(
            "certificates/expired-since.der", "14",
            "The leaf was valid when the receipt was made; that it has expired since says nothing.",
            shortLived, created("2013-08-01T07:00:00Z")),
        refused(
            "certificates/expired-now.der", "14", .chain, "certificate-expired", leaf,
            "The same kind of receipt in a verifier that is told to judge by its clock.",
            .verifier { options in
                options.validationDate = "now"
                options.now = "2030-01-01T00:00:00Z"
            },
            .leaf { $0.notAfter = try date("2026-01-01T00:00:00Z") }),
        accepted(
            "certificates/valid-at-a-given-date.der", "14", "The verifier judges at a date of its own.",
            .verifier { $0.validationDate = "2014-01-01T00:00:00Z" }, shortLived, created("2018-01-01T00:00:00Z")),
        refused(
            "certificates/leaf-expired-at-creation.der", "14", .chain, "certificate-expired", leaf,
            "The receipt is dated a day after its leaf's last.",
            base: [shortLived, created("2015-11-10T00:00:00Z")], created("2015-11-12T21:58:01Z")),
        refused(
            "certificates/leaf-not-yet-valid-at-creation.der", "14", .chain, "certificate-not-yet-valid", leaf,
            "The receipt is dated a day before its leaf's first.",
            base: [shortLived, created("2010-11-12T00:00:00Z")], created("2010-11-10T21:58:01Z")),
        refused(
            "certificates/intermediate-expired-at-creation.der", "14", .chain, "certificate-expired", intermediate,
            "The leaf would be valid, the intermediate is not.",
            .intermediate { $0.notAfter = try date("2025-06-14T00:00:00Z") }),
        refused(
            "certificates/intermediate-not-yet-valid-at-creation.der", "14", .chain, "certificate-not-yet-valid",
            intermediate, "The intermediate begins a day after the receipt.",
            .intermediate { $0.notBefore = try date("2025-06-16T00:00:00Z") }),
        refused(
            "certificates/root-expired-at-creation.der", "14", .chain, "certificate-expired", intermediate,
            "The receipt is dated after the root's last day.",
            base: [
                .shape { shape, _ in
                    shape.leaf.notAfter = try date("2060-01-01T00:00:00Z")
                    shape.intermediate.notAfter = try date("2060-01-01T00:00:00Z")
                }
            ], created("2055-01-01T00:00:00Z")),
        accepted(
            "certificates/creation-in-the-last-second.der", "14",
            "A second before the leaf's notAfter, which as libcrypto has it is too late.", shortLived,
            created("2015-11-11T21:58:00Z")),
        accepted(
            "certificates/creation-in-the-first-second.der", "14", "The leaf's notBefore.", shortLived,
            created("2010-11-11T21:58:01Z")),
    ]
}
