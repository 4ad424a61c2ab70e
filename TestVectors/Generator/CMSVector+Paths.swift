import AppStoreReceiptTesting
import Instants
import SpanASN1
import SpanPKCS7

// Which of several certificates lead to an anchor, whatever their order.
extension CMSVector {
    static let paths: [CMSVector] = strangers + siblings + several

    /// A leaf that does not say which key issued it, for e-mail, so that a name is all there is to go by.
    private static let nameAlone: Change = { recipe, forge in
        var authority = forge.authority
        var leaf = TestCertificateAuthority.Shape().leaf
        leaf.serialNumber = [0x51]
        leaf.removeExtensions(.authorityKeyIdentifier)
        leaf.extensions.append(.extendedKeyUsage(.emailProtection))
        authority.leaf = try leaf.issue(key: authority.leaf.key, by: authority.intermediate)
        recipe = CMSRecipe(authority)
        recipe.options.purposes = [ASN1ObjectIdentifier.emailProtection.description]
    }

    /// Puts a certificate with the intermediate's name before all others, or after them.
    private static func intermediate(
        _ serial: UInt8, isFirst: Bool = true, by issuer: (@Sendable (Forge) throws -> SigningIdentity)? = nil,
        key: Forge.KeyName = .intermediate, _ change: @escaping @Sendable (inout CertificateSpecification) -> Void
    ) -> Change {
        { recipe, forge in
            var specification = TestCertificateAuthority.Shape().intermediate
            specification.serialNumber = [serial]
            change(&specification)
            let root = try issuer?(forge) ?? recipe.authority.root
            let certificate = try specification.issue(key: forge.key(key), by: root).certificate
            let others = recipe.builder.certificates ?? []
            recipe.builder.certificates = isFirst ? [certificate] + others : others + [certificate]
        }
    }

    private static func stranger(isFirst: Bool) -> Change {
        intermediate(0x11, isFirst: isFirst, by: { try $0.stranger().root }, key: .strangerIntermediate) { _ in }
    }

    private static let strangers: [CMSVector] = [
        accepted(
            "stranger-with-the-intermediates-name-first", "A stranger's certificate stands before the genuine one.",
            nameAlone, stranger(isFirst: true)),
        accepted(
            "stranger-with-the-intermediates-name-last", "The same behind it.", nameAlone, stranger(isFirst: false)),
        accepted(
            "stranger-with-the-intermediates-key", "Whoever has a certificate can make another with its public key.",
            nameAlone,
            intermediate(0x12, by: { try $0.stranger().root }, key: .intermediate) { _ in }),
        accepted(
            "strangers-in-a-circle", "Two strangers, each of whom is said to have issued the other.", nameAlone,
            { recipe, forge in
                var (first, second) = (
                    TestCertificateAuthority.Shape().intermediate, TestCertificateAuthority.Shape().intermediate
                )
                first.issuer = .init(.commonName("Test Circle"))
                second.subject = .init(.commonName("Test Circle"))
                second.issuer = first.subject
                let certificates = try [
                    first.issue(key: forge.key(.strangerIntermediate), by: forge.stranger().root),
                    second.issue(key: forge.key(.strangerRoot), by: forge.stranger().root),
                ].map(\.certificate)
                recipe.builder.certificates?.insert(contentsOf: certificates, at: 0)
            }),
        refused(
            "stranger-alone", .trust, "untrusted-chain", "The genuine intermediate is missing.",
            base: [nameAlone, stranger(isFirst: true)],
            { recipe, _ in recipe.builder.certificates?.removeAll { $0 == recipe.authority.intermediate.certificate } }),
    ]

    /// Genuine certificates of the intermediate's name and key that lead nowhere, each with what is said of it where it
    /// stands alone.
    private static func sibling(_ name: String, isFirst: Bool = true) -> Change {
        switch name {
        case "for-other-purposes":
            intermediate(0x21, isFirst: isFirst) { $0.extensions.append(.extendedKeyUsage(.codeSigning)) }
        case "signed-with-sha-1": intermediate(0x22, isFirst: isFirst) { $0.digest = .sha1 }
        case "not-an-authority":
            intermediate(0x23, isFirst: isFirst) { $0.replaceExtension(.basicConstraints(isAuthority: false)) }
        case "without-basic-constraints":
            intermediate(0x24, isFirst: isFirst) { $0.removeExtensions(.basicConstraints) }
        case "not-for-certificates":
            intermediate(0x25, isFirst: isFirst) { $0.replaceExtension(.keyUsage(.crlSign)) }
        case "expired":
            intermediate(0x26, isFirst: isFirst) { $0.notAfter = Instant(millisecondsSince1970: 1_400_000_000_000) }
        default:
            intermediate(0x27, isFirst: isFirst) {
                $0.extensions.append(
                    .init(ASN1ObjectIdentifier(content: [0x2A, 3]), isCritical: true, .bytes([5, 0])))
            }
        }
    }

    private static let siblingsAlone = [
        ("for-other-purposes", "invalid-extended-key-usage"), ("signed-with-sha-1", "weak-algorithm"),
        ("not-an-authority", "invalid-issuer"), ("without-basic-constraints", "invalid-issuer"),
        ("not-for-certificates", "invalid-issuer"), ("expired", "certificate-expired"),
        ("with-an-unknown-critical-extension", "unknown-critical-extension"),
    ]

    private static let withoutIntermediate: Change = { recipe, _ in
        recipe.builder.certificates?.removeAll { $0 == recipe.authority.intermediate.certificate }
    }

    private static let siblings: [CMSVector] = siblingsAlone.flatMap { name, code in
        [
            accepted(
                "sibling-\(name)-first", "A certificate of the intermediate's key that leads nowhere stands before it.",
                nameAlone, sibling(name)),
            refused(
                "sibling-\(name)-alone", .trust, code, "The same without the intermediate.",
                base: [nameAlone, sibling(name)], withoutIntermediate),
        ]
    }

    private static let several: [CMSVector] = [
        CMSVector(
            name: "siblings-and-a-stranger-first", expected: .accepted, why: "All of them before the genuine one.",
            base: [nameAlone, stranger(isFirst: true)] + siblingsAlone.map { sibling($0.0) }),
        CMSVector(
            name: "siblings-and-a-stranger-last", expected: .accepted, why: "All of them behind it.",
            base: [nameAlone, stranger(isFirst: false)] + siblingsAlone.map { sibling($0.0, isFirst: false) }),
        CMSVector(
            name: "siblings-in-one-order", expected: .refused(code: "unknown-critical-extension", stage: "trust"),
            why: "None leads to an anchor. Of all reasons the one that came furthest is given.",
            base: [nameAlone] + siblingsAlone.map { sibling($0.0) }, fault: [withoutIntermediate]),
        CMSVector(
            name: "siblings-in-another-order", expected: .refused(code: "unknown-critical-extension", stage: "trust"),
            why: "The same reason, whatever the order.",
            base: [nameAlone] + siblingsAlone.reversed().map { sibling($0.0) }, fault: [withoutIntermediate]),
    ]
}
