import AppStoreReceiptTesting
import Foundation
import SignatureTrust
import TestSupport
import Testing

@Suite struct FingerprintTests {
    private static let digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    @Test func `a fingerprint is SHA-256, printed in lower case`() throws {
        let fingerprint = try Fingerprint(of: [UInt8]().span)
        #expect(fingerprint.description == Self.digits)
        #expect(fingerprint.bytes.count == 32 && fingerprint.bytes.first == 0xE3 && fingerprint.bytes.last == 0x55)
    }

    @Test func `hexadecimal digits are read back, in either case and with colons`() throws {
        let fingerprint = try Fingerprint(of: [UInt8]().span)
        let pairs = stride(from: 0, to: 64, by: 2).map { index in
            let start = Self.digits.index(Self.digits.startIndex, offsetBy: index)
            return String(Self.digits[start...].prefix(2))
        }
        for text in [
            Self.digits, Self.digits.uppercased(), pairs.joined(separator: ":"),
            pairs.joined(separator: ":").uppercased(),
        ] {
            #expect(Fingerprint(text) == fingerprint)
        }
        var generator = SeededGenerator()
        for _ in 0..<200 {
            let bytes = (0..<40).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let random = try Fingerprint(of: bytes.span)
            #expect(Fingerprint(random.description) == random && random != fingerprint)
        }
    }

    @Test func `a fingerprint is encoded as its digits, and decoded again`() throws {
        let fingerprint = try Fingerprint(of: [UInt8]().span)
        let json = try JSONEncoder().encode([fingerprint])
        #expect(String(decoding: json, as: UTF8.self) == #"["\#(Self.digits)"]"#)
        #expect(try JSONDecoder().decode([Fingerprint].self, from: json) == [fingerprint])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Fingerprint].self, from: Data(#"["e3"]"#.utf8))
        }
    }

    @Test(arguments: [
        "", ":", "e3", String(digits.dropLast()), String(digits.dropLast(2)), digits + "0", digits + "00", ":" + digits,
        digits + ":",
        digits.replacing("e3b0", with: "e3:b0"), digits.replacing("e3", with: "g3"), digits.replacing("e3", with: "e "),
        digits.replacing("e3", with: "\u{FF45}3"), "0x" + digits.dropFirst(2), String(repeating: "ab:", count: 32),
        String(repeating: ":", count: 95), String(repeating: "ab-", count: 31) + "ab",
    ])
    func `anything else is no fingerprint`(text: String) {
        #expect(Fingerprint(text) == nil)
    }
}
