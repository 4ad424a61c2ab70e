package import LibcryptoHandles
public import SpanASN1
import SpanPKCS7

extension SignatureDigest {
    /// A row of the algorithm table: libcrypto's, and the identifiers of the digest (RFC 3370, 2; RFC 5754, 2), of RSA
    /// PKCS#1 v1.5 (RFC 3279, 2.2.1; RFC 4055, 5), and of ECDSA (RFC 3279, 2.2.3; RFC 5758, 3.2).
    struct Row: Sendable {
        let algorithm: DigestAlgorithm?
        let identifier: ASN1ObjectIdentifier
        let rsa: ASN1ObjectIdentifier
        let ecdsa: ASN1ObjectIdentifier?

        init(
            _ algorithm: DigestAlgorithm?, _ identifier: ASN1ObjectIdentifier, _ rsa: ASN1ObjectIdentifier,
            _ ecdsa: ASN1ObjectIdentifier?
        ) {
            (self.algorithm, self.identifier, self.rsa, self.ecdsa) = (algorithm, identifier, rsa, ecdsa)
        }
    }

    private var row: Row {
        switch self {
        case .md5: Row(nil, .md5, .md5WithRSAEncryption, nil)
        case .sha1: Row(.sha1, .sha1, .sha1WithRSAEncryption, .ecdsaWithSHA1)
        case .sha224: Row(.sha224, .sha224, .sha224WithRSAEncryption, .ecdsaWithSHA224)
        case .sha256: Row(.sha256, .sha256, .sha256WithRSAEncryption, .ecdsaWithSHA256)
        case .sha384: Row(.sha384, .sha384, .sha384WithRSAEncryption, .ecdsaWithSHA384)
        case .sha512: Row(.sha512, .sha512, .sha512WithRSAEncryption, .ecdsaWithSHA512)
        }
    }

    /// The rows of all algorithms.
    static let rows = allCases.map(\.row)

    /// libcrypto's algorithm; `nil` for MD5.
    package var algorithm: DigestAlgorithm? { row.algorithm }
    /// The identifier of the digest algorithm.
    public var objectIdentifier: ASN1ObjectIdentifier { row.identifier }
    /// The identifier of the RSA signature algorithm, such as `sha256WithRSAEncryption` (RFC 8017, A.2.4).
    public var rsaSignatureIdentifier: ASN1ObjectIdentifier { row.rsa }
    /// The identifier of the ECDSA signature algorithm, such as `ecdsa-with-SHA256` (RFC 5758, 3.2); `nil` for MD5,
    /// which has none.
    public var ecdsaSignatureIdentifier: ASN1ObjectIdentifier? { row.ecdsa }

    package init(_ algorithm: DigestAlgorithm) {
        self =
            switch algorithm {
            case .sha1: .sha1
            case .sha224: .sha224
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
    }
}
