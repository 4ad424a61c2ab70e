/// The scheme that makes a signature from a digest.
public enum SignatureScheme: Hashable, Sendable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2).
    case pkcs1
    /// RSASSA-PSS (RFC 8017, 8.1); the salt's length is in bytes.
    case pss(saltLength: Int, mgf1: DigestAlgorithm)
    /// ECDSA with the signature as a DER `ECDSA-Sig-Value` (RFC 3279, 2.2.3).
    case ecdsa

    func suits(_ kind: PublicKey.Kind) -> Bool {
        switch (self, kind) {
        case (.pkcs1, .rsa), (.pss, .rsa), (.pss, .rsaPSS), (.ecdsa, .ec): true
        default: false
        }
    }
}
