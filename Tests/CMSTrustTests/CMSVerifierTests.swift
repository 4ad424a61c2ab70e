import AppStoreReceiptTesting
import CMSTrust
import Sampling
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct CMSVerifierTests {
    let authority: TestCertificateAuthority
    let policy: CMSPolicy
    let builder: SignedDataBuilder

    init() throws {
        authority = try CMSMessages.authority.get()
        policy = try CMSMessages.policy(authority)
        builder = CMSMessages.builder(authority)
    }

    private func code(_ builder: SignedDataBuilder, _ policy: CMSPolicy? = nil) throws -> String? {
        try CMSMessages.refusal(builder.encoded(), policy ?? self.policy)?.code.rawValue
    }

    // MARK: What is known of a verified message

    @Test func `the result has the content, its type, and all of each signer`() throws {
        let signed = Instant(millisecondsSince1970: 1_750_000_000_000)
        var builder = builder
        builder.contentType = try #require(ASN1ObjectIdentifier("1.2.3.4"))
        builder.signers = [CMSMessages.signer(authority.leaf, .required + [.signingTime(signed)], digest: .sha384)]
        let message = try CMSMessages.verify(builder.encoded(), policy)
        #expect(Array(message.content) == CMSMessages.text)
        #expect(message.contentType == builder.contentType)
        let signer = try #require(message.signers.first)
        #expect(message.signers.count == 1)
        #expect(signer.index == 0)
        #expect(signer.chain == authority.certificates)
        #expect(signer.certificate == authority.leaf.certificate)
        #expect(try signer.fingerprint == Fingerprint(of: authority.leaf.certificate.span))
        #expect(try signer.anchorFingerprint == Fingerprint(of: authority.root.certificate.span))
        #expect(signer.signingTime == signed)
        #expect(signer.validationDate == CMSMessages.date)
        #expect(signer.digest == .sha384)
        #expect(signer.kind == .ecdsa)
    }

    @Test(arguments: [CMSMessages.text, Array("-----BEGIN CMS-----\nAAAA\n-----END CMS-----\n".utf8)])
    func `a detached content is the result's content, also one that is PEM`(content: [UInt8]) throws {
        let builder = CMSMessages.builder(authority, content: content)
        var detached = builder
        detached.content = nil
        // The signature is over the content; only the container lacks it.
        let signature = try signature(of: builder)
        detached.signers[0].signedAttributes = [.contentType(nil), try .messageDigest(sha256(content))]
        detached.signers[0].signature = signature
        let message = try CMSMessages.verify(detached.encoded(), policy, content: content)
        #expect(Array(message.content) == content)
        #expect(try CMSMessages.refusal(detached.encoded(), policy)?.code == .missingContent)
        let refusal = try CMSMessages.refusal(builder.encoded(), policy, content: content)
        #expect(refusal?.code == .unexpectedContent)
    }

    // MARK: Signers

    @Test func `every signer must pass, unless one is named`() throws {
        let other = try authority.leaf(serial: 2)
        let stranger = try CMSMessages.stranger.get()
        var builder = builder
        builder.certificates = authority.certificates + [other.certificate] + stranger.certificates
        builder.signers = [authority.leaf, stranger.leaf, other].map { CMSMessages.signer($0) }
        let bytes = try builder.encoded()

        let refusal = try #require(try CMSMessages.refusal(bytes, policy))
        #expect(refusal.code == .untrustedChain)
        #expect(
            refusal.path == ASN1Path(.signerInfos, index: try CMSMessages.index(ofSigner: stranger.leaf, in: bytes)))
        let both = try CMSMessages.policy(authority, stranger)
        #expect(try CMSMessages.verify(bytes, both).signers.map(\.index) == [0, 1, 2])

        for identity in [authority.leaf, stranger.leaf, other] {
            let fingerprint = try Fingerprint(of: identity.certificate.span)
            let index = try CMSMessages.index(ofSigner: identity, in: bytes)
            let message = try CMSMessages.verify(bytes, both, signedBy: fingerprint)
            #expect(message.signers.map(\.index) == [index])
            #expect(message.signers.map(\.certificate) == [identity.certificate])
            let refusal = try CMSMessages.refusal(bytes, policy, signedBy: fingerprint)
            #expect(
                refusal?.code
                    == (fingerprint == (try Fingerprint(of: stranger.leaf.certificate.span)) ? .untrustedChain : nil))
        }
        let root = try Fingerprint(of: authority.root.certificate.span)
        #expect(try CMSMessages.refusal(bytes, policy, signedBy: root)?.code == .missingSigner)
    }

    @Test func `a message without signers is never verified`() throws {
        var builder = builder
        builder.signers = []
        #expect(try code(builder) == "signer-count")
    }

    @Test func `the order of the certificates decides nothing`() throws {
        let other = try authority.leaf(serial: 2)
        let certificates = authority.certificates + [other.certificate] + (try CMSMessages.stranger.get().certificates)
        for _ in 0..<20 {
            var builder = builder
            builder.certificates = certificates.shuffled()
            #expect(try code(builder) == nil)
        }
    }

    @Test func `certificates that a message lacks may come from the policy`() throws {
        var builder = builder
        builder.certificates = nil
        #expect(try code(builder) == "missing-signer-certificate")
        var policy = policy
        policy.additionalCertificates = [authority.leaf.certificate]
        #expect(try code(builder, policy) == "untrusted-chain")
        policy.additionalCertificates.append(authority.intermediate.certificate)
        #expect(try code(builder, policy) == nil)
        // Errors in them are at no place in the message.
        policy.distrusted = [try Fingerprint(of: authority.leaf.certificate.span)]
        let refusal = try CMSMessages.refusal(builder.encoded(), policy)
        #expect(refusal?.code == .distrustedCertificate)
        #expect(refusal?.offset == nil)
    }

    // MARK: Dates

    @Test func `the date of validation is given, or what every signer says`() throws {
        let early = Instant(millisecondsSince1970: 1_300_000_000_000)
        let late = Instant(millisecondsSince1970: 1_500_000_000_000)
        let shortLived = try authority.leaf(serial: 3) { $0.notAfter = late }
        var builder = builder
        builder.certificates?.append(shortLived.certificate)
        builder.signers = [CMSMessages.signer(shortLived, .required + [.signingTime(early)])]
        let bytes = try builder.encoded()
        #expect(try code(builder) == "certificate-expired")
        #expect(try CMSMessages.verify(bytes, policy, at: early).signers[0].validationDate == early)
        let message = try CMSMessages.verify(bytes, policy, at: CMSMessages.date, usesSigningTimes: true)
        #expect(message.signers[0].validationDate == early)
        #expect(try CMSMessages.verify(bytes, policy, at: early, usesSigningTimes: true).signers.count == 1)
        let before = Instant(millisecondsSince1970: early.millisecondsSince1970 - 1)
        #expect(
            try CMSMessages.refusal(bytes, policy, at: before, usesSigningTimes: true)?.code == .futureSigningTime)
        builder.signers.append(CMSMessages.signer(authority.leaf))
        let both = try builder.encoded()
        let refusal = try CMSMessages.refusal(both, policy, at: CMSMessages.date, usesSigningTimes: true)
        #expect(refusal?.code == .missingSigningTime)
        #expect(try refusal?.path.index == CMSMessages.index(ofSigner: authority.leaf, in: both))
    }

    // MARK: Signed attributes

    @Test(
        arguments: [
            ("no message-digest", [.contentType(nil)], "invalid-signed-attributes"),
            ("no content-type", [.messageDigest(nil)], "invalid-signed-attributes"),
            (
                "two digests", [.contentType(nil), .messageDigest(nil), .messageDigest([0])],
                "invalid-signed-attributes"
            ),
            (
                "another digest", [.contentType(nil), .messageDigest([UInt8](repeating: 1, count: 32))],
                "content-digest-mismatch"
            ),
            ("another type", [.contentType(.signedData), .messageDigest(nil)], "invalid-signed-attributes"),
            (
                "two content-types", [.contentType(nil), .contentType(.signedData), .messageDigest(nil)],
                "invalid-signed-attributes"
            ),
            (
                "two signing times",
                [
                    .contentType(nil), .messageDigest(nil), .signingTime(CMSMessages.date),
                    .signingTime(Instant(millisecondsSince1970: 0)),
                ], "invalid-signed-attributes"
            ),
            (
                "a signing time that is none",
                [.contentType(nil), .messageDigest(nil), .other(.signingTime, values: [[5, 0]])],
                "invalid-signed-attributes"
            ),
            (
                "two values", [.contentType(nil), .other(.messageDigest, values: [[4, 0], [4, 0]])],
                "invalid-signed-attributes"
            ),
        ] as [(String, [SignedDataBuilder.SignedAttribute], String)])
    func `signed attributes are as RFC 5652 has them`(
        fault: String, attributes: [SignedDataBuilder.SignedAttribute], code: String
    ) throws {
        var builder = builder
        builder.signers = [CMSMessages.signer(authority.leaf, attributes)]
        let refusal = try CMSMessages.refusal(builder.encoded(), policy)
        #expect(refusal?.code.rawValue == code, "\(fault)")
        #expect(refusal?.path == ASN1Path(.signerInfos, index: 0))
    }

    @Test func `signed attributes are DER`() throws {
        var builder = builder
        // The longer one first.
        builder.signers = [CMSMessages.signer(authority.leaf, [.messageDigest(nil), .contentType(nil)])]
        #expect(try code(builder) == nil)
        builder.signers[0].sortsSignedAttributes = false
        #expect(try code(builder) == "invalid-signed-attributes")
    }

    @Test func `content other than data has signed attributes`() throws {
        var builder = builder
        builder.contentType = .signedData
        #expect(try code(builder) == nil)
        builder.signers[0].signedAttributes = nil
        #expect(try code(builder) == "missing-signed-attributes")
    }

    @Test func `the attributes of a message are no content of another`() throws {
        // The signature of a message with attributes, presented as one over a content that consists of them.
        let genuine = try builder.encoded()
        var attributes: [UInt8] = []
        var signature: [UInt8] = []
        var signers = try SignedData(ContentInfo(genuine.span)).signerInfos
        if let signer = try signers.next(), let signed = signer.signedAttributes {
            attributes = [0x31] + [UInt8](copying: signed.element.encoded).dropFirst()
            signature = [UInt8](copying: signer.signature.content)
        }
        var forged = CMSMessages.builder(authority, content: attributes)
        forged.signers[0].signedAttributes = nil
        forged.signers[0].signature = signature
        #expect(try code(forged) == "signed-attributes-as-content")
        // Another set is a content like any, also one of attributes without a digest.
        for content in [[0x31, 2, 5, 0], [0x31, 10, 0x30, 8, 6, 2, 0x2A, 1, 0x31, 2, 5, 0], [0x31, 0]] as [[UInt8]] {
            forged.content = content
            forged.signers[0].signature = nil
            #expect(try code(forged) == nil)
        }
    }

    // MARK: Content

    @Test(
        arguments: [
            (1, "1.2.3.4", nil), (3, "1.2.3.4", "unexpected-content-type"),
            (1, "1.2.840.113549.1.7.1", "unexpected-content-type"),
        ] as [(Int, String, String?)])
    func `content that is no OCTET STRING is RFC 2315's, and not data`(version: Int, type: String, code: String?) throws
    {
        // A SEQUENCE with a NULL: its octets without tag and length are signed.
        var builder = CMSMessages.builder(authority, content: [0x05, 0x00])
        builder.version = version
        builder.contentType = try #require(ASN1ObjectIdentifier(type))
        var bytes = try builder.encoded()
        let content = try #require(bytes.indices.first { Array(bytes[$0...].prefix(6)) == [0xA0, 4, 0x04, 2, 5, 0] })
        bytes[content + 2] = 0x30
        let refusal = try CMSMessages.refusal(bytes, policy)
        #expect(refusal?.code.rawValue == code)
        if code == nil {
            #expect(try Array(CMSMessages.verify(bytes, policy).content) == [5, 0])
        } else {
            #expect(refusal?.offset == content + 2)
        }
    }

    @Test func `offsets of a BER message are those of what was received`() throws {
        var builder = builder
        builder.encoding = .ber(segmentSize: 5)
        #expect(try Array(CMSMessages.verify(builder.encoded(), policy).content) == CMSMessages.text)
        builder.certificates = [authority.leaf.certificate]
        let bytes = try builder.encoded()
        let refusal = try CMSMessages.refusal(bytes, policy)
        #expect(refusal?.code == .untrustedChain)
        let offset = try #require(refusal?.offset)
        #expect(Array(bytes[offset...].prefix(authority.leaf.certificate.count)) == authority.leaf.certificate)
    }

    /// Bits that no signature covers and no rule pins down may change; what is verified may not.
    @Test func `no changed bit makes another content or another signer pass`() throws {
        let bytes = try builder.encoded()
        let verifier = try CMSVerifier(policy: policy)
        let leaf = try Fingerprint(of: authority.leaf.certificate.span)
        var accepted = 0
        let indices = Sampling.share(bytes.indices, of: "message-bytes")
        for index in indices {
            var changed = bytes
            changed[index] ^= 1 << UInt8.random(in: 0..<8)
            guard let message = try? verifier.verify(changed, at: CMSMessages.date) else { continue }
            accepted += 1
            #expect(Array(message.content) == CMSMessages.text)
            #expect(message.signers.map(\.fingerprint) == [leaf])
        }
        // The embedded root, which the pinned one stands for, and little else.
        #expect(accepted * bytes.count <= (authority.root.certificate.count + 32) * indices.count)
    }

    private func signature(of builder: SignedDataBuilder) throws -> [UInt8] {
        let bytes = try builder.encoded()
        var signers = try SignedData(ContentInfo(bytes.span)).signerInfos
        guard let signer = try signers.next() else { return [] }
        return [UInt8](copying: signer.signature.content)
    }

    private func sha256(_ bytes: [UInt8]) throws -> [UInt8] { try Fingerprint(of: bytes.span).bytes }
}
