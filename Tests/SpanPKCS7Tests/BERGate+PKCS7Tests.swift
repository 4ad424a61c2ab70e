import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct PKCS7GateTests {
    /// The same message with an indefinite length wherever the gate takes one, and strings in two pieces.
    ///
    /// - Parameter extra: the name of an element that gets an indefinite length all the same.
    private func loosen(_ node: Node, extra: String? = nil, depth: Int = 0, parent: Node? = nil) -> [UInt8] {
        let content = node.children.map { $0.flatMap { $0.encoded().bytes } } ?? node.content
        if node.name == extra { return [node.tag, 0x80] + content + [0, 0] }
        if depth == 4, parent?.tag ?? 0 >= 0xA0 { return node.encoded().bytes }
        if node.tag == 0x04 {
            let pieces = tlv(0x04, Array(content.prefix(1))) + tlv(0x04, Array(content.dropFirst()))
            return [0x24, 0x80] + pieces + [0, 0]
        }
        guard depth < 5, let children = node.children else { return node.encoded().bytes }
        let inner = children.flatMap { loosen($0, extra: extra, depth: depth + 1, parent: node) }
        return [node.tag, 0x80] + inner + [0, 0]
    }

    @Test func `a message in BER becomes the same message in DER`() throws {
        let whole = Node.message.encoded().bytes
        #expect(try BERGate.pkcs7.normalize(whole.span) == whole)
        let loose = loosen(.message)
        #expect(loose != whole)
        #expect(try BERGate.pkcs7.normalize(loose.span) == whole)
    }

    @Test(arguments: ["a.certificate", "otherCertificate", "s.sid", "s.digest", "s.signedAttrs", "t.unsignedAttrs"])
    func `what is signed or compared as it stands must have a definite length`(name: String) {
        let bytes = loosen(.message, extra: name)
        let error = failure { () throws(ASN1DecodingError) in _ = try BERGate.pkcs7.normalize(bytes.span) }
        #expect(error?.kind == .indefiniteLength)
        #expect(error.map { bytes[$0.offset + 1] } == 0x80)
    }

    @Test func `BER inside a certificate, an attribute or the content stays as it is`() throws {
        for name in ["a.certificate", "s.signedAttrs", "octets"] {
            let whole = Node.message.changed(.content(name, "30 80 24 80 00 00 00 00")).encoded().bytes
            #expect(try BERGate.pkcs7.normalize(whole.span) == whole)
        }
    }
}
