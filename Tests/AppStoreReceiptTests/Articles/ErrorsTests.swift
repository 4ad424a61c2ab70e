import SpanASN1
import StrictText
import Testing

@testable import AppStoreReceipt
@testable import SignatureTrust

/// The article on errors lists what the code has: no code missing, none that is gone, and the code's own words.
struct ErrorsTests {
    let article: Article

    init() throws { article = try Article("Errors") }

    /// The row of a code, as the article has it.
    private func row(
        _ code: String, _ explanation: String, _ category: VerificationError.Category, _ advice: String
    ) -> [String] {
        ["`\(code)`", explanation, "\(category.rawValue), \(category.httpStatus)", advice]
    }

    private func rows(_ errors: [VerificationError]) -> [[String]] {
        errors.map { row($0.code, $0.explanation, $0.category, $0.advice) }
    }

    private func rows(_ reasons: [VerificationError.Reason]) -> [[String]] {
        reasons.map { reason in
            let error = VerificationError(reason)
            return row(error.code, error.explanation, error.category, error.advice)
        }
    }

    private func check(_ heading: String, _ expected: [[String]], columns: Int = 4) {
        let rows = article.rows(under: heading)
        #expect(rows.count == expected.count, "\(heading)")
        for (row, expected) in zip(rows, expected) {
            #expect(row.count == columns && Array(row.prefix(expected.count)) == expected, "\(heading)")
        }
    }

    @Test func `every error of a receipt is in the article on errors`() {
        check("The input", rows(InputError.Kind.allCases.map { .input(InputError($0, form: nil, offset: 0)) }))
        check(
            "The signature and the chain",
            rows(
                SignatureTrustError.Kind.allCases.map { kind in
                    VerificationError(SignatureTrustError(kind)) { .signature($0) }
                }))
        check("The creation date", rows(DateFault.allCases.map { .creationDate($0, offset: nil) }))
        check("The policy", rows(PolicyViolation.allCases.map { .policy($0) }))
        check("The verifier", rows(ConfigurationFault.allCases.map { .configuration($0) }))
    }

    @Test func `every fault of structure is in the article on errors`() {
        let kinds = ASN1DecodingError.Kind.allCases
        check("The structure", kinds.map { ["`\($0.rawValue)`", $0.explanation] }, columns: 2)
        for kind in kinds {
            let error = ASN1DecodingError(kind, offset: 0)
            #expect(VerificationError.container(error).category == .client)
            #expect(VerificationError.payload(error).category == .host)
        }
    }

    @Test func `every error of signed data is in the article on errors`() {
        check("Its form", rows(FormFault.allCases.map { .form($0, offset: 0) }))
        check("Its header", rows(HeaderFault.allCases.map { .header($0, offset: 0) }))
        check("Its date", rows(DateFault.allCases.map { .signedDate($0, offset: nil) }))
        check("Its policy", rows(PolicyViolation.allCases.map { .policy($0) }))
        check("Its verifier", rows(ConfigurationFault.allCases.map { .configuration($0) }))
        check("Its JSON", JSONError.Kind.allCases.map { ["`\($0.rawValue)`", $0.explanation] }, columns: 2)
    }

    @Test func `every category and every status is in the article on errors`() {
        let categories = VerificationError.Category.allCases.map { ["`\($0.rawValue)`", String($0.httpStatus)] }
        check("Whose fault", categories)
        let statuses = VerifyReceiptStatus.allCases.map { [String($0.rawValue)] }
        check("verifyReceipt's statuses", statuses, columns: 2)
    }
}
