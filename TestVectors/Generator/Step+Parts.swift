import AppStoreReceipt
import AppStoreReceiptTesting
import SpanASN1
import StrictText

// Steps that change one part.
extension Step {
    /// Changes the verifier.
    static func verifier(_ change: @escaping @Sendable (inout VerifierOptions) throws -> Void) -> Step {
        .verifier { options, _ in try change(&options) }
    }

    static func root(_ change: @escaping @Sendable (inout CertificateSpecification) throws -> Void) -> Step {
        .shape { shape, _ in try change(&shape.root) }
    }

    static func intermediate(_ change: @escaping @Sendable (inout CertificateSpecification) throws -> Void) -> Step {
        .shape { shape, _ in try change(&shape.intermediate) }
    }

    static func leaf(_ change: @escaping @Sendable (inout CertificateSpecification) throws -> Void) -> Step {
        .shape { shape, _ in try change(&shape.leaf) }
    }

    /// Another key for the leaf, and its certificate.
    static func leafKey(_ name: Forge.KeyName) -> Step {
        .authority { authority, forge in
            authority.leaf = try TestCertificateAuthority.Shape().leaf
                .issue(key: forge.key(name), by: authority.intermediate)
        }
    }

    /// Another key for the intermediate, and both certificates.
    static func intermediateKey(_ name: Forge.KeyName) -> Step {
        .authority { authority, forge in
            let shape = TestCertificateAuthority.Shape()
            authority.intermediate = try shape.intermediate.issue(key: forge.key(name), by: authority.root)
            authority.leaf = try shape.leaf.issue(key: authority.leaf.key, by: authority.intermediate)
        }
    }

    /// Changes what the issuer of the leaf signs.
    static func leafTBS(_ change: @escaping @Sendable (inout Node) throws -> Void) -> Step {
        .authority { authority, _ in
            let specification = TestCertificateAuthority.Shape().leaf
            authority.leaf = try reissue(specification, authority.leaf.key, by: authority.intermediate, change)
        }
    }

    private static func reissue(
        _ specification: CertificateSpecification, _ key: SigningKey, by issuer: SigningIdentity,
        _ change: (inout Node) throws -> Void
    ) throws -> SigningIdentity {
        var tbs = Node(try specification.tbsCertificate(key: key, issuer: issuer))
        try change(&tbs)
        return SigningIdentity(
            certificate: try CertificateSpecification.certificate(
                tbsCertificate: tbs.encoded, algorithm: issuer.key.signatureAlgorithm(specification.digest),
                digest: specification.digest, key: issuer.key), key: key)
    }

    /// Changes the one signer.
    static func signer(_ change: @escaping @Sendable (inout SignedDataBuilder.Signer, Minting) throws -> Void) -> Step {
        .container { container, minting in try change(&container.signers[0], minting) }
    }

    /// Signed attributes for the one signer.
    static func signedAttributes(_ attributes: [SignedDataBuilder.SignedAttribute]) -> Step {
        .receipt { $0.signedAttributes = attributes }
    }

    /// Changes the certificates that are embedded.
    static func embedded(_ change: @escaping @Sendable (inout [[UInt8]], Minting) throws -> Void) -> Step {
        .container { container, minting in
            var certificates = container.certificates ?? []
            try change(&certificates, minting)
            container.certificates = certificates
        }
    }

    /// Writes attributes besides those of the receipt's fields.
    static func adding(_ attributes: ReceiptAttribute...) -> Step {
        .receipt { $0.additionalAttributes += attributes }
    }

    /// Changes the first purchase.
    static func purchase(_ change: @escaping @Sendable (inout ReceiptBuilder.Purchase) throws -> Void) -> Step {
        .receipt { try change(&$0.purchases[0]) }
    }

    /// Changes the `SEQUENCE` of the first attribute of that type.
    static func attribute(_ type: Int, _ change: @escaping @Sendable (inout Node) throws -> Void) -> Step {
        .payload { payload in
            let encoded = ASN1Writer.encode { $0.writeInteger(type) }
            guard let index = payload.nodes.firstIndex(where: { $0[0].encoded == encoded }) else {
                throw VerifierOptions.Fault.unreadable("attribute \(type)")
            }
            try change(&payload.nodes[index])
        }
    }

    /// Changes the element in the value of the first attribute of that type.
    static func value(_ type: Int, _ change: @escaping @Sendable (inout Node) throws -> Void) -> Step {
        .attribute(type) { attribute in
            var value = Node(attribute[2].octets)
            try change(&value)
            attribute[2].octets = value.encoded
        }
    }
}

extension Array<UInt8> {
    /// Flips one bit.
    mutating func flip(_ index: Int, _ bit: UInt8 = 0x01) { self[index] ^= bit }
}

extension AttributeType {
    init(_ rawValue: Int64) { self.init(rawValue: rawValue) }
}

/// A point in time from RFC 3339, which only this source writes.
func date(_ text: String) throws -> Instant {
    guard let date = Instant(rfc3339: text) else { throw VerifierOptions.Fault.unreadable(text) }
    return date
}
