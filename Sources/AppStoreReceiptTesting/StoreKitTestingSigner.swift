public import SignatureTrust
import SpanASN1

/// A signer with the shape of Xcode's StoreKit Testing: one self-signed certificate without key identifiers or marker extensions.
///
/// Xcode's own key is on every developer's Mac, so a receipt by it (or by this) authenticates nothing; it verifies only in a verifier
/// made for nothing else.
public struct StoreKitTestingSigner: Sendable {
    /// The self-signed certificate and its key.
    public var identity: SigningIdentity

    /// A signer with a certificate of one's own.
    public init(identity: SigningIdentity) { self.identity = identity }

    /// Makes a new key, or uses the given one, and its certificate.
    public init(
        key: SigningKey? = nil, specification: CertificateSpecification = Self.specification
    ) throws(MintingError) {
        identity = try specification.issue(key: key)
    }

    /// The certificate, to be given to a verifier as trust.
    public var trustAnchor: TrustAnchor {
        get throws(MintingError) {
            try MintingError.reading { () throws(ASN1DecodingError) in try TrustAnchor(der: identity.certificate) }
        }
    }

    /// RSA-2048, SHA-256, 2020–2040, an authority that signs code.
    public static var specification: CertificateSpecification {
        CertificateSpecification(
            subject: DistinguishedName(
                .commonName("Test StoreKit"), .organization("Test StoreKit"), .organizationalUnit("Test StoreKit"),
                .country("US"), .emailAddress("storekit@test.invalid")),
            serialNumber: [0x01], validity: .seconds(1_577_836_800, 2_208_988_799),
            extensions: [
                .basicConstraints(isAuthority: true), .keyUsage(.digitalSignature, .keyCertSign),
                .extendedKeyUsage(.codeSigning),
            ])
    }
}
