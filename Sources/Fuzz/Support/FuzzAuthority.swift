public import AppStoreReceipt
public import AppStoreReceiptTesting
public import SignatureTrust

/// A test authority with fixed keys, so that stored inputs stay signed. The keys are RSA-512, with which a signature
/// costs almost nothing; a verifier must allow it explicitly.
public enum FuzzAuthority {
    public static let authority = made {
        try TestCertificateAuthority(
            rootKey: SigningKey(pem: Array(rootKey.utf8)),
            intermediateKey: SigningKey(pem: Array(intermediateKey.utf8)),
            leafKey: SigningKey(pem: Array(leafKey.utf8)))
    }

    public static let anchor = made { try authority.trustAnchor }

    public static var algorithms: AlgorithmPolicy { AlgorithmPolicy(rsaKeySizes: 512...4096) }

    /// A verifier for receipts of any app, which validates at the creation date.
    public static var policy: VerificationPolicy {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox])
        policy.algorithms = algorithms
        return policy
    }

    public static func verifier() -> AppStoreVerifier {
        made { try AppStoreVerifier(policy: policy, trust: .roots([anchor])) }
    }

    /// Runs an operation that only fails if the target is broken.
    public static func made<Value>(_ make: () throws -> Value) -> Value {
        do {
            return try make()
        } catch {
            fail("\(error)")
        }
    }

    private static let rootKey = """
        -----BEGIN PRIVATE KEY-----
        MIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEAwUQifiR68MSei6Dq
        25q7aP6vLDt0UsdQ8M5yrVt20XQ91gzaVLSEkCDQZJbDzgLII4L39CGV9HyUs9vu
        IYLdYwIDAQABAkEAuisB9vT5IFimSOZXlfc1NGyxHTCgWuT4yR51RRzoFdXtY2WX
        p1EbHWIy08J00hgnRB6zS759aZBS80QgTkZX0QIhAP0mxk6N1chsIDkyQVBgIXYP
        mvgZnnY20BcNTHU6VjZfAiEAw3Da6R9CtU080xdJ/R9vEvqaN2YbTuChSdolNqo9
        T30CIQDyQjISqL9GjtsDgWlpvqUm82YtOW8g1/GprctWgB5S5wIgDTwZNuwtAkYG
        tmy/T+rPBMP/qXy6oK7JfUzOdFM276kCIGn2p0CvsL6VTdCglhJXZVrliMeh006a
        Y/DOtnh5hCgB
        -----END PRIVATE KEY-----
        """

    private static let intermediateKey = """
        -----BEGIN PRIVATE KEY-----
        MIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEAvfb08UBZzfmIspnn
        x2WE7rvvrgBrJFTMPemSFsoMf70Krr1IiVTR44JDvRG2/Tw2+K84vWE7CdmRIEx7
        v10utQIDAQABAkB7bjZTd2OisSvAGL6AUhdg455lqgHz9mFLLTPuONSMPlLv+0WS
        n5CrFTwNsoCxOyV6CJh+NPnF8uYFsYCdwOIhAiEA6K7eDBWxM320xqO6IHY2f4DL
        nOQwWZZ5cUT0TVEe8a0CIQDRADajYVOO2Oes2d3H4sTq2A8qwwdW3gz2qp8sN32i
        KQIhAMwVpHihBh2NomOf837JcJ+AzhY8JxRM4ROyUT0Ha8a5AiB7a2HYl0fNqj8d
        bsauHDbm69IBEYyK+rOzEkzOwrIZCQIhAJ6unk1DV1aSY0mPa561tEyJn0egjJ8a
        51LkFk5u2MIa
        -----END PRIVATE KEY-----
        """

    private static let leafKey = """
        -----BEGIN PRIVATE KEY-----
        MIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEA7+ulYLrz35S4KL/Q
        kCFF3gwKOqjfwBVcKmpNUhtf3qof5yuaRUp/s5/LV7COVALsdBsvtGRG/hX6Yshh
        ostkxQIDAQABAkEAtiJWMdC7QohMJeM4GbKor6DEQzPgaJnOlgSNHj/Zz9YuayLq
        2OvPZwiA2yEPXWZQkmQdOs06Nn4wS9SJsziCIQIhAP4kGr0jmWQpEt4n3Ilx12TG
        P1r/fBNGKBeA97+sqH+LAiEA8azppQvXLsqaOR20wzwLGmJ2hx4mtGDn9wBAZ/Zf
        Nu8CIQCEaIkp2/9SKPg0mK4VSiO/1G4z2gJqBFZlEIOD8NAFSwIgcaM8ub63j+j0
        W6b8OFEjZ2SlFyO2T1rBuAMGRdwzKUECIFoX0tB6pgB6IUd+JGzZVsnmjRQ4FjsF
        mcrLlz3WMhH9
        -----END PRIVATE KEY-----
        """
}
