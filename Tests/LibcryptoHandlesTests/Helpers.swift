import LibcryptoHandles
import Testing

// Arrays where the module takes spans, for tables and for `#expect`.

extension DigestAlgorithm {
    func digest(_ bytes: [UInt8]) throws -> DigestValue { try digest(of: bytes.span) }
    func digest(_ text: String) throws -> DigestValue { try digest(of: Array(text.utf8).span) }
}

extension DigestValue {
    init?(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) { self.init(algorithm, bytes: bytes.span) }
}

extension PublicKey {
    convenience init(_ bytes: [UInt8]) throws { try self.init(subjectPublicKeyInfo: bytes.span) }

    func verify(_ signature: [UInt8], _ digest: DigestValue, _ scheme: SignatureScheme) throws -> Bool {
        try verify(signature: signature.span, digest: digest, scheme: scheme)
    }

    func recover(_ signature: [UInt8], _ algorithm: DigestAlgorithm) throws -> DigestValue? {
        try recoverPKCS1Digest(signature: signature.span, algorithm: algorithm)
    }
}

extension PrivateKey {
    static func der(_ bytes: [UInt8]) throws -> PrivateKey { try PrivateKey(der: bytes.span) }
    static func pem(_ bytes: [UInt8]) throws -> PrivateKey { try PrivateKey(pem: bytes.span) }
}

extension CertificateHandle {
    convenience init(_ bytes: [UInt8]) throws { try self.init(der: bytes.span) }
}

extension RevocationList {
    convenience init(_ bytes: [UInt8]) throws { try self.init(der: bytes.span) }
}

/// Expects an error of this kind, and that libcrypto's queue is empty after it.
func expectError<Result>(
    _ kind: LibcryptoError.Kind, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) {
    let error = #expect(throws: LibcryptoError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.kind == kind, sourceLocation: sourceLocation)
    #expect(LibcryptoError.isQueueEmpty, sourceLocation: sourceLocation)
}
