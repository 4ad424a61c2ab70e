import SpanASN1
import StrictText
import Testing

@testable import AppStoreReceipt
@testable import SignatureTrust

/// The article on errors lists what the code has: no code missing, none that is gone, and the code's own words.
struct ErrorsTests {
    private let article: Article

    init() throws { article = try Article("Errors") }

    /// Every error that has a row of its own.
    private static let errors: [VerificationError] =
        InputError.Kind.allCases.map { .input(InputError($0, form: nil, offset: 0)) }
        + FormFault.allCases.map { VerificationError(.form($0, offset: 0)) }
        + HeaderFault.allCases.map { VerificationError(.header($0, offset: 0)) }
        + SignatureBlobFault.allCases.map { VerificationError(.signatureBlob($0, offset: 0)) }
        + SignatureTrustError.Kind.allCases.filter { !$0.isHostFault }
        .map { .signature(SignatureTrustError($0), of: .receipt) }
        + DateFault.allCases.map { VerificationError(.date($0, offset: nil)) }
        + PolicyViolation.allCases.map { .policy($0) } + ConfigurationFault.allCases.map { .configuration($0) }
        + HostFault.allCases.map { VerificationError(.host($0)) }

    /// The section with the row of an error; `nil` for errors of syntax, whose sections have two columns.
    private static func heading(of error: VerificationError) -> String? {
        switch error.reason {
        case .input: "Input"
        case .container, .payload, .headerSyntax, .members, .propertyList: nil
        case .form: "JWS form"
        case .header: "JWS header"
        case .signatureBlob: "Transaction receipt signature"
        case .signature(let error, _), .chain(let error, _):
            error.kind.isAboutStructure ? "Container" : "Signature and chain"
        case .date: "Date"
        case .policy: "Policy"
        case .configuration, .host: "Verifier and host"
        }
    }

    private func check(_ heading: String, _ expected: [[String]]) {
        let table = expected.map { "| " + $0.joined(separator: " | ") + " |" }.joined(separator: "\n")
        #expect(article.rows(under: heading) == expected, "The rows under \(heading) should be\n\(table)")
    }

    @Test(arguments: [
        "Input", "Container", "JWS form", "JWS header", "Transaction receipt signature", "Signature and chain", "Date",
        "Policy",
        "Verifier and host",
    ])
    func `a section has a row for every error`(heading: String) {
        let errors = Self.errors.filter { Self.heading(of: $0) == heading }
        #expect(!errors.isEmpty)
        check(
            heading,
            errors.map { ["`\($0.code)`", $0.explanation, "\($0.category), \($0.category.httpStatus)", $0.advice] })
    }

    @Test func `every error has a section`() { #expect(Self.errors.allSatisfy { Self.heading(of: $0) != nil }) }

    @Test func `errors of ASN 1 are listed once, for containers and payloads`() {
        let kinds = ASN1DecodingError.Kind.allCases
        check("ASN.1", kinds.map { ["`\($0.rawValue)`", $0.explanation] })
        for kind in kinds {
            let error = ASN1DecodingError(kind, offset: 0)
            expectText("ASN.1", VerificationError(.container(error)), .client)
            expectText("ASN.1", VerificationError(.payload(error)), .host)
        }
    }

    @Test func `errors of property lists are listed once, for both lists of a transaction receipt`() {
        let kinds = PropertyListError.Kind.allCases
        check("Property lists", kinds.map { ["`\($0.rawValue)`", $0.explanation] })
        for kind in kinds {
            let error = PropertyListError(kind, offset: 0)
            expectText("Property lists", VerificationError(.propertyList(error, .propertyList)), .client)
            expectText("Property lists", VerificationError(.propertyList(error, .payload)), .host)
        }
    }

    @Test func `errors of JSON are listed once, for headers and payloads`() {
        let kinds = JSONError.Kind.allCases
        check("JSON", kinds.map { ["`\($0.rawValue)`", $0.explanation] })
        for kind in kinds {
            let error = JSONError(kind, offset: 0)
            expectText("JSON", VerificationError(.headerSyntax(error)), .client)
            expectText("JSON", VerificationError(.members(error)), kind == .missingMember ? .client : .host)
        }
    }

    /// The text of a section has an error's advice beside its stage and category.
    private func expectText(
        _ heading: String, _ error: VerificationError, _ category: VerificationError.Category
    ) {
        #expect(error.category == category)
        let item = article.text(under: heading).split(separator: "\n").contains { line in
            ["`\(error.stage)`", "`\(category)`, \(category.httpStatus)", error.advice].allSatisfy(line.contains)
        }
        #expect(
            item, "\(heading) should have: `\(error.stage)` (`\(category)`, \(category.httpStatus)): \(error.advice)")
    }

    @Test func `every stage, category and status is in the article on errors`() {
        #expect(article.rows(under: "Stages").map { $0[0] } == VerificationError.Stage.allCases.map { "`\($0)`" })
        #expect(
            article.rows(under: "Categories").map { Array($0.prefix(2)) }
                == VerificationError.Category.allCases.map { ["`\($0)`", String($0.httpStatus)] })
        #expect(
            article.rows(under: "verifyReceipt statuses").map { $0[0] }
                == VerifyReceiptStatus.allCases.map { String($0.rawValue) })
    }
}
