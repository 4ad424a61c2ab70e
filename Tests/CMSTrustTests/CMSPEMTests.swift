import AppStoreReceiptTesting
import CMSTrust
import SignatureTrust
import SpanASN1
import SpanPKCS7
import StrictText
import Testing

/// Messages, certificates and revocation lists in PEM (RFC 7468).
@Suite struct CMSPEMTests {
    let authority: TestCertificateAuthority
    let policy: CMSPolicy
    let message: [UInt8]

    init() throws {
        authority = try CMSMessages.authority.get()
        policy = try CMSMessages.policy(authority)
        message = try CMSMessages.builder(authority).encoded()
    }

    private func pem(_ bytes: [UInt8], _ label: String = "CMS") -> String {
        PEMFile.text(of: bytes, label: label) + "\n"
    }

    private func refusal(_ text: String) throws -> CMSVerificationError? {
        try CMSMessages.refusal(Array(text.utf8), policy)
    }

    // MARK: Messages

    @Test(arguments: ["CMS", "PKCS7", "PKCS #7 SIGNED DATA", "", "X"])
    func `a message is one block with any label, and perhaps text around it`(label: String) throws {
        let block = pem(message, label)
        for text in [
            block, String(block.dropLast()), "\n\n" + block, "From: anna\n\n" + block + "Yours\n-- \nAnna",
            "\u{FEFF}" + block, block.replacing("\n", with: "\r\n"), "0\n" + block,
            block.replacing("-----\n", with: "----- \t\n"),
        ] {
            let verified = try CMSMessages.verify(Array(text.utf8), policy)
            #expect(Array(verified.content) == CMSMessages.text, "\(text.prefix(40))")
        }
    }

    @Test func `two messages have no verdict, whatever each would have`() throws {
        let block = pem(message)
        let error = try refusal("text\n" + block + "text\n" + block)
        #expect(error?.code == .invalidPEM && error?.offset == 5 + block.utf8.count + 5)
        #expect(error?.index == nil && error?.description.contains("second PEM block") == true)
        #expect(try refusal(block + pem(authority.root.certificate, "CERTIFICATE"))?.code == .invalidPEM)
    }

    @Test func `what is no message is refused as the decoded bytes would be, at their offset`() throws {
        let certificate = authority.root.certificate
        let decoded = try #require(try CMSMessages.refusal(certificate, policy))
        #expect(try refusal(pem(certificate, "CERTIFICATE")) == decoded && decoded.offset != nil)
        #expect(try refusal(pem([])) == CMSMessages.refusal([], policy))
        #expect(try refusal(pem(message + [0]))?.code == .trailingData)
    }

    @Test func `PEM that breaks off is refused at every byte`() throws {
        let block = Array(pem(message).dropLast().utf8)
        for count in block.indices {
            #expect(try CMSMessages.refusal(Array(block.prefix(count)), policy) != nil, "\(count) bytes")
        }
        #expect(try CMSMessages.refusal(Array(block.prefix(100)), policy)?.code == .invalidPEM)
    }

    @Test(arguments: [
        ("-----BEGIN CMS----", 14), ("-----BEGIN CMS-----\nAAA\u{0}\n-----END CMS-----", 23),
        ("-----BEGIN CMS-----\nAAAA\n-----END PKCS7-----", 34), ("-----BEGIN CMS-----\nAA\n-----END CMS-----", 23),
        ("-----BEGIN \u{1}\u{2}\u{3}", 0), ("text\n-----BEGIN CMS-----\nAAAA", 5),
    ])
    func `malformed PEM is refused where it is`(text: String, offset: Int) throws {
        let error = try refusal(text)
        #expect(error?.code == .invalidPEM && error?.offset == offset, "\(String(describing: error))")
    }

    @Test func `a binary message that contains PEM is itself the message`() throws {
        let inner = Array(("\n" + pem(message)).utf8)
        let outer = try CMSMessages.builder(authority, content: inner).encoded()
        #expect(try Array(CMSMessages.verify(outer, policy).content) == inner)
        // Without a block at the start of a line, anything is read as binary.
        for text in ["", "text", "text -----BEGIN CMS-----", "----BEGIN CMS-----"] {
            #expect(try refusal(text)?.code != .invalidPEM)
        }
    }

    @Test func `the limit of a message counts the text`() throws {
        var policy = policy
        let text = Array(pem(message).utf8)
        policy.limits.maximumMessageByteCount = text.count - 1
        let error = try CMSMessages.refusal(text, policy)
        #expect(error?.code == .inputTooLarge && error?.offset == text.count - 1)
    }

    // MARK: Files of a policy

    @Test func `the roots in a file are trusted, and nothing else of it`() throws {
        let other = try CMSMessages.rsaAuthority.get()
        let roots = [authority.root.certificate, other.root.certificate]
        let key = pem([5, 0], "PRIVATE KEY")
        let file = "Roots\n" + roots.map { pem($0, "CERTIFICATE") }.joined(separator: "\n# another\n" + key)
        for text in [file, file.replacing("\n", with: "\r\n"), "\u{FEFF}" + file] {
            let policy = try CMSPolicy(anchorsIn: Array(text.utf8))
            #expect(policy.anchors.map(\.der) == roots)
            #expect(try CMSMessages.refusal(message, policy) == nil)
        }
        #expect(try CMSPolicy(anchorsIn: roots[0]).anchors.map(\.der) == [roots[0]])
    }

    @Test func `a file of roots with a fault is refused, with the place`() throws {
        func refusal(_ bytes: [UInt8]) -> CMSVerificationError? {
            do throws(CMSVerificationError) {
                _ = try CMSPolicy(anchorsIn: bytes)
                return nil
            } catch {
                return error
            }
        }
        let root = pem(authority.root.certificate, "CERTIFICATE")
        let malformed = refusal(Array((root + pem([0x30, 0x00], "CERTIFICATE")).utf8))
        #expect(malformed?.code == .malformedCertificate && malformed?.index == 1)
        for text in [String(root.dropLast(10)), pem(message), pem(authority.root.certificate, "TRUSTED CERTIFICATE")] {
            #expect(refusal(Array(text.utf8))?.code == .invalidPEM)
        }
        for bytes in [[], [0x30, 0x00], message, Array("text".utf8)] {
            #expect(refusal(bytes)?.code == .malformedCertificate)
        }
    }

    @Test func `intermediates and revocation lists may be in PEM`() throws {
        var builder = CMSMessages.builder(authority)
        builder.certificates = [authority.leaf.certificate]
        let bare = try builder.encoded()
        var policy = policy
        #expect(try CMSMessages.refusal(bare, policy)?.code == .untrustedChain)
        let intermediate = authority.intermediate.certificate
        let validity = CMSMessages.date - .seconds(60)...CMSMessages.date + .seconds(60)
        let lists = try [authority.intermediate, authority.root].map {
            try RevocationListSpecification(validity: validity).issue(by: $0)
        }
        policy.additionalCertificates = [
            Array((pem(authority.root.certificate, "CERTIFICATE") + pem(intermediate, "CERTIFICATE")).utf8)
        ]
        #expect(try CMSMessages.refusal(bare, policy) == nil)
        policy.revocation = .chain
        #expect(try CMSMessages.refusal(bare, policy)?.code == .missingRevocationList)
        policy.revocationLists = [Array(lists.map { pem($0, "X509 CRL") }.joined().utf8)]
        #expect(try CMSMessages.refusal(bare, policy) == nil)
        policy.revocationLists = [lists[0], Array(pem(lists[1], "CRL").utf8)]
        let error = #expect(throws: CMSVerificationError.self) { try CMSVerifier(policy: policy) }
        #expect(error?.code == .invalidPEM && error?.index == 1 && error?.path.field == .crls)
    }
}
