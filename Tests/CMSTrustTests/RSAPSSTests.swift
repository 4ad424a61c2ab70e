import AppStoreReceiptTesting
import CMSTrust
import LibcryptoHandles
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// RSASSA-PSS by its parameters (RFC 4055, 3); messages as OpenSSL writes them are in `CMSOpenSSLTests`.
@Suite struct RSAPSSTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// What the message says.
        let parameters: [UInt8]?
        /// What was done.
        var digest = DigestAlgorithm.sha256
        var scheme = SignatureScheme.pss(saltLength: 32, mgf1: .sha256)
        var allowsSHA1 = false
        let code: String?
    }

    static let usual = parameters(hash: .sha256, mask: .sha256, salt: 32)

    static let cases: [Case] = [
        Case(testDescription: "as RFC 4055 recommends", parameters: usual, code: nil),
        Case(
            testDescription: "with the trailer field's default written out",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 32, trailer: 1), code: nil),
        Case(
            testDescription: "with digests whose NULL parameters are absent",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 32, null: false), code: nil),
        Case(
            testDescription: "with the default salt length left out",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: nil),
            scheme: .pss(saltLength: 20, mgf1: .sha256), code: nil),
        Case(
            testDescription: "with the default salt length written out",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 20),
            scheme: .pss(saltLength: 20, mgf1: .sha256), code: nil),
        Case(
            testDescription: "another salt length than was used",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 20), code: "invalid-signature"),
        Case(
            testDescription: "a salt longer than the key",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 1 << 40), code: "unsupported-algorithm"),
        Case(
            testDescription: "the longest salt that a key could have",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 1 << 16), code: "invalid-signature"),
        Case(
            testDescription: "a salt that is longer by one",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 1 << 16 + 1), code: "unsupported-algorithm"),
        Case(
            testDescription: "a salt as long as the key",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 256), code: "invalid-signature"),
        Case(
            testDescription: "a negative salt length",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: -1), code: "unsupported-algorithm"),
        Case(
            testDescription: "another trailer field",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 32, trailer: 2), code: "unsupported-algorithm"),
        Case(
            testDescription: "another mask generation function",
            parameters: parameters(hash: .sha256, mask: .sha256, salt: 32, function: .sha256),
            code: "unsupported-algorithm"),
        Case(
            testDescription: "another mask digest than was used",
            parameters: parameters(hash: .sha256, mask: .sha512, salt: 32), code: "invalid-signature"),
        Case(
            testDescription: "another digest than the signer's",
            parameters: parameters(hash: .sha512, mask: .sha512, salt: 32), code: "algorithm-mismatch"),
        Case(testDescription: "all defaults, which are SHA-1", parameters: [0x30, 0x00], code: "weak-algorithm"),
        Case(
            testDescription: "all defaults, which are SHA-1, where that is accepted", parameters: [0x30, 0x00],
            digest: .sha1, scheme: .pss(saltLength: 20, mgf1: .sha1), allowsSHA1: true, code: nil),
        Case(testDescription: "no parameters", parameters: nil, code: "unsupported-algorithm"),
        Case(testDescription: "NULL parameters", parameters: [0x05, 0x00], code: "unsupported-algorithm"),
        Case(
            testDescription: "something after the fields",
            parameters: [0x30, UInt8(usual.count)] + usual.dropFirst(2) + [5, 0],
            code: "unsupported-algorithm"),
    ]

    @Test(arguments: cases) func `parameters are read and obeyed`(_ test: Case) throws {
        let authority = try CMSMessages.rsaAuthority.get()
        var policy = try CMSMessages.policy(authority)
        policy.algorithms.allowsSHA1 = test.allowsSHA1
        var builder = CMSMessages.builder(authority)
        let pem = try authority.leaf.key.pem()
        let key = try PrivateKey(pem: pem.span)
        let text = CMSMessages.text
        let digest = try test.digest.digest(of: text.span)
        builder.signers[0].digest = test.digest == .sha1 ? .sha1 : .sha256
        builder.signers[0].signedAttributes = nil
        builder.signers[0].signatureAlgorithm = AlgorithmName(.rsaPSS, parameters: test.parameters)
        builder.signers[0].signature = try key.sign(digest, scheme: test.scheme)
        #expect(try CMSMessages.refusal(builder.encoded(), policy)?.code.rawValue == test.code)
    }

    static func parameters(
        hash: ASN1ObjectIdentifier, mask: ASN1ObjectIdentifier, salt: Int?, trailer: Int? = nil,
        function: ASN1ObjectIdentifier = .mgf1, null: Bool = true
    ) -> [UInt8] {
        func writeDigest(_ identifier: ASN1ObjectIdentifier, to writer: inout ASN1Writer) {
            writer.write(.sequence) { writer in
                writer.writeObjectIdentifier(identifier)
                if null { writer.writeNull() }
            }
        }
        return ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeExplicit(0) { writeDigest(hash, to: &$0) }
                writer.writeExplicit(1) { writer in
                    writer.write(.sequence) { writer in
                        writer.writeObjectIdentifier(function)
                        writeDigest(mask, to: &writer)
                    }
                }
                if let salt { writer.writeExplicit(2) { $0.writeInteger(salt) } }
                if let trailer { writer.writeExplicit(3) { $0.writeInteger(trailer) } }
            }
        }
    }
}
