import AppStoreReceiptTesting
import CMSTrust
import Foundation
import SignatureTrust
import SpanPKCS7
import TestSupport
import Testing

// The code of the module's documentation, word for word; the last test here compares them.

struct NotAMail: Error {}

func open(_ message: [UInt8], root: [UInt8], at now: Instant) throws -> ArraySlice<UInt8> {
    var policy = try CMSPolicy(anchorsIn: root)
    policy.purposes = [.emailProtection]
    let verified = try CMSVerifier(policy: policy).verify(message, at: now)
    guard verified.contentType == .data else { throw NotAMail() }
    return verified.content
}

struct ExampleTests {
    @Test func `a message is opened if its signer may sign mail`() throws {
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.leaf.extensions.append(.extendedKeyUsage(.emailProtection, isCritical: false))
        let authority = try TestCertificateAuthority(shape)
        let root = authority.root.certificate
        let message = try CMSMessages.builder(authority).encoded()
        #expect(try Array(open(message, root: root, at: CMSMessages.date)) == CMSMessages.text)
        let verifier = try CMSVerifier(policy: CMSPolicy(anchors: [TrustAnchor(der: root)]))
        let signer = try #require(try verifier.verify(message, at: CMSMessages.date).signers.first)
        let certificate = try Certificate(signer.certificate.span)
        #expect(try signer.name == certificate.subject.distinguishedName() && signer.name?.contains("=") == true)

        var other = CMSMessages.builder(authority)
        other.contentType = .signedData
        #expect(throws: NotAMail.self) { try open(other.encoded(), root: root, at: CMSMessages.date) }

        let stranger = try CMSMessages.authority.get()
        let error = #expect(throws: CMSVerificationError.self) {
            try open(
                CMSMessages.builder(stranger).encoded(), root: stranger.root.certificate, at: CMSMessages.date)
        }
        #expect(error?.code == .invalidExtendedKeyUsage)
    }

    @Test func `the documentation of CMSTrust shows this code`() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let article = try Project.text("Sources/CMSTrust/CMSTrust.docc/CMSTrust.md")
        let code = Project.code(of: article)
        #expect(code.count == 1)
        for code in code { #expect(source.contains(code)) }
    }
}
