import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// The syntax of the parameters. For the values that a policy accepts, see `RSAPSSTests` of CMSTrust.
@Suite struct RSAPSSParametersTests {
    private static let sha256 = "06 09 60 86 48 01 65 03 04 02 01"
    private static let mgf1 = "06 09 2A 86 48 86 F7 0D 01 01 08"

    private static let salt = "A2 03 02 01 20"

    /// The parameters with SHA-256 for both digests and a salt of 32 octets, with these tags and values.
    private func parameters(
        whole: UInt8 = 0x30, hash: String = "30", mask: String = "30", function: String = Self.mgf1,
        maskHash: String = "30", rest: String = Self.salt
    ) -> [UInt8] {
        tlv(
            whole,
            hex(
                "A0 0D \(hash) 0B \(Self.sha256) A1 1A \(mask) 18 \(function) \(maskHash) 0B \(Self.sha256) \(rest)"))
    }

    private func kind(of bytes: [UInt8], saltLength: Int = 32) -> ASN1DecodingError.Kind? {
        let error = failure { () throws(ASN1DecodingError) in
            var cursor = ASN1Cursor(bytes.span)
            let found = try RSAPSSParameters(cursor.read()).saltLength
            #expect(found == saltLength)
        }
        return error?.kind
    }

    @Test func `the parameters, their algorithms and those of the mask are each a SEQUENCE`() {
        #expect(kind(of: parameters()) == nil)
        #expect(kind(of: parameters(whole: 0x31)) == .unexpectedTag)
        #expect(kind(of: parameters(hash: "31")) == .unexpectedTag)
        #expect(kind(of: parameters(mask: "31")) == .unexpectedTag)
        #expect(kind(of: parameters(maskHash: "31")) == .unexpectedTag)
    }

    @Test func `the mask generation function is MGF1`() {
        #expect(kind(of: parameters(function: Self.sha256)) == .unexpectedValue)
    }

    /// RFC 4055, 3.1: the salt has 20 octets and the trailer field is 1 unless they are encoded.
    @Test func `the salt length is not negative, the trailer field is 1, and nothing follows`() {
        let rows: [(String, Int, ASN1DecodingError.Kind?)] = [
            ("", 20, nil), ("A2 03 02 01 00", 0, nil), (Self.salt, 32, nil), ("A3 03 02 01 01", 20, nil),
            ("\(Self.salt) A3 03 02 01 01", 32, nil), ("A2 03 02 01 FF", -1, .unexpectedValue),
            ("\(Self.salt) A3 03 02 01 02", 32, .unexpectedValue), ("\(Self.salt) 05 00", 32, .trailingData),
        ]
        for (rest, saltLength, fault) in rows {
            #expect(kind(of: parameters(rest: rest), saltLength: saltLength) == fault, "\(rest)")
        }
    }
}
