import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import StrictText
import Testing

@testable import AppStoreReceipt

struct ReceiptErrorAdviceTests {
    @Test func `every error says in a sentence what to do about it`() {
        var errors: [VerificationError] = InputError.Kind.allCases.map { .input(InputError($0, form: nil, offset: 0)) }
        errors += ASN1DecodingError.Kind.allCases.map { .container(ASN1DecodingError($0, offset: 0)) }
        errors += ASN1DecodingError.Kind.allCases.map { .payload(ASN1DecodingError($0, offset: 0)) }
        errors += PolicyViolation.allCases.map { .policy($0) }
        errors += ConfigurationFault.allCases.map { .configuration($0) }
        errors += HostFault.allCases.map { .host($0) }
        errors += DateFault.allCases.map { .creationDate($0, offset: nil) }
        var reasons: [VerificationError.Reason] = PolicyViolation.allCases.map { .policy($0) }
        reasons += ConfigurationFault.allCases.map { .configuration($0) }
        reasons += FormFault.allCases.map { .form($0, offset: 0) }
        reasons += HeaderFault.allCases.map { .header($0, offset: 0) }
        reasons += DateFault.allCases.map { .signedDate($0, offset: 0) }
        reasons += JSONError.Kind.allCases.map { .payload(JSONError($0, offset: 0)) }
        reasons += HostFault.allCases.map { .host($0) }
        let advice = errors.map(\.advice) + reasons.map { VerificationError($0).advice }
        for advice in advice + SignatureTrustError.Kind.allCases.map(\.advice) {
            #expect(advice.hasSuffix(".") && advice.count > 20, "\(advice)")
        }
    }

    @Test func `the excerpt of a refused value is the value, whatever form the receipt came in`() throws {
        let verifier = try AppStoreVerifier(
            bundleID: "com.example.app", environments: [.production], trust: MintedReceipts.trust)
        var builder = ReceiptBuilder(bundleID: "com.example.app")
        builder.additionalAttributes = [.ia5String(.expirationDate, "2018-13-12T25:00:00Z")]
        let receipt = try builder.signed(by: MintedReceipts.authority)
        for input in [receipt, Array(Base64.encode(receipt.span).utf8)] {
            let error = #expect(throws: VerificationError.self) { try verifier.verifyReceipt(input) }
            #expect(error?.code == "invalid-time")
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
        let error = VerificationError.payload(ASN1DecodingError(.invalidTime, offset: 1_000_000))
        #expect(error.excerpt(of: [0x30, 0x80, 0, 0]) == nil)
        #expect(error.excerpt(of: []) == nil)
    }
}
