import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// The syntax of the parameters. For the values that a policy accepts, see `RSAPSSTests` of CMSTrust.
@Suite struct RSAPSSParametersTests {
    private static let sha256 = "06 09 60 86 48 01 65 03 04 02 01"
    private static let mgf1 = "06 09 2A 86 48 86 F7 0D 01 01 08"

    /// The parameters with SHA-256 for both digests and a salt of 32 octets, with these tags.
    private func parameters(
        whole: String = "30", hash: String = "30", mask: String = "30", maskHash: String = "30"
    ) -> [UInt8] {
        hex(
            "\(whole) 30 A0 0D \(hash) 0B \(Self.sha256) A1 1A \(mask) 18 \(Self.mgf1) \(maskHash) 0B \(Self.sha256) "
                + "A2 03 02 01 20")
    }

    private func kind(of bytes: [UInt8]) -> ASN1DecodingError.Kind? {
        let error = failure { () throws(ASN1DecodingError) in
            var cursor = ASN1Cursor(bytes.span)
            let saltLength = try RSAPSSParameters(cursor.read()).saltLength
            #expect(saltLength == 32)
        }
        return error?.kind
    }

    @Test func `the parameters, their algorithms and those of the mask are each a SEQUENCE`() {
        #expect(kind(of: parameters()) == nil)
        #expect(kind(of: parameters(whole: "31")) == .unexpectedTag)
        #expect(kind(of: parameters(hash: "31")) == .unexpectedTag)
        #expect(kind(of: parameters(mask: "31")) == .unexpectedTag)
        #expect(kind(of: parameters(maskHash: "31")) == .unexpectedTag)
    }
}
