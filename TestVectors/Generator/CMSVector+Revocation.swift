import AppStoreReceiptTesting
import Instants
import SpanASN1
import SpanPKCS7

// Revocation lists: their contents and their issuers.
extension CMSVector {
    static let revocation: [CMSVector] = full + deltas + scopes + extensions

    private typealias Extension = CertificateSpecification.Extension
    private typealias List = RevocationListSpecification

    private static let january = Instant(millisecondsSince1970: 1_735_689_600_000)
    private static let june = Instant(millisecondsSince1970: 1_748_736_000_000)
    private static let december = Instant(millisecondsSince1970: 1_764_547_200_000)

    /// Gives the verifier a list by the intermediate, or by another, that must cover the signer.
    private static func list(
        _ name: String, from date: Instant = january, ofRoot isRoots: Bool = false,
        changed change: @escaping @Sendable (inout List) -> Void
    ) -> Change {
        { recipe, _ in
            var list = List(validity: date...december)
            change(&list)
            recipe.files[name] = try list.issue(by: isRoots ? recipe.authority.root : recipe.authority.intermediate)
            recipe.options.lists = (recipe.options.lists ?? []) + [name]
            recipe.options.revocation = recipe.options.revocation ?? "signer"
        }
    }

    /// Gives the verifier a list with more extensions.
    private static func list(
        _ name: String, from date: Instant = january, ofRoot isRoots: Bool = false, _ added: Extension...
    ) -> Change {
        list(name, from: date, ofRoot: isRoots, changed: { list in list.extensions += added })
    }

    /// Gives the verifier a list in which the signer is revoked.
    private static func revoking(_ name: String, _ added: Extension...) -> Change {
        list(name, changed: { $0.entries = [List.Entry(serialNumber: signerSerialNumber, extensions: added)] })
    }

    private static let signerSerialNumber = TestCertificateAuthority.Shape().leaf.serialNumber

    private static let wholeChain: Change = { recipe, _ in recipe.options.revocation = "chain" }

    /// `CRLNumber ::= INTEGER` (RFC 5280, 5.2.3)
    private static func number(_ number: UInt8) -> Extension {
        Extension(ASN1ObjectIdentifier(content: [0x55, 0x1D, 20]), .bytes([2, 1, number]))
    }

    /// `BaseCRLNumber ::= CRLNumber`, of a delta list (RFC 5280, 5.2.4)
    private static func deltaIndicator(isCritical: Bool = true) -> Extension {
        Extension(ASN1ObjectIdentifier(content: [0x55, 0x1D, 27]), isCritical: isCritical, .bytes([2, 1, 1]))
    }

    /// `IssuingDistributionPoint ::= SEQUENCE { … }` with these fields (RFC 5280, 5.2.5)
    private static func distributionPoint(_ fields: [UInt8], isCritical: Bool = true) -> Extension {
        Extension(
            ASN1ObjectIdentifier(content: [0x55, 0x1D, 28]), isCritical: isCritical,
            .bytes([0x30, UInt8(fields.count)] + fields))
    }

    private static let onlyUsers: [UInt8] = [0x81, 1, 0xFF]
    private static let onlyAuthorities: [UInt8] = [0x82, 1, 0xFF]
    /// Key compromise.
    private static let onlySomeReasons: [UInt8] = [0x83, 2, 6, 0x40]
    private static let indirect: [UInt8] = [0x84, 1, 0xFF]
    private static let onlyAttributes: [UInt8] = [0x85, 1, 0xFF]
    /// `[0] { fullName [0] { uniformResourceIdentifier [6] "a" } }`
    private static let named: [UInt8] = [0xA0, 5, 0xA0, 3, 0x86, 1, 0x61]

    private static let full: [CMSVector] = [
        accepted("list", "A list that does not name the signer.", list("base.crl")),
        refused(
            "list-with-the-signer", .trust, "revoked-certificate", "The signer is revoked.",
            revoking("revoking.crl")),
        refused(
            "list-without-the-intermediate", .trust, "missing-revocation-list",
            "The whole chain is asked for, and only the signer is covered.",
            base: [list("base.crl"), list("root.crl", ofRoot: true), wholeChain],
            { recipe, _ in recipe.options.lists = ["base.crl"] }),
    ]

    private static let deltas: [CMSVector] = [
        refused(
            "delta-list-beside-a-list-with-the-signer", .verifier, "delta-revocation-list",
            "The list revokes the signer; a newer delta list, which does not repeat that, must not stand in its place.",
            base: [list("base.crl")],
            { recipe, forge in
                recipe.options.lists = []
                try revoking("revoking-1.crl", number(1))(&recipe, forge)
                try list("delta.crl", from: june, number(2), deltaIndicator())(&recipe, forge)
            }),
        refused(
            "delta-list-alone", .verifier, "delta-revocation-list", "What has changed since a list that is not there.",
            list("delta.crl", from: june, number(2), deltaIndicator())),
        refused(
            "delta-list-not-critical", .verifier, "delta-revocation-list",
            "It is one, also where its issuer does not insist that readers know (RFC 5280, 5.2.4).",
            list("delta-not-critical.crl", from: june, number(2), deltaIndicator(isCritical: false))),
        refused(
            "delta-list-that-nobody-asks-for", .verifier, "delta-revocation-list",
            "No revocation checking now, and a wrong answer on the day that it is switched on.",
            list("delta.crl", from: june, number(2), deltaIndicator()), { recipe, _ in recipe.options.revocation = nil }
        ),
    ]

    private static let scopes: [CMSVector] = [
        accepted(
            "list-of-users-only", "It covers every signer (RFC 5280, 6.3.3, b, 2).",
            list("users.crl", distributionPoint(onlyUsers))),
        refused(
            "list-of-users-only-for-the-intermediate", .trust, "missing-revocation-list",
            "The list of the root covers no intermediate.",
            base: [list("base.crl"), list("root.crl", ofRoot: true), wholeChain],
            { recipe, forge in
                recipe.options.lists = ["base.crl"]
                try list("root-users.crl", ofRoot: true, distributionPoint(onlyUsers))(&recipe, forge)
            }),
        refused(
            "list-of-authorities-only", .trust, "missing-revocation-list", "It covers no signer.",
            list("authorities.crl", distributionPoint(onlyAuthorities))),
        refused(
            "list-of-authorities-only-not-critical", .trust, "missing-revocation-list",
            "What it says counts, also where it is not critical.",
            list("authorities-not-critical.crl", distributionPoint(onlyAuthorities, isCritical: false))),
        refused(
            "list-of-attribute-certificates-only", .trust, "missing-revocation-list", "It covers no certificate.",
            list("attributes.crl", distributionPoint(onlyAttributes))),
        refused(
            "list-of-some-reasons", .trust, "missing-revocation-list", "Who is revoked for another is not in it.",
            list("reasons.crl", distributionPoint(onlySomeReasons))),
        refused(
            "list-of-several-issuers", .trust, "missing-revocation-list",
            "Its entries say whose certificate they mean.",
            list("indirect.crl", distributionPoint(indirect))),
        refused(
            "list-of-a-distribution-point", .trust, "missing-revocation-list",
            "It covers certificates that name that point, and the signer's names none.",
            list("point.crl", distributionPoint(named))),
    ]

    private static let unknown = ASN1ObjectIdentifier(content: [0x2A, 0x03])

    private static let extensions: [CMSVector] = [
        accepted(
            "list-with-an-unknown-extension", "What is not critical may be passed over (RFC 5280, 5.2).",
            list("unknown.crl", Extension(unknown, .bytes([5, 0])))),
        refused(
            "list-with-an-unknown-critical-extension", .verifier, "unsupported-revocation-list",
            "Nobody knows what the list then means (RFC 5280, 5.2).",
            list("unknown-critical.crl", Extension(unknown, isCritical: true, .bytes([5, 0])))),
        refused(
            "list-with-an-unknown-critical-extension-of-an-entry", .verifier, "unsupported-revocation-list",
            "Nobody knows what the entry then means (RFC 5280, 5.3), even where it is about another certificate.",
            list("unknown-critical-entry.crl") { list in
                list.entries = [
                    .init(serialNumber: [1], extensions: [.init(unknown, isCritical: true, .bytes([5, 0]))])
                ]
            }),
        refused(
            "list-with-two-scopes", .verifier, "malformed-revocation-list",
            "An extension is there once (RFC 5280, 4.2); libcrypto would obey neither.",
            list("two-scopes.crl", distributionPoint(onlyAuthorities), distributionPoint(onlyAuthorities))),
        refused(
            "list-with-an-unreadable-scope", .verifier, "malformed-revocation-list",
            "libcrypto would take the list for a full one.",
            list("unreadable-scope.crl", distributionPoint([0x82, 2, 0xFF]))),
        refused(
            "list-with-an-unknown-scope", .verifier, "malformed-revocation-list",
            "A field that RFC 5280 does not have.", list("unknown-scope.crl", distributionPoint([0x86, 1, 0xFF]))),
        refused(
            "list-that-takes-an-entry-back", .verifier, "malformed-revocation-list",
            "removeFromCRL is for delta lists (RFC 5280, 5.3.1); libcrypto would take the certificate for good.",
            // The same entry for another reason, key compromise, in a list for another certificate.
            base: [
                list("another-revoked.crl") { list in
                    list.entries = [.init(serialNumber: [1], extensions: [reason(1)])]
                }
            ],
            { recipe, forge in
                recipe.options.lists = []
                try revoking("taken-back.crl", reason(8))(&recipe, forge)
            }),
    ]

    /// `CRLReason ::= ENUMERATED` (RFC 5280, 5.3.1)
    private static func reason(_ reason: UInt8) -> Extension {
        Extension(ASN1ObjectIdentifier(content: [0x55, 0x1D, 21]), .bytes([0x0A, 1, reason]))
    }
}
