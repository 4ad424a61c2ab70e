import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// Extensions of certificates that OpenSSL made; faults in extensions are in `CertificateTests`.
@Suite struct CertificateExtensionsTests {
    /// Reads the certificate with a common name: OpenSSL sorts them.
    private func reading<Result>(
        _ name: String, of message: String? = nil, _ body: (Certificate) throws -> Result
    ) throws -> Result? {
        let bytes = try OpenSSLFiles.bytes((message ?? name) + ".der")
        var certificates = try SignedData(ContentInfo(bytes.span)).certificates
        while let certificate = try certificates.next() {
            if try certificate.subject.distinguishedName().hasPrefix("CN=\(name),") { return try body(certificate) }
        }
        return nil
    }

    @Test(
        arguments: [
            ("email", .emailProtection, true), ("email", .codeSigning, false), ("code", .codeSigning, true),
            ("time", .timeStamping, true), ("bare", .emailProtection, false), ("any", .emailProtection, false),
        ] as [(String, ASN1ObjectIdentifier, Bool)])
    func `a purpose is stated in the extended key usage or not at all`(
        name: String, purpose: ASN1ObjectIdentifier, isStated: Bool
    ) throws {
        #expect(try reading(name) { try $0.hasPurpose(purpose) } == isStated)
    }

    @Test func `basic constraints, key usage and key identifiers are read`() throws {
        let signer = try reading("alice", of: "rsa-sha256") { certificate in
            (
                try certificate.basicConstraints(), try certificate.keyUsage(),
                try certificate.subjectKeyIdentifier()?.count, try certificate.authorityKeyIdentifier()?.count
            )
        }
        #expect(signer?.0?.isAuthority == false && signer?.0?.pathLength == nil)
        #expect(signer?.1 == .digitalSignature)
        #expect(signer?.2 == 20 && signer?.3 == 20)
        let issuer = try reading("intermediate", of: "rsa-sha256") { certificate in
            (try certificate.basicConstraints(), try certificate.keyUsage())
        }
        #expect(issuer?.0?.isAuthority == true && issuer?.0?.pathLength == 0)
        #expect(issuer?.1 == [.keyCertSign, .crlSign])
        #expect(try reading("bare") { try $0.basicConstraints() == nil } == true)
    }
}
