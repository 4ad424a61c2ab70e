public import SignatureTrust
import SpanASN1

/// A signer with the shape of StoreKit Testing in Xcode: one self-signed certificate without key identifiers or marker
/// extensions.
///
/// Every developer's Mac has Xcode's key, so its signature authenticates nobody, and neither does this one. Only a
/// verifier with `AppStoreTrust.storeKitTesting` accepts it.
public struct StoreKitTestingSigner: Sendable {
    /// The self-signed certificate and its key.
    public var identity: SigningIdentity

    /// Creates a signer with your own certificate.
    public init(identity: SigningIdentity) { self.identity = identity }

    /// Creates a signer with a new certificate.
    ///
    /// - Parameter key: The key; `nil` to generate one.
    /// - Throws: `unsuitable-key` for a key that cannot be made; `algorithm-unavailable` if the host does not sign with
    ///   the digest algorithm.
    public init(key: SigningKey? = nil) throws(MintingError) { try self.init(Self.specification, key: key) }

    package init(_ specification: CertificateSpecification, key: SigningKey? = nil) throws(MintingError) {
        identity = try specification.issue(key: key)
    }

    /// The certificate as a trust anchor for a verifier.
    public var trustAnchor: TrustAnchor {
        get throws(MintingError) {
            try MintingError.reading { () throws(ASN1DecodingError) in try TrustAnchor(der: identity.certificate) }
        }
    }

    /// The specification of Xcode's certificate: RSA-2048, SHA-256, valid from 2020 to 2040, an authority for signing
    /// code.
    package static var specification: CertificateSpecification {
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
