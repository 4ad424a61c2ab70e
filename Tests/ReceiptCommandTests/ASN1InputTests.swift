import SpanASN1
import StrictText
import TestSupport
import Testing

@testable import receipt

/// What is taken for the binary contents of a file.
@Suite struct ASN1InputTests {
    private static let inside = Array(PEMFile.text(of: [5, 0], label: "CMS").utf8)

    /// An element with an OCTET STRING in it that contains PEM.
    private static func around(tag: UInt8) -> [UInt8] {
        let content = [4, UInt8(inside.count + 1), 10] + inside
        return [tag, UInt8(content.count)] + content
    }

    @Test(arguments: [around(tag: 0x30), around(tag: 0x31), [0x30, 0x80] + around(tag: 0x30) + [0, 0]])
    func `PEM in a binary file is its content, and no text around it`(bytes: [UInt8]) throws {
        let parts = try ASN1Input.parts(of: bytes)
        #expect(parts.count == 1 && parts[0].source == nil && parts[0].bytes == bytes)
    }

    @Test(arguments: ["", "0 is a number\n", "1 is a number\n", "0"])
    func `PEM in a text is the message`(before: String) throws {
        let parts = try ASN1Input.parts(of: Array("\(before)\n".utf8) + Self.inside)
        #expect(parts.map(\.source) == ["CMS"] && parts[0].bytes == [5, 0])
    }
}
