import AppStoreReceiptTesting
import SpanASN1
import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

struct VerificationErrorAdviceTests {
    @Test func `the excerpt of a refused value is the value, whatever form the receipt came in`() throws {
        let verifier = try AppStoreVerifier(
            bundleID: "com.example.app", environments: [.production], trust: Minted.trust)
        var builder = ReceiptBuilder(bundleID: "com.example.app")
        builder.additionalAttributes = [.ia5String(.expirationDate, "2018-13-12T25:00:00Z")]
        let receipt = try builder.signed(by: Minted.authority)
        for input in [receipt, Array(Base64.encode(receipt.span).utf8)] {
            let error = #expect(throws: VerificationError.self) { try verifier.verifyReceipt(input) }
            #expect(error?.code == .invalidTime)
            #expect(error?.path == "payload › 21 expiration date")
            #expect(error?.excerpt(of: input) == #""2018-13-12T25:00:00Z""#)
        }
    }

    @Test(
        arguments: [
            ("MII*abc", #""*abc""#), ("{\"receipt-data\": 5}", nil), ("", nil),
            ("<html>\u{1B}[31m", #""<html>\u{1B}[31m""#),
            (String(repeating: "\"", count: 40), "\"" + String(repeating: "\\\"", count: 32) + "…\""),
        ] as [(String, String?)])
    func `the excerpt of a text is escaped and short`(text: String, expected: String?) throws {
        let input = Array(text.utf8)
        let error = #expect(throws: VerificationError.self) { try UnverifiedReceipt(decoding: input) }
        let excerpt = error?.excerpt(of: input)
        if let expected { #expect(excerpt == expected) } else { #expect((excerpt?.count ?? 0) < 40) }
    }

    @Test(arguments: ["\u{9B}31m", "\u{85}FORGED LINE", "\u{2028}", "\u{202E}\u{2066}", "\u{200B}\u{FEFF}", "e\u{301}"])
    func `an excerpt is printable ASCII on one line, whatever is in the input`(text: String) {
        let input = Array("x\(text)".utf8)
        let error = #expect(throws: VerificationError.self) { try UnverifiedReceipt(decoding: input) }
        let excerpt = error?.excerpt(of: input) ?? ""
        #expect(excerpt.hasPrefix("\"") && excerpt.utf8.allSatisfy { 0x20..<0x7F ~= $0 }, "\(excerpt)")
    }

    @Test func `another input than the refused one makes no trap`() throws {
        let error = VerificationError(.payload(ASN1DecodingError(.invalidTime, offset: 1_000_000)))
        #expect(error.excerpt(of: [0x30, 0x80, 0, 0]) == nil)
        #expect(error.excerpt(of: []) == nil)
    }
}
